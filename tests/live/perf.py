#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the perf engine on the live kernel: perf.py [NAME...], as run.py's.

A virtual machine may hide events of an idle CPU from perf: a spinner of the lowest priority keeps
CPUs from being idle where a figure hangs on all events.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import run as live
from cgroups import Cgroup
from run import (CLASSES, ONCPU, Fail, Mix, Skip, call, equal, law_calls, law_cpus, law_system,
                 need, oncpu, pairs, parse, prog, reports, run, task, test)

live.tests.clear()
PERF = ["--engine", "perf"]


def needs_perf():
    r = run(PERF + ["-d", "0.01", "-f", "json", "-b", "system"])
    text = r.err.decode(errors="replace").strip()
    if r.status and (os.geteuid() or re.search("not permitted|without perf|locked down|denied",
                                               text)):
        raise Skip(text or "no perf events here")
    need(r.status == 0, "status %d: %s", r.status, text)


class Busy:
    """Keeps every CPU but the first from being idle, in the way of nobody."""

    def __enter__(self):
        self.p = []
        for cpu in sorted(os.sched_getaffinity(0))[1:]:
            def prepare(cpu=cpu):
                os.sched_setaffinity(0, {cpu})
                os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
            # pylint: disable=subprocess-popen-preexec-fn
            self.p.append(subprocess.Popen(["sh", "-c", "while :; do :; done"],
                                           preexec_fn=prepare))

    def __exit__(self, *exc):
        for p in self.p:
            p.kill()
            p.wait()


def refused(rules, args, **kw):
    return run([rules, live.TOOL] + list(args), tool=os.path.join(live.PROGS, "refuse"), **kw)


def command(argv, opts=()):
    return live.command(argv, PERF + list(opts))


def one_line(err, what):
    lines = err.decode().splitlines()
    equal(len(lines), 1, "lines on stderr, %s: %r" % (what, err))
    return lines[0]


def law_life(t, win):
    """Law 1 for a task whose every event was seen."""
    end = win["end_ns"] if t["end_ns"] is None else min(t["end_ns"], win["end_ns"])
    life = max(end - max(t["start_ns"], win["start_ns"]), 0)
    need(all(t[k] >= 0 for k in CLASSES), "task %d has a negative class", t["tid"])
    equal(sum(t[k] for k in CLASSES), life, "classes against the life of %d" % t["tid"])
    law_calls(t, "task %d" % t["tid"])


def ring_laws(rep):
    """What holds however much of the switches' chain was missed."""
    law_cpus(rep)
    law_system(rep)
    for t in rep["tasks"]:
        need(all(t[k] >= 0 for k in CLASSES), "task %d has a negative class", t["tid"])
        law_calls(t, "task %d" % t["tid"])
        if t["tid"]:
            law_life(t, rep["window"])


# ---- choosing an engine ----

@test
def perf_without_bpf():
    needs_perf()
    for error, why in [("ENOSYS", "without bpf"), ("EPERM", "not permitted")]:
        with Busy():
            r = refused("bpf=" + error, ["-d", "0.5", "-f", "json"])
        equal(r.status, 0, "status with " + error)
        line = one_line(r.err, error)
        need("perf" in line and why in line, "%s: %s", error, line)
        rep, = parse(r.out)
        equal(rep["tool"]["engine"], "perf", "engine")
        need(why in rep["tool"]["reason"], "reason: %s", rep["tool"]["reason"])
        ring_laws(rep)
        need(rep["system"]["switches"] > 0, "no switches")
        need(any(c["class"] == "syscall" and c["count"] for c in rep["system"]["calls"]),
             "no system calls")
        equal(rep["quality"]["lost_events"], 0, "lost events")


@test
def bpf_that_was_asked_for():
    r = refused("bpf=EPERM", ["--engine", "bpf", "-d", "0.2"])
    equal((r.status, r.out), (1, b""), "status and stdout")
    line = one_line(r.err, "--engine bpf")
    need("CAP_BPF" in line and "perf" not in line.split("CAP_")[0], "%s", line)


@test
def neither_engine():
    for error in ["EACCES", "ENOSYS"]:
        r = refused("bpf=ENOSYS,perf_event_open=" + error, ["-d", "0.2"])
        equal((r.status, r.out), (1, b""), "status and stdout")
        line = one_line(r.err, "neither engine")
        need("without bpf" in line, "%s", line)
        need(("CAP_PERFMON" in line and "kernel.perf_event_paranoid" in line)
             if error == "EACCES" else "without perf events" in line, "%s", line)
    r = refused("perf_event_open=EACCES", PERF + ["-d", "0.2"])
    equal(r.status, 1, "status")
    need("CAP_PERFMON" in one_line(r.err, "perf"), "no advice: %s", r.err)


@test
def without_tracefs():
    """Nobody has mounted it, and we may not."""
    needs_perf()
    if os.geteuid() or not shutil.which("unshare"):
        raise Skip("needs root and unshare")
    script = "for d in tracing debug; do while umount /sys/kernel/$d 2>/dev/null; do :; done; done; exec \"$@\""
    r = run(["-m", "sh", "-c", script, "sh", os.path.join(live.PROGS, "refuse"), "fsopen=EPERM",
             live.TOOL] + PERF + ["-d", "0.1"], tool="unshare")
    equal((r.status, r.out), (1, b""), "status and stdout")
    need("mount -t tracefs" in one_line(r.err, "no tracefs"), "%s", r.err)


@test
def reason_of_perf():
    needs_perf()
    rep, = reports(PERF + ["-d", "0.1", "-b", "system"])
    equal(rep["tool"]["engine"], "perf", "engine")
    need(rep["tool"]["reason"], "no reason")
    need(any("iowait" in n for n in rep["notes"]), "notes: %s", rep["notes"])


def has_capability(bit):
    with open("/proc/self/status", encoding="ascii") as f:
        return int(re.search(r"CapEff:\s*(\w+)", f.read())[1], 16) >> bit & 1


@test
def too_few_descriptors():
    needs_perf()
    if os.geteuid() or not shutil.which("setpriv") or not shutil.which("prlimit"):
        raise Skip("needs root, setpriv and prlimit")
    limit = ["prlimit", "--nofile=24:24", live.TOOL] + PERF + ["-d", "0.1", "-b", "system"]
    r = run(limit[1:], tool=limit[0])
    if has_capability(24): # CAP_SYS_RESOURCE: the limit is raised
        equal(r.status, 0, "status of root: %s" % r.err.decode())
        r = run(["--bounding-set", "-sys_resource"] + limit, tool="setpriv")
    equal(r.status, 1, "status without CAP_SYS_RESOURCE")
    line = one_line(r.err, "descriptors")
    need(re.search(r"needs \d+ open files, 24 are allowed", line), "%s", line)
    r = run(["--nofile=24:1000"] + limit[2:], tool="prlimit") # allowed, and so done
    equal((r.status, r.err), (0, b""), "status and stderr where it may be raised")


# ---- truth ----

def exact_counts(t, n):
    for name, count, errors in [("getppid", 2 * n, 0), ("gettid", n, 0), ("write", n, 0),
                                ("sched_yield", n, 0), ("lseek", 2 * n, n)]:
        c = call(t, name)
        equal((c["count"], c["errors"]), (count, errors), "%s of task %d" % (name, t["tid"]))


@test
def counts_of_calls_by_perf():
    needs_perf()
    n = 500
    with Busy():
        rep, _ = command(prog("calls", n))
    equal(rep["quality"]["lost_events"], 0, "lost events")
    equal(rep["quality"]["out_of_order"], 0, "out of order")
    equal(len([t for t in rep["tasks"] if call(t, "getppid")["count"]]), 8, "tasks that made calls")
    for t in rep["tasks"]:
        law_life(t, rep["window"])
        if call(t, "getppid")["count"]:
            exact_counts(t, n)
    law_cpus(rep)
    law_system(rep)


@test
def threads_have_their_process():
    needs_perf()
    with Busy():
        rep, _ = command(prog("calls", 50))
    pids = {t["pid"] for t in rep["tasks"]}
    leaders = {t["tid"] for t in rep["tasks"] if t["tid"] == t["pid"]}
    equal(pids, leaders, "processes and their leaders")
    equal(len(pids), 4, "processes") # the command and its three children
    equal(len({t["tid"] for t in rep["tasks"]}), 8, "threads")


@test
def sleepers_by_perf():
    needs_perf()
    with Busy():
        (t,), said = truths("sleep", 0.7)
    # Its own clock stops when it has a CPU again.
    live.near(t["sleep_ns"] + t["wait_ns"], said["slept"], 0.01, "sleep")
    need(t["sleep_ns"] > 700000000, "slept %d ns only", t["sleep_ns"])
    c = call(t, "clock_nanosleep")
    equal(c["count"], 1, "clock_nanosleep")
    live.near(c["elapsed_ns"], said["slept"], 0.01, "elapsed")
    with Busy():
        (t,), said = truths("stop", 0.5)
    live.stopped_as_said(t, said)


def truths(mode, seconds):
    rep, out = command(prog("times", mode, seconds))
    equal(rep["quality"]["lost_events"], 0, "lost events")
    told = [task(rep, int(w[1])) for w in pairs(out) if w[0] == "task"]
    return told, {w[0]: int(w[1]) for w in pairs(out) if w[0] != "task"}


@test
def silent_tasks_by_perf():
    """What /proc tells of tasks that do nothing in the window."""
    needs_perf()
    with live.Background(prog("seed"), "ready") as b:
        with Busy():
            rep, = reports(PERF + ["-d", "0.5"])
    live.law_silent(rep, live.seeds(b))
    kthreads = [t for t in rep["tasks"] if t["kthread"]]
    need(kthreads and not any(t["user_ns"] for t in kthreads), "kernel threads: %d", len(kthreads))


@test
def intervals_add_up():
    needs_perf()
    with Busy():
        r = run(PERF + ["-f", "json", "-i", "0.1", "-o", "/dev/stderr", "--"] +
                prog("calls", 0, 1.5))
    equal(r.status, 0, "status")
    reps = parse(r.err)
    need(len(reps) >= 14, "only %d windows", len(reps))
    for i, rep in enumerate(reps):
        law_cpus(rep)
        equal(rep["quality"]["lost_events"], 0, "lost events")
        if i:
            equal(rep["window"]["start_ns"], reps[i - 1]["window"]["end_ns"], "start %d" % i)
    for name, want in pairs(r.out.decode()):
        have = sum(call(t, name)["count"] for rep in reps for t in rep["tasks"])
        equal(have, int(want), "%s over %d windows" % (name, len(reps)))


@test
def everything_at_once_by_perf():
    needs_perf()
    with Mix(), Busy():
        rep, = reports(PERF + ["-d", "1.5"])
    equal(rep["quality"]["lost_events"], 0, "lost events")
    ring_laws(rep)


@test
def engines_agree():
    """--verify: its own comparison, and its exit status."""
    live.needs_bpf()
    needs_perf()
    with Busy():
        r = run(["--verify", "-o", "/dev/stdout", "--"] + prog("pace", 60))
    text = r.out.decode()
    need(r.status == 0, "status %d: %s%s", r.status, text, r.err.decode())
    m = re.search(r"^(\d+) tasks, (\d+) counts and (\d+) times compared: 0 beyond", text, re.M)
    need(m and int(m[1]) >= 7 and int(m[2]) > 50 and int(m[3]) > 50, "%s", text)
    r = run(["--verify", "-d", "0.05", "-m", "1"])
    need(r.status in (0, 1), "status %d", r.status)


# ---- a part of it ----

def ids_of(rep):
    return {t["tid"] for t in rep["tasks"] if t["tid"]}


@test
def selected_by_perf():
    """Each kind of selection, of tasks that do something; the rows of CPUs stay those of all."""
    needs_perf()
    tree = "echo $$; echo end; while sleep 0.02; do :; done"
    with live.Background(["sh", "-c", tree], "end") as b, Busy():
        pid = int(b.lines[0][0])
        try:
            for opts, follows in ((["-p", pid], False), (["-p", pid, "--follow"], True),
                                  (["-c", "sleep"], None), (["-u", os.getuid(), "-p", pid], False)):
                rep, = reports(PERF + ["-d", "0.5"] + opts)
                law_cpus(rep)
                law_system(rep)
                equal(rep["tool"]["selection"], " ".join(str(o) for o in opts[-2 if "-u" in opts else 0:] +
                                                         (opts[:2] if "-u" in opts else [])), "what was selected")
                names = {t["comm"] for t in rep["tasks"] if t["tid"]}
                # whoever is forked is the shell first, whatever it becomes
                equal(names - {"(other)"}, {None: {"sleep"}, True: {"sh", "sleep"}, False: {"sh"}}[follows],
                      "tasks with %s" % opts)
                if follows is False:
                    equal(ids_of(rep), {pid}, "tasks with %s" % opts)
                    need(call(task(rep, pid), "wait4")["count"] > 2, "calls of the shell: %s", task(rep, pid))
                else:
                    need(len(ids_of(rep)) > 3, "tasks with %s: %s", opts, ids_of(rep))
                need(sum(oncpu(c) for c in rep["cpus"]) > 10 * sum(oncpu(t) for t in rep["tasks"]),
                     "CPUs that have the time of those who are selected only: %s", rep["cpus"])
            rep, = reports(PERF + ["-d", "0.2", "--no-kthreads"])
            need(ids_of(rep) and not any(t["kthread"] for t in rep["tasks"]), "kernel threads with --no-kthreads")
            r = run(["-f", "json"] + PERF + ["-d", "0.2", "-x", "-p", pid, "--syscall", "wait4"])
            rep, = parse(r.out)
            equal({c["name"] for t in rep["tasks"] for c in t["calls"] if c["class"] == "syscall"}, {"wait4"},
                  "calls with --syscall")
        finally:
            os.kill(pid, 9)


@test
def cgroup_by_perf():
    needs_perf()
    with open("/proc/self/cgroup", encoding="ascii") as f:
        mine = re.search(r"^0::(/.*)$", f.read(), re.M)
    if not mine:
        raise Skip("no unified hierarchy")
    rep, = reports(PERF + ["-d", "0.1", "-G", mine[1] if mine[1] != "/" else "*", "-p", os.getpid()])
    equal(ids_of(rep) & {os.getpid()}, {os.getpid()}, "tasks of the own group")
    rep, = reports(PERF + ["-d", "0.1", "-G", "no-such-group"])
    equal(ids_of(rep), set(), "tasks of a group that is not there")


@test
def moves_between_groups():
    """The time before a move is the old group's, for all threads; a group that is gone has its name still."""
    needs_perf()
    script = ("import os, threading\nthreading.Thread(target=input, daemon=True).start()\nprint('ready', flush=True)\n"
              "while True:\n    os.getppid()\n")
    for opts in [], ["--record"]:
        with Busy(), Cgroup() as a, live.Background([sys.executable, "-c", script], "ready") as b, \
             tempfile.TemporaryDirectory() as d:
            record = [os.path.join(d, "perf.data")] if opts else []
            p = subprocess.Popen([live.TOOL] + PERF + ["-d", "1.5", "-f", "json"] + opts + record, stdout=subprocess.PIPE)
            time.sleep(0.8)
            with Cgroup() as gone:
                a.take(b.p.pid)
                time.sleep(0.1)
                gone.take(b.p.pid)
                time.sleep(0.1)
                a.take(b.p.pid)
            rep, = parse(p.communicate()[0])
            b.p.kill()
        live.laws(rep)
        names = {t["cgroup"] for t in rep["tasks"] if t["pid"] == b.p.pid}
        need({a.name, gone.name} <= names and len(names) == 3, "groups: %s", names)
        tids = {t["tid"] for t in rep["tasks"] if t["pid"] == b.p.pid}
        equal(len(tids), 2, "threads")
        for tid in tids:
            parts = {t["cgroup"]: sum(t[k] for k in CLASSES) for t in rep["tasks"] if t["tid"] == tid}
            equal(set(parts), names, "groups of thread %d" % tid)
            equal(sum(parts.values()), rep["window"]["elapsed_ns"], "parts of thread %d" % tid)
            need(0.09e9 < parts[gone.name] < 0.3e9, "%s ns in the second group", parts[gone.name])
        t, = [t for t in rep["tasks"] if t["tid"] == b.p.pid and t["cgroup"] == gone.name]
        need(call(t, "getppid")["count"] > 1000, "calls in the second group")


def caller(cpu):
    """Makes system calls on that CPU, about a million a second."""
    script = "import os\nprint('ready', flush=True)\nwhile True:\n    os.getppid()\n"
    return ["taskset", "-c", str(cpu), sys.executable, "-c", script]


@test
def rings_by_selection():
    """Each mode brings what was selected, and not the system calls of somebody else."""
    needs_perf()
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2 or not shutil.which("taskset"):
        raise Skip("needs two CPUs and taskset")
    noise = live.Background(caller(cpus[1]), "ready")
    quiet = "echo $$; echo end; while sleep 0.05; do :; done"
    b = live.Background(["taskset", "-c", str(cpus[0]), "sh", "-c", quiet], "end")
    pid = int(b.lines[0][0])
    try:
        rep, = reports(PERF + ["-d", "0.5"])
        everything = rep["cost"]["bpf_runs"]
        loud = call(task(rep, noise.p.pid), "getppid")["count"]
        need(loud > 10000, "the noise makes no noise")
        for opts in (["-t", pid], ["-t", "%d,%d" % (pid, os.getpid())], ["-C", cpus[0]], ["--", "sleep", "0.5"]):
            if opts[0] == "--":
                rep, _ = command(opts[1:])
                t, = [t for t in rep["tasks"] if call(t, "clock_nanosleep")["count"]]
                law_life(t, rep["window"])
            else:
                rep, = reports(PERF + ["-d", "0.5"] + opts)
                t = task(rep, pid)
                need(call(t, "wait4")["count"] > 1 and call(t, "wait4")["sleep_ns"] > 0, "calls: %s", t["calls"])
                need(t["voluntary"] and t["sleep_ns"] > 0 and "wait_ns" not in rep["unrecorded"], "%s", t)
            equal(rep["quality"]["lost_events"], 0, "lost events")
            law_cpus(rep)
            # the noise's calls were two events each; whoever else runs here may have more to do now
            need(rep["cost"]["bpf_runs"] < everything - loud, "%d events with %s, %d without, %d calls of the noise",
                 rep["cost"]["bpf_runs"], opts, everything, loud)
            have = {c["name"] for c in rep["system"]["calls"] if c["class"] == "syscall"}
            need("getppid" not in have, "calls of others with %s", opts)
            equal([c["cpu"] for c in rep["cpus"]], cpus[:1] if opts[0] == "-C" else cpus, "CPUs with %s" % opts)
            for c in rep["cpus"]: # who is not selected is on a CPU all the same
                need(c["cpu"] == cpus[0] or oncpu(c) > 0.9 * rep["window"]["elapsed_ns"], "%s", c)
    finally:
        os.kill(pid, 9)
        noise.p.kill()
        noise.__exit__()
        b.__exit__()


@test
def threads_of_one_process():
    """-t takes single threads: not their process, nor who they fork."""
    needs_perf()
    with live.Background(prog("seed"), "ready") as b:
        ids = {name: (int(pid), int(tid)) for name, pid, tid in b.lines}
        rep, = reports(PERF + ["-d", "0.2", "-t", ids["thread"][1]])
    equal(ids_of(rep), {ids["thread"][1]}, "tasks")
    equal(call(task(rep, ids["thread"][1]), "futex")["open"], 1, "its open call")


# ---- holes ----

@test
def tiny_rings_lose_and_tell():
    needs_perf()
    # A reader of no special priority, among many others: else it comes in time even so.
    with tempfile.TemporaryDirectory() as d, Mix(), Busy():
        path = os.path.join(d, "report")
        r = refused("sched_setscheduler=EPERM,setpriority=EPERM",
                    PERF + ["-m", "1", "-f", "json", "-o", path, "--"] + prog("burst", 3))
        need(r.status == 0, "status %d: %s", r.status, r.err.decode())
        out = r.out.decode()
        with open(path, "rb") as f:
            rep, = parse(f.read())
    said = {k: int(v) for k, v in pairs(out)}
    q = rep["quality"]
    need(q["lost_events"] > 1000, "only %d lost events", q["lost_events"])
    ring_laws(rep)
    t, = [t for t in rep["tasks"] if call(t, "getppid")["count"]]
    c = call(t, "getppid")
    need(c["count"] < said["getppid"], "%d of %d getppid were seen", c["count"], said["getppid"])
    # An exit that is paired with an enter before a hole: it would have slept, or take far too long.
    equal(c["sleep_ns"], 0, "sleep within getppid")
    need(c["max_ns"] <= said["longest"], "getppid took %d ns, at most %d by its own clock",
         c["max_ns"], said["longest"])
    nap = call(t, "clock_nanosleep")
    need(nap["count"] <= said["clock_nanosleep"], "%d naps of %d", nap["count"],
         said["clock_nanosleep"])
    if nap["count"]:
        need(nap["min_ns"] >= 2000000, "a nap of %d ns", nap["min_ns"])


# ---- recording ----

@test
def a_recording_for_perf():
    needs_perf()
    if not shutil.which("perf"):
        raise Skip("no perf")
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "perf.data")
        with Busy():
            rep, _ = command(prog("calls", 50), ["--record", path])
        equal(rep["quality"]["lost_events"], 0, "lost events")
        for args in [["script"], ["report", "--stdio"], ["report", "-D"]]:
            p = subprocess.run(["perf", args[0], "-i", path] + args[1:], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, check=False, cwd=d)
            if b"isn't linked with libtraceevent" in p.stderr: # Ubuntu 24.04's
                raise Skip("this perf is built without tracepoints")
            equal((p.returncode, p.stderr), (0, b""), "status and stderr of perf %s" % args)
            if args == ["script"]:
                text = p.stdout.decode(errors="replace")
        have = len(re.findall(r"^ *calls +\d+ .*sys_enter: NR 110 ", text, re.M)) # getppid
        if os.uname().machine == "x86_64":
            equal(have, 8 * 100, "getppid in perf script")
        need("sched:sched_switch" in text and "irq:softirq_entry" in text, "events are missing")


def parts(t):
    """All of a task's account that does not depend on where a window begins."""
    same = {k: t[k] for k in CLASSES + ["tid", "pid", "exec", "comm", "state", "start_ns", "end_ns",
                                        "migrations", "voluntary", "involuntary"]}
    same["calls"] = sorted(t["calls"], key=lambda c: (c["class"], c["id"], c["abi"]))
    return same


@test
def record_and_replay():
    """Tasks that lived within the window: live and from the recording, to the nanosecond."""
    needs_perf()
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "perf.data")
        with Busy():
            rep, _ = command(prog("calls", 100), ["--record", path])
        again, = reports(["-r", path])
    equal(again["tool"]["engine"], "file", "engine")
    for k in ("start_ns", "end_ns"):
        equal(again["window"][k], rep["window"][k], k + " of the window")
    equal(again["system"]["switches"], rep["system"]["switches"], "switches")
    for a, b in zip(again["cpus"], rep["cpus"]): # who ran before is not in the file: user or sys, maybe
        equal((a["cpu"], oncpu(a), a["idle_ns"]), (b["cpu"], oncpu(b), b["idle_ns"]), "CPUs")
    equal((rep["quality"]["lost_events"], again["quality"]["lost_events"]), (0, 0), "lost events")
    inside = [t for t in rep["tasks"] if t["start_ns"] > rep["window"]["start_ns"] and
              t["end_ns"] is not None]
    need(len(inside) >= 7, "only %d tasks", len(inside))
    for t in inside:
        equal(parts(task(again, t["tid"], t["exec"])), parts(t), "task %d" % t["tid"])


@test
def a_recording_comes_to_rest():
    """The recorder does not record its own writes."""
    needs_perf()
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "perf.data")
        pid = None
        p = subprocess.Popen([live.TOOL] + PERF + ["--record", path, "-d", "1", "-f", "json"],
                             stdout=subprocess.PIPE)
        pid = p.pid
        rep, = parse(p.communicate()[0])
        mine = [t for t in rep["tasks"] if t["pid"] == pid]
        need(mine, "the recorder itself is not in the report")
        equal([c["name"] for t in mine for c in t["calls"] if c["class"] == "syscall" and
               c["count"]], [], "its own calls")
        need(os.path.getsize(path) > 1000, "an empty recording")
        r = run(PERF + ["--record", os.path.join(d, "no", "where"), "-d", "0.1"])
        equal(r.status, 1, "status of a directory that is not there")
        one_line(r.err, "no directory")
        r = run(PERF + ["--record", "/dev/full", "-d", "0.1", "-b", "system", "-f", "json"])
        equal(r.status, 1, "status of a full disk")
        need("No space left" in one_line(r.err, "full disk"), "%s", r.err)


if __name__ == "__main__":
    sys.exit(live.main(sys.argv[1:]))
