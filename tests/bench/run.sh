#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The measurements that README quotes, and the budgets that they must keep: see run.py --help.
set -eu
cd "$(dirname "$0")/../.."
if [ "$(id -u)" != 0 ]; then
	echo "bench: not root: it attaches BPF programs" >&2
	exit 1
fi
make bench-programs
exec python3 tests/bench/run.py "$@"
