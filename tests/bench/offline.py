#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How fast `utilbpf -r` reads, in how much memory, next to `perf script`: offline.py [--rounds N]

A made recording of a gigabyte, in the page cache, is read on one CPU; the least of the rounds counts.
The peers get one of 200 000 events in the same run: they would take minutes for the other. Exit
status 1 when a budget is missed.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import bigrec # pylint: disable=wrong-import-position

TOOL = os.path.join(HERE, "..", "..", "utilbpf")
EVENTS, PEER_EVENTS = 10000000, 200000
MIN_RATE = 5e6
MAX_MIB = 100
# What a script that adds up system calls does at least: a handler for each event.
HANDLER = """
from collections import Counter
n = Counter()
def trace_unhandled(event_name, context, event_fields_dict, perf_sample_dict):
    n[event_name] += 1
def raw_syscalls__sys_enter(event_name, context, cpu, s, ns, pid, comm, callchain, id, args, *more):
    n[pid, id] += 1
def raw_syscalls__sys_exit(event_name, context, cpu, s, ns, pid, comm, callchain, id, ret, *more):
    n[pid, id] += 1
"""


def once(argv):
    """Wall time in s, CPU time in s and peak memory in MiB of a command."""
    begin = time.monotonic()
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        err = p.stderr.read()
        _, status, use = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        sys.exit("offline: %s failed: %s" % (argv[0], err.decode(errors="replace")[-500:]))
    return time.monotonic() - begin, use.ru_utime + use.ru_stime, use.ru_maxrss / 1024


def least(rounds, argv):
    runs = [once(argv) for _ in range(rounds)]
    return min(r[0] for r in runs), min(r[1] for r in runs), max(r[2] for r in runs)


def show(what, events, size, took):
    print("%-28s %9d %6.0f MB  %8.2f s  %8.2f s  %9.0f /s  %6.0f MiB"
          % (what, events, size / 1e6, took[0], took[1], events / took[1], took[2]), flush=True)


def peers(d, rounds):
    path, script = os.path.join(d, "small"), os.path.join(d, "handler.py")
    n = bigrec.write(path, PEER_EVENTS)
    size = os.path.getsize(path)
    with open(script, "w", encoding="ascii") as f:
        f.write(HANDLER)
    show("utilbpf -r", n, size, least(rounds, [TOOL, "-r", path]))
    if not shutil.which("perf"):
        print("perf script: skipped: there is no perf here (linux-perf has it)")
        return
    show("perf script", n, size, least(rounds, ["perf", "script", "-i", path]))
    try:
        show("perf script -s handler.py", n, size, least(rounds, ["perf", "script", "-i", path, "-s", script]))
    except SystemExit as e:
        print("perf script -s: skipped: this perf has no Python: %s" % e)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rounds", type=int, default=5)
    rounds = ap.parse_args().rounds
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print("%-28s %9s %9s  %10s  %10s  %12s  %10s" % ("", "events", "size", "wall", "CPU", "events/CPU", "memory"))
    with tempfile.TemporaryDirectory(prefix="utilbpf-bench-") as d:
        path = os.path.join(d, "big")
        n = bigrec.write(path, EVENTS)
        took = least(rounds, [TOOL, "-r", path])
        show("utilbpf -r", n, os.path.getsize(path), took)
        os.unlink(path)
        peers(d, max(1, rounds // 2))
    rate = n / took[1]
    print("%s  at least %.0f events a second: %.0f" % ("ok    " if rate >= MIN_RATE else "MISSED", MIN_RATE, rate))
    print("%s  below %d MiB: %.0f" % ("ok    " if took[2] < MAX_MIB else "MISSED", MAX_MIB, took[2]))
    return rate < MIN_RATE or took[2] >= MAX_MIB


if __name__ == "__main__":
    sys.exit(main())
