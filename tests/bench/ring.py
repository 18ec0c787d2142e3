#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What the perf engine can keep up with, and what it costs the traced program beside perf record.

As in run.py, every round visits every tool and the least of all rounds counts.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
import time

from run import (BENCH, CPUS, LOAD_CPU, TOOL_CPU, UTILBPF, Budgets, Skip, save, spawn, start,
                 stop)

RATE = ".build/bench/rate"
PERF = [UTILBPF, "--engine", "perf"]
EVENTS_PER_S = 500000


def live(rate, seconds):
    """One report over a load of so many events a second; two events are one call."""
    p = spawn(PERF + ["-f", "json", "-b", "system"])
    time.sleep(0.5)
    out = subprocess.run([RATE, str(LOAD_CPU), str(seconds), str(rate / 2)], check=True,
                         stdout=subprocess.PIPE).stdout.split()
    rep = json.loads(stop(p))
    seen = sum(c["count"] for c in rep["system"]["calls"] if c["name"] == "getppid")
    return {"rate": int(out[0]) * 2 / float(out[1]), "calls": int(out[0]), "seen": seen,
            "lost": rep["quality"]["lost_events"], "cpu_ns": rep["cost"]["loader_cpu_ns"],
            "events": rep["cost"]["bpf_runs"], "rss_mib": rep["cost"]["loader_rss_bytes"] / 2**20}


def keeps_up(rounds, seconds):
    rows = []
    for rate in (EVENTS_PER_S, 2 * EVENTS_PER_S):
        for _ in range(rounds):
            r = live(rate, seconds)
            rows.append(r)
            print(f"{r['rate']:9.0f} events/s on one CPU: {r['lost']} lost, {r['seen']} of "
                  f"{r['calls']} calls seen, reader {r['cpu_ns'] / max(r['events'], 1):.0f} ns an "
                  f"event, {r['rss_mib']:.0f} MiB")
    return rows


def event_names(tmp):
    """The events of the perf engine, by the names that perf knows them by."""
    path = os.path.join(tmp, "list.data")
    subprocess.run(PERF + ["--record", path, "-d", "0.05", "-b", "system", "-o", "/dev/null"],
                   check=True)
    out = subprocess.run(["perf", "evlist", "-i", path], check=True, stdout=subprocess.PIPE,
                         cwd=tmp).stdout.decode()
    return [line for line in out.splitlines() if ":" in line and not line.startswith("#")]


def perf_lost(path, tmp):
    """How many LOST records a recording of perf's holds."""
    out = subprocess.run(["perf", "report", "-i", path, "--stats"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=False, cwd=tmp).stdout.decode()
    return sum(int(n) for n in re.findall(r"LOST(?:_SAMPLES)? events: +(\d+)", out))


class Cost:
    """Least ns of a getppid(2) with a tool at work, and whether it has lost events meanwhile."""

    def __init__(self, name, argv, lost):
        self.name, self.argv, self.lost_of = name, argv, lost
        self.ns, self.lost = None, 0

    def measure(self, seconds):
        p = spawn(self.argv) if self.argv else None
        time.sleep(0.7 if p else 0)
        ns = float(subprocess.run([BENCH, "syscall_loop", str(LOAD_CPU), str(seconds)],
                                  check=True, stdout=subprocess.PIPE).stdout)
        if p and p.poll() is not None:
            raise Skip(f"{self.name} ended early: {p.stderr.read().decode().strip()}")
        if p:
            self.lost += self.lost_of(stop(p))
        self.ns = min(ns, self.ns or ns)


def cost(rounds, seconds):
    if not shutil.which("perf"):
        raise Skip("perf is not installed (linux-perf)")
    with tempfile.TemporaryDirectory() as tmp:
        def own(out):
            return json.loads(out)["quality"]["lost_events"]

        def record(*args):
            path = os.path.join(tmp, "perf.data")
            argv = ["perf", "record", "-q", "-a", "-o", path, *args]
            for name in names:
                argv += ["-e", name]
            return argv, lambda _: perf_lost(path, tmp)

        names = event_names(tmp)
        util = PERF + ["-b", "system", "-f", "json"]
        tools = [Cost("nothing", None, None),
                 Cost("utilbpf --engine perf", util, own),
                 Cost("the same, --record", util + ["--record", os.path.join(tmp, "u.data")], own),
                 Cost("perf record", *record()),
                 Cost("perf record -m 4096", *record("-m", "4096"))]
        for _ in range(rounds):
            for t in tools:
                t.measure(seconds)
    base = tools[0].ns
    for t in tools:
        print(f"{t.name:<24}{t.ns:9.1f} ns/call{t.ns - base:9.1f} added"
              f"{', and lost events' if t.lost else ''}")
    return {t.name: {"ns": t.ns, "lost": t.lost} for t in tools}


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    ap.add_argument("--quick", action="store_true", help="few and short rounds: a smoke test")
    ap.add_argument("-o", "--output", default=".build/bench-ring.json", help="JSON (%(default)s)")
    a = ap.parse_args()
    b = Budgets()
    if len(CPUS) < 2:
        raise Skip("one CPU: the reader needs another than the load")
    rows = keeps_up(1 if a.quick else 3, 1 if a.quick else 3)
    at_rate = [r for r in rows if r["rate"] < 1.5 * EVENTS_PER_S]
    b.check(f"events lost at {EVENTS_PER_S} a second on CPU {LOAD_CPU}, reader on {TOOL_CPU}",
            max(r["lost"] for r in at_rate), 0, "events")
    b.check("calls not seen at that rate", max(r["calls"] - r["seen"] for r in at_rate), 0, "calls")
    why, got = None, {}
    try:
        got = cost(2 if a.quick else 5, 0.2 if a.quick else 0.3)
    except Skip as e:
        why = str(e)
    # What is dropped costs less than what is kept: only those count that have kept all.
    fair = [v["ns"] for k, v in got.items() if k.startswith("perf") and not v["lost"]]
    ours = got.get("utilbpf --engine perf")
    ratio = None
    if got and fair and not ours["lost"]:
        base = got["nothing"]["ns"]
        ratio = (ours["ns"] - base) / (min(fair) - base)
    elif got:
        why = "events were lost"
    b.check("system call, added, to perf record's that loses nothing", ratio, 1, "x", why)
    save(a.output, {"live": rows, "cost": got, "budgets": b.all})
    return 1 if b.missed() else 0


if __name__ == "__main__":
    start(main)
