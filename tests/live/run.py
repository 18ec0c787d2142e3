#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of ./utilbpf on the live kernel: run.py [NAME...]

Each test accounts a workload of .build/live/ and compares the report with what CONTRACT.md promises
and with what the workload, the kernel or strace know. Prints "ok NAME", "FAIL NAME: why" or
"skip NAME: why" for each, then the totals; exit status 1 when one failed.
"""
import collections
import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(TOP, os.environ.get("TEST_TOOL", "utilbpf"))
PROGS = os.path.join(TOP, ".build", "live")

ONCPU = ["user_ns", "sys_ns", "irq_ns", "softirq_ns", "hv_ns", "busy_ns"]
OFFCPU = ["wait_ns", "sleep_ns", "blocked_ns", "iowait_ns", "stopped_ns"]
CLASSES = ONCPU + OFFCPU
STOLEN = ["irq_ns", "softirq_ns", "hv_ns"]
SPLIT = ["oncpu_ns", "wait_ns", "sleep_ns", "blocked_ns", "iowait_ns", "stopped_ns", "irq_stolen_ns"]

tests = []


class Skip(Exception):
    pass


class Fail(Exception):
    pass


def test(fn):
    tests.append(fn)
    return fn


def need(cond, fmt, *args):
    if not cond:
        raise Fail(fmt % args if args else fmt)


def equal(have, want, what):
    need(have == want, "%s: %s, expected %s", what, have, want)


def near(have, want, part, what):
    need(abs(have - want) <= want * part, "%s: %d, expected %d within %g %%, is off by %.3f %%",
         what, have, want, part * 100, 100.0 * (have - want) / want if want else 0)


def prog(name, *args):
    return [os.path.join(PROGS, name)] + [str(a) for a in args]


# ---- running the tool ----

Run = collections.namedtuple("Run", "status out err")


# How many times slower than usual the machine may be: an emulated one.
SLOW = float(os.environ.get("LIVE_SLOW", 1))


def run(args, timeout=120 * SLOW, tool=TOOL, **kw):
    p = subprocess.run([tool] + [str(a) for a in args], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, **kw)
    return Run(p.returncode, p.stdout, p.stderr)


# All that may be null: everything else that is promised is always a number, a text or a list.
MAY_BE_NULL = {"selection", "bpf_run_ns", "container", "pod", "unit", "abi", "end_ns", "min_ns", "max_ns"}


def parse(data):
    """JSON reports, one a line, which must be UTF-8, hold no constant that JSON lacks, and no null without need."""
    def bad(name):
        raise Fail("JSON holds " + name)

    def checked(o):
        for k, v in o.items():
            need(v is not None or k in MAY_BE_NULL, "%s is null in %s", k, o)
            need(not isinstance(v, float), "%s is no integer in %s", k, o)
        return o
    return [json.loads(line, parse_constant=bad, object_hook=checked)
            for line in data.decode("utf-8").splitlines()]


def reports(args, **kw):
    """The reports of a run of the live system, of which nothing goes to stderr."""
    r = run(["-f", "json"] + list(args), **kw)
    need(r.status == 0, "status %d: %s", r.status, r.err.decode(errors="replace"))
    equal(r.err, b"", "stderr")
    return parse(r.out)


def command(argv, opts=(), status=0):
    """Accounts a COMMAND: its report and what it printed."""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "report")
        r = run(["-f", "json", "-o", path] + list(opts) + ["--"] + argv)
        need(r.status == status, "status %d: %s", r.status, r.err.decode(errors="replace"))
        with open(path, "rb") as f:
            reps = parse(f.read())
    equal(len(reps), 1, "reports")
    return reps[0], r.out.decode()


def pairs(text):
    """The lines "name value" that a workload prints."""
    return [line.split() for line in text.splitlines()]


def refused_line(args, status, words):
    """One clean line on stderr that holds the words, and nothing else."""
    r = run(args)
    err = r.err.decode()
    equal((r.status, r.out, err.count("\n")), (status, b"", 1), "%s: %s" % (args, err))
    need(words in err, "%s says %r, not %r", args, err, words)


class Background:
    """A workload that prints lines up to one that begins with `until`, and ends with its stdin."""

    def __init__(self, argv, until=None):
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lines = []
        while until:
            line = self.p.stdout.readline().decode()
            need(line, "%s ended early", argv[0])
            if line.startswith(until):
                break
            self.lines.append(line.split())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.p.stdin.close()
        self.p.wait()
        self.p.stdout.close()


bpf_why = None


def needs_bpf():
    """Skips where BPF is not permitted; where it is, its failure is a test's failure."""
    global bpf_why
    if bpf_why is None:
        bpf_why = ""
        r = run(["-d", "0.01", "-f", "json", "-b", "system"])
        text = r.err.decode(errors="replace").strip()
        if r.status and (os.geteuid() or re.search("not permitted|without bpf|denied", text)):
            bpf_why = text or "no BPF here"
    if bpf_why:
        raise Skip(bpf_why)


class Mix:
    """Everything at once, from before a window until after it."""

    def __enter__(self):
        self.dir = tempfile.TemporaryDirectory(dir=TOP, prefix=".live-")
        self.p = subprocess.Popen(prog("mix", 50, self.dir.name), start_new_session=True)
        time.sleep(0.3)

    def __exit__(self, *exc):
        os.killpg(self.p.pid, signal.SIGKILL)
        self.p.wait()
        self.dir.cleanup()


# ---- the report's parts ----

def oncpu(e):
    return sum(e[k] for k in ONCPU)


def task(rep, tid, gen=None):
    found = [t for t in rep["tasks"] if t["tid"] == tid and gen in (None, t["exec"])]
    equal(len(found), 1, "entries of task %d exec %s" % (tid, gen))
    return found[0]


def call(entity, name, cls="syscall"):
    found = [c for c in entity["calls"] if c["name"] == name and c["class"] == cls]
    need(len(found) <= 1, "%d entries of %s", len(found), name)
    return found[0] if found else collections.defaultdict(int, name=name)


def is_other(t):
    """The sum of what has no record of its own, or of ended tasks that are not told one by one."""
    return t["comm"] in ("(other)", "(ended)") and not t["tid"]


def add(sums, e, keys):
    for k in keys:
        sums[k] += e[k]


def call_key(c):
    return c["class"], c["id"], c["abi"], c["name"]


SUMMED = ["count", "errors", "elapsed_ns", "pending_ns", "open"] + SPLIT


def call_sums(entities):
    """The calls of many entities added up: by key, sums and extremes."""
    out = {}
    for e in entities:
        for c in e["calls"]:
            s = out.setdefault(call_key(c), collections.Counter())
            add(s, c, SUMMED)
            if c["count"]:
                s["min_ns"] = min(s.get("min_ns", c["min_ns"]), c["min_ns"])
                s["max_ns"] = max(s.get("max_ns", c["max_ns"]), c["max_ns"])
    return out


# ---- the laws of CONTRACT section 2 ----

def law_calls(e, what):
    keys = [call_key(c) for c in e["calls"]]
    equal(len(set(keys)), len(keys), "different calls of " + what)
    for c in e["calls"]:
        name = "%s of %s" % (c["name"], what)
        need(all(c[k] >= 0 for k in SUMMED), "%s has a negative number: %s", name, c)
        equal(sum(c[k] for k in SPLIT), c["elapsed_ns"], "parts of elapsed, " + name)
        need(c["errors"] <= c["count"], "%s: more errors than calls", name)
        if not c["count"]:
            need(c["min_ns"] is None and c["max_ns"] is None and not c["elapsed_ns"],
                 "%s: none ended, yet %s", name, c)
            continue
        need(0 <= c["min_ns"] <= c["max_ns"], "%s: min %s max %s", name, c["min_ns"], c["max_ns"])
        need(c["min_ns"] * (c["count"] - 1) + c["max_ns"] <= c["elapsed_ns"] <=
             c["max_ns"] * (c["count"] - 1) + c["min_ns"], "%s: elapsed and extremes: %s", name, c)


def life(t, win):
    """What of a task's life lies in the window."""
    end = win["end_ns"] if t["end_ns"] is None else min(t["end_ns"], win["end_ns"])
    return max(end - max(t["start_ns"], win["start_ns"]), 0)


def law_moved(tasks, win):
    """The parts of a task that moved between groups add up to its life."""
    moved = collections.defaultdict(list)
    for t in tasks:
        moved[t["tid"], t["start_ns"], t["exec"]].append(t)
    for parts in moved.values():
        if any(t["partial"] for t in parts) and not is_other(parts[0]):
            last = next((t for t in parts if t["end_ns"]), parts[0])
            equal(sum(t[k] for t in parts for k in CLASSES), life(last, win),
                  "the parts of task %d %r" % (last["tid"], last["comm"]))


def law_task(t, rep):
    what = "task %d.%d %r" % (t["tid"], t["exec"], t["comm"])
    need(all(t[k] >= 0 for k in CLASSES), "%s has a negative class", what)
    for k in CLASSES:
        equal(sum(c[k] for c in t["cpus"]), t[k], "%s on CPUs, %s" % (k, what))
    law_calls(t, what)
    if is_other(t):
        return
    if not t["partial"]:
        equal(sum(t[k] for k in CLASSES), life(t, rep["window"]),
              "classes against the life of %s, quality %s, %s" % (what, rep["quality"], t))
    equal(t["state"] == "exited", t["end_ns"] is not None, "exited has an end, " + what)


def law_cpus(rep):
    win = rep["window"]
    for c in rep["cpus"]:
        equal(oncpu(c) + c["idle_ns"], win["elapsed_ns"],
              "window of CPU %d, quality %s" % (c["cpu"], rep["quality"]))


def law_system(rep):
    """What CPUs and system say of each other; holds for every selection and level."""
    s = rep["system"]
    for k in ["user_ns", "sys_ns", "busy_ns"]:
        equal(sum(c[k] for c in rep["cpus"]), s[k], "CPUs' %s against the system's" % k)
    for k in STOLEN: # what interrupts take from an idle task is the CPU's alone
        need(sum(c[k] for c in rep["cpus"]) >= s[k], "CPUs have less %s than the system", k)
    equal(sum(c["idle_ns"] for c in rep["cpus"]), s["idle_ns"], "idle_ns")
    law_calls(s, "system")


def law_tasks_of_cpus(rep):
    for row in rep["cpus"]:
        sums = collections.Counter()
        for t in rep["tasks"]:
            for c in t["cpus"]:
                if c["cpu"] == row["cpu"]:
                    add(sums, c, ONCPU)
        for k in ["user_ns", "sys_ns", "busy_ns"]:
            equal(sums[k], row[k], "tasks' %s on CPU %d" % (k, row["cpu"]))
        for k in STOLEN:
            need(sums[k] <= row[k], "tasks have more %s than CPU %d", k, row["cpu"])


def law_sum(parts, whole, what, irq_calls=True):
    """whole equals the sum of its parts."""
    for k in CLASSES:
        equal(sum(p[k] for p in parts), sum(w[k] for w in whole), "%s of %s" % (k, what))
    have, want = call_sums(parts), call_sums(whole)
    for key in set(have) | set(want):
        if irq_calls or key[0] == "syscall":
            equal(have.get(key), want.get(key), "call %s of %s" % (key, what))


def by(entities, key):
    out = collections.defaultdict(list)
    for e in entities:
        out[e[key]].append(e)
    return out


def law_levels(rep, whole=True):
    """A process, a group and the system equal the sum of their tasks. Ids may be reused: by id."""
    for level, key in [("processes", "pid"), ("groups", "cgroup")]:
        tasks, sums = by(rep["tasks"], key), by(rep[level], key)
        equal(set(tasks), set(sums), "%s of the tasks" % level)
        for k in tasks:
            law_sum(tasks[k], sums[k], "%s %s" % (level, k))
            for n in ("migrations", "voluntary", "involuntary"):
                equal(sum(t[n] for t in tasks[k]), sum(e[n] for e in sums[k]),
                      "%s of %s %s" % (n, level, k))
            if not any(t["comm"] == "(ended)" for t in tasks[k]): # which are many
                equal(len({(t["tid"], t["start_ns"], t["exec"]) for t in tasks[k]}),
                      sum(e["tasks"] for e in sums[k]), "tasks of %s %s" % (level, k))
    if whole: # the interrupts' calls on idle tasks are the system's alone
        law_sum(rep["tasks"], [rep["system"]], "system", irq_calls=False)


def laws(rep, selected=False):
    win, q = rep["window"], rep["quality"]
    equal(win["end_ns"] - win["start_ns"], win["elapsed_ns"], "elapsed")
    law_cpus(rep)
    law_system(rep)
    for t in rep["tasks"]:
        law_task(t, rep)
    equal(q["residual_ns"], 0, "residual_ns")
    if not selected:
        law_tasks_of_cpus(rep)
        if not q["folded_tasks"]: # else some of them are in a sum
            law_moved(rep["tasks"], win)
    law_levels(rep, not selected)


def nothing_lost(rep):
    for k in ["lost_events", "missed_runs", "dropped_tasks", "dropped_calls", "out_of_order"]:
        equal(rep["quality"][k], 0, k)


# ---- 1: the laws, while everything happens ----

@test
def laws_of_one_window():
    needs_bpf()
    with Mix():
        rep, = reports(["-d", "1.5"])
    laws(rep)
    nothing_lost(rep)


@test
def laws_of_a_command():
    needs_bpf()
    with tempfile.TemporaryDirectory(dir=TOP, prefix=".live-") as d:
        rep, _ = command(prog("mix", 1, d))
    laws(rep, selected=True)
    nothing_lost(rep)
    got = collections.Counter()
    for t in rep["tasks"]:
        add(got, t, CLASSES + ["migrations", "voluntary", "involuntary"])
    for k in ["user_ns", "sys_ns", "wait_ns", "sleep_ns", "stopped_ns", "migrations", "voluntary",
              "involuntary"]:
        need(got[k] > 0, "the workload has no %s", k)
    need(got["blocked_ns"] + got["iowait_ns"] > 0, "the workload has not been blocked")
    for t in rep["tasks"]:
        equal(t["state"], "exited", "at the command's end, task %d %s" % (t["tid"], t["comm"]))


@test
def laws_of_intervals():
    needs_bpf()
    intervals_are_true({})


@test
def laws_of_late_boundaries():
    """The loader is held up while it publishes each second boundary: programs put time past that into the
    window before, and the windows are told together."""
    needs_bpf()
    intervals_are_true({"UTILBPF_WITHOUT": "punctuality"})


@test
def laws_of_far_cpus():
    """The CPUs' records are in a map, as on machines with very many."""
    needs_bpf()
    intervals_are_true({"UTILBPF_WITHOUT": "near_cpus"})


def intervals_are_true(env):
    with Mix():
        reps = reports(["-i", "0.2", "-n", "10"], env=dict(os.environ, **env))
    equal(len(reps), 10, "reports")
    for i, rep in enumerate(reps):
        equal(rep["window"]["index"], i, "index")
        # A reader that the load keeps from its CPU makes windows longer, never lossy.
        need(rep["window"]["elapsed_ns"] > 0, "window %d is empty", i)
        if i:
            equal(rep["window"]["start_ns"], reps[i - 1]["window"]["end_ns"], "start %d" % i)
        try:
            laws(rep)
        except Fail as e:
            raise Fail("window %d: %s" % (i, e))
    whole_lives(reps)


def whole_lives(reps):
    """A task that was born and died in the recording is complete over its windows."""
    lives = collections.defaultdict(list)
    for rep in reps:
        for t in rep["tasks"]:
            if t["start_ns"] >= reps[0]["window"]["start_ns"] and not is_other(t):
                lives[t["tid"], t["start_ns"], t["exec"]].append(t)
    over = 0
    for key, parts in lives.items():
        equal(sum(p["end_ns"] is not None for p in parts[:-1]), 0, "ends of %s" % (key,))
        if parts[-1]["end_ns"] is None:
            continue
        over += len(parts) > 1
        equal(sum(sum(p[k] for k in CLASSES) for p in parts), parts[-1]["end_ns"] - key[1],
              "life of %s" % (key,))
    need(over > 0 or SLOW > 1, "no task has lived across a boundary")


@test
def no_call_lost_at_a_boundary():
    needs_bpf()
    r = run(["-f", "json", "-i", "0.05", "-o", "/dev/stderr", "--"] + prog("calls", 0, 2))
    equal(r.status, 0, "status")
    reps = parse(r.err)
    need(len(reps) >= 40, "only %d windows", len(reps))
    for name, want in pairs(r.out.decode()):
        have = sum(call(t, name)["count"] for rep in reps for t in rep["tasks"])
        equal(have, int(want), "%s over %d windows" % (name, len(reps)))
        # An emulated CPU may stand still for some windows while another one has its turn.
        need(SLOW > 1 or sum(1 for rep in reps if
                             any(call(t, name)["count"] for t in rep["tasks"])) >= 38,
             "%s is not in each window", name)


# ---- 2: truth ----

# What the C library calls instead, on architectures that lack the usual one.
ALIAS = {"_llseek": "lseek", "ppoll": "pause", "clone": "vfork"}


@test
def counts_of_calls():
    needs_bpf()
    n = 500
    rep, _ = command(prog("calls", n))
    nothing_lost(rep)
    laws(rep, selected=True)
    sums = {ALIAS.get(k[3], k[3]): v for k, v in call_sums(rep["tasks"]).items()
            if k[0] == "syscall"}
    rounds = 8 * n # 1 process, 3 children, 4 threads
    for name, count, errors in [("getppid", 2 * rounds, 0), ("gettid", rounds, 0),
                                ("write", rounds, 0), ("sched_yield", rounds, 0),
                                ("lseek", 2 * rounds, rounds), ("exit_group", 4, 0),
                                ("exit", 4, 0), ("execve", 1, 0), ("wait4", 3, 0)]:
        need(name in sums, "no %s", name)
        equal(sums[name]["count"], count, "count of " + name)
        equal(sums[name]["errors"], errors, "errors of " + name)
    unknown = [v for k, v in call_sums(rep["tasks"]).items() if k[1] == 1000]
    # powerpc traces no call that it does not have (do_syscall_trace_enter in its ptrace.c)
    want = [] if os.uname().machine.startswith("ppc") else [(rounds, rounds)]
    equal([(v["count"], v["errors"]) for v in unknown], want, "call 1000")
    for t in rep["tasks"]:
        equal(call(t, "getppid")["count"], 2 * n, "getppid of task %d" % t["tid"])


@test
def calls_by_abi():
    """32-bit calls have numbers of their own, also where they come from 64-bit code."""
    needs_bpf()
    n = 300
    argv = prog("abis", n)
    status = subprocess.run(argv).returncode
    if status in (3, -signal.SIGSEGV): # another architecture; a kernel without IA32_EMULATION
        raise Skip("no 32-bit system calls from 64-bit code here: status %d" % status)
    equal(status, 0, "status of abis")
    rep, _ = command(argv)
    nothing_lost(rep)
    laws(rep, selected=True)
    equal([t["comm"] for t in rep["tasks"]], ["abis"], "tasks")
    have = {(c["abi"], c["id"]): c["count"] for c in rep["tasks"][0]["calls"]}
    equal((have.get(("i386", 20)), have.get(("x86_64", 39)), have.get(("x86_64", 110))),
          (2 * n, 2 * n, n), "getpid by 32 and 64 bits, getppid")
    equal([k for k in have if k[0] == "i386"], [("i386", 20)], "32-bit calls")


@test
def counts_against_strace():
    needs_bpf()
    if not shutil.which("strace"):
        raise Skip("no strace")
    argv = prog("calls", 50)
    with tempfile.NamedTemporaryFile("r") as f:
        p = subprocess.run(["strace", "-f", "-c", "-o", f.name] + argv, stderr=subprocess.PIPE)
        if p.returncode:
            raise Skip("strace: " + p.stderr.decode(errors="replace").strip())
        want = {}
        for line in f:
            w = line.split()
            if len(w) >= 5 and w[0][0].isdigit() and w[-1] != "total":
                want[w[-1]] = int(w[3]), int(w[4]) if len(w) == 6 else 0
    rep, _ = command(argv)
    have = {k[3]: (v["count"], v["errors"]) for k, v in call_sums(rep["tasks"]).items()
            if k[0] == "syscall"}
    # What does not return strace does not count, nor numbers that it has no name for;
    # how often futex is called is up to the scheduler.
    for name in ["exit", "exit_group", "futex"]:
        have.pop(name, None)
        want.pop(name, None)
    for name in [k[3] for k in call_sums(rep["tasks"]) if k[1] == 1000]:
        have.pop(name)
    have = {k: v for k, v in have.items() if v[0]}
    need(len(want) > 15, "strace told only of %s", sorted(want))
    for name in sorted(set(have) | set(want)):
        equal(have.get(name), want.get(name), "calls and errors of " + name)


Truth = collections.namedtuple("Truth", "entry run delay voluntary involuntary")


def steal_ticks():
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8])


def truths(mode, seconds):
    """Accounts `times`: each child's entry and what the kernel says of it; and other lines.

    The kernel's run time leaves out what a hypervisor has stolen, which no clock shows: a run
    with more than one tick of that says nothing, and is made again.
    """
    for _ in range(8):
        before = steal_ticks()
        rep, out = command(prog("times", mode, seconds))
        if steal_ticks() - before <= 1:
            break
    else:
        raise Skip("the hypervisor takes the CPU away all the time")
    laws(rep, selected=True)
    nothing_lost(rep)
    told = [Truth(task(rep, int(w[1])), *map(int, w[2:])) for w in pairs(out) if w[0] == "task"]
    need(told, "no child told of itself")
    for t in told:
        need(t.run > 0, "no schedstat of task %d", t.entry["tid"])
    return told, {w[0]: int(w[1]) for w in pairs(out) if w[0] != "task"}


@test
def oncpu_of_a_user_spinner():
    needs_bpf()
    (t,), _ = truths("user", 1)
    near(oncpu(t.entry), t.run, 0.01, "on-CPU time")
    near(t.entry["user_ns"], oncpu(t.entry) - sum(t.entry[k] for k in STOLEN), 0.01, "user time")


@test
def without_calls_nobody_knows():
    """Where system calls are not watched, a task is busy on a CPU: whatever it was in is long over."""
    needs_bpf()
    rep, _ = command(["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"], ["-e", "sched"])
    t, = [t for t in rep["tasks"] if t["comm"] == "sh"]
    # Past sched_process_exit it is in the kernel for sure: that little is sys.
    need(not t["user_ns"] and 0 <= t["sys_ns"] < t["busy_ns"] / 10, "user %s, sys %s, busy %s",
         t["user_ns"], t["sys_ns"], t["busy_ns"])
    need(not t["calls"], "calls: %s", t["calls"])


@test
def oncpu_in_the_kernel():
    needs_bpf()
    (t,), _ = truths("sys", 1)
    near(oncpu(t.entry), t.run, 0.01, "on-CPU time")
    near(t.entry["sys_ns"], oncpu(t.entry) - sum(t.entry[k] for k in STOLEN), 0.03, "sys time")
    need(call(t.entry, "read")["oncpu_ns"] > 0.95 * t.entry["sys_ns"], "sys is not in read")


@test
def sleep_of_a_sleeper():
    needs_bpf()
    (t,), said = truths("sleep", 0.7)
    near(t.entry["sleep_ns"], said["slept"], 0.01, "sleep")
    c = call(t.entry, "clock_nanosleep")
    equal(c["count"], 1, "clock_nanosleep")
    near(c["elapsed_ns"], said["slept"], 0.01, "elapsed")
    near(c["sleep_ns"], said["slept"], 0.01, "the call's sleep")


def stopped_as_said(t, said):
    # However busy the machine: from when it had left its CPU, and from when it was asked to.
    have = t["stopped_ns"]
    need(said["least"] <= have <= said["most"], "stopped for %d ns, which took %s", have, said)


@test
def stopped_while_stopped():
    needs_bpf()
    (t,), said = truths("stop", 0.5)
    stopped_as_said(t.entry, said)


@test
def wait_of_two_on_one_cpu():
    needs_bpf()
    told, _ = truths("pair", 1)
    equal(len(told), 2, "children")
    for t in told:
        near(t.entry["wait_ns"], t.delay, 0.02, "wait")
        near(oncpu(t.entry), t.run, 0.01, "on-CPU time")
        need(t.delay > 200000000, "the two have not met")
        equal([c["cpu"] for c in t.entry["cpus"] if c["user_ns"] > 10000000], [0], "CPUs")


@test
def switches_by_kind():
    needs_bpf()
    told, _ = truths("switch", 1)
    for t in told:
        need(t.voluntary > 20 and t.involuntary > 20, "too few switches to tell")
        equal(t.entry["voluntary"], t.voluntary, "voluntary")
        equal(t.entry["involuntary"], t.involuntary, "involuntary")


# ---- 3: COMMAND, signals, windows ----

@test
def status_of_the_command():
    needs_bpf()
    for script, want in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143),
                         ("kill -KILL $$", 137)]:
        r = run(["--", "sh", "-c", script])
        equal(r.status, want, "status of " + script)
        equal(r.out, b"", "stdout of " + script)
        need(r.err.strip(), "no report on stderr of %s", script)
    r = run(["--", "no-such-command-here"])
    equal(r.status, 127, "status of a command that is not there")
    equal(len(r.err.splitlines()), 1, "lines on stderr")
    r = run(["--", "/"])
    equal(r.status, 126, "status of a command that cannot be run")


@test
def report_into_a_file():
    needs_bpf()
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "out")
        r = run(["-o", path, "--", "sh", "-c", "echo word; echo error >&2"])
        equal((r.status, r.out, r.err), (0, b"word\n", b"error\n"), "status and output")
        with open(path, encoding="utf-8") as f:
            need(len(f.read()) > 100, "no report in the file")
        r = run(["-o", os.path.join(d, "none", "out"), "-d", "0.1"])
        equal((r.status, len(r.err.splitlines())), (1, 1), "status, lines on stderr")


@test
def descendants_and_nobody_else():
    needs_bpf()
    script = "echo $$; sh -c 'echo $$; (sleep 0.2; exit) & echo $!; setsid sh -c \"echo \\$\\$\"; wait'"
    rep, out = command(["sh", "-c", script])
    pids = {int(w) for w in out.split()}
    need(len(pids) >= 3, "the script told of %s only", out.split())
    have = {p["pid"] for p in rep["processes"]}
    need(pids <= have, "missing descendants: %s", pids - have)
    need(os.getpid() not in have and 1 not in have, "others are in processes")
    equal(have, {t["pid"] for t in rep["tasks"]}, "processes of the tasks")
    need(rep["system"]["tasks"] > len(rep["tasks"]), "the system is not complete")
    law_cpus(rep)
    law_system(rep)
    need(all(t["start_ns"] >= rep["window"]["start_ns"] for t in rep["tasks"]),
         "a task of COMMAND began before it")


@test
def signals_end_the_window():
    needs_bpf()
    for sig in [signal.SIGINT, signal.SIGTERM]:
        p = subprocess.Popen([TOOL, "-d", "60", "-f", "json"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        time.sleep(2)
        p.send_signal(sig)
        out, err = p.communicate(timeout=20)
        equal((p.returncode, err), (0, b""), "status and stderr after %s" % sig.name)
        rep, = parse(out)
        laws(rep)
        need(10 ** 8 < rep["window"]["elapsed_ns"] < 5 * 10 ** 9, "elapsed %d",
             rep["window"]["elapsed_ns"])
        p = subprocess.Popen([TOOL, "-f", "json", "--", "sleep", "60"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, preexec_fn=os.setsid)
        time.sleep(2)
        if sig == signal.SIGINT: # as from a terminal, to all of them
            os.killpg(p.pid, sig)
        else:
            p.send_signal(sig)
        out, err = p.communicate(timeout=20)
        equal((p.returncode, out), (128 + sig, b""), "status and stdout with COMMAND, " + sig.name)
        laws(parse(err)[0], selected=True)


@test
def intervals_and_durations():
    needs_bpf()
    for args, want in [(["-d", "0.25"], [250000000]), (["-d", "0.123456789"], [123456789]),
                       (["-i", "0.1", "-n", "3"], [100000000] * 3),
                       (["-i", "0.2", "-d", "0.5"], [200000000, 200000000, 100000000])]:
        # To the nanosecond, unless others keep the tool off the CPU past the end: then once more.
        for _ in range(5):
            have = [r["window"]["elapsed_ns"] for r in reports(args + ["-b", "cpu"])]
            equal(len(have), len(want), "reports of %s" % args)
            if have == want:
                break
        equal(have, want, "windows of %s" % args)
    r = run(["-i", "0.1", "-n", "2"])
    equal((r.status, r.err), (0, b""), "status and stderr of text intervals")


@test
def levels():
    needs_bpf()
    arrays = ["cpus", "groups", "processes", "tasks"]
    for i, level in enumerate(["system", "cpu", "group", "process", "task"]):
        rep, = reports(["-d", "0.1", "-b", level])
        equal([a for a in arrays if a in rep], arrays[:i], "arrays of -b " + level)


UNTOLD_BY = {"syscalls": ["user_ns", "sys_ns"], "irqs": ["irq_ns"], "softirqs": ["softirq_ns"]}
CLASS_OF = {"syscalls": "syscall", "irqs": "irq", "softirqs": "softirq"}


@test
def groups_of_events():
    """What -e leaves out has no calls and no time, and the report says that this means nothing."""
    needs_bpf()
    for events in ["sched", "irqs", "sched,syscalls", "softirqs,irqs", "hcalls", "all", "sched,all"]:
        for engine in ["bpf", "perf"]:
            rep, = reports(["-d", "0.15", "-e", events, "--engine", engine])
            laws(rep)
            on = set(UNTOLD_BY) if "all" in events.split(",") else set(events.split(",")) & set(UNTOLD_BY)
            have = {c["class"] for c in rep["system"]["calls"]}
            need(have <= {CLASS_OF[e] for e in on}, "calls of %s with -e %s", have, events)
            want = {k for e, keys in UNTOLD_BY.items() if e not in on for k in keys}
            equal({k for k in rep["unrecorded"] if k in ONCPU and k != "hv_ns"}, want, "unrecorded with -e " + events)
            for k in want & set(STOLEN):
                equal(rep["system"][k], 0, "%s with -e %s" % (k, events))
            if os.uname().machine == "x86_64":
                need("hv_ns" not in rep["unrecorded"], "there are no hypervisor calls to record")


# ---- 4: names, wrong usage, no privilege, no room ----

def no_controls(data, what):
    text = data.decode("utf-8") # raises on what is not
    bad = [c for c in text if (c < " " and c not in "\n\t") or "\x7f" <= c <= "\x9f" or
           c in "\u202e\u2066\u2067\u202a\u202b\u202d\u2028\u2029"]
    need(not bad, "%s holds %r", what, bad[:3])


@test
def names_that_harm():
    needs_bpf()
    with Background(prog("names"), "ready") as b:
        names = {int(pid): bytes.fromhex(hx)[:15] for hx, pid in b.lines}
        out = {}
        for fmt in [("text", "-T", "0", "-b", "task"), ("text", "-F"), ("json",), ("csv",)]:
            r = run(["-d", "0.3", "-f"] + list(fmt))
            what = " ".join(fmt)
            equal((r.status, r.err), (0, b""), "status and stderr of " + what)
            no_controls(r.out, what)
            need(b"\t" not in r.out or fmt[0] == "text", "a tab in %s", what)
            out[what] = r.out
    rep, = parse(out["json"])
    for pid, name in names.items():
        have = task(rep, pid)["comm"]
        equal(have, name.decode("utf-8", "replace"), "comm of %d" % pid) \
            if not invalid(name) else need("\ufffd" in have, "comm of %r is %r", name, have)
    rows = list(csv.reader(io.StringIO(out["csv"].decode()), strict=True))
    need(len(rows) > len(names), "only %d rows of CSV", len(rows))
    equal(len({len(r) for r in rows}), 1, "widths of the CSV's rows")
    for pid in names:
        need(any(str(pid) in r for r in rows), "task %d is not in the CSV", pid)


def invalid(name):
    try:
        name.decode()
    except UnicodeDecodeError:
        return True
    return False


@test
def wrong_usage():
    for args in [["--no-such"], ["-d"], ["-d", "x"], ["-d", "-1"], ["-d", "0"], ["-f", "xml"],
                 ["-n", "3"], ["-i", "0"], ["-n", "0", "-i", "1"], ["word"], ["--"], ["-T", "-1"],
                 ["-b", "planet"], ["-s", "no-key"], ["-e", "dreams"], ["-o", ""], ["-d", "nan"],
                 ["--mem-limit", "1"], ["--help=x"], ["-d", "1e99"], ["-\x1b"], ["--\x1b\n"]]:
        r = run(args)
        equal(r.status, 2, "status of %r" % args)
        equal(len(r.err.splitlines()), 1, "lines on stderr of %r" % args)
        equal(r.out, b"", "stdout of %r" % args)
        no_controls(r.err, "%r" % args)
    for args in [["-h"], ["-V"], ["--json-schema"]]:
        r = run(args)
        equal((r.status, r.err), (0, b""), "status and stderr of %r" % args)


@test
def without_privilege():
    if os.geteuid():
        raise Skip("not root: cannot become nobody")
    with tempfile.TemporaryDirectory() as d:
        tool = os.path.join(d, "utilbpf")
        shutil.copy(TOOL, tool)
        os.chmod(d, 0o755)
        for args in [["-d", "0.1"], ["-f", "json", "-d", "0.1"], ["--", "true"]]:
            r = run(args, tool=tool, cwd=d, user=65534, group=65534, extra_groups=[])
            equal((r.status, r.out), (1, b""), "status and stdout of %s" % args)
            equal(len(r.err.splitlines()), 1, "lines on stderr of %s: %r" % (args, r.err))
            need(b"root" in r.err, "no advice: %r", r.err)
        r = run(["-V"], tool=tool, cwd=d, user=65534, group=65534, extra_groups=[])
        equal(r.status, 0, "status of -V")


@test
def no_room_for_the_report():
    needs_bpf()
    for fmt in ["text", "json", "csv"]:
        with open("/dev/full", "wb") as full:
            p = subprocess.run([TOOL, "-d", "0.1", "-f", fmt], stdout=full, stderr=subprocess.PIPE)
        equal((p.returncode, len(p.stderr.splitlines())), (1, 1), "status, lines of " + fmt)
        p = run(["-d", "0.1", "-f", fmt, "-o", "/dev/full"])
        equal((p.status, len(p.err.splitlines())), (1, 1), "status, lines of -o, " + fmt)
        r, w = os.pipe()
        os.close(r)
        p = subprocess.run([TOOL, "-i", "0.1", "-f", fmt], stdout=w, stderr=subprocess.PIPE,
                           timeout=30)
        os.close(w)
        equal((p.returncode, len(p.stderr.splitlines())), (1, 1), "closed pipe, " + fmt)
    for args in [["-h"], ["-V"], ["--json-schema"]]:
        with open("/dev/full", "wb") as full:
            p = subprocess.run([TOOL] + args, stdout=full, stderr=subprocess.PIPE)
        equal((p.returncode, len(p.stderr.splitlines())), (1, 1), "status, lines of %s" % args)


# ---- 5: many short lives ----

VFORKS, THREADS, EXECS = 80000, 20000, 2000
OWN_CALL = "sched_get_priority_min" # which nobody else makes


def swarm_counts(rep, e, vforks, threads, execs, sleepers):
    """What swarm did, in the calls of e; others may have made the same ones only in `system`."""
    want = {"vfork": vforks + execs, OWN_CALL: vforks + 2 * threads, "exit": threads}
    for name, n in want.items():
        have = call(e, name)
        equal(have["count"], n, "count of " + name)
    equal(call(e, "exit_group")["count"], vforks + execs + 3, "count of exit_group")
    equal(call(e, "execve")["count"], execs + 1, "count of execve")
    law_cpus(rep)
    law_system(rep)
    equal(rep["quality"]["residual_ns"], 0, "residual_ns")


@test
def a_hundred_thousand_lives():
    needs_bpf()
    rep, _ = command(prog("swarm", VFORKS, THREADS, EXECS, 0), ["-b", "group"])
    nothing_lost(rep)
    # the command, two parts; each exec makes one more image
    tasks = 3 + VFORKS + THREADS + 2 * EXECS
    equal(sum(g["tasks"] for g in rep["groups"]), tasks, "tasks")
    e = {"calls": []}
    for g in rep["groups"]:
        e["calls"] += g["calls"]
    equal(len(rep["groups"]), 1, "groups")
    swarm_counts(rep, e, VFORKS, THREADS, EXECS, 0)


class Threads(threading.Thread):
    """How many threads there are, from time to time."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen, self.over = [], threading.Event()

    def run(self):
        while not self.over.wait(0.05):
            with open("/proc/loadavg", encoding="ascii") as f:
                self.seen.append(int(f.read().split()[3].split("/")[1]))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.over.set()
        self.join()


def unnamed(e):
    """Calls that found no record of their own."""
    return call(e, "(other)")["count"]


@test
def a_hundred_thousand_in_small_tables():
    needs_bpf()
    sleepers = 2000
    p = subprocess.Popen(prog("swarm", VFORKS, THREADS, EXECS, sleepers))
    try:
        rep, = reports(["-d", "4", "--mem-limit", "1M"])
    finally:
        p.wait()
    laws(rep)
    need(rep["quality"]["dropped_tasks"] > 0, "no task was dropped")
    need(any(is_other(t) for t in rep["tasks"]), "no (other) task")


@test
def counts_in_small_tables():
    needs_bpf()
    sleepers = 2000
    argv = prog("swarm", VFORKS, THREADS, EXECS, sleepers)
    ample, _ = command(argv, ["-b", "system"])
    with Threads() as threads:
        small, _ = command(argv, ["--mem-limit", "1M"])
    laws(small, selected=True)
    need(small["quality"]["dropped_tasks"] > 0, "no task was dropped")
    need(any(is_other(t) for t in small["tasks"]), "no (other) task")
    # Others run too, and the tasks of (other) cannot be told apart from them: only the system is exact.
    s = small["system"]
    for name, n in [("vfork", VFORKS + EXECS), ("exit", THREADS), ("execve", EXECS + 1),
                    ("exit_group", VFORKS + EXECS + 3), ("clone", THREADS + 2 + sleepers)]:
        have = call(s, name)["count"]
        need(have + unnamed(s) >= n, "%s: %d of %d, %d have no name", name, have, n, unnamed(s))
    for rep in [small, ample]:
        e = rep["system"]
        # What has no name is in (other); a call whose task left the CPU unseen is `unmatched`.
        least = VFORKS + 2 * THREADS - unnamed(e) - rep["quality"]["unmatched"]
        need(least <= call(e, OWN_CALL)["count"] <= VFORKS + 2 * THREADS, "%s: %d", OWN_CALL,
             call(e, OWN_CALL)["count"])
        equal(call(e, OWN_CALL)["errors"], 0, "errors")
    off, win = sum(s[k] for k in OFFCPU), small["window"]["elapsed_ns"]
    most = max(threads.seen)
    need(sleepers * 0.5 < off / win < most * 1.02, "off-CPU time of %.0f tasks, of at most %d",
         off / win, most)


# ---- 6: nothing is left behind ----

def kernel_ids(pid):
    """Programs, maps and links that a process holds."""
    out = set()
    for fd in os.listdir("/proc/%d/fdinfo" % pid):
        try:
            with open("/proc/%d/fdinfo/%s" % (pid, fd), encoding="ascii") as f:
                for line in f:
                    m = re.match(r"(prog|map|link)_id:\s*(\d+)", line)
                    if m:
                        out.add((m[1], int(m[2])))
        except FileNotFoundError:
            pass
    return out


def living_ids():
    out = set()
    for kind in ["prog", "map", "link"]:
        p = subprocess.run(["bpftool", "-j", kind, "list"], stdout=subprocess.PIPE, check=True)
        out |= {(kind, e["id"]) for e in json.loads(p.stdout)}
    return out


def gone(ids, seconds=5):
    end = time.monotonic() + seconds
    while ids & living_ids():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


@test
def nothing_left_behind():
    needs_bpf()
    if not shutil.which("bpftool"):
        raise Skip("no bpftool")
    for sig, args in [(signal.SIGKILL, []), (signal.SIGKILL, ["--", "sleep", "3"]),
                      (signal.SIGTERM, [])]:
        p = subprocess.Popen([TOOL, "-d", "60"] + args, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        try:
            end = time.monotonic() + 10
            ids = set()
            while not any(k == "link" for k, _ in ids) and time.monotonic() < end:
                time.sleep(0.2)
                ids = kernel_ids(p.pid)
            time.sleep(0.3)
            ids |= kernel_ids(p.pid)
            need(len(ids) > 15, "only %d kernel objects: %s", len(ids), ids)
            need(ids <= living_ids(), "the kernel does not tell of them")
        finally:
            p.send_signal(sig)
            p.wait()
        need(gone(ids), "left after %s %s: %s", sig.name, args, sorted(ids & living_ids()))
    pinned = [f for _, _, files in os.walk("/sys/fs/bpf") for f in files if "utilbpf" in f]
    equal(pinned, [], "pinned objects")


# ---- 7: who was there before ----

def seeds(b):
    """The tasks of the workload seed: pid and tid by what each does."""
    return {name: (int(pid), int(tid)) for name, pid, tid in b.lines}


def law_silent(rep, ids):
    """Those of them that do nothing spent all of the window in one state, and in one call."""
    win, tasks = rep["window"]["elapsed_ns"], []
    for name, state, syscall in [("pause", "sleep", "pause"), ("futex", "sleep", "futex"),
                                 ("pipe", "sleep", "read"), ("thread", "sleep", "futex"),
                                 ("leader", "sleep", "pause"), ("blocked", "blocked", "vfork")]:
        pid, tid = ids[name]
        t = task(rep, tid)
        what = "task in " + name
        equal((t["pid"], t["state"], t[state + "_ns"]), (pid, state, win), what)
        equal([(c["open"], c["pending_ns"], c["count"]) for c in t["calls"]
               if syscall in (c["name"], ALIAS.get(c["name"]))], [(1, win, 0)],
              "the open call of the " + what)
        need(t["start_ns"] < rep["window"]["start_ns"], "%s began in the window", what)
        tasks.append(t)
    t = task(rep, ids["stopped"][1])
    equal((t["state"], t["stopped_ns"]), ("stopped", win), "stopped task")
    return tasks


@test
def silent_tasks_are_there():
    needs_bpf()
    with Background(prog("seed"), "ready") as b:
        ids = seeds(b)
        rep, = reports(["-d", "1"])
    laws(rep)
    win = rep["window"]["elapsed_ns"]
    for t in law_silent(rep, ids):
        equal((len(t["calls"]), t["end_ns"], t["kthread"]), (1, None, False),
              "calls, end, kthread of %s" % t["tid"])
    equal(task(rep, ids["stopped"][1])["calls"], [], "calls of the stopped task")
    t = task(rep, ids["spin"][1])
    equal(t["state"] in ("running", "wait"), True, "state of the spinner is " + t["state"])
    equal(sum(t[k] for k in ONCPU + ["wait_ns"]), win, "on-CPU and wait of the spinner")
    equal((t["sys_ns"], [c for c in t["calls"] if c["class"] == "syscall"]), (0, []),
          "sys of the spinner")
    need(t["user_ns"] + t["busy_ns"] > win / 4, "the spinner has hardly run: %s", t)


# ---- 8: generations, kernel threads, moves ----

@test
def generations_of_images():
    needs_bpf()
    rep, out = command(prog("gens", "chain"))
    laws(rep, selected=True)
    pid = int(dict(pairs(out))["child"])
    gens = sorted((t for t in rep["tasks"] if t["tid"] == pid), key=lambda t: t["exec"])
    equal([t["exec"] for t in gens], [0, 1, 2], "generations")
    for i, t in enumerate(gens):
        equal(call(t, "getppid")["count"], 10 + i, "getppid of image %d" % i)
        equal(call(t, "execve")["count"], 0 if i == 0 else 1, "execve of image %d" % i)
        equal(t["state"], "exited", "state of image %d" % i)
        if i:
            equal(t["start_ns"], gens[i - 1]["end_ns"], "start of image %d" % i)
    equal(len([p for p in rep["processes"] if p["pid"] == pid]), 1, "processes")


@test
def generations_of_a_thread():
    needs_bpf()
    rep, out = command(prog("gens", "thread"))
    laws(rep, selected=True)
    told = dict(pairs(out))
    pid, tid = int(told["child"]), int(told["thread"])
    leader, thread, image = task(rep, pid, 0), task(rep, tid), task(rep, pid, 1)
    equal((thread["pid"], thread["exec"]), (pid, 0), "the thread")
    equal(call(image, "getppid")["count"], 12, "getppid of the new image")
    equal(call(image, "execve")["count"], 1, "execve of the new image")
    equal(thread["end_ns"], image["start_ns"], "the thread goes over into the new image")
    need(leader["end_ns"] <= image["start_ns"], "the leader outlives the exec")
    equal({t["pid"] for t in (leader, thread, image)}, {pid}, "pid")


@test
def kernel_threads_are_sys():
    needs_bpf()
    def kthreads():
        out = set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid, encoding="utf-8", errors="replace") as f:
                    if int(f.read().rsplit(")", 1)[1].split()[6]) & 0x200000:
                        out.add(int(pid))
            except OSError:
                pass
        return out
    before = kthreads()
    with Mix():
        rep, = reports(["-d", "1"])
    there = before & kthreads()
    have = {t["tid"] for t in rep["tasks"] if t["kthread"]}
    need(there and there <= have, "kernel threads not told of: %s", there - have)
    for t in rep["tasks"]:
        if t["kthread"]:
            equal((t["user_ns"], t["busy_ns"]), (0, 0), "user and busy of %r" % t["comm"])
            equal([c["name"] for c in t["calls"] if c["class"] == "syscall"], [],
                  "calls of %r" % t["comm"])
    need(sum(t["sys_ns"] for t in rep["tasks"] if t["kthread"]) > 0, "no kernel thread has run")
    mine = task(rep, os.getpid())
    equal(mine["kthread"], False, "kthread of a user task")


@test
def migrations_of_a_task():
    needs_bpf()
    if os.sched_getaffinity(0) < {0, 1}:
        raise Skip("needs CPUs 0 and 1")
    n = 101
    rep, out = command(prog("gens", "move", n))
    laws(rep, selected=True)
    t = task(rep, int(dict(pairs(out))["child"]), 1)
    equal(t["migrations"], n, "migrations")
    equal(sorted(c["cpu"] for c in t["cpus"]), [0, 1], "CPUs")
    equal(call(t, "sched_setaffinity")["count"], n, "sched_setaffinity")


# ---- running the tests ----

def one(fn):
    try:
        fn()
    except Skip as e:
        print("skip %s: %s" % (fn.__name__, e), flush=True)
        return "skip"
    except (Fail, subprocess.TimeoutExpired) as e:
        print("FAIL %s: %s" % (fn.__name__, e), flush=True)
        return "fail"
    except Exception as e: # pylint: disable=broad-except
        where = traceback.extract_tb(e.__traceback__)[-1]
        print("FAIL %s: %s: %s (line %s)" % (fn.__name__, type(e).__name__, e, where.lineno),
              flush=True)
        return "fail"
    print("ok " + fn.__name__, flush=True)
    return "ok"


def with_bpffs():
    """Where nothing has mounted the BPF file system: again, with one that ends with us."""
    mounted = os.path.join(TOP, "tests", "mounted.sh")
    if "UTILBPF_TEST_MOUNTED" in os.environ or not os.path.exists(mounted): # guests do without
        return
    os.environ["UTILBPF_TEST_MOUNTED"] = "bpf"
    os.execv(mounted, [mounted, "bpf", sys.executable] + sys.argv)


def main(names):
    with_bpffs()
    unknown = set(names) - {t.__name__ for t in tests}
    if unknown:
        print("no such test: %s" % ", ".join(sorted(unknown)), file=sys.stderr)
        return 2
    n = collections.Counter(one(t) for t in tests if not names or t.__name__ in names)
    print("%d passed, %d failed, %d skipped" % (n["ok"], n["fail"], n["skip"]))
    return 1 if n["fail"] else 0


if __name__ == "__main__":
    sys.modules["run"] = sys.modules["__main__"] # the tests that have a file of their own use this
    import resident # pylint: disable=unused-import
    import groups # pylint: disable=unused-import
    sys.exit(main(sys.argv[1:]))
