#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How much of the state machine the tests on the host run: bpf/acct.h and bpf/flow.h, by line.

The tests of the event scripts and of feed.c, built once more for gcov. Prints the share of each
header and the lines that no test runs; exit status 1 when a share is below its least.
"""
import collections
import glob
import json
import os
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DIR = ".build/cov"
TESTS = ["test_acct", "test_feed"]
LEAST = {"bpf/acct.h": 95.0, "bpf/flow.h": 90.0} # per cent


def main():
    tests = [t for t in TESTS if os.path.exists("tests/unit/%s.c" % t)]
    for old in glob.glob(DIR + "/*.gcda"):
        os.unlink(old)
    subprocess.run(["make", "-s", "-j2", "SD=" + DIR, "SAN_FLAGS=--coverage"] +
                   ["%s/%s" % (DIR, t) for t in tests], check=True, stdout=subprocess.DEVNULL)
    for t in tests:
        subprocess.run(["%s/%s" % (DIR, t)], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    lines = collections.defaultdict(dict)
    for data in sorted(glob.glob(DIR + "/*.gcda")):
        out = subprocess.run(["gcov", "--json-format", "--stdout", data], check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        for part in out.splitlines():
            for f in json.loads(part)["files"]:
                name = os.path.relpath(os.path.normpath(os.path.join(TOP, f["file"])), TOP)
                for line in f["lines"]:
                    n = line["line_number"]
                    lines[name][n] = lines[name].get(n, 0) + line["count"]
    bad = 0
    for h, least in LEAST.items():
        ran = sum(1 for n in lines[h].values() if n)
        share = 100.0 * ran / max(len(lines[h]), 1)
        missed = " ".join(str(n) for n, c in sorted(lines[h].items()) if not c)
        print("%s: %.1f %% of %d lines are run by the host's tests%s" % (
            h, share, len(lines[h]), "; not " + missed if missed else ""))
        bad |= share < least
    return bad


if __name__ == "__main__":
    os.chdir(TOP)
    sys.exit(main())
