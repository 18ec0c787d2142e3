#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# prometheus.sh DIR: prints the folder that holds prometheus and promtool; fetches Debian's package
# into DIR when they are not installed. Unpacked, not installed: on a machine with systemd the
# package would start a server that listens on every address.
set -eu

if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
	dirname "$(command -v prometheus)"
	exit 0
fi
dir=$1
mkdir -p "$dir"
cd "$dir"
if [ ! -x usr/bin/promtool ]; then
	command -v apt-get >/dev/null || {
		echo "prometheus: not installed, and no apt-get to fetch it with" >&2
		exit 1
	}
	# as whoever runs this: apt's own user may not write here
	get="apt-get -qq -o APT::Sandbox::User=$(id -un) download prometheus"
	$get >&2 || { apt-get update -qq >&2 && $get >&2; }
	dpkg-deb -x prometheus_*.deb .
	rm -f prometheus_*.deb
fi
echo "$PWD/usr/bin"
