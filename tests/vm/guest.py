#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Inside a guest: guest.py NAME... runs the named tests of tests/live/run.py and of this file.

What is here takes a machine of its own: CPUs that go and come, hypervisor calls, a kernel that is
locked down or has no bpf(2), small pid spaces. GUEST_ENGINE=perf: by the perf engine.
"""
import collections
import os
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "live"))
import run as live # pylint: disable=wrong-import-position
from run import equal, need, test # pylint: disable=wrong-import-position
usual = list(live.tests)
import perf # pylint: disable=wrong-import-position
live.tests[:0] = usual

ENGINE = os.environ.get("GUEST_ENGINE", "bpf")
OPTS = ["--engine", ENGINE]
if ENGINE == "bpf": # that it works is what is tested, and each look takes seconds here
    live.bpf_why = ""

TRACING = "/sys/kernel/tracing"


def put(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def get(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


# ---- hypervisor calls ----

class Hcalls:
    """What tracefs counts meanwhile: {(pid, opcode): n}."""
    event = TRACING + "/events/powerpc/hcall_entry/"
    spec = "hist:keys=common_pid,opcode:size=65536"

    def __enter__(self):
        if not os.path.exists(self.event + "trigger"):
            raise live.Skip("this kernel has no powerpc:hcall_entry, or no triggers")
        put(self.event + "trigger", self.spec)
        self.n = {}
        return self

    def __exit__(self, *exc):
        hist = get(self.event + "hist")
        put(self.event + "trigger", "!" + self.spec)
        for line in hist.splitlines():
            m = re.match(r"\{ common_pid:\s*(\d+), opcode:\s*(\d+) \} hitcount:\s*(\d+)", line)
            if m:
                self.n[int(m[1]), int(m[2])] = int(m[3])
        dropped = re.search(r"Dropped: (\d+)", hist)
        need(not dropped or dropped[1] == "0", "tracefs dropped %s", dropped and dropped[1])


def hcalls_of_a_command():
    """A command's report, and by (tid, opcode) what it and tracefs have counted."""
    with Hcalls() as traced:
        rep, _ = live.command(live.prog("swarm", 100, 50, 30, 0), OPTS)
    have = collections.Counter()
    for t in rep["tasks"]:
        for c in t["calls"]:
            if c["class"] == "hcall":
                have[t["tid"], c["id"]] += c["count"]
    if ENGINE == "bpf":
        live.laws(rep, selected=True)
        live.nothing_lost(rep)
    else:
        live.law_cpus(rep)
        equal(rep["quality"]["lost_events"], 0, "lost events")
    # The command's own process has made some before the window.
    tids = {t["tid"] for t in rep["tasks"] if not t["exec"]}
    have = collections.Counter({k: v for k, v in have.items() if k[0] in tids})
    want = {k: v for k, v in traced.n.items() if k[0] in tids}
    return rep, have, want


@test
def hypervisor_calls_agree():
    rep, have, want = hcalls_of_a_command()
    # Of each task the first and the last instants are another's to one of the two.
    for key in sorted(set(have) | set(want)):
        need(abs(have[key] - want.get(key, 0)) <= 3, "task %d, hcall %d: %d, tracefs says %d",
             *key, have[key], want.get(key, 0))
    a, b = sum(have.values()), sum(want.values())
    need(abs(a - b) <= max(b * 0.02, 5), "%d hypervisor calls, tracefs says %d", a, b)
    print("  hypervisor calls of the command: %d, tracefs %d; the system's: %s" % (
        a, b, ", ".join("%s %d" % (c["name"], c["count"]) for c in rep["system"]["calls"]
                        if c["class"] == "hcall")))


@test
def hypervisor_calls_take_time():
    rep, have, _ = hcalls_of_a_command()
    need(sum(have.values()) > 100, "only %d hypervisor calls", sum(have.values()))
    s = rep["system"]
    need(s["hv_ns"] > 0, "no hv time")
    calls = [c for c in s["calls"] if c["class"] == "hcall"]
    need(all(re.fullmatch(r"H_\w+", c["name"]) for c in calls), "calls without a name: %s",
         [c["name"] for c in calls])
    need(sum(c["elapsed_ns"] for c in calls) >= s["hv_ns"] * 0.99, "hv is more than its calls")


# ---- CPUs that go and come ----

def cpu_online(cpu, on):
    put("/sys/devices/system/cpu/cpu%d/online" % cpu, "01"[on])


def later(seconds, fn, *args):
    t = threading.Timer(seconds, fn, args)
    t.start()
    return t


def switch(cpu, on):
    """When it began and when it was done, CLOCK_MONOTONIC."""
    begin = time.monotonic_ns()
    cpu_online(cpu, on)
    return begin, time.monotonic_ns()


@test
def cpu_leaves_and_comes_back():
    """Its row covers what it was online, and there is none of a window that it was away for."""
    cpu = os.cpu_count() - 1
    if not os.path.exists("/sys/devices/system/cpu/cpu%d/online" % cpu):
        raise live.Skip("no CPU can be taken offline here")
    with live.Mix():
        p = subprocess.Popen([live.TOOL, "-i", "1", "-n", "8", "-f", "json", *OPTS],
                             stdout=subprocess.PIPE)
        out = p.stdout.readline()
        time.sleep(0.5)
        off = switch(cpu, False)
        out += b"".join(p.stdout.readline() for _ in range(4))
        on = switch(cpu, True)
        out += p.communicate(timeout=300)[0]
    reps = live.parse(out)
    equal((p.returncode, len(reps)), (0, 8), "status and reports")
    worst = 0
    for i, rep in enumerate(reps):
        try:
            laws_with_hotplug(rep, cpu)
        except live.Fail as e:
            raise live.Fail("window %d: %s" % (i, e)) from None
        worst = max(worst, online_part(rep, cpu, off, on))
    rows = [any(c["cpu"] == cpu for c in r["cpus"]) for r in reps]
    need(rows[0] and rows[-1] and not all(rows), "CPU %d has rows: %s", cpu, rows)
    print("  a row is longer or shorter than what its CPU was online by at most %.1f ms" %
          (worst / 1e6))


def overlap(a, b, win):
    return max(0, min(b, win["end_ns"]) - max(a, win["start_ns"]))


def online_part(rep, cpu, off, on):
    """By how much, in ns, the row is not between the least and the most that cpu can have been
    online for: it went while `off` lasted, and came while `on` did."""
    win = rep["window"]
    have = sum(live.oncpu(c) + c["idle_ns"] for c in rep["cpus"] if c["cpu"] == cpu)
    most = win["elapsed_ns"] - overlap(off[1], on[0], win)
    least = win["elapsed_ns"] - overlap(off[0], on[1], win)
    miss = max(least - have, have - most, 0)
    need(miss < 50000000, "window %d: CPU %d told for %d ns, it was online for %d to %d",
         win["index"], cpu, have, least, most)
    return miss


def laws_with_hotplug(rep, cpu):
    """The laws, but of the CPU that goes: its row covers its online part."""
    win = rep["window"]
    for c in rep["cpus"]:
        have = live.oncpu(c) + c["idle_ns"]
        if c["cpu"] != cpu:
            equal(have, win["elapsed_ns"], "window of CPU %d" % c["cpu"])
        need(have <= win["elapsed_ns"], "%d ns on CPU %d", have, c["cpu"])
    live.law_system(rep)
    if ENGINE != "bpf":
        return
    for t in rep["tasks"]:
        live.law_task(t, rep)
    live.law_tasks_of_cpus(rep)
    live.law_levels(rep)
    equal(rep["quality"]["residual_ns"], 0, "residual_ns")


@test
def cpu_offline_from_the_start():
    live.needs_bpf()
    cpu = os.cpu_count() - 1
    cpu_online(cpu, False)
    try:
        with live.Mix():
            rep, = live.reports(["-d", "1"])
        equal([c["cpu"] for c in rep["cpus"]], list(range(cpu)), "CPUs")
        live.laws(rep)
        equal(rep["host"]["cpus_online"], cpu, "cpus_online")
    finally:
        cpu_online(cpu, True)
    rep, = live.reports(["-d", "0.5"])
    equal(len(rep["cpus"]), cpu + 1, "CPUs")
    live.laws(rep)


# ---- the same, by the perf engine ----

def ring_laws(rep, cpu):
    """What holds however much of the switches' chain was missed; of `cpu` only its online part is told."""
    win = rep["window"]
    for c in rep["cpus"]:
        if c["cpu"] != cpu:
            equal(live.oncpu(c) + c["idle_ns"], win["elapsed_ns"], "window of CPU %d" % c["cpu"])
    live.law_system(rep)
    for t in (t for t in rep["tasks"] if t["tid"]):
        end = win["end_ns"] if t["end_ns"] is None else min(t["end_ns"], win["end_ns"])
        equal(sum(t[k] for k in live.CLASSES), max(end - max(t["start_ns"], win["start_ns"]), 0),
              "classes against the life of %s %d" % (t["comm"], t["tid"]))
    equal(rep["quality"]["residual_ns"], 0, "residual_ns")
    equal(rep["quality"]["lost_events"], 0, "lost events")


def needs_a_cpu():
    cpu = os.cpu_count() - 1
    if not os.path.exists("/sys/devices/system/cpu/cpu%d/online" % cpu):
        raise live.Skip("no CPU can be taken offline here")
    return cpu


@test
def rings_of_a_cpu_that_leaves():
    """It goes within the window, and comes back: its row is its online part, and its events are there again."""
    cpu, told = needs_a_cpu(), {}

    def switch(on):
        a = time.monotonic_ns()
        cpu_online(cpu, on)
        told[on] = (a, time.monotonic_ns())

    with live.Mix():
        timers = [later(2.5, switch, False), later(5, switch, True)]
        reps = live.reports(["--engine", "perf", "-i", "1", "-n", "7"])
        for t in timers:
            t.join()
    equal(sorted(told), [False, True], "CPU %d was switched" % cpu)
    begin, end = told[False][0], told[True][1]
    for i, rep in enumerate(reps):
        win = rep["window"]
        try:
            ring_laws(rep, cpu)
        except live.Fail as e:
            raise live.Fail("window %d: %s" % (i, e)) from None
        row = [c for c in rep["cpus"] if c["cpu"] == cpu]
        away = max(0, min(end, win["end_ns"]) - max(begin, win["start_ns"]))
        have = sum(live.oncpu(c) + c["idle_ns"] for c in row)
        print("  window %d: CPU %d told for %d of %d ns, away for about %d; %d unmatched" % (
            i, cpu, have, win["elapsed_ns"], away, rep["quality"]["unmatched"]))
        slack = sum(b - a for a, b in told.values()) + 200000000
        need(have <= win["elapsed_ns"] and abs(win["elapsed_ns"] - away - have) <= slack,
             "window %d: CPU %d told for %d of %d ns, it was away for %d", i, cpu, have, win["elapsed_ns"], away)
    need(any(not [c for c in r["cpus"] if c["cpu"] == cpu] for r in reps), "the CPU never left")
    last, = [c for c in reps[-1]["cpus"] if c["cpu"] == cpu]
    need(last["switches"] > 0, "no event from the CPU that came back")


@test
def rings_without_a_cpu():
    """A CPU that is offline when the rings are opened; one that comes while they are open."""
    cpu = needs_a_cpu()
    cpu_online(cpu, False)
    try:
        with live.Mix():
            rep, = live.reports(["--engine", "perf", "-d", "1"])
            equal([c["cpu"] for c in rep["cpus"]], list(range(cpu)), "CPUs")
            ring_laws(rep, None)
            equal(rep["host"]["cpus_online"], cpu, "cpus_online")
            t = later(2, cpu_online, cpu, True)
            # the command's rings are there before the CPU is; whom it forks is pinned to that one then
            script = "sleep 4; taskset %x sh -c 'i=0; while [ $i -lt 100 ]; do i=$((i + 1)); read x </proc/self/stat; done'"
            rep, _ = live.command(["sh", "-c", script % (1 << cpu)], ["--engine", "perf"])
            t.join()
    finally:
        cpu_online(cpu, True)
    row, = [c for c in rep["cpus"] if c["cpu"] == cpu]
    need(0 < live.oncpu(row) + row["idle_ns"] < rep["window"]["elapsed_ns"], "CPU %d: %s", cpu, row)
    there = [t for t in rep["tasks"] if t["comm"] == "sh" and
             sum(live.oncpu(c) for c in t["cpus"] if c["cpu"] == cpu) > 0]
    need(any(c["name"] == "read" and c["count"] >= 100 for t in there for c in t["calls"]),
         "calls on the CPU that came: %s", there)


@test
def many_cpus():
    n = os.cpu_count()
    need(n >= 64, "only %d CPUs", n)
    fds = 0
    with live.Background([live.TOOL, "-d", "3", "-f", "json", "-o", "/tmp/report"]) as b:
        while b.p.poll() is None:
            fds = max(fds, len(os.listdir("/proc/%d/fd" % b.p.pid)))
            time.sleep(0.5)
    equal(b.p.returncode, 0, "status")
    need(10 < fds < 128, "%d descriptors", fds) # as many as with two CPUs
    rep, = live.parse(get("/tmp/report").encode())
    equal([c["cpu"] for c in rep["cpus"]], list(range(n)), "CPUs")
    # One thread emulates them all, and may stop one for long in the midst of an event: what is
    # missing then is told as the residual, and is little.
    missing = sum(abs(live.oncpu(c) + c["idle_ns"] - rep["window"]["elapsed_ns"])
                  for c in rep["cpus"])
    need(missing <= rep["quality"]["residual_ns"] <= n * rep["window"]["elapsed_ns"] / 1000,
         "%d ns are missing, residual %d ns", missing, rep["quality"]["residual_ns"])
    live.law_system(rep)
    live.law_levels(rep)
    mib = rep["cost"]["map_bytes"] / 2 ** 20
    total = int(re.search(r"MemTotal:\s*(\d+)", get("/proc/meminfo"))[1]) / 1024
    need(mib < total / 8, "%.0f MiB of maps of %.0f MiB", mib, total)
    print("  %d CPUs: %.1f MiB of maps, %.1f MiB resident, %d descriptors, %d ns residual" % (
        n, mib, rep["cost"]["loader_rss_bytes"] / 2 ** 20, fds, rep["quality"]["residual_ns"]))


# ---- ids that are used again ----

@test
def ids_come_round():
    """Thousands of tasks on a few hundred ids: each has an account of its own."""
    least, path = 301, "/proc/sys/kernel/pid_max" # RESERVED_PIDS + 1 of kernel/pid.c
    before = get(path)
    most = max(least, max(int(p) for p in os.listdir("/proc") if p.isdigit()) + 300)
    forks = max(1500, 2 * most)
    put(path, str(most))
    try:
        rep, _ = live.command(live.prog("swarm", forks, 500, 100, 0))
    finally:
        put(path, before)
    live.laws(rep, selected=True)
    live.nothing_lost(rep)
    made = 3 + forks + 500 + 2 * 100
    equal(len(rep["tasks"]), made, "tasks")
    tids = {t["tid"] for t in rep["tasks"]}
    need(len(tids) < made / 2, "%d ids of %d tasks: none came round", len(tids), made)
    equal(live.call({"calls": rep["system"]["calls"]}, live.OWN_CALL)["count"], forks + 2 * 500,
          "the calls that each has made")
    equal(len({(t["tid"], t["start_ns"], t["exec"]) for t in rep["tasks"]}), made,
          "accounts that differ in id, start or image")


# ---- without BPF ----

@test
def auto_takes_the_ring():
    """What the kernel lacks is said in one line, and the perf engine goes on; its laws hold."""
    with live.Mix():
        r = live.run(["-d", "1.5", "-f", "json"])
    equal(r.status, 0, "status: %s" % r.err.decode(errors="replace"))
    line = perf.one_line(r.err, "auto")
    need(re.search("without bpf|no BTF", line) and "perf" in line, "%s", line)
    rep, = live.parse(r.out)
    equal(rep["tool"]["engine"], "perf", "engine")
    need(rep["tool"]["reason"] and rep["tool"]["reason"] in line, "reason: %s, stderr: %s",
         rep["tool"]["reason"], line)
    perf.ring_laws(rep)
    equal(rep["quality"]["lost_events"], 0, "lost events")
    need(rep["system"]["switches"] > 0 and rep["system"]["calls"], "nothing has happened")
    print("  " + line)


# ---- what is refused ----

@test
def refused_with_a_reason():
    """Where BPF cannot be had: one line, exit status 1."""
    r = live.run(["-d", "0.1", "--engine", "bpf"])
    text = r.err.decode(errors="replace").strip()
    equal((r.status, r.out, len(text.splitlines())), (1, b"", 1), "status, stdout, lines: " + text)
    need(re.search(r"BTF|lockdown|bpf\(2\)|CAP_BPF", text), "no reason in: %s", text)
    print("  " + text)


if __name__ == "__main__":
    sys.exit(live.main(sys.argv[1:]))
