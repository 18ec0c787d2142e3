#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What utilbpf costs beside its peers: one table, measured in one run, and how its cost grows.

Every round visits every tool, and the least of all rounds counts: what disturbs a measurement only
ever adds to it. "added" is what a load takes more with a tool than with none, "slowdown" how many
times as long a whole workload takes.
"""
import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

import run as bench
from run import FLOOR, UTILBPF, LOAD_CPU, CPUS, Skip

# What is told of a load: its title, and whether ns are added or a workload is slowed down.
LOADS = {
    "syscall_loop": ("call", "added"), "pingpong": ("switch", "added"),
    "fork_exit": ("fork+exit", "added"), "packets": ("packet", "added"),
    "messages": ("messages", "slowdown"), "web": ("web", "slowdown"),
    "compile": ("compile", "slowdown"),
}
COMPILED = ["user/escape.c", "user/table.c", "user/merge.c", "user/report.c"]
TRACEPOINTS = ["raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "sched:sched_switch",
               "sched:sched_wakeup", "sched:sched_process_fork", "sched:sched_process_exit",
               "irq:irq_handler_entry", "irq:irq_handler_exit", "irq:softirq_entry",
               "irq:softirq_exit"]
BPFTRACE = """tracepoint:raw_syscalls:sys_enter { @s[tid] = nsecs; @n[tid] = args->id; }
tracepoint:raw_syscalls:sys_exit /@s[tid]/ {
@[comm, pid, @n[tid]] = stats(nsecs - @s[tid]); delete(@s[tid]); delete(@n[tid]); }"""
GROW_THREADS = (1, 1000, 10000, 50000)
GROW_REPORTS = 4
GROW_KINDS = (1, 4, 16, 64, 400)


# ---- the tools ----

class Peer:
    """argv runs beside the loads; a wrap is a command that a load is run by."""

    def __init__(self, name, argv=None, ready=bench.settled, wrap=None):
        self.name, self.argv, self.ready, self.wrap = name, argv, ready, wrap
        self.least, self.memory, self.skipped = {}, {}, None
        program = (argv or wrap or [None])[0]
        if program and not shutil.which(program):
            self.skipped = f"{program} is not installed"


def awhile(p):
    """For tools that never rest, for they read what happens: they are long since ready after that."""
    time.sleep(2.5)
    if p.poll() is not None:
        raise Skip(f"it ended with status {p.returncode}")


def bcc(name):
    """A tool of libbpf-tools, which Debian does not install as python's bcc is."""
    return shutil.which(name, path="/usr/sbin:/usr/bin:/usr/share/bcc/libbpf-tools") or name


def peers(tmp):
    # The first report, after a quarter second, tells that the window is open.
    util = [UTILBPF, "-i", "0.25", "-f", "json", "--by", "system", "-e"]
    record = ["perf", "record", "-q", "-a", "-o", os.path.join(tmp, "perf.data")]
    for tp in TRACEPOINTS:
        record += ["-e", tp]
    return [
        Peer("nothing"),
        Peer("empty BPF programs", [FLOOR, "empty"], bench.first_line),
        Peer("clock only: the floor", [FLOOR, "clock"], bench.first_line),
        Peer("utilbpf -e sched", util + ["sched"], bench.first_line),
        Peer("utilbpf -e syscalls", util + ["syscalls"], bench.first_line),
        Peer("utilbpf -e irqs,softirqs", util + ["irqs,softirqs"], bench.first_line),
        Peer("utilbpf, all classes", util + ["all"], bench.first_line),
        Peer("utilbpf --engine perf", util + ["all", "--engine", "perf"], bench.first_line),
        Peer("syscount -L -P", [bcc("syscount"), "-L", "-P", "-i", "100000"]),
        Peer("runqlat -P", [bcc("runqlat"), "-P", "100000"]),
        Peer("hardirqs", [bcc("hardirqs"), "100000"]),
        Peer("softirqs", [bcc("softirqs"), "100000"]),
        Peer("cpudist -P", [bcc("cpudist"), "-P", "100000"]),
        Peer("bpftrace, calls' stats", ["bpftrace", "-e", BPFTRACE], awhile),
        Peer("perf record, all events", record, awhile),
        Peer("perf trace -s", ["perf", "trace", "-a", "-s", "-o", os.path.join(tmp, "trace")],
             awhile),
        Peer("strace -c -f", wrap=["strace", "-c", "-f", "-o", "/dev/null"]),
    ]


# ---- memory ----

def fd_memory(pid):
    """Bytes of the maps and programs that a process holds."""
    total, seen = 0, set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
                info = dict(line.split(":", 1) for line in f if ":" in line)
        except OSError:
            continue
        ident = ("map", info.get("map_id")) if "map_id" in info else ("prog", info.get("prog_id"))
        if "memlock" in info and ident not in seen:
            seen.add(ident)
            total += int(info["memlock"])
    return total


def ring_bytes(pid):
    total = 0
    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as f:
        for line in f:
            if "[perf_event]" in line:
                low, high = line.split()[0].split("-")
                total += int(high, 16) - int(low, 16)
    return total


def memory(pid):
    """What a tool holds: anonymous memory of its own, in BPF, and in rings."""
    return {"anon_mib": bench.status_kib(pid, "RssAnon") / 1024,
            "bpf_mib": fd_memory(pid) / 2**20, "rings_mib": ring_bytes(pid) / 2**20}


# ---- loads ----

def compile_once(wrap):
    """ns that it takes to compile a few files of the program, one after the other."""
    start = time.perf_counter_ns()
    for src in COMPILED:
        subprocess.run(wrap + ["gcc", "-std=gnu11", "-O2", "-D_GNU_SOURCE", "-Iuser", "-c", "-o",
                               "/dev/null", src], check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter_ns() - start


def load_once(load, seconds, wrap):
    if load == "compile":
        return compile_once(wrap)
    out = subprocess.run(wrap + [bench.BENCH, load, str(LOAD_CPU), str(seconds)], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return float(out.stdout)


def measure(peer, loads, seconds):
    p = None
    try:
        if peer.argv:
            p = bench.spawn(peer.argv)
            peer.ready(p)
            peer.memory = memory(p.pid)
        for load in loads:
            ns = load_once(load, seconds, peer.wrap or [])
            peer.least[load] = min(ns, peer.least.get(load, ns))
        if p and p.poll() is not None:
            raise Skip(f"it ended early, with status {p.returncode}")
    except Skip as why:
        peer.skipped = str(why)
    except subprocess.CalledProcessError as e:
        peer.skipped = f"{' '.join(e.cmd[:2])} ended with status {e.returncode}"
    finally:
        if p:
            bench.stop(p)


def rounds(all_peers, loads, n, seconds):
    for i in range(n):
        for peer in all_peers:
            if not peer.skipped:
                measure(peer, loads, seconds)
        if sys.stderr.isatty():
            print(f"\rbench: peers, round {i + 1} of {n} ", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)


# ---- the table ----

def row_of(peer, nothing):
    row = {"tool": peer.name, "skipped": peer.skipped, "memory": peer.memory, "least_ns": peer.least}
    for load, (_, kind) in LOADS.items():
        a, b = peer.least.get(load), nothing.least.get(load)
        if a is None or b is None or peer is nothing:
            row[load] = None
        else:
            row[load] = a - b if kind == "added" else a / b
    return row


def figure(v, kind):
    if v is None:
        return "-"
    return f"{v:.2f}x" if kind == "slowdown" else f"{v:.0f}"


def print_table(rows):
    heads = [f"{title:>10}" for title, _ in LOADS.values()]
    print(f"{'ns added, or times as long':<26}" + "".join(heads) + f"{'own MiB':>9}{'kernel':>8}")
    for r in rows:
        if r["skipped"]:
            print(f"{r['tool']:<26}  skipped: {r['skipped']}")
            continue
        cells = [f"{figure(r[load], kind):>10}" for load, (_, kind) in LOADS.items()]
        mem = r["memory"]
        if mem:
            cells += [f"{mem['anon_mib']:>9.1f}", f"{mem['bpf_mib'] + mem['rings_mib']:>8.1f}"]
        print(f"{r['tool']:<26}" + "".join(cells))
    base = next(r for r in rows if r["tool"] == "nothing")["least_ns"]
    print("with nothing, ns: " + ", ".join(f"{LOADS[k][0]} {v:.0f}" for k, v in base.items()))


# ---- growth ----

def grow_kinds(n, seconds):
    """ns added to a call, by how many kinds of calls its task makes in turn."""
    least = {}
    for _ in range(n):
        for tool in ("nothing", "all"):
            p = None
            if tool == "all":
                p = bench.spawn([UTILBPF, "-i", "0.25", "-f", "json", "--by", "system"])
                bench.first_line(p)
            for k in GROW_KINDS:
                ns = load_once(f"kinds:{k}", seconds, [])
                least[tool, k] = min(ns, least.get((tool, k), ns))
            if p:
                bench.stop(p)
    return {k: least["all", k] - least["nothing", k] for k in GROW_KINDS}


def grow_threads():
    """The loader's CPU time for a report, and its memory, by how many threads live."""
    out = {}
    for n in GROW_THREADS:
        got = {}
        try:
            with bench.Sysctl({"threads-max": 2 * n, "pid_max": 2 * n}):
                b = subprocess.Popen([bench.BENCH, "threads", str(n)], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE)
                try:
                    b.stdout.readline()
                    got = reports_with()
                finally:
                    b.communicate()
        except Skip as why:
            got = {"skipped": str(why)}
        out[n] = got
    return out


def reports_with():
    """Of one tool: CPU time for each of some reports, measured from outside."""
    p = bench.spawn([UTILBPF, "-i", "1", "-f", "json", "--by", "process"])
    try:
        bench.first_line(p) # the opening is not counted
        time.sleep(0.5)
        before = bench.cpu_ns(p.pid)
        cost = [json.loads(bench.first_line(p))["cost"] for _ in range(GROW_REPORTS)][-1]
        time.sleep(0.5)
        spent = bench.cpu_ns(p.pid) - before
    finally:
        bench.stop(p)
    return {"report_ms": spent / 1e6 / GROW_REPORTS, "rss_mib": cost["loader_rss_bytes"] / 2**20,
            "maps_mib": cost["map_bytes"] / 2**20}


def print_growth(out):
    print("\nns added to a call, by how many kinds of calls a task makes in turn: " +
          ", ".join(f"{k}: {v:.0f}" for k, v in out["kinds"].items()))
    for n, got in out["threads"].items():
        if "skipped" in got:
            print(f"{n} threads: skipped: {got['skipped']}")
        else:
            print(f"{n} threads: {got['report_ms']:.1f} ms of CPU for a report, "
                  f"{got['rss_mib']:.1f} MiB resident, {got['maps_mib']:.1f} MiB of maps")


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    ap.add_argument("--rounds", type=int, default=5, help="over all tools (default %(default)s)")
    ap.add_argument("--seconds", type=float, default=0.3, help="of each load (default %(default)s)")
    ap.add_argument("--only", help="tools whose name matches this, besides nothing")
    ap.add_argument("--no-growth", action="store_true", help="the table alone")
    ap.add_argument("-o", "--output", default=".build/peers.json", help="JSON (%(default)s)")
    a = ap.parse_args()
    out = {"kernel": platform.release(), "cpus": len(CPUS), "rounds": a.rounds}
    with tempfile.TemporaryDirectory(prefix="utilbpf-bench.") as tmp:
        chosen = [p for p in peers(tmp)
                  if p.name == "nothing" or not a.only or re.search(a.only, p.name)]
        rounds(chosen, list(LOADS), a.rounds, a.seconds)
    out["table"] = [row_of(p, chosen[0]) for p in chosen]
    print_table(out["table"])
    if not a.no_growth:
        out["kinds"] = grow_kinds(a.rounds, a.seconds)
        out["threads"] = grow_threads()
        print_growth(out)
    bench.save(a.output, out)


if __name__ == "__main__":
    bench.start(main)
