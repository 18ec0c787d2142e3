#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# tests/fuzz/run.sh [SECONDS]: each fuzz target for so long (default: ten seconds), from its seed
# corpus and what earlier runs have found; as many at once as there are CPUs. A finding stays in
# .build/fuzz/ as crash-*, and its line says how to see it.
set -u
cd "$(dirname "$0")/../.." || exit 1

# run.sh --one SECONDS TARGET: prints its verdict in one piece.
if [ "${1:-}" = --one ]; then
	name=$(basename "$3" .c)
	corpus=.build/fuzz/corpus/${name#fuzz_}
	mkdir -p "$corpus"
	if out=$(".build/fuzz/$name" -max_total_time="$2" -timeout=10 -rss_limit_mb=1024 \
		-max_len=65536 -print_final_stats=1 -artifact_prefix=".build/fuzz/$name-" \
		"$corpus" "tests/fuzz/corpus/${name#fuzz_}" 2>&1); then
		out="ok $name: $(echo "$out" | sed -n 's/^stat::number_of_executed_units: *//p') runs"
	else
		out="$(echo "$out" | tail -n 40)
FAIL $name"
	fi
	echo "$out"
	exit 0
fi

make -s fuzz-programs || exit 1
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
printf '%s\n' tests/fuzz/fuzz_*.c | xargs -P "$(nproc)" -n 1 tests/fuzz/run.sh --one "${1:-10}" | tee "$log"
ok=$(grep -c '^ok fuzz_' "$log")
set -- tests/fuzz/fuzz_*.c
echo "$ok passed, $(($# - ok)) failed"
[ "$ok" -eq $# ]
