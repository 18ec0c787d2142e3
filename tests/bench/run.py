#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What utilbpf costs, next to the floor and to a peer, and whether it keeps its budgets.

Times of a virtual machine drift, so every round visits every tool, the least of all rounds counts,
and ratios are taken within one run. Everything is measured from outside of the tool.
"""
import argparse
import fcntl
import http.client
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time

BENCH = ".build/bench/bench"
FLOOR = ".build/bench/floor"
SCRAPE = ".build/bench/scrape"
GROUPS = ".build/bench/groups"
FEED = ".build/bench/feed"
UTILBPF = "./utilbpf"
SWITCHES = ("sys_enter", "sys_exit", "sched_switch", "sched_wakeup")
LOADS = ("syscall_loop", "pipe_pair", "pingpong")

MAX_FLOOR_RATIO = 1.35
MAX_PEER_RATIO = 0.5
MAX_SWITCH_NS = 300
MAX_UNSELECTED_NS = 10  # "a few nanoseconds"
MAX_LOADER_PERCENT = 1.0
MAX_ANON_MIB = 50
MAX_OPEN_S = 0.5
MAX_SCRAPE_MS = 250
MAX_LIVE_SCRAPE_MS = 500
MAX_REPORT_S = 0.25
MAX_FEED_NS = 80

PIPE_BYTES = 1 << 20  # what a tool prints while a load runs must fit in
F_SETPIPE_SZ = 1031

CPUS = sorted(os.sched_getaffinity(0))
LOAD_CPU, TOOL_CPU = CPUS[-1], CPUS[0]


class Skip(Exception):
    """A measurement that cannot be made here; str() says why."""


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


# ---- processes ----

def cpu_ns(pid):
    """CPU time of a process by the kernel's account: in ns where it has that, else in ticks."""
    try:
        with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
            return int(f.read().split()[0])
    except (OSError, IndexError, ValueError):
        pass
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) * 10**9 // os.sysconf("SC_CLK_TCK")


def status_kib(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        for line in f:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    return 0


def start(main):
    """Runs a bench to its end, or until it is ended: what it has raised is restored."""
    if "UTILBPF_BENCH_MOUNTED" not in os.environ: # for `start`; peers do not mount tracefs themselves
        os.environ["UTILBPF_BENCH_MOUNTED"] = "bpf tracefs"
        mounted = "tests/mounted.sh"
        os.execv(mounted, [mounted, "bpf", mounted, "tracefs", sys.executable] + sys.argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except Skip as reason:
        print(f"bench: {reason}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def save(path, out):
    with open(path, "w", encoding="ascii") as f:
        json.dump(out, f, indent=1)
        f.write("\n")


def spawn(argv, pin=True):
    def prepare():
        if pin:
            os.sched_setaffinity(0, {TOOL_CPU})
    # pylint: disable=subprocess-popen-preexec-fn
    p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, preexec_fn=prepare)
    fcntl.fcntl(p.stdout, F_SETPIPE_SZ, PIPE_BYTES)
    return p


def stop(p):
    """Ends a tool that we started; returns what else it printed."""
    if p.poll() is None:
        p.send_signal(signal.SIGINT)
    try:
        return p.communicate(timeout=10)[0]
    except subprocess.TimeoutExpired:
        p.kill()
        return p.communicate()[0]


def first_line(p):
    line = p.stdout.readline()
    if not line:
        err = p.stderr.read().decode(errors="replace").strip().splitlines()
        stop(p)
        raise Skip(err[-1] if err else "it printed nothing")
    return line


def settled(p, limit=10):
    """Waits until a tool that does not tell when it is ready has stopped to use the CPU."""
    end, before, quiet = now() + limit, -1, 0
    while quiet < 4:
        time.sleep(0.1)
        if p.poll() is not None:
            raise Skip(f"it ended with status {p.returncode}")
        spent = cpu_ns(p.pid)
        quiet = quiet + 1 if spent == before else 0
        before = spent
        if now() > end:
            raise Skip("it does not come to rest")


# ---- the tools ----

class Tool:
    def __init__(self, name, argv=None, ready=None, need=None):
        self.name, self.argv, self.ready = name, argv, ready
        self.least = {}
        self.skipped = None
        if need and not shutil.which(need):
            self.skipped = f"{need} is not installed"

    def measure(self, seconds):
        if self.skipped:
            return
        p = None
        try:
            if self.argv:
                p = spawn(self.argv)
                self.ready(p)
            for load in LOADS:
                ns = float(subprocess.run([BENCH, load, str(LOAD_CPU), str(seconds)], check=True,
                                          stdout=subprocess.PIPE).stdout)
                self.least[load] = min(ns, self.least.get(load, ns))
            if p and p.poll() is not None:
                raise Skip(f"it ended early, with status {p.returncode}")
        except Skip as why:
            self.skipped = str(why)
        finally:
            if p:
                stop(p)


def tools():
    # A report every quarter second tells that the window is open; its cost is on another CPU.
    util = [UTILBPF, "-i", "0.25", "-f", "json", "--by", "system", "-e"]
    syscount = shutil.which("syscount", path="/usr/sbin:/usr/bin:/usr/share/bcc/libbpf-tools")
    return {
        "nothing": Tool("nothing"),
        "empty": Tool("two empty tp_btf programs", [FLOOR, "empty", "sys_enter", "sys_exit"], first_line),
        "floor": Tool("the same, reading the clock: the floor", [FLOOR, "clock", "sys_enter", "sys_exit"], first_line),
        "find": Tool("the floor, and finding CPU and task", [FLOOR, "find", "sys_enter", "sys_exit"], first_line),
        "floor_all": Tool("the same on switch and wakeup, too", [FLOOR, "clock", *SWITCHES], first_line),
        "sched": Tool("utilbpf -e sched", util + ["sched"], first_line),
        "syscalls": Tool("utilbpf -e syscalls", util + ["syscalls"], first_line),
        "all": Tool("utilbpf, all classes", util + ["all"], first_line),
        # Of this program alone: what the loads do is not selected.
        "unselected": Tool("the same of somebody else: -p PID", util + ["all", "-p", str(os.getpid())],
                           first_line),
        "syscount": Tool("libbpf-tools syscount -L -P",
                         [syscount or "syscount", "-L", "-P", "-i", "100000"], settled,
                         need=syscount or "syscount"),
    }


def hot_paths(rounds, seconds):
    t = tools()
    for i in range(rounds):
        for tool in t.values():
            tool.measure(seconds)
        if sys.stderr.isatty():
            print(f"\rbench: round {i + 1} of {rounds} ", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return t


def added(t, tool, load):
    if load not in t[tool].least or load not in t["nothing"].least:
        return None
    return t[tool].least[load] - t["nothing"].least[load]


def ratio(a, b):
    return a / b if a is not None and b is not None and b > 0 else None


def cell(v, digits=1, width=9):
    return f"{'-' if v is None else format(v, f'.{digits}f'):>{width}}"


def print_table(t):
    print(f"{'':<40}{'ns/call':>9}{'added':>9}{'/floor':>8}{'/sysc.':>8}"
          f"{'pair +':>9}{'switch':>9}{'switch +':>9}{'- calls':>9}")
    rows = []
    for key, tool in t.items():
        call, pair, sw = (added(t, key, load) for load in LOADS)
        row = {
            "tool": tool.name, "skipped": tool.skipped, "call_ns": tool.least.get("syscall_loop"),
            "call_added_ns": call, "to_floor": ratio(call, added(t, "floor", "syscall_loop")),
            "to_syscount": ratio(call, added(t, "syscount", "syscall_loop")),
            "pair_added_ns": pair, "switch_ns": tool.least.get("pingpong"), "switch_added_ns": sw,
            "switch_less_calls_ns": None if sw is None or pair is None else sw - pair,
        }
        rows.append(row)
        if tool.skipped:
            print(f"{tool.name:<40}  skipped: {tool.skipped}")
            continue
        print(f"{tool.name:<40}" + cell(row["call_ns"]) + cell(call) +
              cell(row["to_floor"], 2, 8) + cell(row["to_syscount"], 2, 8) + cell(pair) +
              cell(row["switch_ns"]) + cell(sw) + cell(row["switch_less_calls_ns"]))
    return rows


# ---- from exec to the open window ----

def open_times(n):
    """Seconds from just before the spawn to window.start_ns, ascending."""
    times = []
    for _ in range(n):
        start = now()
        p = spawn([UTILBPF, "-d", "0.1", "-f", "json", "--by", "system"], pin=False)
        line = first_line(p)
        stop(p)
        times.append(json.loads(line)["window"]["start_ns"] / 1e9 - start)
    return sorted(times)


# ---- many threads ----

class Sysctl:
    """Raises kernel limits for as long as the context lasts, where that is allowed."""

    def __init__(self, least):
        self.least, self.old = least, {}

    def __enter__(self):
        for name, value in self.least.items():
            path = "/proc/sys/kernel/" + name
            try:
                with open(path, encoding="ascii") as f:
                    have = int(f.read())
                if have < value:
                    with open(path, "w", encoding="ascii") as f:
                        f.write(str(value))
                    self.old[path] = have
            except OSError as e:
                self.__exit__()
                raise Skip(f"kernel.{name} cannot be raised to {value}: {e.strerror}") from e
        return self

    def __exit__(self, *exc):
        for path, value in self.old.items():
            with open(path, "w", encoding="ascii") as f:
                f.write(str(value))


def live_threads():
    with open("/proc/loadavg", encoding="ascii") as f:
        return int(f.read().split()[3].split("/")[1])


def watch(fmt, windows):
    """CPU and memory of a loader that reports every second, without its first window."""
    argv = [UTILBPF, "-i", "1", "-f", fmt, "--by", "process"]
    start = now()
    p = spawn(argv + (["-o", "/dev/null"] if fmt == "text" else []), pin=False)
    reports = []
    try:
        if fmt == "json":
            reports.append(json.loads(first_line(p)))
            time.sleep(0.5)
        else:
            time.sleep(4)
        cpu, t = cpu_ns(p.pid), now()
        if fmt == "json":
            reports += [json.loads(first_line(p)) for _ in range(windows)]
            time.sleep(0.5)
        else:
            time.sleep(windows)
        cpu, t = cpu_ns(p.pid) - cpu, now() - t
        got = {"percent": cpu / 1e7 / t, "anon_mib": status_kib(p.pid, "RssAnon") / 1024,
               "rss_mib": status_kib(p.pid, "VmRSS") / 1024}
    finally:
        stop(p)
    if reports:
        own = [r["cost"]["loader_cpu_ns"] for r in reports[1:]]
        got["own_percent"] = sum(own) / len(own) / 1e7
        got["tasks"] = reports[-1]["system"]["tasks"]
        got["processes"] = max(r["system"]["processes"] for r in reports)
        got["map_mib"] = reports[-1]["cost"]["map_bytes"] / 2**20
        got["open_s"] = reports[0]["window"]["start_ns"] / 1e9 - start
    return got


def resident(windows):
    """Seconds and memory of `utilbpf report`, from exec to its end: medians over some windows."""
    name = ["--name", f"bench-{os.getpid()}"]
    subprocess.run([UTILBPF, "start"] + name, check=True)
    got = {}
    try:
        for fmt in ("json", "text"):
            runs = []
            for _ in range(windows):
                time.sleep(0.3)
                start = now()
                p = subprocess.Popen([UTILBPF, "report", "-f", fmt, "--by", "process", "-o",
                                      "/dev/null"] + name)
                _, status, used = os.wait4(p.pid, 0)
                p.returncode = os.waitstatus_to_exitcode(status)
                if p.returncode:
                    raise Skip(f"report ended with status {p.returncode}")
                runs.append((now() - start, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024))
            for i, key in enumerate(("s", "cpu_s", "rss_mib")):
                got[f"{fmt}_{key}"] = sorted(r[i] for r in runs)[len(runs) // 2]
    finally:
        subprocess.run([UTILBPF, "stop"] + name, check=True)
    return got


def many_threads(n, windows):
    want = live_threads() + n + 1024
    with Sysctl({"pid_max": want + 2048, "threads-max": want}):
        p = spawn([BENCH, "threads", str(n)], pin=False)
        try:
            first_line(p)
            got = {"threads": n, "json": watch("json", windows), "text": watch("text", windows),
                   "resident": resident(windows)}
            if got["json"]["tasks"] < n:
                raise Skip(f"only {got['json']['tasks']} tasks are in the report")
            return got
        finally:
            p.stdin.close()
            p.wait(60)


# ---- budgets ----

class Budgets:
    def __init__(self):
        self.all = []

    def check(self, what, value, limit, unit, skipped=None):
        verdict = "SKIP" if value is None else "PASS" if value <= limit else "MISS"
        self.all.append({"budget": what, "value": value, "limit": limit, "unit": unit,
                         "verdict": verdict, "skipped": skipped})
        said = skipped or "not measured" if value is None else f"{value:.3g} {unit}"
        print(f"{verdict}  {what}: {said} (at most {limit:g} {unit})")

    def missed(self):
        return any(b["verdict"] == "MISS" for b in self.all)


def check_hot(b, t, rows):
    row = rows[list(t).index("all")]
    why = t["all"].skipped
    b.check("system call, added, to the floor's", row["to_floor"], MAX_FLOOR_RATIO, "x",
            why or t["floor"].skipped)
    b.check("system call, added, to syscount's", row["to_syscount"], MAX_PEER_RATIO, "x",
            why or t["syscount"].skipped)
    b.check("context switch, added, without its read + write", row["switch_less_calls_ns"],
            MAX_SWITCH_NS, "ns", why)
    empty, skipped = added(t, "empty", "syscall_loop"), added(t, "unselected", "syscall_loop")
    b.check("event of a system call that is not selected, beyond an empty program's",
            None if empty is None or skipped is None else (skipped - empty) / 2, MAX_UNSELECTED_NS,
            "ns", t["unselected"].skipped)
    floor = rows[list(t).index("floor_all")]["switch_less_calls_ns"]
    times = ratio(row["switch_less_calls_ns"], floor)
    if times is not None:
        print(f"      of which {floor:.0f} ns are programs on those tracepoints that only read the "
              f"clock: {times:.2f} x that floor")


def check_threads(b, n, windows):
    json_run = text_run = resident_run = {}
    why = None
    try:
        got = many_threads(n, windows)
        json_run, text_run = got["json"], got["text"]
        print(f"\n{n} threads: tables {json_run['map_mib']:.0f} MiB; json: loader "
              f"{json_run['percent']:.2f} % of a CPU ({json_run['own_percent']:.2f} % by its own "
              f"report), anonymous {json_run['anon_mib']:.1f} MiB, open "
              f"{json_run['open_s']:.3f} s; text: {text_run['percent']:.2f} %, anonymous "
              f"{text_run['anon_mib']:.1f} MiB; at most {json_run['processes']} processes a report")
        r = resident_run = got["resident"]
        print(f"utilbpf report, {n} threads, by process: json {r['json_s']:.3f} s, of it "
              f"{r['json_cpu_s']:.3f} s CPU, {r['json_rss_mib']:.0f} MiB at most (the mapped tables "
              f"included); text {r['text_s']:.3f} s, {r['text_cpu_s']:.3f} s CPU")
    except Skip as e:
        got, why = {"threads": n, "skipped": str(e)}, str(e)
    b.check(f"loader's CPU, {n} threads, -i 1, json", json_run.get("percent"),
            MAX_LOADER_PERCENT, "%", why)
    b.check(f"loader's CPU, {n} threads, -i 1, text", text_run.get("percent"),
            MAX_LOADER_PERCENT, "%", why)
    b.check(f"loader's anonymous memory, {n} threads", json_run.get("anon_mib"),
            MAX_ANON_MIB, "MiB", why)
    b.check(f"utilbpf report, {n} threads, json", resident_run.get("json_s"), MAX_REPORT_S, "s",
            why)
    b.check(f"exec to open window, {n} threads", json_run.get("open_s"), MAX_OPEN_S, "s",
            why)
    return got


def check_feed(b):
    """An event of a recording into the accounts: for a load of few tasks, and of many."""
    out = {}
    for kind, tasks in (("calls", 100), ("switches", 100), ("mix", 100), ("mix", 1000)):
        done = subprocess.run([FEED, kind, str(tasks)], check=True, stdout=subprocess.PIPE)
        ns, kib = done.stdout.split()
        out[f"{kind}_{tasks}"] = {"ns": float(ns), "grown_kib": int(kib)}
        b.check(f"feed: an event, {kind} of {tasks} tasks", float(ns), MAX_FEED_NS, "ns")
    return out


def check_scrape(b, groups):
    """Adding a window of so many groups to the counters, and writing them all as text."""
    p = subprocess.run([SCRAPE, str(groups), "10"], stdout=subprocess.PIPE, check=True)
    got = json.loads(p.stdout)
    print(f"\n{groups} groups: add {got['add_ms']:.1f} ms, text {got['text_ms']:.1f} ms, "
          f"{got['series']} series, {got['text_bytes'] / 2**20:.1f} MiB; "
          f"memory at most {got['max_rss_bytes'] / 2**20:.0f} MiB")
    b.check(f"counters and text of {groups} groups", got["add_ms"] + got["text_ms"],
            MAX_SCRAPE_MS, "ms")
    return got


def cgroup_root():
    with open("/proc/self/mounts", encoding="utf-8") as f:
        for line in f:
            if line.split()[2] == "cgroup2":
                return line.split()[1]
    raise Skip("no cgroup2 mount")


def get_metrics(port):
    """Milliseconds and bytes of a scrape, and how many groups it shows."""
    begin = now()
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request("GET", "/metrics")
    body = c.getresponse().read()
    c.close()
    return (now() - begin) * 1e3, len(body), body.count(b"utilbpf_group_tasks{")


def live_scrape(groups, scrapes):
    """utilbpf serve where so many groups have a process each: each scrape ends a window."""
    g = spawn([GROUPS, f"{cgroup_root()}/utilbpf-bench-{os.getpid()}", str(groups)], pin=False)
    try:
        first_line(g)
        p = spawn([UTILBPF, "serve", "--listen", "127.0.0.1:0", "--max-series", "1000000"],
                  pin=False)
        try:
            m = re.search(rb":(\d+)/metrics", p.stderr.readline())
            if not m:
                raise Skip("utilbpf serve does not start")
            got = []
            for _ in range(scrapes):
                time.sleep(11)  # so that no figures are fresh enough to be given twice
                got.append(get_metrics(int(m[1])))
            rss = status_kib(p.pid, "VmRSS")
        finally:
            stop(p)
    finally:
        g.stdin.close()
        g.wait(120)
    if min(n for _, _, n in got) < groups:
        raise Skip(f"only {min(n for _, _, n in got)} groups are shown")
    return {"groups": groups, "ms": min(ms for ms, _, _ in got), "bytes": got[-1][1],
            "rss_mib": rss / 1024}


def check_live_scrape(b, groups):
    got, why = {"ms": None}, None
    try:
        got = live_scrape(groups, 3)
        print(f"{groups} groups of one process each: a scrape takes {got['ms']:.0f} ms and "
              f"{got['bytes'] / 2**20:.1f} MiB, utilbpf serve {got['rss_mib']:.0f} MiB of memory")
    except Skip as e:
        why = got["skipped"] = str(e)
    b.check(f"scrape of {groups} live groups", got["ms"], MAX_LIVE_SCRAPE_MS, "ms", why)
    return got


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    ap.add_argument("--quick", action="store_true", help="few and short rounds: a smoke test")
    ap.add_argument("--rounds", type=int, help="rounds over all tools (default 12, quick 3)")
    ap.add_argument("--seconds", type=float, help="of each load (default 0.3, quick 0.15)")
    ap.add_argument("--threads", type=int, default=30000, help="default 30000; 0: none")
    ap.add_argument("--groups", type=int, default=10000, help="default 10000; 0: none")
    ap.add_argument("--no-hot", action="store_true", help="only open time and threads")
    ap.add_argument("-o", "--output", default=".build/bench.json", help="JSON (%(default)s)")
    a = ap.parse_args()
    b, out = Budgets(), {"kernel": platform.release(), "cpus": len(CPUS)}

    if not a.no_hot:
        t = hot_paths(a.rounds or (3 if a.quick else 12), a.seconds or (0.15 if a.quick else 0.3))
        out["hot"] = print_table(t)
        print()
        check_hot(b, t, out["hot"])
    out["feed"] = check_feed(b)
    times = open_times(3 if a.quick else 7)
    out["open_s"] = times
    b.check("exec to open window, least", times[0], MAX_OPEN_S, "s")
    if a.groups:
        out["scrape"] = check_scrape(b, a.groups)
        out["live_scrape"] = check_live_scrape(b, a.groups)
    if a.threads:
        out["threads"] = check_threads(b, a.threads, 4 if a.quick else 8)
    out["budgets"] = b.all
    save(a.output, out)
    return 1 if b.missed() else 0


if __name__ == "__main__":
    start(main)
