#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Every test, one after the other; the last lines say again what failed, and sum up; the very last one
# names it all. Exit status 1 when anything failed.
# `make check` calls it, with everything installed and ./utilbpf built.
set -u
cd "$(dirname "$0")/.." || exit 1

passed=0 failed=0 skipped=0 what=
# Of itself it is on from gcc 13 on.
export ASAN_OPTIONS="detect_stack_use_after_return=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# Said again at the end, where it is found.
remember() {
	what="$what
FAIL $1"
}

# One test that is a command: check NAME COMMAND... With status 77 its last line says why it cannot run.
check() {
	name=$1
	shift
	("$@") >"$log" 2>&1
	status=$?
	if [ $status -eq 0 ]; then
		echo "ok $name"
		passed=$((passed + 1))
	elif [ $status -eq 77 ]; then
		echo "skip $name: $(tail -n 1 "$log")"
		skipped=$((skipped + 1))
	else
		cat "$log"
		echo "FAIL $name"
		remember "$name: $(tail -n 3 "$log")"
		failed=$((failed + 1))
	fi
}

# A program that ends with its own "N passed, N failed, N skipped".
suite() {
	name=$1
	shift
	echo "== $name"
	"$@" 2>&1 | tee "$log"
	line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
	if [ -z "$line" ]; then
		echo "FAIL $name: it did not come to its end"
		remember "$name: it did not come to its end: $(tail -n 3 "$log")"
		failed=$((failed + 1))
		return
	fi
	n=$(sed -n "s/^FAIL //p" "$log")
	[ -z "$n" ] || remember "$name: $n"
	passed=$((passed + $(echo "$line" | sed 's/ passed.*//')))
	failed=$((failed + $(echo "$line" | sed 's/.*passed, \([0-9]*\) failed.*/\1/')))
	n=$(echo "$line" | sed -n 's/.*, \([0-9]*\) skipped.*/\1/p')
	skipped=$((skipped + ${n:-0}))
}

# A cmocka program: its lines are counted one by one.
cmocka() {
	echo "== $1"
	"$1" >"$log" 2>&1
	status=$?
	ok=$(grep -c '^\[       OK \]' "$log")
	# Their names come again in the list at the end.
	bad=$(grep -E '^\[  FAILED  \] [^ ]+$' "$log" | sort -u | wc -l)
	no=$(grep -E '^\[  SKIPPED \] [^ ]+$' "$log" | sort -u | wc -l)
	if [ $status -ne 0 ]; then
		cat "$log"
		remember "$1: $(grep -aE '^\[  (FAILED|ERROR)' "$log" || tail -n 3 "$log")"
		[ "$bad" -gt 0 ] || bad=1
	else
		bad=0
		grep -iE 'skip' "$log"
		tail -n 2 "$log"
	fi
	passed=$((passed + ok))
	failed=$((failed + bad))
	skipped=$((skipped + no))
}

sources() {
	git ls-files 'bpf/*.[ch]' 'user/*.[ch]' 'vmlinux/*.h' 'tests/*.[ch]'
}

# Programs that another compiler has made do the same: what one of them may do with the source, not
# all do.
newest_clang() {
	needs clang-19
	make -s -j"$(nproc)" B=.build/clang-19 CLANG=clang-19 .build/clang-19/utilbpf \
		.build/clang-19/test/test_script
}

needs() {
	command -v "$1" >/dev/null && return
	echo "there is no $1 here"
	exit 77
}

format() {
	needs clang-format-14
	# shellcheck disable=SC2046 # a list
	clang-format-14 --dry-run -Werror $(sources)
}

clang_build() {
	for f in user/*.c; do
		clang -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Iuser -I.build \
			-fsyntax-only "$f" || return 1
	done
}

# Mistakes that compilers do not look for; which ones is told in .clang-tidy.
tidy() {
	needs clang-tidy-14
	clang-tidy-14 --quiet user/*.c -- -std=gnu11 -D_GNU_SOURCE -Iuser -I.build
}

# shiftTooManyBitsSigned: of negative numbers, which gcc and clang define. ctuuninitvar: does not see
# what a function that is called fills in.
cpp_check() {
	cppcheck --quiet --error-exitcode=1 --enable=warning,portability --inline-suppr --std=c11 \
		--suppress=shiftTooManyBitsSigned --suppress=ctuuninitvar -D_GNU_SOURCE -DUTILBPF_VERSION='""' -Iuser \
		'-DLIBBPF_OPTS(TYPE,NAME,...)=struct TYPE NAME = {__VA_ARGS__}' user
}

# A short live run by the perf engine, and both kinds of report: no memory is used that is not set,
# none is lost. (By the BPF engine it takes a minute, and is as clean.) valgrind does not know the
# system call by which the program mounts tracefs for itself.
under_valgrind() {
	./utilbpf --engine perf -d 0.01 -b system >/dev/null || return 77
	for f in text json; do
		tests/mounted.sh tracefs valgrind -q --error-exitcode=9 --leak-check=full \
			--errors-for-leak-kinds=definite,indirect \
			./utilbpf --engine perf -d 0.3 -f $f >/dev/null || return 1
	done
}

# The programs for JITs that lack the 32-bit operations, powerpc's among them.
bpf_v2() {
	make -s B=.build/v2 BPF_CPU=v2 .build/v2/utilbpf.bpf.o
}

# Other compilers, Ubuntu's among them, keep more on the stack.
stack_of() {
	needs "$1"
	make -s CLANG="$1" B=".build/$1" ".build/$1/utilbpf.bpf.o" &&
		tests/bpf/stack.py ".build/$1/utilbpf.bpf.o"
}

check "format of the sources" format
# shellcheck disable=SC2046 # a list
check "shellcheck" shellcheck .ci/run $(git ls-files '*.sh')
check "shellcheck of the completion" shellcheck -s bash user/dist/utilbpf.bash
check "clang builds it without a warning" clang_build
check "the BPF object builds for -mcpu=v2" bpf_v2
for c in clang clang-16 clang-19; do
	check "the stack of the BPF programs by $c" stack_of $c
	tail -n 1 "$log"
done
check "clang-tidy" tidy
check "cppcheck" cpp_check
check "test programs" make -j"$(nproc)" unit-programs live-programs
for t in .build/san/test_* .build/test/test_*; do
	case $t in
	*.d | *.o) continue ;;
	esac
	[ -x "$t" ] && cmocka "$t"
done
check "the programs built by clang-19" newest_clang
newest=.build/clang-19/utilbpf
[ $status -eq 0 ] || newest=
[ -z "$newest" ] || cmocka .build/clang-19/test/test_script
suite "what is installed beside the program" python3 tests/dist/check.py
# A minute in all; a moment each where the live tests are left out as well.
suite "recordings" python3 tests/file/run.py
suite "fuzz" tests/fuzz/run.sh "${NOLIVE:+2}"
check "coverage of the state machine" python3 tests/coverage.py
grep '%' "$log"
if [ -n "${NOLIVE:-}" ]; then
	echo "skip live: NOLIVE is set"
	skipped=$((skipped + 1))
else
	check "valgrind" under_valgrind
	suite "live" python3 tests/live/run.py
	[ -z "$newest" ] || suite "live, programs built by clang-19" env TEST_TOOL="$newest" python3 tests/live/run.py
	suite "serve" python3 tests/live/serve.py
	suite "hostile conditions" python3 tests/live/hostile.py
	suite "live, perf engine" python3 tests/live/perf.py
fi

echo "$what"
echo "$passed passed, $failed failed, $skipped skipped"
# Where only the last lines of a long run are kept, one line must do.
[ "$failed" -eq 0 ] || echo "$what" | cut -c 1-160 | paste -s -d ';'
[ "$failed" -eq 0 ]
