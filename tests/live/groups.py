# SPDX-License-Identifier: GPL-2.0-only
"""Selection and groups, on real tasks, users, cgroups and namespaces.

Part of run.py, which imports it. Windows are those of a resident instance: it is open as soon as
`start` is over, so a test knows what lies inside.
"""
import collections
import os
import shutil
import signal
import subprocess
import tempfile
import time

from cgroups import Cgroup
from resident import Instance, good, one
from run import (CLASSES, ONCPU, PROGS, Skip, TOOL, call, equal, law_cpus, laws, need, needs_bpf,
                 nothing_lost, parse, prog, refused_line, run, test)

NOBODY = 65534


class Cast:
    """Who is selected from: two programs, of two users, in two groups."""

    def __init__(self):
        self.top, self.all = Cgroup(), []
        self.a, self.b = Cgroup(self.top, "a"), Cgroup(self.top, "b.slice")

    def add(self, group, name, *argv):
        path = os.path.join(self.dir.name, name)
        if not os.path.exists(path):
            shutil.copy(os.path.join(PROGS, "calls"), path)
        p = group.spawn(list(argv) + [path, "0", "60"], stdout=subprocess.DEVNULL)
        self.all.append(p)
        return p

    def __enter__(self):
        if os.geteuid() or not shutil.which("setpriv"):
            raise Skip("needs root and setpriv")
        self.dir = tempfile.TemporaryDirectory()
        os.chmod(self.dir.name, 0o755)
        for g in (self.top, self.a, self.b):
            g.__enter__()
        user = ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups"]
        self.alpha = self.add(self.a, "ut-alpha")
        self.beta = self.add(self.b, "ut-beta", *user)
        self.gamma = self.add(self.b, "ut-gamma")
        time.sleep(0.2) # by now each has its name and user
        return self

    def __exit__(self, *exc):
        for p in self.all:
            p.kill()
            p.wait()
        for g in (self.b, self.a, self.top):
            g.__exit__(*exc)
        self.dir.cleanup()

    def name(self, pid):
        return {self.alpha.pid: "alpha", self.beta.pid: "beta", self.gamma.pid: "gamma"}.get(pid)


def window(*selection, act=lambda: None, seconds=0.25):
    """One window of an instance that accounts only these, and what happens in it."""
    with Instance(*selection):
        act()
        time.sleep(seconds)
        rep = one()
    laws(rep, selected=True)
    nothing_lost(rep)
    law_cpus(rep)
    need(rep["tool"]["selection"], "the report does not say what was selected")
    return rep


def who(cast, rep):
    """Which of the cast are in the report; nobody else may be."""
    names = {cast.name(p["pid"]) or p["comm"] for p in rep["processes"]}
    return " ".join(sorted(names))


# ---- each kind ----

@test
def select_by_each_kind():
    with Cast() as c:
        a, b, g = c.alpha.pid, c.beta.pid, c.gamma.pid
        for args, want in [
                (["-p", str(a)], "alpha"),
                (["-t", str(b)], "beta"),
                (["-p", "%d,%d" % (a, b)], "alpha beta"),
                (["-p", str(a), "-p", str(g)], "alpha gamma"),
                (["-c", "ut-*"], "alpha beta gamma"),
                (["-c", "ut-[ab]*"], "alpha beta"),
                (["-c", "ut-alpha", "-c", "ut-g?mma"], "alpha gamma"),
                (["-G", c.a.name], "alpha"),
                (["-G", c.top.name], "alpha beta gamma"),
                (["-G", "b.slice"], "beta gamma"),
                (["-u", "nobody", "-c", "ut-*"], "beta"),
                (["-u", str(NOBODY), "-G", c.top.name], "beta"),
                (["-u", "0", "-G", c.top.name], "alpha gamma"),
                (["-G", "b.slice", "-c", "ut-*a", "-p", "%d,%d" % (a, b)], "beta"),
                (["-p", str(a), "-c", "ut-beta"], "")]:
            rep = window(*args)
            equal(who(c, rep), want, "selected by %s" % args)
            for p in rep["processes"]:
                need(call(p, "getppid")["count"] > 100, "%s: calls of %s", args, p["comm"])
            # what is not selected is in the rows of the system and the CPUs
            need(rep["system"]["tasks"] > len(rep["tasks"]) + 10, "%s: %d tasks in the system",
                 args, rep["system"]["tasks"])
            on = sum(rep["system"][k] for k in ONCPU)
            need(on > sum(t[k] for t in rep["tasks"] for k in ONCPU), "%s: time of the rest", args)


@test
def select_by_cpu():
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Skip("one CPU")
    with Cast() as c:
        os.sched_setaffinity(c.alpha.pid, {cpus[0]})
        os.sched_setaffinity(c.beta.pid, {cpus[1]})
        rep = window("-C", str(cpus[0]), "-c", "ut-alpha", "-c", "ut-beta")
        equal([r["cpu"] for r in rep["cpus"]], [cpus[0]], "CPU rows")
        equal({p["comm"] for p in rep["processes"] if sum(p[k] for k in ONCPU)}, {"ut-alpha"},
              "processes on it")
        equal({e["cpu"] for t in rep["tasks"] for e in t["cpus"]
               if sum(e[k] for k in ONCPU)}, {cpus[0]}, "CPUs of the tasks")


def tells_of_itself(*opts):
    """Not of another one: machines have theirs."""
    with subprocess.Popen([TOOL, "-d", "0.3", "-f", "json", *opts], stdout=subprocess.PIPE) as p:
        rep, = parse(p.communicate()[0])
    equal(p.returncode, 0, "status of %s" % (opts,))
    return any(t["pid"] == p.pid for t in rep["tasks"])


@test
def select_of_kinds_of_tasks():
    with Cast() as c:
        rep = window("--no-kthreads")
        need(not any(t["kthread"] for t in rep["tasks"]), "kernel threads are in")
        need(c.name(c.alpha.pid) in who(c, rep).split(), "the others are not")
        rep = window("--syscall", "getppid,read", "-c", "ut-*")
        names = {k["name"] for t in rep["tasks"] for k in t["calls"] if k["class"] == "syscall"}
        equal(names, {"getppid"}, "calls")
        equal(tells_of_itself("-x"), False, "utilbpf itself with -x")
        equal(tells_of_itself(), True, "and without")


@test
def select_descendants():
    """--follow: children, whatever they are called and whose they become, and their children."""
    needs_bpf()
    script = "read x; ut=0; while [ $ut -lt 20 ]; do ut=$((ut+1)); /bin/true; done; " \
        "sh -c 'setpriv --reuid=65534 --clear-groups sleep 0.2; :'; sleep 5; :"
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, start_new_session=True) as p:
        def go():
            p.stdin.write(b"\n")
            p.stdin.flush()
        try:
            rep = window("-p", str(p.pid), "--follow", act=go, seconds=0.6)
        finally:
            p.stdin.close()
            os.killpg(p.pid, signal.SIGKILL)
    comms = collections.Counter(t["comm"] for t in rep["tasks"])
    need(comms["true"] >= 20 and comms["sleep"] >= 1, "of the descendants: %s", comms)
    need(any(t["uid"] == NOBODY for t in rep["tasks"]), "who became another user is not there")
    need(not set(comms) - {"sh", "true", "sleep", "setpriv"}, "strangers: %s", comms)


@test
def select_comes_and_goes():
    """A move into a selected group, and out of it again, begins and ends what is told of a task."""
    with Cast() as c:
        def go():
            time.sleep(0.1)
            c.a.take(c.beta.pid)
            time.sleep(0.2)
            c.b.take(c.beta.pid)
            c.a.take(c.gamma.pid)
            time.sleep(0.1)
        rep = window("-G", c.a.name, act=go, seconds=0.05)
        equal(who(c, rep), "alpha beta gamma", "processes")
        for pid, low, high in [(c.alpha.pid, 0.4, 9), (c.beta.pid, 0.18, 0.4),
                               (c.gamma.pid, 0.1, 0.4)]:
            mine = [t for t in rep["tasks"] if t["pid"] == pid]
            told = sum(t[k] for t in mine for k in CLASSES) / 1e9
            need(low < told < high * 10, "%s is told of for %.3f s", c.name(pid), told)
            equal(mine[0]["partial"], pid != c.alpha.pid, "partial")
        need(all(t["cgroup"] == c.a.name for t in rep["tasks"]), "groups: %s",
             {t["cgroup"] for t in rep["tasks"]})


@test
def select_what_is_not_there():
    with subprocess.Popen(["true"]) as p:
        pass
    for args, status, words in [(["-p", str(p.pid)], 1, "there is no such process"),
                                (["-t", str(p.pid)], 1, "there is no such thread"),
                                (["-u", "no-such-user"], 1, "there is no such user"),
                                (["-C", "8000"], 1, "no such CPU"),
                                (["-c", "[a"], 2, "whose [ has a ]"),
                                (["-G", "[[:alpha:]]"], 2, "without classes"),
                                (["-c", ""], 2, "not an empty word"),
                                (["-p", "0"], 2, "process ids"),
                                (["--syscall", "no_such"], 2, "no such system call"),
                                (["--follow"], 2, "whose descendants")]:
        for what in (["-d", "0.1"], ["start", "--name", "test-none"], ["serve"]):
            refused_line(what + args, status, words)


# ---- groups ----

GROUPS, WORKERS, SECONDS = 300, 8, 8


@test
def hundreds_of_groups():
    """Tasks move through 300 groups, most of which are gone before the window ends."""
    with Instance(), Cgroup() as top:
        groups = [Cgroup(top, "g%d" % i) for i in range(GROUPS)]
        for g in groups:
            g.__enter__()
        one()
        work = [groups[i].spawn(prog("calls", 0, SECONDS), stdout=subprocess.PIPE)
                for i in range(WORKERS)]
        for i in range(WORKERS, GROUPS):
            try:
                groups[i].take(work[i % WORKERS].pid)
            except ProcessLookupError: # on a very busy machine
                break
            time.sleep(0.01)
        told = sum(int(p.communicate()[0].split()[1]) for p in work)
        for g in groups:
            g.__exit__()
        rep = one()
    laws(rep)
    nothing_lost(rep)
    mine = [g for g in rep["groups"] if g["cgroup"].startswith(top.name + "/g")]
    need(len(mine) > GROUPS / 3, "only %d groups are told", len(mine))
    need(not any(g["cgroup"] == "(gone)" for g in rep["groups"]), "groups without a name")
    equal(sum(call(g, "getppid")["count"] for g in mine), told, "calls in all groups")
    worked = [g for g in mine if call(g, "getppid")["count"]]
    need(len(worked) > GROUPS / 4, "only in %d groups anything was done", len(worked))


@test
def group_that_is_gone_before_anybody_looks():
    """Made, worked in and removed within one window: under its name, its ended tasks included."""
    with Instance():
        one()
        with Cgroup() as g:
            with Cgroup(g, "docker-%064x.scope" % 0xabcdef) as box:
                p = box.spawn(prog("swarm", 50, 50, 0, 0))
                p.wait()
        rep = one()
        have, = [e for e in rep["groups"] if e["cgroup"] == box.name]
        equal(have["container"], "0" * 12, "container")
        equal(have["unit"], os.path.basename(box.name), "unit")
        equal(call(have, "sched_get_priority_min")["count"], 150, "calls")
        need(have["tasks"] >= 101, "%d tasks", have["tasks"])
        rep = one("--since-start")
        have, = [e for e in rep["groups"] if e["cgroup"] == box.name]
        equal(call(have, "sched_get_priority_min")["count"], 150, "calls since the start")
        text = good("report", "--since-start", "-b", "group", "-T", "0").decode()
        need("CONTAINER" in text, "no container in: %s", text)


@test
def group_that_was_there_before():
    """There at the start, empty until after the last report, and gone before the next."""
    with Cgroup() as g:
        with Instance():
            one()
            g.spawn(["true"]).wait()
            for _ in range(200):
                try:
                    os.rmdir(g.path)
                    break
                except OSError:
                    time.sleep(0.01)
            rep = one()
            os.mkdir(g.path)
    need(any(e["cgroup"] == g.name for e in rep["groups"]), "groups: %s",
         [e["cgroup"] for e in rep["groups"]])


# ---- namespaces ----

@test
def pid_namespaces():
    """Ids are those of the initial namespace, whatever the tasks think."""
    needs_bpf()
    if os.geteuid() or not shutil.which("unshare"):
        raise Skip("needs root and unshare")
    argv = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] + prog("calls", 0, 60)
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as p:
        try:
            inner = []
            while not inner:
                time.sleep(0.05)
                with open("/proc/%d/task/%d/children" % (p.pid, p.pid), encoding="ascii") as f:
                    inner = f.read().split()
            time.sleep(0.1)
            rep = window("-p", inner[0])
            equal([t["tid"] for t in rep["tasks"]], [int(inner[0])], "tasks by the outer id")
            need(call(rep["tasks"][0], "getppid")["count"] > 100, "no calls")
            rep = window("-p", str(p.pid), "--follow")
            equal({t["tid"] for t in rep["tasks"]}, {p.pid, int(inner[0])}, "with descendants")
        finally:
            p.send_signal(signal.SIGKILL)


@test
def inside_a_pid_namespace():
    """There, the ids that we know are not the kernel's: what needs them is refused, not wrong."""
    needs_bpf()
    if os.geteuid() or not shutil.which("unshare"):
        raise Skip("needs root and unshare")
    inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", TOOL]
    for what, args in [("-p", ["-p", "1", "-d", "0.1"]), ("-t", ["-t", "1", "-d", "0.1"]),
                       ("-x", ["-x", "-d", "0.1"]), ("COMMAND", ["--", "true"]),
                       ("-p", ["start", "--name", "test-inside", "-p", "1"])]:
        r = run(inside[1:] + args, tool=inside[0])
        equal((r.status, r.out, r.err.count(b"\n")), (1, b"", 1), "%s: %s" % (what, r.err))
        need(b"cannot account " + what.encode() in r.err and b"pid namespace" in r.err,
             "%s says %s", what, r.err)
    r = run(inside[1:] + ["-d", "0.3", "-f", "json"], tool=inside[0])
    equal((r.status, r.err), (0, b""), "status and stderr without any")
    rep, = parse(r.out)
    need(any("pid namespace" in note for note in rep["notes"]), "no note: %s", rep["notes"])
    r = run(inside[1:] + ["-d", "0.1", "--engine", "perf"], tool=inside[0])
    equal((r.status, r.out, r.err.count(b"\n")), (1, b"", 1), "perf: %s" % r.err)


# ---- a kernel that lacks what start needs ----

@test
def start_where_features_lack():
    needs_bpf()
    for rules in ["bpf=ENOSYS", "bpf=EPERM"]:
        for what in ["start", "report", "status"]:
            r = run([rules, TOOL, what, "--name", "test-lacks"],
                    tool=os.path.join(PROGS, "refuse"))
            equal((r.status, r.out, r.err.count(b"\n")), (1, b"", 1),
                  "%s with %s: %s" % (what, rules, r.err))
        equal(os.path.exists("/sys/fs/bpf/utilbpf-test-lacks"), False, "pins after " + rules)
