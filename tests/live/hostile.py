#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Conditions that break tools like this one, live: hostile.py [NAME...], as run.py's.

LIVE_LONG=1 takes minutes: two million lives, a minute of windows of 10 ms, fifty kills.
"""
import collections
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import run as live
import serve
from run import (TOOL, Mix, Skip, call, call_sums, command, equal, laws, need, needs_bpf,
                 nothing_lost, oncpu, pairs, parse, prog, reports, run, task, test)

live.tests.clear() # those of the other files
LONG = os.environ.get("LIVE_LONG")


# ---- ends ----

@test
def leader_ends_first():
    needs_bpf()
    rep, out = command(prog("hostile", "leader"))
    laws(rep, selected=True)
    nothing_lost(rep)
    told = {k: int(v) for k, v in pairs(out)}
    first, thread = task(rep, told["leader"]), task(rep, told["thread"])
    equal((first["state"], thread["state"]), ("exited", "exited"), "states")
    need(thread["end_ns"] - first["end_ns"] > 300000000, "the leader ends %d ns before its thread",
         thread["end_ns"] - first["end_ns"])
    equal(thread["pid"], told["leader"], "process of the thread")
    equal((call(thread, "getppid")["count"], call(first, "getppid")["count"]), (100, 0), "getppid")
    proc, = [p for p in rep["processes"] if p["pid"] == told["leader"]]
    equal((proc["tasks"], oncpu(proc)), (2, oncpu(first) + oncpu(thread)), "the process")


@test
def killed_in_calls():
    needs_bpf()
    rep, out = command(prog("hostile", "killed", 100))
    laws(rep, selected=True)
    nothing_lost(rep)
    want = int(dict(pairs(out))["paused"])
    c = [v for k, v in call_sums(rep["tasks"]).items() if k[3] in ("pause", "ppoll")]
    equal((sum(v["count"] for v in c), sum(v["open"] for v in c)), (want, 0),
          "calls that ended with their tasks, and open ones")
    equal([t["state"] for t in rep["tasks"] if t["state"] != "exited"], [], "tasks that go on")


@test
def stops_of_a_tracer():
    needs_bpf()
    rep, out = command(prog("hostile", "ptrace", 20))
    laws(rep, selected=True)
    told = {k: int(v) for k, v in pairs(out)}
    t = task(rep, told["child"])
    need(t["stopped_ns"] > 20 * 30000000, "stopped for %d ns only", t["stopped_ns"])
    # The tracer hears of a stop later than it begins, and may wait for a CPU itself.
    need(abs(t["stopped_ns"] - told["stopped"]) <= told["stopped"] * 0.2, "stopped for %d ns, by "
         "its tracer %d", t["stopped_ns"], told["stopped"])


@test
def two_million_lives():
    needs_bpf()
    if not LONG:
        raise Skip("LIVE_LONG is not set; a_hundred_thousand_lives is the same with fewer")
    n = 2000000
    rep, _ = command(prog("swarm", n, 0, 0, 0), ["-b", "group"])
    nothing_lost(rep)
    equal(sum(g["tasks"] for g in rep["groups"]), n + 3, "tasks")
    equal(call(rep["groups"][0], live.OWN_CALL)["count"], n, "the call that each has made")
    live.law_cpus(rep)
    live.law_system(rep)
    equal(rep["quality"]["residual_ns"], 0, "residual_ns")
    print("  %d lives in %.1f s, %.1f MiB of maps" % (
        n, rep["window"]["elapsed_ns"] / 1e9, rep["cost"]["map_bytes"] / 2 ** 20))


# ---- windows ----

@test
def windows_of_ten_ms():
    needs_bpf()
    seconds, end, worst = 60 if LONG else 4, None, 0
    # Into a file: who reads a pipe too slowly holds up the loader, and then tables run full.
    # To write thousands of ended tasks takes longer than such a window, and who needs the CPUs as
    # well as the loader makes it later still: tables may run full, and what is lost is told.
    for args, check in [(["-d", seconds, "-b", "cpu"], live.law_cpus), (["-n", "20"], laws)]:
        n, lost, end = 0, collections.Counter(), None
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "reports")
            with Mix():
                r = run(["-i", "0.01", "-f", "json", "-o", path] + args)
            equal((r.status, r.err), (0, b""), "status and stderr")
            with open(path, "rb") as f:
                for line in f:
                    rep, = parse(line)
                    win = rep["window"]
                    need(end in (None, win["start_ns"]), "window %d begins at %d, the last ended "
                         "at %s", n, win["start_ns"], end)
                    end = win["end_ns"]
                    worst = max(worst, win["elapsed_ns"])
                    equal(rep["quality"]["residual_ns"], 0, "residual_ns of window %d" % n)
                    check(rep)
                    live.law_system(rep)
                    for k in ["lost_events", "missed_runs", "dropped_tasks", "dropped_calls"]:
                        lost[k] += rep["quality"][k]
                    n += 1
        need(n > 10, "only %d windows", n)
        print("  %d windows with %s, the longest %.1f ms, lost: %s" % (
            n, args, worst / 1e6, dict(lost)))


# ---- the loader ----

@test
def killed_at_any_moment():
    """SIGKILL while it loads, attaches, seeds, reads: nothing of it stays in the kernel."""
    needs_bpf()
    if not shutil.which("bpftool"):
        raise Skip("no bpftool")
    ids, held = set(), 0
    for i in range(50 if LONG else 10):
        args = [["-i", "0.05"], ["--", "sleep", "5"], ["-d", "9", "-c", "*"],
                ["--engine", "perf", "-d", "9"]][i % 4]
        p = subprocess.Popen([TOOL] + args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0, 1.5))
        try:
            now = live.kernel_ids(p.pid)
        except (FileNotFoundError, PermissionError): # it has ended
            now = set()
        p.kill()
        p.wait()
        held += bool(now)
        ids |= now
    need(held, "none had come so far as to hold anything")
    need(live.gone(ids), "left: %s", sorted(ids & live.living_ids()))
    equal([f for _, _, files in os.walk("/sys/fs/bpf") for f in files if "utilbpf" in f], [],
          "pinned objects")
    rep, = reports(["-d", "0.3"])
    laws(rep)


@test
def sixty_four_descriptors():
    needs_bpf()
    limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    for args in [[], ["--engine", "perf"], ["-p", "1"], ["-i", "0.1", "-n", "3"]]:
        r = run(args + ["-d", "0.3", "-f", "json", "-b", "cpu"], preexec_fn=limit)
        if r.status:
            equal((r.status, r.out, len(r.err.splitlines())), (1, b"", 1), "status, stdout, lines")
            need(b"open files" in r.err or b"descriptors" in r.err, "%s: %s", args, r.err)
            continue
        for rep in parse(r.out):
            live.law_cpus(rep)


@test
def smallest_tables():
    needs_bpf()
    for args in [["-d", "1"], ["-i", "0.2", "-n", "4"], ["-d", "0.5", "--no-kthreads"]]:
        with Mix():
            reps = reports(args + ["--mem-limit", "1M"])
        for rep in reps:
            laws(rep, selected="--no-kthreads" in args)
            need(rep["cost"]["map_bytes"] < 4 << 20, "%d bytes of maps", rep["cost"]["map_bytes"])
    r = run(["-d", "0.1", "--mem-limit", "1023K"])
    equal((r.status, len(r.err.splitlines())), (2, 1), "status and lines of less than the least")


@test
def after_a_burst():
    """Tables that a burst of forks has filled have room again when it is over."""
    needs_bpf()
    script = "%s; sleep 0.5; for i in 1 2 3 4 5 6 7 8 9 10; do ls -l / | sort; sleep 0.1; done"
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "reports")
        r = run(["--mem-limit", "4M", "-i", "0.1", "-f", "json", "-b", "system", "-o", path, "--",
                 "sh", "-c", script % " ".join(prog("hostile", "burst", 700))])
        equal((r.status, r.err), (0, b""), "status and stderr")
        with open(path, "rb") as f:
            reps = parse(f.read())
    last = reps[-10:-1]
    need(sum(rep["quality"]["dropped_calls"] for rep in reps) > 100, "the tables were not full")
    equal([rep["quality"]["dropped_calls"] for rep in last], [0] * 9, "calls dropped afterwards")
    names = {c["name"] for rep in last for c in rep["system"]["calls"] if c["count"]}
    need(len(names) > 20, "calls afterwards: %s", names)


# ---- readers ----

@test
def hundred_readers():
    needs_bpf()
    failures, got = [], []
    together = threading.Barrier(100)

    def reader(s):
        try:
            together.wait(60)
            for _ in range(3):
                status, _, text = s.get(timeout=60)
                if status != 200:
                    failures.append(status)
                got.append(serve.samples(text)["utilbpf_windows_total", frozenset()])
        except Exception as e: # pylint: disable=broad-except
            failures.append(repr(e))

    with serve.Server("--top", "10") as s, Mix():
        threads = [threading.Thread(target=reader, args=(s,)) for _ in range(100)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        last = s.scrape()
    need(not failures, "%d of 300 scrapes failed: %s", len(failures), failures[:3])
    equal(len(got), 300, "answers")
    live.near(serve.total(last, "utilbpf_cpu_seconds_total"),
              serve.total(last, "utilbpf_cpu_online_seconds_total"), 1e-9, "time of CPUs")


@test
def readers_that_go_away():
    """Signals and closed pipes in the middle of a report."""
    needs_bpf()
    for fmt in ["text", "json", "csv", "openmetrics"]:
        p = subprocess.Popen([TOOL, "-i", "0.02", "-f", fmt, "-T", "0"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        p.stdout.read(100)
        p.stdout.close()
        err = p.stderr.read()
        p.stderr.close()
        p.wait(30)
        equal((p.returncode, len(err.splitlines())), (1, 1), "closed pipe, %s: %s" % (fmt, err))
    p = subprocess.Popen([TOOL, "-i", "0.02", "-f", "json"], stdout=subprocess.PIPE)
    p.stdout.readline()
    p.send_signal(signal.SIGTERM)
    for line in p.communicate(timeout=30)[0].splitlines():
        parse(line)
    equal(p.returncode, 0, "status after SIGTERM")


if __name__ == "__main__":
    sys.exit(live.main(sys.argv[1:]))
