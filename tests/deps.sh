#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Installs those of the named Debian or Ubuntu packages that are missing. Nothing missing: does
# nothing and asks no server. Needs root otherwise.
set -eu

missing=
need() {
	[ "$1" = linux-perf ] && command -v perf >/dev/null 2>&1 && return 0
	dpkg-query -W -f '${Status}\n' "$1" 2>/dev/null | grep -q 'install ok installed'
}

for p in "$@"; do
	need "$p" || missing="$missing $p"
done
# Debian packages bpftool and perf by themselves, Ubuntu in linux-tools-common.
[ -x /usr/sbin/bpftool ] || command -v bpftool >/dev/null 2>&1 || missing="$missing bpftool"
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null 2>&1; then
	echo "deps: this is not Debian or Ubuntu; install the likes of:$missing" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "deps: not root; run: sudo apt-get install$missing" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
echo "deps: installing$missing"
apt-get update -qq
# What a release does not have must not keep the others away: tests that need it say so.
there() {
	apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'
}
have=
for p in $missing; do
	if there "$p"; then
		have="$have $p"
	elif [ "$p" = bpftool ] || [ "$p" = linux-perf ]; then
		have="$have linux-tools-common linux-tools-generic"
	else
		echo "deps: there is no package $p here"
	fi
done
# shellcheck disable=SC2086 # a list
apt-get install -y -qq --no-install-recommends $have >/dev/null
