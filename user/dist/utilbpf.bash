# SPDX-License-Identifier: GPL-2.0-only
# bash completion for utilbpf(8); it needs nothing but bash. tests/dist/check.py compares it with
# utilbpf --help.

# The last item of a list with commas: completes $2 from the words in $1.
_utilbpf_list() {
	local done=""
	[[ $2 == *,* ]] && done=${2%,*},
	mapfile -t COMPREPLY < <(compgen -P "$done" -W "$1" -- "${2##*,}")
}

# The value of option $1, of which $2 is typed. False: the option takes none.
_utilbpf_value() {
	local words=""
	case $1 in
	-e | --events) _utilbpf_list "sched syscalls irqs softirqs hcalls all" "$2" ;;
	-o | --output | --record | -r | --read) mapfile -t COMPREPLY < <(compgen -f -- "$2") ;;
	-m | --mmap-pages | -d | --duration | -i | --interval | -n | --count | -T | --top | --mem-limit | --max-series | --listen | --name | \
		--depth | -p | --pid | -t | --tid | -C | --cpu | -G | --cgroup | -c | --comm | --syscall)
		COMPREPLY=()
		;;
	-u | --uid) _utilbpf_list "$(compgen -u)" "$2" ;;
	-b | --by) words="system cpu group process task" ;;
	-f | --format) words="text json csv openmetrics" ;;
	--engine) words="auto bpf perf" ;;
	-s | --sort)
		words="tid pid comm cgroup uid count errors elapsed pending open avg active min max
			cpu util user sys irq softirq hv busy wait sleep blocked iowait stopped idle
			stolen intr blk+io off tasks switches moves voluntary involuntary"
		;;
	*) return 1 ;;
	esac
	[[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W "$words" -- "$2")
}

_utilbpf() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -- ]] || continue
		# from here on it is somebody else's command line
		if ((i == COMP_CWORD - 1)); then
			mapfile -t COMPREPLY < <(compgen -c -- "$cur")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		fi
		return
	done
	# bash cuts --by=cpu at the = into three words
	[[ $cur == = ]] && cur="" && _utilbpf_value "$prev" "" && return
	[[ $prev == = ]] && ((COMP_CWORD > 2)) && prev=${COMP_WORDS[COMP_CWORD - 2]}
	_utilbpf_value "$prev" "$cur" && return
	if ((COMP_CWORD == 1)) && [[ $cur != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "start report status stop serve" -- "$cur")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "-d --duration -i --interval -n --count -r --read -e --events
		--engine --verify --record -m --mmap-pages --mem-limit
		-p --pid -t --tid -C --cpu -G --cgroup -c --comm -u --uid -x --exclude-self
		--no-kthreads --follow --syscall
		-b --by --depth -s --sort -T --top -F --full -f --format --max-series -o --output --listen
		--name --since-start --json-schema -v --verbose -V --version -h --help --" -- "$cur")
}

complete -o default -F _utilbpf utilbpf
