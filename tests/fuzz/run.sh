#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# tests/fuzz/run.sh [SECONDS]: each fuzz target for so long (default: a minute for all), from its seed
# corpus and what earlier runs have found. A finding stays in .build/fuzz/ as crash-*, and its line says how to see it.
set -u
cd "$(dirname "$0")/../.." || exit 1
make -s fuzz-programs || exit 1
ok=0 bad=0
set -- "${1:-}" tests/fuzz/fuzz_*.c
seconds=${1:-$((60 / ($# - 1)))}
shift
for t in "$@"; do
	name=$(basename "$t" .c)
	corpus=.build/fuzz/corpus/${name#fuzz_}
	mkdir -p "$corpus"
	if out=$(".build/fuzz/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 \
		-max_len=65536 -print_final_stats=1 -artifact_prefix=".build/fuzz/$name-" \
		"$corpus" "tests/fuzz/corpus/${name#fuzz_}" 2>&1); then
		ok=$((ok + 1))
		echo "ok $name: $(echo "$out" | sed -n 's/^stat::number_of_executed_units: *//p') runs"
	else
		bad=$((bad + 1))
		echo "$out" | tail -n 40
		echo "FAIL $name"
	fi
done
echo "$ok passed, $bad failed"
[ "$bad" -eq 0 ]
