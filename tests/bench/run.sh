#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The measurements that README quotes, and the budgets that they must keep: see run.py, ring.py,
# offline.py, peers.py and cpus.py.
set -eu
cd "$(dirname "$0")/../.."
if [ "$(id -u)" != 0 ]; then
	echo "bench: not root: it attaches BPF programs" >&2
	exit 1
fi
make bench-programs
status=0
[ $# -gt 0 ] || python3 tests/bench/ring.py || status=1
[ $# -gt 0 ] || python3 tests/bench/offline.py || status=1
[ $# -gt 0 ] || python3 tests/bench/peers.py || status=1
[ $# -gt 0 ] || python3 tests/bench/cpus.py || status=1
python3 tests/bench/run.py "$@" || status=1
exit $status
