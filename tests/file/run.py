#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `utilbpf -r`: run.py [NAME...]

Recordings of real kernels (tests/data) are compared with curt's reports and with what their switches
alone say; recordings made by perfdata.py have every layout, byte order and damage, and an account
that was worked out by hand. Needs ./utilbpf, no privilege.
"""
import collections
import csv
import io
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import perfdata # pylint: disable=wrong-import-position
import run # pylint: disable=wrong-import-position
from perfdata import CALLCHAIN, CPU, ID, IDENTIFIER, IP, RAW, READ, TID, TIME # pylint: disable=wrong-import-position
from run import CLASSES, ONCPU, TOOL, TOP, Fail, call, equal, laws, need, oncpu, task, test # pylint: disable=wrong-import-position

run.tests.clear() # those of the live system are not ours

DATA = os.path.join(TOP, "tests", "data")
REAL = ["edge", "io", "migrate"]


def tool(*args, data=None):
    """Status, stdout and stderr; data: what comes through a pipe."""
    p = subprocess.run([TOOL, *args], input=data, stdin=subprocess.DEVNULL if data is None else None,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=60)
    need(p.returncode >= 0, "ended by signal %d: %s", -p.returncode, p.stderr.decode(errors="replace")[-2000:])
    need(b"Sanitizer" not in p.stderr, "%s", p.stderr.decode(errors="replace")[-2000:])
    return p.returncode, p.stdout, p.stderr.decode()


def read(path, *opts):
    """The reports of a sound recording."""
    status, out, err = tool("-r", path, "-f", "json", *opts)
    equal((status, err), (0, ""), "status and stderr")
    return run.parse(out)


class Made:
    """A Recording in a file, for as long as it is read."""

    def __init__(self, data):
        self.data = data if isinstance(data, bytes) else data.whole()

    def __enter__(self):
        fd, self.path = tempfile.mkstemp()
        os.write(fd, self.data)
        os.close(fd)
        return self.path

    def __exit__(self, *exc):
        os.unlink(self.path)


def made(data, *opts):
    with Made(data) as path:
        return read(path, *opts)[0]


def times(entity, **want):
    """Each class in ns; what is not named is zero."""
    have = {k[:-3]: entity[k] for k in CLASSES if entity[k]}
    equal(have, {k: v for k, v in want.items() if v}, "times of %s" % entity.get("comm", entity.get("cpu")))


# ---- recordings of a real kernel ----

def real(name):
    rep, = read(os.path.join(DATA, name + ".perf.data"))
    return rep


def on_cpu(rep):
    out = collections.Counter()
    for t in rep["tasks"]:
        for c in t["cpus"]:
            if t["tid"]: # 0 is nobody in particular
                out[t["tid"], c["cpu"]] += sum(c[k] for k in ONCPU)
    for c in rep["cpus"]: # nothing interrupts the idle task in these
        out[0, c["cpu"]] += c["idle_ns"]
    return out


def yardstick(name):
    out = collections.Counter()
    with open(os.path.join(DATA, name + ".oncpu.tsv"), encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                tid, cpu, ns, _ = line.split("\t")
                out[int(tid), int(cpu)] = int(ns)
    return out


# The recorder starts and stops the events of one CPU after the other and moves there to do so: for a moment
# each, one CPU's switches are recorded and the other's are not. Switches alone then put it on two CPUs at once.
RECORDER = {"edge": 16991, "io": 16901, "migrate": 16890}


def compare_on_cpu(name):
    rep = real(name)
    laws(rep)
    have, want = on_cpu(rep), yardstick(name)
    if name == "edge":
        # 16999 execs and is 16997 from then on, in the middle of a slice: switches alone see the end of it only.
        equal(have[16999, 0] + have[16997, 0], want[16999, 0] + want[16997, 0], "the thread that execs")
        for c in have, want:
            del c[16999, 0], c[16997, 0]
    off = {k: want[k] - have[k] for k in set(have) | set(want) if want[k] != have[k]}
    equal({k[0] for k in off} - {0}, {RECORDER[name]}, "tasks whose time on a CPU differs: %s" % off)
    # What the recorder cannot have used there is nobody's: no other task has it.
    equal(sum(off.values()), rep["quality"]["unknown_ns"], "time that is nobody's, and is not idle either")


@test
def yardstick_edge():
    compare_on_cpu("edge")


@test
def yardstick_io():
    compare_on_cpu("io")


@test
def yardstick_migrate():
    compare_on_cpu("migrate")


def curt_calls(name):
    """By task as curt names it ("17", "17-0"): {number: (name, count, elapsed, pending, min, max)}."""
    out, cur = {}, None
    with open(os.path.join(DATA, name + ".curt.txt"), encoding="utf-8") as f:
        for line in f:
            if line.startswith("    ALL:"):
                break
            m = re.match(r"\t\[\s*(\d+(?:-\d+)?|ALL)\] ", line)
            if m:
                cur = m[1]
                continue
            m = re.match(r"\t\t\(\s*(\d+)\)(\S+)\s+(\d+)\s+([\d.]+)\s+([\d.]+)\s+(\S+)\s+(\S+)\s+(\S+)", line)
            if m and cur != "ALL":
                ns = [None if s == "--" else round(float(s) * 1e6) for s in m.groups()[3:]]
                out.setdefault(cur, {})[int(m[1])] = (m[2], int(m[3]), ns[0], ns[1], ns[3], ns[4])
    return out


def our_calls(rep):
    last = collections.Counter()
    for t in rep["tasks"]:
        last[t["tid"]] = max(last[t["tid"]], t["exec"])
    out = {}
    for t in rep["tasks"]:
        key = str(t["tid"]) if t["exec"] == last[t["tid"]] else "%d-%d" % (t["tid"], t["exec"])
        out[key] = {c["id"]: (c["name"], c["count"], c["elapsed_ns"], c["pending_ns"], c["min_ns"], c["max_ns"])
                    for c in t["calls"] if c["class"] == "syscall"}
    return out


MAKES_TASK = {"clone", "clone3", "vfork", "fork"}
ENDS_TASK = {"exit", "exit_group"}


def mistake(rec, tid, theirs, ours):
    """The number in the list of curt's mistakes that explains why a call differs. None: nothing does."""
    name = (theirs or ours)[0]
    if name.startswith("virtio") and not ours:
        return 0 # no mistake: an interrupt, which our report has in a class of its own
    if tid in ("16997", "16997-0", "16999") and rec == "edge" and name in ("execve", "pause"):
        return 9
    if name == "execve":
        return 12 # its elapsed is what comes after the image is there
    if name in MAKES_TASK and theirs[1] == (ours[1] if ours else 0) + 1:
        return 12 # counted in the child, too
    if name in ENDS_TASK and theirs[1] == 0 and ours[1] == 1:
        return 3 # what a task does from its exit to its last switch is in no bucket
    if name == "getppid" and rec == "edge" and not ours and theirs[2] == 0:
        return 12 # a filter refuses it before it is entered: its end is no call of no length
    if int(tid) == RECORDER[rec]:
        return 10 # see RECORDER: calls that end on a CPU whose events are off
    return None


def compare_calls(name, least):
    theirs, ours = curt_calls(name), our_calls(real(name))
    why, same = collections.Counter(), 0
    for tid in sorted(set(theirs) | set(ours)):
        for nr in sorted(set(theirs.get(tid, {})) | set(ours.get(tid, {}))):
            a, o = theirs.get(tid, {}).get(nr), ours.get(tid, {}).get(nr)
            if a and o and a[1:3] == o[1:3] and (not a[1] or a[4:] == o[4:]):
                same += 1
                continue
            number = mistake(name, tid, a, o)
            need(number is not None, "task %s, call %d: curt %s, ours %s", tid, nr, a, o)
            why[number] += 1
    print("# %s: %d calls of tasks are equal; differences by curt's mistake: %s"
          % (name, same, ", ".join("%d: %d" % w for w in sorted(why.items()))))
    need(same >= least, "only %d calls are equal", same)


@test
def curt_edge():
    compare_calls("edge", 160)


@test
def curt_io():
    compare_calls("io", 260)
    irqs = [c for c in real("io")["system"]["calls"] if c["class"] == "irq"]
    # of curt's ALL
    equal([(c["name"], c["count"], c["elapsed_ns"], c["min_ns"], c["max_ns"]) for c in irqs],
          [("virtio1-req.0", 412, 577110, 671, 14278)], "interrupts")


@test
def curt_migrate():
    compare_calls("migrate", 100)


@test
def windows_add_up():
    for name in REAL:
        path = os.path.join(DATA, name + ".perf.data")
        whole, = read(path)
        parts = read(path, "-i", "0.01")
        need(len(parts) > 2, "%d windows", len(parts))
        equal(parts[0]["window"]["start_ns"], whole["window"]["start_ns"], "start")
        equal(parts[-1]["window"]["end_ns"], whole["window"]["end_ns"], "end")
        for rep in parts:
            laws(rep)
        have, want = collections.defaultdict(collections.Counter), {}
        for t in whole["tasks"]:
            want[t["tid"], t["exec"]] = t
        for t in (t for rep in parts for t in rep["tasks"]):
            run.add(have[t["tid"], t["exec"]], t, CLASSES + ["migrations", "voluntary", "involuntary"])
        for key, t in want.items():
            # the recorder seems to be where it was last seen until it is seen elsewhere, a window later
            for k in CLASSES + ["migrations", "voluntary", "involuntary"] if key[0] not in (0, RECORDER[name]) else []:
                equal(have[key][k], t[k], "%s of %s in %s" % (k, t["comm"], name))
        equal(set(have), set(want), "tasks of " + name)
        equal(sum(r["system"]["switches"] for r in parts), whole["system"]["switches"], "switches of " + name)
        have, want = run.call_sums(r["system"] for r in parts), run.call_sums([whole["system"]])
        for key, w in want.items():
            for k in ("count", "errors", "elapsed_ns", "oncpu_ns"):
                equal(have[key][k], w[k], "%s of %s in %s" % (k, key[3], name))
        first, = read(path, "-d", "0.01")
        equal(first["system"], parts[0]["system"], "the first window alone")
        equal(len(read(path, "-i", "0.01", "-n", "2")), 2, "reports with -n 2")


@test
def bounds_of_the_header():
    """The window is what the header says was recorded: silence at both ends is part of it, what is outside is not."""
    def bounded(first, last, *opts, stream=False):
        with Made(story(perfdata.Recording(bounds=(first, last), stream=stream))) as path:
            reps = read(path, *opts)
        for rep in reps:
            laws(rep)
        return reps
    for stream in (False, True):
        rep, = bounded(500, 4000, stream=stream)
        equal((rep["window"]["start_ns"], rep["window"]["end_ns"]), (500, 4000), "window")
        times(task(rep, 7), user=450, sys=850, sleep=800, blocked=200, wait=1200)
        equal({c["cpu"]: c["idle_ns"] for c in rep["cpus"]}, {0: 2200, 1: 3450}, "idle")
    rep, = bounded(1550, 2600) # in the middle of things, which what is before has told
    equal((rep["window"]["start_ns"], rep["window"]["end_ns"]), (1550, 2600), "window")
    times(task(rep, 7), user=250, sys=400, sleep=300, blocked=100)
    calls = {c["id"]: (c["count"], c["open"], c["pending_ns"]) for c in task(rep, 7)["calls"]}
    equal(calls, {4: (1, 0, 0), 5: (0, 1, 300)}, "calls")
    need(any("3 events" in n for n in rep["notes"]), "no note of what is left out: %s", rep["notes"])
    reps = bounded(500, 30000500, "-i", "0.01") # after the last event, too
    equal([(r["window"]["start_ns"], r["window"]["end_ns"]) for r in reps],
          [(500 + i * 10000000, 10000500 + i * 10000000) for i in range(3)], "windows")
    equal([r["cpus"][0]["idle_ns"] for r in reps], [10000000 - 1300, 10000000, 10000000], "idle")
    for first, last in ((0, 0), (0, 5000), (4000, 500)): # no bounds
        check_story(made(story(perfdata.Recording(bounds=(first, last)))))


# ---- every format ----

SEVEN, IDLE = (7, "seven"), (0, "swapper/0")


def story(r, rounds=True):
    """Ten edges of one task, an interrupt elsewhere; the account is in check_story()."""
    r.comm(0, 0, 7, 7, "seven")
    r.fork(0, 0, 7, 1, 7, 1)
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.call(1100, 0, 7, 3, to=1500)
    r.call(1600, 0, 7, 4)
    r.switch(1700, 0, SEVEN, IDLE, "S")
    r.switch(2000, 0, IDLE, SEVEN, "R")
    # the other CPU's ring is read after this one's: time goes back
    r.sample(900, 1, 0, "irq_handler_entry", irq=5, name="eth0")
    r.sample(950, 1, 0, "irq_handler_exit", irq=5, ret=1)
    if rounds:
        r.round()
    r.sample(2100, 0, 7, "sys_exit", id=4, ret=-2)
    r.call(2300, 0, 7, 5)
    r.switch(2500, 0, SEVEN, IDLE, "D")
    r.sample(2510, 0, 0, "sched_stat_runtime", comm="seven", pid=7, runtime=400)
    if rounds:
        r.round()
    r.switch(2700, 0, IDLE, SEVEN, "R")
    r.sample(2750, 0, 7, "sys_exit", id=5, ret=3)
    r.switch(2800, 0, SEVEN, IDLE, "+")
    return r


def check_story(rep):
    equal((rep["window"]["start_ns"], rep["window"]["end_ns"]), (900, 2800), "window")
    laws(rep)
    equal(rep["quality"]["out_of_order"], 0, "out of order")
    t = task(rep, 7)
    equal((t["comm"], t["pid"], t["state"]), ("seven", 7, "wait"), "task 7")
    times(t, user=450, sys=850, sleep=400, blocked=200)
    calls = {c["id"]: c for c in t["calls"] if c["class"] == "syscall"}
    have = {i: tuple(c[k] for k in ("count", "errors", "elapsed_ns", "oncpu_ns", "sleep_ns", "blocked_ns"))
            for i, c in calls.items()}
    equal(have, {3: (1, 0, 400, 400, 0, 0), 4: (1, 1, 500, 200, 300, 0), 5: (1, 0, 450, 250, 0, 200)}, "calls")
    irq = call(rep["system"], "eth0", "irq")
    equal((irq["id"], irq["count"], irq["elapsed_ns"]), (5, 1, 50), "interrupt")
    cpus = {c["cpu"]: c for c in rep["cpus"]}
    equal((cpus[0]["idle_ns"], cpus[1]["idle_ns"], cpus[1]["irq_ns"]), (600, 1850, 50), "CPUs")
    return calls


def formats(**kw):
    check_story(made(story(perfdata.Recording(**kw))))


@test
def both_byte_orders_and_word_sizes():
    for big in (False, True):
        for word in (4, 8):
            for stream in (False, True):
                formats(big=big, word=word, stream=stream)
                formats(big=big, word=word, stream=stream, old=True)


@test
def old_and_new_layouts():
    formats(old=True)
    formats(dynamic=True)
    formats(attr_size=64) # the first perf_event_attr
    formats(attr_size=136)


@test
def compressed():
    for stream in (False, True):
        for big in (False, True):
            formats(compress=1, stream=stream, big=big)
            formats(compress=2, stream=stream, big=big)


@test
def any_sample_type():
    least = TID | TIME | CPU | RAW
    for extra in (0, IP, ID, IDENTIFIER, READ | IDENTIFIER, CALLCHAIN | ID, READ | CALLCHAIN | IDENTIFIER):
        for read_format in (0, 4, 8, 4 | 8 | 16, 1 | 2 | 4 | 8, 1 | 2 | 16):
            mixed = bool(extra & (ID | IDENTIFIER))
            formats(sample_type=least | extra, read_format=read_format, dummy=mixed)
    formats(sample_type=least, dummy=False, id_all=False)
    formats(sample_type=TIME | CPU | RAW | IDENTIFIER) # no TID: the tracepoint's own record has it


@test
def through_a_pipe():
    for compress in (0, 1):
        r = story(perfdata.Recording(stream=True, compress=compress))
        for args in (["-r", "-"], ["-r"]):
            status, out, err = tool(*args, "-f", "json", data=r.whole())
            equal((status, err), (0, ""), "status and stderr")
            check_story(run.parse(out)[0])
    status, _, err = tool("-r", "-", data=story(perfdata.Recording()).whole())
    equal(status, 1, "status for a file's header in a pipe")
    need("stream" in err, "%s", err)


@test
def no_rounds():
    check_story(made(story(perfdata.Recording(), rounds=False)))


@test
def of_another_architecture():
    for arch, big, word, nr, name in (("ppc64le", False, 8, 3, "read"), ("ppc64", True, 8, 3, "read"),
                                      ("s390x", True, 8, 3, "read"), ("armv7l", False, 4, 3, "read"),
                                      ("aarch64", False, 8, 3, "io_cancel"), ("x86_64", False, 8, 3, "close")):
        rep = made(story(perfdata.Recording(arch=arch, big=big, word=word)))
        equal(check_story(rep)[nr]["name"], name, "name of call 3 on " + arch)
        equal(rep["host"]["arch"], arch, "architecture")
    r = perfdata.Recording(arch="ppc64le")
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.sample(1100, 0, 7, "hcall_entry", opcode=8)
    r.sample(1130, 0, 7, "hcall_exit", opcode=8, retval=0)
    r.switch(1200, 0, SEVEN, IDLE, "S")
    rep = made(r)
    c = call(task(rep, 7), "H_ENTER", "hcall")
    equal((c["count"], c["elapsed_ns"]), (1, 30), "H_ENTER")
    need(call(made(story_of_call(451, "x86_64"))["system"], "cachestat")["count"], "a call newer than the library")
    need(call(made(story_of_call(999, "x86_64"))["system"], "sys_999")["count"], "a call that nobody knows")


def story_of_call(nr, arch):
    r = perfdata.Recording(arch=arch)
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.call(1100, 0, 7, nr, to=1200)
    r.switch(1300, 0, SEVEN, IDLE, "S")
    return r


@test
def header_of_the_recording():
    rep = made(story(perfdata.Recording(host="far-away", arch="s390x", cpus=2, big=True, clock=1)))
    equal((rep["host"]["name"], rep["host"]["kernel"], rep["host"]["cpus_possible"]), ("far-away", "6.9.0", 2), "host")
    equal(rep["tool"]["engine"], "file", "engine")
    # CLOCK_DATA: 5000 of the clock was 1700000000 s
    need(rep["window"]["start_time"].startswith("2023-11-14T22:13:19.9999959"), "%s", rep["window"]["start_time"])
    r = story(perfdata.Recording(features=False))
    check_story(made(r))


@test
def wakeups_and_sched_stats():
    for name in ("sched_wakeup", "sched_stat_sleep"):
        r = perfdata.Recording(events=["sched_switch", name])
        r.switch(1000, 0, IDLE, SEVEN, "R")
        r.switch(1100, 0, SEVEN, IDLE, "S")
        r.sample(1400, 0, 0, name, comm="seven", pid=7)
        r.switch(1450, 0, IDLE, SEVEN, "R")
        r.switch(1500, 0, SEVEN, IDLE, "S")
        times(task(made(r), 7), busy=150, sleep=300, wait=50)
    r = perfdata.Recording()
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.switch(1100, 0, SEVEN, IDLE, "D")
    r.sample(1400, 0, 0, "sched_stat_iowait", comm="seven", pid=7, delay=300)
    r.sample(1400, 0, 0, "sched_wakeup", comm="seven", pid=7)
    r.switch(1450, 0, IDLE, SEVEN, "R")
    r.switch(1500, 0, SEVEN, IDLE, "D")
    r.switch(1600, 0, IDLE, SEVEN, "R")
    r.switch(1650, 0, SEVEN, IDLE, "S")
    # curt's mistake 12: the iowait column prints blocked
    times(task(made(r), 7), busy=200, iowait=300, wait=50, blocked=100)


@test
def switch_records_instead_of_tracepoints():
    r = perfdata.Recording(events=["sys_enter", "sys_exit"], switches=True)
    r.comm(0, 0, 7, 7, "seven")
    r.sample(900, 0, 0, "sys_exit", id=1, ret=0)
    r.switch_record(1000, 0, 0, 0, True, other=(7, 7))
    r.switch_record(1001, 0, 7, 7, False, other=(0, 0))
    r.call(1100, 0, 7, 1, to=1200)
    r.switch_record(1300, 0, 7, 7, True, other=(0, 0))
    r.switch_record(1301, 0, 0, 0, False, other=(7, 7))
    rep = made(r)
    t = task(rep, 7)
    equal((t["comm"], t["user_ns"] + t["sys_ns"] + t["busy_ns"]), ("seven", 300), "task 7")
    equal(call(t, "write")["elapsed_ns"], 100, "write")


@test
def switch_records_of_a_task():
    """perf record --switch-events -t 7: the tracepoint tells why it leaves, the record when it is back."""
    r = perfdata.Recording(switches=True, per_task=7)
    r.call(1000, 0, 7, 3, to=1100)
    r.switch(1200, 0, SEVEN, (9, "nine"), "D")
    r.switch_record(1201, 0, 7, 7, True)
    r.switch_record(1500, 1, 7, 7, False)
    r.call(1600, 1, 7, 4, to=1650)
    r.switch(1700, 1, SEVEN, (9, "nine"), "+")
    r.switch_record(1800, 1, 7, 7, False)
    r.switch(1900, 1, SEVEN, (9, "nine"), "S")
    rep = made(r)
    equal((rep["quality"]["unmatched"], [t["tid"] for t in rep["tasks"] if oncpu(t)]), (0, [7]), "unmatched, tasks")
    times(task(rep, 7), user=100 + 150 + 100, sys=100 + 50, blocked=300, wait=100)


# ---- curt's mistakes ----
#
# 1 curt_01_lost_records, curt-01-*.ev; 2 and 3 curt_02_03_after_exit, curt_edge; 4 curt-04-*.ev; 5 curt-05-*.ev and
# curt_15_softirqs; 6 curt_06_busy_is_not_assigned; 7 curt-07-*.ev; 8 curt-08-*.ev; 9 curt_09_ids, curt_edge;
# 10 curt_10_missing_switch; 11 curt_11_moves; 12 wakeups_and_sched_stats (iowait), curt_io (execve, clone),
# curt_12_rt_sigreturn; 13 curt-13-*.ev and check_story (CPU 1); 14 of_another_architecture, curt_14_names;
# 15 curt_15_softirqs, wakeups_and_sched_stats; 16 tests/bench/offline.py. (.ev: tests/events)

@test
def curt_01_lost_records():
    r = perfdata.Recording()
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.call(1100, 0, 7, 3)
    r.lost(1250, 0, 7)
    r.call(1300, 0, 7, 4, to=1400)
    r.switch(1500, 0, SEVEN, IDLE, "S")
    rep = made(r)
    laws(rep)
    equal(rep["quality"]["lost_events"], 7, "lost")
    t = task(rep, 7)
    calls = {c["id"]: c for c in t["calls"]}
    equal((calls[4]["count"], calls[4]["elapsed_ns"]), (1, 100), "the call after the hole")
    equal(calls.get(3, {"count": 0})["count"], 0, "calls paired across the hole")
    equal(sum(t[k] for k in CLASSES), 500, "its time")


@test
def curt_02_03_after_exit():
    r = perfdata.Recording()
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.call(1100, 0, 7, 231)
    r.sample(1200, 0, 7, "sched_process_exit", comm="seven", pid=7)
    r.switch(1350, 0, SEVEN, IDLE, "X")
    r.switch(9000, 0, IDLE, (8, "eight"), "R")
    t = task(made(r), 7)
    times(t, user=100, sys=250)
    equal((t["state"], t["end_ns"]), ("exited", 1350), "its end")
    r = perfdata.Recording(old=True)
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.sample(1200, 0, 7, "sched_process_exit", comm="seven", pid=7)
    r.switch(1350, 0, SEVEN, IDLE, "x")
    r.switch(9000, 0, IDLE, (8, "eight"), "R")
    equal(task(made(r), 7)["state"], "exited", "state on an old kernel")


@test
def curt_06_busy_is_not_assigned():
    r = perfdata.Recording()
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.call(1100, 0, 7, 3, to=1200)
    r.switch(1300, 0, SEVEN, IDLE, "S")
    r.switch(1400, 0, IDLE, SEVEN, "R")
    r.call(1450, 0, 7, 3, to=1460)
    r.switch(1500, 0, SEVEN, IDLE, "S")
    times(task(made(r), 7), user=290, sys=110, sleep=100)


@test
def curt_09_ids():
    eight = (8, "eight")
    r = perfdata.Recording() # thread 8 of 7 execs, and is 7
    for tid in (7, 8):
        r.comm(0, 0, 7, tid, "seven")
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.switch(1100, 0, SEVEN, eight, "S", pid=7)
    r.call(1200, 0, 8, 59)
    r.fork(1300, 0, 7, 7, 7, 7, kind=perfdata.EXIT)
    r.sample(1400, 0, 7, "sched_process_exec", filename="/bin/new", pid=7, old_pid=8)
    r.sample(1500, 0, 7, "sys_exit", id=59, ret=0)
    r.switch(1600, 0, (7, "new"), IDLE, "S")
    rep = made(r)
    need(not [t for t in rep["tasks"] if t["tid"] == 8 and t["state"] != "exited"], "thread 8 lives on")
    new = [t for t in rep["tasks"] if t["comm"] == "new"]
    equal([(t["tid"], t["user_ns"] + t["sys_ns"]) for t in new], [(7, 200)], "the new image")
    equal(call(new[0], "execve")["count"], 1, "its execve")
    # an id used again is another task
    r = perfdata.Recording()
    for at in (1000, 2000):
        r.sample(at, 0, 1, "sched_process_fork", parent_comm="init", parent_pid=1, child_comm="child", child_pid=9)
        r.switch(at + 100, 0, (1, "init"), (9, "child"), "S")
        r.sample(at + 200, 0, 9, "sched_process_exit", comm="child", pid=9)
        r.switch(at + 300, 0, (9, "child"), (1, "init"), "X")
    r.switch(9000, 0, (1, "init"), IDLE, "S")
    rep = made(r)
    equal(sorted((t["start_ns"], t["end_ns"]) for t in rep["tasks"] if t["tid"] == 9),
          [(1000, 1300), (2000, 2300)], "tasks with the id 9")


@test
def curt_10_missing_switch():
    r = perfdata.Recording()
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.call(1100, 0, 7, 3, to=1200)
    r.call(9000, 0, 8, 3, to=9100) # nobody has told that 7 left
    r.switch(9200, 0, (8, "eight"), IDLE, "S")
    rep = made(r)
    laws(rep)
    need(rep["quality"]["unmatched"] > 0, "the break is not told")
    equal(sum(task(rep, 8)[k] for k in ONCPU) + sum(task(rep, 7)[k] for k in ONCPU), 8200, "CPU time")


@test
def curt_11_moves():
    r = perfdata.Recording()
    r.sample(900, 0, 1, "sched_process_fork", parent_comm="init", parent_pid=1, child_comm="seven", child_pid=7)
    r.sample(950, 0, 1, "sched_migrate_task", comm="seven", pid=7, orig_cpu=0, dest_cpu=1) # first placed
    r.switch(1000, 1, (0, "swapper/1"), SEVEN, "R")
    r.switch(1100, 1, SEVEN, (0, "swapper/1"), "S")
    r.sample(1300, 0, 0, "sched_migrate_task", comm="seven", pid=7, orig_cpu=1, dest_cpu=0)
    r.switch(1400, 0, IDLE, SEVEN, "R")
    r.switch(1500, 0, SEVEN, IDLE, "S")
    t = task(made(r), 7)
    equal(t["migrations"], 1, "migrations")
    cpus = {c["cpu"]: c for c in t["cpus"]}
    equal(sum(cpus[1][k] for k in CLASSES if k not in ONCPU), 300, "off-CPU time stays where it was until the move")


@test
def curt_12_rt_sigreturn():
    r = perfdata.Recording()
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.call(1100, 0, 7, 15, to=1200, exit_nr=-1)
    r.switch(1300, 0, SEVEN, IDLE, "S")
    rep = made(r)
    c = call(task(rep, 7), "rt_sigreturn")
    equal((c["count"], c["elapsed_ns"], rep["quality"]["unmatched"]), (1, 100, 0), "rt_sigreturn")
    r = perfdata.Recording() # the end of another call than the one that began: neither can be timed
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.call(1100, 0, 7, 3, to=1200, exit_nr=16)
    r.call(1250, 0, 7, 3, to=1260)
    r.switch(1300, 0, SEVEN, IDLE, "S")
    rep = made(r)
    c = call(task(rep, 7), "close")
    equal((c["count"], c["elapsed_ns"], rep["quality"]["unmatched"]), (1, 10, 1), "close")


@test
def curt_14_names():
    r = perfdata.Recording() # curt keeps the first name that it sees
    r.comm(0, 0, 7, 7, "before")
    r.switch(1000, 0, IDLE, (7, "before"), "R")
    r.sample(1100, 0, 7, "task_rename", pid=7, oldcomm="before", newcomm="after")
    r.switch(1200, 0, (7, "after"), IDLE, "S")
    equal(task(made(r), 7)["comm"], "after", "name")
    r = perfdata.Recording() # the other numbers of a 64-bit machine
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.call(1100, 0, 7, 0x40000000 | 1, to=1200)
    r.switch(1300, 0, SEVEN, IDLE, "S")
    c, = task(made(r), 7)["calls"]
    equal((c["name"], c["abi"]), ("write", "x32"), "an x32 call")


@test
def curt_15_softirqs():
    r = perfdata.Recording()
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.call(1100, 0, 7, 3)
    r.sample(1200, 0, 7, "softirq_entry", vec=3)
    r.sample(1240, 0, 7, "irq_handler_entry", irq=9, name="ahci")
    r.sample(1250, 0, 7, "irq_handler_exit", irq=9, ret=1)
    r.sample(1300, 0, 7, "softirq_exit", vec=3)
    r.sample(1400, 0, 7, "sys_exit", id=3, ret=-9)
    r.switch(1500, 0, SEVEN, IDLE, "S")
    t = task(made(r), 7)
    times(t, user=200, sys=200, softirq=90, irq=10)
    c = [c for c in t["calls"] if c["class"] == "syscall"][0]
    equal((c["errors"], c["elapsed_ns"], c["oncpu_ns"], c["irq_stolen_ns"]), (1, 300, 200, 100), "the call")


# ---- a part of it ----

def family(r):
    """7 forks 8, which execs; 9 is somebody else, on the other CPU; 2 and 5 are the kernel's."""
    for pid, parent, name in ((1, 0, "init"), (2, 0, "kthreadd"), (5, 2, "kworker"), (7, 1, "seven"), (9, 1, "nine")):
        r.fork(0, 0, pid, parent, pid, parent)
        r.comm(0, 0, pid, pid, name)
    r.switch(1000, 0, IDLE, SEVEN, "R")
    r.switch(1000, 1, (0, "swapper/1"), (9, "nine"), "R")
    r.call(1100, 0, 7, 3, to=1200)
    r.call(1150, 1, 9, 0, to=1250)
    r.call(1300, 0, 7, 57)
    r.fork(1350, 0, 8, 7, 8, 7)
    r.sample(1350, 0, 7, "sched_process_fork", parent_comm="seven", parent_pid=7, child_comm="seven", child_pid=8)
    r.sample(1400, 0, 7, "sys_exit", id=57, ret=8)
    r.switch(1500, 0, SEVEN, (8, "seven"), "S")
    r.sample(1600, 0, 8, "task_rename", pid=8, oldcomm="seven", newcomm="eight")
    r.sample(1600, 0, 8, "sched_process_exec", filename="/bin/eight", pid=8, old_pid=8)
    r.switch(1700, 0, (8, "eight"), (5, "kworker"), "S")
    r.switch(1800, 0, (5, "kworker"), IDLE, "S")
    r.switch(2000, 1, (9, "nine"), (0, "swapper/1"), "S")
    return r


def chosen(*opts):
    rep = made(family(perfdata.Recording()), *opts)
    laws(rep, selected=True)
    return rep, sorted((t["tid"], t["exec"]) for t in rep["tasks"] if t["tid"])


@test
def selected_tasks():
    whole = made(family(perfdata.Recording()))
    for opts, want in ((["-t", "7"], [(7, 0)]), (["-p", "7,9"], [(7, 0), (9, 0)]), (["-p", "7", "-t", "9"], []),
                       (["-c", "eig*"], [(8, 1)]), (["-c", "seven"], [(7, 0), (8, 0)]),
                       (["-c", "seven", "--follow"], [(7, 0), (8, 0), (8, 1)]),
                       (["-p", "1", "--follow"], [(1, 0), (7, 0), (8, 0), (8, 1), (9, 0)]),
                       (["--no-kthreads"], [(1, 0), (7, 0), (8, 0), (8, 1), (9, 0)]),
                       (["-x"], [(1, 0), (2, 0), (5, 0), (7, 0), (8, 0), (8, 1), (9, 0)]),
                       (["-t", "4711"], [])):
        rep, have = chosen(*opts)
        equal(have, want, "tasks with %s" % " ".join(opts))
        equal(rep["tool"]["selection"], " ".join(opts), "what was selected")
        for t in rep["tasks"]:
            equal({k: t[k] for k in CLASSES}, {k: task(whole, t["tid"], t["exec"])[k] for k in CLASSES},
                  "times of %s with %s" % (t["comm"], " ".join(opts)))
        # what is not selected is somebody's: the rows of the machine stay complete, calls of others are not looked at
        for a, b in zip(rep["cpus"], whole["cpus"]):
            equal((sum(a[k] for k in ONCPU), a["idle_ns"], a["switches"]),
                  (sum(b[k] for k in ONCPU), b["idle_ns"], b["switches"]), "CPU %d with %s" % (a["cpu"], opts))
        equal(rep["system"]["switches"], whole["system"]["switches"], "switches")
    rep, _ = chosen("-t", "7")
    equal({c["name"] for c in rep["system"]["calls"]}, {"fork", "close"}, "calls of the selected")
    with Made(family(perfdata.Recording())) as path:
        _, out, _ = tool("-r", path, "-t", "7")
        need(b"selected: -t 7 (the rows of CPUs and interrupts are of all tasks)" in out, "%s", out.decode())


@test
def selected_cpus():
    rep, have = chosen("-C", "1")
    equal([c["cpu"] for c in rep["cpus"]], [1], "CPUs")
    need((9, 0) in have and (7, 0) not in [(t["tid"], t["exec"]) for t in rep["tasks"] if oncpu(t)], "%s", have)
    equal(task(rep, 9)["user_ns"] + task(rep, 9)["sys_ns"], 1000, "its time")
    with Made(family(perfdata.Recording())) as path:
        status, out, err = tool("-r", path, "-C", "0,2", "-f", "json")
        equal((status, out), (1, b""), "status and output for a CPU that was not there")
        equal(err, "utilbpf: cannot select CPU 2: the recorded machine has 2 CPUs\n", "stderr")


@test
def selected_calls():
    """By the recorded machine's numbers."""
    rep, _ = chosen("--syscall", "close")
    equal([(c["name"], c["count"]) for c in rep["system"]["calls"]], [("close", 1)], "calls")
    times(task(rep, 7), user=300, sys=200, sleep=500)
    r = family(perfdata.Recording(arch="ppc64le"))
    rep = made(r, "--syscall", "read")
    equal([(c["name"], c["count"]) for c in rep["system"]["calls"]], [("read", 1)], "calls of powerpc")
    with Made(r) as path:
        status, out, err = tool("-r", path, "--syscall", "nonsense", "-f", "json")
        equal((status, out), (1, b""), "status and output for a call that is none")
        equal(err, "utilbpf: cannot select nonsense: there is no such system call\n", "stderr")
        for opts, word in ((["-u", "0"], "users"), (["-G", "/"], "cgroups")):
            status, _, err = tool("-r", path, *opts)
            equal((status, err.count("\n")), (2, 1), "status and lines of: %s" % err)
            need(word in err, "%s", err)


# ---- what is missing, and what is damaged ----

NEVER = ["cgroup", "cgroup_id", "uid", "start_ns"] # no recording tells


@test
def what_zeros_say_nothing():
    """Numbers are numbers, also where nothing told them; which these are is told beside them."""
    whole = made(story(perfdata.Recording()))
    for e in whole["processes"] + whole["tasks"]:
        equal((e["uid"], e["cgroup"], e["cgroup_id"]), (2 ** 32 - 1, "(unknown)", 0), "who %s is" % e["comm"])
    equal([(g["cgroup"], g["id"]) for g in whole["groups"]], [("(unknown)", 0)], "groups")
    need(any("users and cgroups" in n for n in whole["notes"]), "%s", whole["notes"])
    equal(task(whole, 7)["start_ns"], 0, "start of 7, which was there before")
    equal(sorted(whole["unrecorded"]), sorted(NEVER), "unrecorded")
    off = ["wait_ns", "sleep_ns", "blocked_ns", "iowait_ns", "stopped_ns"]
    for without, untold in (("sys_enter", ["user_ns", "sys_ns"]),
                            ("sched_switch", off + ["idle_ns", "switches", "migrations", "voluntary", "involuntary"]),
                            ("sched_wakeup", ["wait_ns"]), ("sched_stat_iowait", ["iowait_ns"]),
                            ("softirq_entry", ["softirq_ns"]), ("irq_handler_exit", ["irq_ns"])):
        events = [e for e in perfdata.EVENTS if e != without]
        if without == "sched_wakeup": # nor what says the same
            events = [e for e in events if e not in ("sched_stat_sleep", "sched_stat_blocked")]
        r = story(perfdata.Recording(events=events))
        rep = made(r)
        equal(sorted(rep["unrecorded"]), sorted(NEVER + untold), "unrecorded without " + without)
        need(rep["notes"], "no note without " + without)
        for e in [rep["system"]] + rep["tasks"]:
            need(all(type(e[k]) is int for k in CLASSES), "%s", e)
        with Made(r) as path: # where there may be nothing, there is
            _, out, _ = tool("-r", path, "-f", "csv", "-b", "system")
            row = next(csv.DictReader(io.StringIO(out.decode())))
            # what is told all the same is a number: the task's last moment, preempted, is wait
            want = {k for k in untold if k in rep["system"] and not rep["system"][k]}
            equal({k for k in CLASSES + ["idle_ns", "switches"] if row[k] == ""}, want, "empty fields without " + without)
    rep = made(story(perfdata.Recording(per_task=7))) # a recording of one task: there are no rows of the machine
    equal(rep["cpus"], [], "CPUs")
    need({"system", "cpus"} <= set(rep["unrecorded"]), "%s", rep["unrecorded"])
    equal((rep["system"]["tasks"], rep["system"]["idle_ns"]), (1, 0), "tasks and idle time")
    run.law_levels(rep)
    times(task(rep, 7), user=450, sys=850, sleep=400, blocked=200)
    r = perfdata.Recording(per_task=7) # somebody who is not followed gets the CPU: of him nothing is known
    r.call(1000, 0, 7, 3, to=1100)
    r.switch(1200, 0, (7, b"seven"), (8, b"eight"))
    r.call(1700, 0, 7, 3, to=1800)
    rep = made(r)
    equal([t["tid"] for t in rep["tasks"]], [7], "who is told of")
    times(task(rep, 7), user=100, sys=200, sleep=500)
    need(any("single tasks" in n for n in rep["notes"]), "%s", rep["notes"])
    with Made(story(perfdata.Recording(per_task=7))) as path:
        _, out, _ = tool("-r", path, "-f", "csv")
        row = next(csv.DictReader(io.StringIO(out.decode())))
        equal((row["level"], row["user_ns"], row["tasks"], row["processes"]), ("system", "", "", "1"), "CSV")
        _, out, _ = tool("-r", path)
        need(b"seven" in out and b"CPU   user" not in out, "%s", out.decode())
        _, out, _ = tool("-r", path, "-f", "openmetrics")
        need(b"utilbpf_system_seconds_total" not in out and b"utilbpf_cpu_seconds_total{" not in out, "%s", out.decode())



@test
def what_a_recording_lacks():
    r = perfdata.Recording(events=["sys_enter", "sys_exit"])
    r.call(1000, 0, 7, 3, to=1100)
    with Made(r) as path:
        _, out, _ = tool("-r", path)
        need(b"sched_switch was not recorded" in out, "no note: %s", out.decode())
    equal(call(made(r)["system"], "close")["count"], 1, "close")
    with Made(story(perfdata.Recording(events=[e for e in perfdata.EVENTS if not e.startswith("softirq")]))) as path:
        _, out, _ = tool("-r", path, "-f", "csv", "-b", "cpu")
        rows = list(csv.DictReader(io.StringIO(out.decode())))
        need(rows and all(r["softirq_ns"] == "" and r["user_ns"] != "" for r in rows if r["level"] == "cpu"),
             "a class that was not recorded is not empty: %s", out.decode())
        _, out, _ = tool("-r", path, "-F")
        need(re.search(rb"\n\t\[ *7\] seven  .* 0\.000450 +0\.000850 +0\.000000 +-- ", out), "%s", out.decode())
    rep = made(story(perfdata.Recording()), "-e", "sched")
    equal(rep["system"]["calls"], [], "calls with -e sched")
    r = perfdata.Recording()
    r.switch(1000, 0, IDLE, SEVEN, "R") # no COMM, FORK or EXIT: the switch has the name
    r.switch(1200, 0, SEVEN, IDLE, "S")
    equal(task(made(r), 7)["comm"], "seven", "name")


def wrong(data, word, status=1):
    """One line on stderr that says `word`; what is on stdout is well-formed, if there is anything."""
    with Made(data) as path:
        have, out, err = tool("-r", path, "-f", "json")
    equal(have, status, "status (%s)" % err)
    equal(err.count("\n"), 1, "lines on stderr: %s" % err)
    need(word in err, "%s is not in: %s", word, err)
    return run.parse(out)


@test
def no_recording():
    with tempfile.TemporaryDirectory() as d:
        for path, word in ((os.path.join(d, "none"), "No such file"), (d, "Is a directory; that is what perf record --threads writes")):
            status, _, err = tool("-r", path)
            equal((status, err.count("\n")), (1, 1), "status and lines of: %s" % err)
            need(word in err, "%s", err)
    wrong(b"", "empty")
    wrong(b"PERF", "too short")
    wrong(b"x" * 1000, "magic")
    wrong(b"PERFFILE" + bytes(500), "2009")
    wrong(perfdata.Recording(), "no event")
    for args in (["-r", "f", "--", "true"], ["-r", "f", "--engine", "bpf"], ["-r", "f", "-u", "0"], ["-r", "f", "-G", "/"], ["-r", ""]):
        status, _, err = tool(*args)
        equal((status, err.count("\n")), (2, 1), "status and lines of: %s" % err)


@test
def perf_data_is_the_default():
    with tempfile.TemporaryDirectory() as d:
        story(perfdata.Recording()).save(os.path.join(d, "perf.data"))
        for args in (["-f", "json", "-r"], ["-r", "-f", "json"], ["--read", "-f", "json"]):
            p = subprocess.run([TOOL, *args], cwd=d, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False,
                               timeout=60)
            equal(p.returncode, 0, "status")
            check_story(run.parse(p.stdout)[0])


@test
def truncated_anywhere():
    for kw in ({}, {"stream": True}, {"stream": True, "compress": 1}):
        whole = story(perfdata.Recording(**kw)).whole()
        for n in list(range(8, 400, 13)) + list(range(400, len(whole), 601)) + list(range(len(whole) - 200, len(whole), 7)):
            with Made(whole[:n]) as path:
                status, _, err = tool("-r", path)
            need(status in (0, 1), "status %d at %d", status, n)
            need(status == 0 or err.count("\n") == 1, "at %d: %s", n, err)
            if not kw:
                equal(status, 1, "status of the first %d bytes" % n)
                need(" at offset " in err, "at %d: %s", n, err)


@test
def what_is_sound_is_reported():
    r = story(perfdata.Recording(stream=True))
    end = len(r.whole())
    r.bytes(b"\x09\0\0\0\0\0\0\0" + b"junk" * 8) # a sample of no bytes
    rep, = wrong(r, "a record of 0 bytes: what follows cannot be read at offset %d" % end)
    check_story(rep)
    for damage, word in ((r.record(9, r.sample_fields(2750, 0, 7, 7, 5555)), "event that the header does not have"),
                         (r.record(2, r.tail(2750, 0, 0, 0)), "too short")):
        r = story(perfdata.Recording())
        r.data.insert(7, damage)
        rep, = wrong(r, word)
        check_story(rep)
    r = story(perfdata.Recording())
    r.sample(10 ** 18, 0, 7, "sys_exit", id=3) # eleven days later
    rep, = wrong(r, "another time")
    check_story(rep)
    r = story(perfdata.Recording())
    r.sample(2790, 70000, 7, "sys_exit", id=3)
    with Made(r) as path:
        _, out, _ = tool("-r", path)
    need(b"impossible CPU" in out, "%s", out.decode())


@test
def bytes_changed_anywhere():
    """No byte of a recording makes the program crash, hang or say nothing when it fails."""
    for kw in ({}, {"stream": True}, {"compress": 1}):
        whole = bytearray(story(perfdata.Recording(**kw)).whole())
        for at in range(0, len(whole), 89 if kw else 61):
            for value in (0xff, whole[at] ^ 0x80):
                old, whole[at] = whole[at], value
                with Made(bytes(whole)) as path:
                    status, _, err = tool("-r", path)
                whole[at] = old
                need(status in (0, 1), "status %d for %#x at %d: %s", status, value, at, err)
                need(err.count("\n") == status, "for %#x at %d: %s", value, at, err)


@test
def names_are_escaped():
    r = perfdata.Recording()
    evil = (7, b"\x1b[31m\xff\n\"<")
    r.switch(1000, 0, IDLE, evil, "R")
    r.switch(1200, 0, evil, IDLE, "S")
    with Made(r) as path:
        _, out, _ = tool("-r", path)
    need(b"\x1b" not in out and b"\xff" not in out, "%s", out)
    equal(task(made(r), 7)["comm"], "\x1b[31m\ufffd\n\"<", "name in JSON")


@test
def many_runs():
    """Time that always goes back: one run a record, merged all the same."""
    r = perfdata.Recording(events=["sched_switch", "sys_enter", "sys_exit"])
    n = 3000
    for i in range(n, 0, -1):
        r.call(10000 * i, 0, 7, 3)
        r.sample(10000 * i + 10, 0, 7, "sys_exit", id=3, ret=0)
    rep = made(r)
    equal((rep["quality"]["out_of_order"], call(rep["system"], "close")["count"]), (0, n), "order, and calls")


if __name__ == "__main__":
    sys.exit(run.main(sys.argv[1:]))
