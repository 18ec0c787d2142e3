#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# mounted.sh bpf|tracefs COMMAND...: runs it where that file system is mounted in its usual place.
# Where nobody has done that, it is done in a mount namespace that ends with COMMAND; where it cannot
# be done, COMMAND runs without, and says what it lacks.
set -u
fs=$1
shift
case $fs in
bpf) dir=/sys/fs/bpf ;;
tracefs) dir=/sys/kernel/tracing ;;
esac
if grep -q " $dir $fs " /proc/self/mounts || ! unshare -m true 2>/dev/null; then
	exec "$@"
fi
# shellcheck disable=SC2016 # for the inner shell
exec unshare -m sh -c 'mount -t "$0" "$0" "$1"; shift; exec "$@"' "$fs" "$dir" "$@"
