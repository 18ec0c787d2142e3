# SPDX-License-Identifier: GPL-2.0-only
"""Always-on instances: start, report, status, stop, and everything that can happen to them.

Part of run.py, which imports it; names of their own keep the tests away from an instance that
somebody really uses.
"""
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from cgroups import Cgroup
from run import (Background, CLASSES, Fail, Mix, PROGS, Skip, TOOL, call, call_sums, equal, gone,
                 law_cpus, law_system, laws, living_ids, need, needs_bpf, nothing_lost, parse, prog,
                 run, swarm_counts, test)

NAME = "test-%d" % os.getpid()
LOCK_WAIT_S = 10
# struct resident_state: words that do not move
LAYOUT, RECORDS, PHASE = 4, 8, 12
# struct acct_keep, which .bss begins with
KEEP_ROWS = 12


def pins(name=NAME):
    return "/sys/fs/bpf/utilbpf-" + name


def ours():
    """Ids of all that is pinned for an instance."""
    ids = set()
    for kind in ["prog", "map", "link"]:
        p = subprocess.run(["bpftool", "-j", "-f", kind, "list"], stdout=subprocess.PIPE,
                           check=True)
        ids |= {(kind, e["id"]) for e in json.loads(p.stdout)
                if any(f.startswith(pins() + "/") for f in e.get("pinned", []))}
    return ids


def cmd(what, *args, name=NAME, **kw):
    return run([what, "--name", name] + list(args), **kw)


def good(what, *args, **kw):
    r = cmd(what, *args, **kw)
    equal((r.status, r.err), (0, b""), "status and stderr of %s" % what)
    return r.out


def refused(what, words, *args, **kw):
    """One clean line on stderr that holds the words, and status 1."""
    r = cmd(what, *args, **kw)
    err = r.err.decode()
    equal((r.status, r.out, err.count("\n")), (1, b"", 1), "%s: %s; status, output, lines"
          % (what, err))
    need(words in err, "%s says %r, not %r", what, err, words)


def report(*args, **kw):
    return parse(good("report", "-f", "json", *args, **kw))


def one(*args, **kw):
    reps = report(*args, **kw)
    equal(len(reps), 1, "reports")
    return reps[0]


class Instance:
    """A resident instance, of which nothing is left in the end."""

    def __init__(self, *args):
        needs_bpf()
        if not os.path.isdir("/sys/fs/bpf") or not shutil.which("bpftool"):
            raise Skip("no bpftool")
        self.args = args

    def __enter__(self):
        equal(good("start", *self.args), b"", "output of start")
        try:
            self.ids = ours()
            need(len(self.ids) > 20, "only %d objects are pinned", len(self.ids))
        except BaseException:
            cmd("stop")
            raise
        return self

    def __exit__(self, exc, *_):
        self.ids |= ours()
        r = cmd("stop")
        if exc:
            return
        equal((r.status, r.out, r.err), (0, b"", b""), "stop")
        need(gone(self.ids), "left after stop: %s", sorted(self.ids & living_ids()))
        equal(os.path.exists(pins()), False, "the directory of the pins is left")
        refused("status", "nothing runs at " + pins())


def follow_on(reps):
    for a, b in zip(reps, reps[1:]):
        equal(b["window"]["index"], a["window"]["index"] + 1, "index")
        equal(b["window"]["start_ns"], a["window"]["end_ns"], "start of a window")


# ---- what it is for ----

@test
def resident_windows():
    windows_are_true(os.environ)


@test
def resident_late_boundaries():
    """Its reader is held up while it publishes each second boundary: see laws_of_late_boundaries."""
    windows_are_true(dict(os.environ, UTILBPF_WITHOUT="punctuality"))


def windows_are_true(env):
    with Instance():
        reps = []
        with Mix():
            for _ in range(8):
                time.sleep(0.2)
                reps.append(one(env=env))
        reps.append(one(env=env))
        for i, rep in enumerate(reps):
            try:
                laws(rep)
                nothing_lost(rep)
            except Fail as e:
                raise Fail("window %d: %s" % (i, e)) from e
        equal(reps[0]["window"]["index"], 0, "first index")
        follow_on(reps)


@test
def resident_counts_over_windows():
    """Not a call lost or counted twice, whoever reads when."""
    with Instance():
        with subprocess.Popen(prog("calls", 0, 2), stdout=subprocess.PIPE) as p:
            reps = []
            while p.poll() is None:
                reps.append(one("-b", "task"))
            told = dict(line.split() for line in p.stdout.read().decode().splitlines())
        reps.append(one())
        follow_on(reps)
        need(len(reps) > 10, "only %d windows", len(reps))
        for name, want in told.items():
            have = sum(call(t, name)["count"] for rep in reps for t in rep["tasks"]
                       if t["comm"] == "calls")
            equal(have, int(want), "%s over %d windows" % (name, len(reps)))


@test
def resident_options_of_a_report():
    with Instance("-e", "sched,syscalls"):
        for level, key in [("system", None), ("cpu", "cpus"), ("group", "groups"),
                           ("process", "processes"), ("task", "tasks")]:
            rep = one("-b", level)
            equal(key is None or len(rep[key]) > 0, True, level)
        equal([c for c in rep["system"]["calls"] if c["class"] == "softirq"], [], "softirqs")
        need(good("report", "-f", "csv").startswith(b"level,owner,"), "CSV has no header")
        text = good("report", "-T", "2", "-s", "pid", "-b", "task").decode()
        need("more" in text and "nothing lost" in text, "text: %s", text)
        need(len(good("report", "-F").splitlines()) > 200, "the full report is short")
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "report")
            equal(good("report", "-f", "json", "-o", path), b"", "output beside -o")
            with open(path, "rb") as f:
                equal(len(parse(f.read())), 1, "reports in the file")


@test
def resident_status():
    with Instance("-e", "sched"):
        one()
        text = good("status").decode()
        for words in ["instance  %s, by utilbpf" % pins(), "started   20", "sched on ",
                      "reports   1;", " MiB in ", " live and ", "events    ", "programs  "]:
            need(words in text, "no %r in: %s", words, text)
        refused("start", "runs already")
        equal(one()["window"]["index"], 1, "index after a second start")


@test
def resident_instances_by_name():
    other = NAME + "-b"
    with Instance():
        good("start", name=other)
        try:
            one()
            equal(one(name=other)["window"]["index"], 0, "index of the other one")
        finally:
            good("stop", name=other)
        equal(os.path.exists(pins(other)), False, "the other one is left")
        equal(one()["window"]["index"], 1, "index of the first one")


# ---- many lives, few records ----

def check_window(rep, what):
    try:
        laws(rep)
        nothing_lost(rep)
    except Fail as e:
        raise Fail("%s: %s" % (what, e)) from e


@test
def resident_folds_the_ended():
    """Tables for some hundred tasks, and nobody reads while twenty thousand live and die."""
    vforks, threads, execs = 16000, 4000, 400
    with Instance("--mem-limit", "3M"):
        one()
        before = good("status")
        subprocess.run(prog("swarm", vforks, threads, execs, 0), check=True)
        rep = one()
        check_window(rep, "the window")
        folded = rep["quality"]["folded_tasks"]
        need(folded > vforks, "only %d were folded", folded)
        ended = [t for t in rep["tasks"] if t["comm"] == "(ended)"]
        need(ended and not any(t["tid"] for t in ended), "no (ended) task")
        need(len(rep["tasks"]) < 2000, "%d tasks of so few records", len(rep["tasks"]))
        # each exec makes one more image
        need(rep["system"]["tasks"] >= 3 + vforks + threads + 2 * execs, "only %d tasks",
             rep["system"]["tasks"])
        s = call_sums([rep["system"]])
        counts = {k[3]: v["count"] for k, v in s.items() if k[0] == "syscall"}
        equal(counts["sched_get_priority_min"], vforks + 2 * threads, "calls of the ended")
        need(counts["vfork"] >= vforks + execs, "vfork: %d", counts["vfork"])
        equal(good("status").split(b"memory")[1].split(b"\n")[0],
              before.split(b"memory")[1].split(b"\n")[0], "memory")
        rep = one()
        check_window(rep, "the next window")


@test
def resident_folds_threads_into_their_process():
    """A process that lives on keeps the sum of its ended threads."""
    threads = 6000
    with Instance("--mem-limit", "3M"):
        one()
        with subprocess.Popen(prog("swarm", 0, threads, 0, 0)):
            pass
        rep = one()
        check_window(rep, "the window")
        s = call_sums([rep["system"]])
        equal({k[3]: v["count"] for k, v in s.items()}["sched_get_priority_min"], 2 * threads,
              "calls of the threads")
        mine = [t for t in rep["tasks"] if t["comm"] == "(ended)" and t["pid"]]
        need(mine, "no process has its ended threads in sum")


def poke(offset, *value, what="m-state"):
    p = subprocess.run([os.path.join(PROGS, "poke"), pins() + "/" + what, str(offset)]
                       + [str(v) for v in value], stdout=subprocess.PIPE, check=True)
    return int(p.stdout)


@test
def resident_folds_what_has_run_on_many_cpus():
    """What a task did on CPUs that it has left stays told, however few records for that are free."""
    processes = 1000

    def roam(n):
        subprocess.run(prog("gens", "roam", n), stdout=subprocess.DEVNULL, check=True)

    with Instance("--mem-limit", "3M"):
        roam(200)
        one()
        poke(KEEP_ROWS, 100, what="m-bss") # as with many CPUs, where each task has many such records
        roam(processes)
        need(poke(KEEP_ROWS, what="m-bss") < 1000, "records were not few")
        rep = one()
        check_window(rep, "the window")
        need(rep["quality"]["folded_tasks"] > processes, "only %d were folded",
             rep["quality"]["folded_tasks"])
        check_window(one(), "the next window")


@test
def resident_soak():
    """SOAK short lives (100 000 without it) over many windows: exact in each, memory flat."""
    lives = int(os.environ.get("SOAK", "100000"))
    part = 20000
    rounds = max(lives // part, 1)
    sizes, rss, windows, lived = set(), [], 0, 0
    with Instance(), Cgroup() as g:
        one()
        for i in range(rounds):
            n = part * 4 // 5
            with g.spawn(prog("swarm", n, part - n, 0, 0)) as p:
                reps = []
                while p.poll() is None:
                    time.sleep(random.uniform(0.05, 0.5))
                    reps += report()
            reps += report()
            for rep in reps:
                check_window(rep, "round %d" % i)
                sizes.add(rep["cost"]["map_bytes"])
                rss.append(rep["cost"]["loader_rss_bytes"])
            follow_on(reps)
            windows += len(reps)
            # The group's: somebody else may make such a call, too.
            mine = [e for rep in reps for e in rep["groups"] if e["cgroup"] == g.name]
            have = sum(call(e, "sched_get_priority_min")["count"] for e in mine)
            equal(have, n + 2 * (part - n), "calls of round %d" % i)
            lived += part
        whole = since_start()
        mine, = [e for e in whole["groups"] if e["cgroup"] == g.name]
        equal(call(mine, "sched_get_priority_min")["count"], rounds * (2 * part - n),
              "calls since the start")
        need(mine["tasks"] >= lived, "%d tasks since the start", mine["tasks"])
    need(max(sizes) - min(sizes) < 1 << 20, "map memory: %s", sorted(sizes))
    third = len(rss) // 3
    need(max(rss[-third:]) <= max(rss[:third]) * 1.25, "memory of report: %d to %d bytes",
         max(rss[:third]), max(rss[-third:]))
    print("# %d lives, %d windows, maps %.1f MiB, report %.1f MiB" %
          (lived, windows, max(sizes) / 2**20, max(rss) / 2**20))


# ---- all since the start ----

def since_start(*args, **kw):
    return one("--since-start", *args, **kw)


def without_open(entities):
    """Their calls added up. Which are open, and `pending` for that, is about one window's end."""
    sums = call_sums(entities)
    for c in sums.values():
        c["pending_ns"] = c["open"] = 0
    return {k: +c for k, c in sums.items() if +c}


@test
def resident_since_start():
    """Looks between the reports: the windows are as they were without them."""
    with Instance(), Cgroup() as g:
        with Mix(), g.spawn(prog("calls", 0, 2), stdout=subprocess.PIPE) as p:
            parts, looks = [], []
            while p.poll() is None or len(parts) < 6:
                for _ in range(random.randrange(3)):
                    looks.append(since_start())
                parts += report()
            told = dict(line.split() for line in p.stdout.read().decode().splitlines())
        parts += report()
        for look in looks:
            law_cpus(look)
            law_system(look)
            equal(look["quality"]["residual_ns"], 0, "residual of a look")
            equal(look["window"]["start_ns"], parts[0]["window"]["start_ns"], "start of a look")
        equal([r["window"]["index"] for r in parts], list(range(len(parts))), "indexes")
        follow_on(parts)
        for i, rep in enumerate(parts):
            check_window(rep, "window %d" % i)
        for name, want in told.items():
            have = sum(call(e, name)["count"] for rep in parts for e in rep["groups"]
                       if e["cgroup"] == g.name)
            equal(have, int(want), "%s over %d windows and %d looks" % (name, len(parts),
                                                                        len(looks)))
        need(len(looks) > 2, "only %d looks", len(looks))


@test
def resident_since_start_is_the_sum():
    """Of a group that has come and gone, over many windows; so its figures are final."""
    with Instance():
        parts = []
        with Cgroup() as g:
            with g.spawn(prog("swarm", 400, 400, 40, 3)) as p, g.spawn(prog("calls", 0, 2),
                                                           stdout=subprocess.DEVNULL) as q:
                while p.poll() is None or q.poll() is None:
                    parts += report()
                    if random.random() < 0.3:
                        since_start("-b", "group")
        parts += report()
        whole = since_start()
        equal(whole["quality"]["residual_ns"], 0, "residual")
        mine = [e for rep in parts for e in rep["groups"] if e["cgroup"] == g.name]
        need(len(mine) > 5, "only %d windows", len(mine))
        have, = [e for e in whole["groups"] if e["cgroup"] == g.name]
        procs = [e for e in whole["processes"] if e["cgroup"] == g.name]
        for k in CLASSES:
            equal(have[k], sum(e[k] for e in mine), k)
        equal(without_open([have]), without_open(mine), "calls")
        equal(sum(c["open"] for c in have["calls"]), 0, "open calls of who has ended")
        lived = {(t["tid"], t["start_ns"], t["exec"]) for rep in parts for t in rep["tasks"]
                 if t["cgroup"] == g.name}
        equal(have["tasks"], len(lived), "tasks")
        equal([e["comm"] for e in procs], ["(ended)"], "processes")


@test
def resident_open_calls_since_start():
    """A call that lasts over many windows: pending from its begin, once."""
    with Instance():
        with subprocess.Popen(["sleep", "60"]) as p:
            try:
                time.sleep(0.2)
                begin = one()["window"]
                for _ in range(3):
                    time.sleep(0.1)
                    one()
                    whole = since_start()
                calls = [call(e, "clock_nanosleep") for e in whole["processes"]
                         if e["pid"] == p.pid]
                equal(len(calls), 1, "entries of the sleeper")
                equal((calls[0]["count"], calls[0]["open"]), (0, 1), "count and open")
                life = whole["window"]["end_ns"] - begin["end_ns"]
                need(life < calls[0]["pending_ns"] < life + 10**9, "pending is %d, its life %d",
                     calls[0]["pending_ns"], life)
                part = one("-b", "process")
                mine, = [call(e, "clock_nanosleep") for e in part["processes"] if e["pid"] == p.pid]
                equal((mine["open"], mine["pending_ns"]), (1, part["window"]["elapsed_ns"]),
                      "of the last window")
            finally:
                p.kill()
        after = since_start()
        equal([e for e in after["processes"] if e["pid"] == p.pid and not e["tasks"]], [],
              "the ended process")
        after = one("--since-start", "-b", "system")
        need("processes" not in after, "-b system has processes")


@test
def resident_since_start_options():
    with Instance("-e", "sched"):
        refused_usage("-b", "task")
        refused_usage("-F")
        text = good("report", "--since-start", "-T", "3").decode()
        need("all since the start" in text, "text: %s", text)
        rep = since_start("-b", "group", "--depth", "1")
        need(all(g["cgroup"].count("/") == 1 for g in rep["groups"] if g["cgroup"][0] == "/"),
             "groups of depth 1: %s", [g["cgroup"] for g in rep["groups"]])
        with tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "x.prom")
            for _ in range(2):
                good("report", "--since-start", "-f", "openmetrics", "-o", path)
                with open(path, encoding="utf-8") as f:
                    m = re.search(r"^utilbpf_accounted_seconds_total ([0-9.]+)$", f.read(), re.M)
                total = float(m[1])
                need(total * 1e9 >= rep["window"]["elapsed_ns"], "only %s s since the start", total)
        equal(one()["window"]["index"], 0, "index of the first report")


def refused_usage(*args):
    r = cmd("report", "--since-start", *args)
    equal((r.status, r.out, r.err.count(b"\n")), (2, b"", 1), "wrong usage: %s" % (args,))


@test
def resident_killed_looks():
    """Readers of both kinds are killed at any moment: nothing is told twice in a sum, or lost."""
    told = {}
    with Instance(), Cgroup() as g:
        with g.spawn(prog("calls", 0, 4), stdout=subprocess.PIPE) as p:
            while p.poll() is None:
                args = random.choice([[], ["--since-start"], ["--since-start"]])
                with subprocess.Popen([TOOL, "report", "--name", NAME, "-f", "json", "-o",
                                       "/dev/null"] + args, stderr=subprocess.DEVNULL) as reader:
                    time.sleep(random.uniform(0, 0.03))
                    reader.kill()
                if random.random() < 0.5:
                    r = cmd("report", "--since-start", "-f", "json")
                    need(r.status == 0 or b"wait to be told" in r.err, "a look: %s", r.err)
                    continue
                r = cmd("report", "-f", "json")
                equal(r.status, 0, "status of the reader after one that was killed")
                for rep in parse(r.out):
                    need(rep["window"]["index"] not in told, "told twice")
                    told[rep["window"]["index"]] = rep
            want = dict(line.split() for line in p.stdout.read().decode().splitlines())
        for rep in report():
            told[rep["window"]["index"]] = rep
        whole = since_start()
        for rep in report():
            told[rep["window"]["index"]] = rep
        # Those whose reader was killed after it had told them went to /dev/null.
        for i, rep in told.items():
            check_window(rep, "window %d" % i)
        for name, n in want.items():
            mine, = [e for e in whole["groups"] if e["cgroup"] == g.name]
            equal(call(mine, name)["count"], int(n), "%s since the start" % name)


@test
def resident_looks_at_once():
    """Readers of both kinds at the same time."""
    with Instance():
        reps, looks, failed = [], [], []

        def read(look):
            for _ in range(6):
                try:
                    if look:
                        looks.append(since_start("-b", "group"))
                    else:
                        reps.extend(report())
                except Fail as e:
                    failed.append(str(e))
        threads = [threading.Thread(target=read, args=(i % 2,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal(failed, [], "failures")
        whole = since_start()
        reps += report()
        reps.sort(key=lambda r: r["window"]["index"])
        equal([r["window"]["index"] for r in reps], list(range(13)), "indexes")
        follow_on(reps)
        for i, rep in enumerate(reps):
            check_window(rep, "window %d" % i)
        need(all(r["window"]["start_ns"] == whole["window"]["start_ns"] for r in looks), "starts")


# ---- what can go wrong ----

@test
def resident_readers_at_once():
    with Instance():
        reps, failed = [], []

        def read():
            for _ in range(6):
                try:
                    reps.extend(report("-b", "system"))
                except Fail as e:
                    failed.append(str(e))
        threads = [threading.Thread(target=read) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        equal(failed, [], "failures")
        reps.sort(key=lambda r: r["window"]["index"])
        equal([r["window"]["index"] for r in reps], list(range(24)), "indexes")
        follow_on(reps)


class Locked:
    """Holds an instance's lock, as a reader does."""

    def __enter__(self):
        self.fd = os.open(pins(), os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self.fd, fcntl.LOCK_EX)
        return self

    def __exit__(self, *exc):
        os.close(self.fd)


@test
def resident_waits_and_refuses():
    with Instance():
        with Locked():
            with subprocess.Popen([TOOL, "report", "--name", NAME, "-b", "system"],
                                  stdout=subprocess.DEVNULL) as p:
                time.sleep(0.5)
                equal(p.poll(), None, "a second reader that waits")
                begin = time.monotonic()
                refused("stop", "is in use by pid")
                waited = time.monotonic() - begin
                need(waited > LOCK_WAIT_S - 2, "stop waited only %.1f s", waited)
                p.wait()
                equal(p.returncode, 1, "status of the reader that has waited too long")
            good("status")
        one()


@test
def resident_stop_while_reading():
    """stop waits for a reader that is stuck in its output, and the reader's report is whole."""
    with Instance("-e", "sched"):
        rfd, wfd = os.pipe()
        fcntl.fcntl(wfd, 1031, 4096) # F_SETPIPE_SZ
        with subprocess.Popen([TOOL, "report", "--name", NAME, "-f", "json"], stdout=wfd) as p:
            os.close(wfd)
            time.sleep(0.5)
            equal(p.poll(), None, "a reader whose output is stuck")
            with subprocess.Popen([TOOL, "stop", "--name", NAME], stderr=subprocess.PIPE) as stop:
                time.sleep(0.5)
                equal(stop.poll(), None, "stop")
                with os.fdopen(rfd, "rb") as f:
                    rep, = parse(f.read())
                equal((p.wait(), stop.wait()), (0, 0), "status of report and stop")
        laws(rep)
        equal(os.path.exists(pins()), False, "the directory of the pins is left")
        good("start") # for the end


@test
def resident_killed_readers():
    """Readers are killed at any moment: each window is told as a whole, and told once."""
    told, again = {}, 0
    with Instance():
        with subprocess.Popen(prog("calls", 0, 4), stdout=subprocess.PIPE) as p, \
                tempfile.TemporaryDirectory() as d:
            path = os.path.join(d, "report")
            while p.poll() is None:
                with subprocess.Popen([TOOL, "report", "--name", NAME, "-f", "json", "-o", path],
                                      stderr=subprocess.DEVNULL) as reader:
                    time.sleep(random.uniform(0, 0.03))
                    reader.kill()
                r = cmd("report", "-f", "json")
                equal(r.status, 0, "status of the reader after one that was killed")
                reps = parse(r.out)
                if len(reps) == 2:
                    need(b"did not finish: its window comes first" in r.err, "stderr: %s", r.err)
                    again += 1
                else:
                    equal((len(reps), r.err), (1, b""), "reports and stderr")
                try:
                    with open(path, "rb") as f:
                        reps += parse(f.read())
                    os.unlink(path)
                except (FileNotFoundError, ValueError): # not begun, or cut short
                    need(reader.returncode != 0, "a reader that ended well left no report")
                for rep in reps:
                    i = rep["window"]["index"]
                    known = told.setdefault(i, rep)
                    equal((known["window"], known["tasks"]), (rep["window"], rep["tasks"]),
                          "window %d, told again" % i)
            want = dict(line.split() for line in p.stdout.read().decode().splitlines())
        for rep in report():
            told[rep["window"]["index"]] = rep
        reps = [told[i] for i in sorted(told)]
        equal(sorted(told), list(range(len(told))), "indexes")
        follow_on(reps)
        for i, rep in enumerate(reps):
            check_window(rep, "window %d" % i)
        for name, n in want.items():
            have = sum(call(t, name)["count"] for rep in reps for t in rep["tasks"]
                       if t["comm"] == "calls")
            equal(have, int(n), "%s over %d windows" % (name, len(reps)))
    need(again > 0, "no reader was killed in the middle of a report")


@test
def resident_output_fails():
    with Instance():
        first = one()
        r = cmd("report", "-f", "json", "-o", "/dev/full")
        equal((r.status, len(r.err.splitlines())), (1, 1), "status and lines of stderr")
        r = cmd("report", "-f", "json")
        equal(r.status, 0, "status of the next one")
        reps = [first] + parse(r.out)
        equal(len(reps), 3, "reports")
        follow_on(reps)
        for rep in reps:
            laws(rep)


@test
def resident_of_another_version():
    for word in [LAYOUT, RECORDS]:
        with Instance("-e", "sched"):
            was = poke(word)
            poke(word, was + 1)
            refused("report", "whose records this one")
            refused("status", "whose records this one")
            refused("start", "runs already")
            poke(word, was)
            one()
            poke(word, was + 1) # the end of it goes without a word


@test
def resident_half_started():
    with Instance("-e", "sched"):
        poke(PHASE, 0)
        for what in ["report", "status"]:
            refused(what, "was not finished")
        good("start", "-e", "sched") # clears it and begins anew
        equal(one()["window"]["index"], 0, "index after a second start")
        poke(PHASE, 0)
        good("stop")
        equal(os.path.exists(pins()), False, "the directory of the pins is left")
        os.mkdir(pins())
        refused("report", "half of one")
        good("start", "-e", "sched")
        one()


@test
def resident_killed_starts():
    needs_bpf()
    if not shutil.which("bpftool"):
        raise Skip("no bpftool")
    ids, finished = set(), 0
    try:
        for i in range(12):
            with subprocess.Popen([TOOL, "start", "--name", NAME, "-e", "sched"],
                                  stderr=subprocess.DEVNULL) as p:
                time.sleep(0.03 * i)
                p.kill()
            ids |= ours()
            if cmd("status").status == 0:
                one()
                finished += 1
                good("stop")
            else:
                good("start", "-e", "sched")
                one()
                ids |= ours()
                if i % 2:
                    good("stop")
                else:
                    good("stop")
    finally:
        cmd("stop")
    need(finished < 12, "no start was killed in the middle")
    need(gone(ids), "left: %s", sorted(ids & living_ids()))
    equal(os.path.exists(pins()), False, "the directory of the pins is left")


@test
def resident_of_others():
    """A directory that holds what is not ours is left as it is."""
    needs_bpf()
    os.mkdir(pins())
    os.mkdir(pins() + "/theirs")
    try:
        refused("stop", "what is not of utilbpf")
        need(os.path.isdir(pins() + "/theirs"), "theirs is gone")
    finally:
        os.rmdir(pins() + "/theirs")
        os.rmdir(pins())


@test
def resident_without_bpffs():
    if os.geteuid() or not shutil.which("unshare"):
        raise Skip("needs root and unshare")
    script = "while umount /sys/fs/bpf 2>/dev/null; do :; done; exec \"$@\""
    argv = ["unshare", "-m", "sh", "-c", script, "sh", TOOL]
    for what in ["start", "report", "status", "stop"]:
        p = subprocess.run(argv + [what, "--name", NAME], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, check=False)
        equal((p.returncode, p.stdout, p.stderr.count(b"\n")), (1, b"", 1), what)
        need(b"mount it with mount -t bpf" in p.stderr, "%s says: %s", what, p.stderr)


@test
def resident_without_bpf():
    """Who may take the lock, but not use bpf(2), is told so."""
    with Instance("-e", "sched"):
        for what in ["report", "status"]:
            r = run(["bpf=EPERM", TOOL, what, "--name", NAME], tool=os.path.join(PROGS, "refuse"))
            equal((r.status, r.out, r.err.count(b"\n")), (1, b"", 1), "%s: %s" % (what, r.err))
            need(b"not permitted; run as root" in r.err, "%s says %s", what, r.err)
        one()


@test
def resident_without_privilege():
    needs_bpf()
    if os.geteuid() or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", TOOL]
    for what in ["start", "report", "status", "stop"]:
        p = subprocess.run(argv + [what, "--name", NAME], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, check=False)
        equal((p.returncode, p.stdout, p.stderr.count(b"\n")), (1, b"", 1), what)
        need(b"root" in p.stderr or b"nothing runs" in p.stderr, "%s says: %s", what, p.stderr)
