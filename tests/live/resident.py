# SPDX-License-Identifier: GPL-2.0-only
"""Always-on instances: start, report, status, stop, and everything that can happen to them.

Part of run.py, which imports it; names of their own keep the tests away from an instance that
somebody really uses.
"""
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from run import (Background, Fail, Mix, PROGS, Skip, TOOL, call, call_sums, equal, gone, laws,
                 living_ids, need, needs_bpf, nothing_lost, parse, prog, run, swarm_counts, test)

NAME = "test-%d" % os.getpid()
LOCK_WAIT_S = 10
# struct resident_state: words that do not move
LAYOUT, RECORDS, PHASE = 4, 8, 12


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
        self.ids = ours()
        need(len(self.ids) > 20, "only %d objects are pinned", len(self.ids))
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
    with Instance():
        reps = []
        with Mix():
            for _ in range(8):
                time.sleep(0.2)
                reps.append(one())
        reps.append(one())
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


@test
def resident_soak():
    """SOAK short lives (100 000 without it) over many windows: exact in each, memory flat."""
    lives = int(os.environ.get("SOAK", "100000"))
    part = 20000
    rounds = max(lives // part, 1)
    sizes, rss = set(), []
    with Instance():
        one()
        for i in range(rounds):
            n = part * 4 // 5
            with subprocess.Popen(prog("swarm", n, part - n, 0, 0)) as p:
                reps = []
                while p.poll() is None:
                    time.sleep(random.uniform(0.05, 0.5))
                    reps += report()
            reps += report()
            for rep in reps:
                check_window(rep, "round %d" % i)
                sizes.add(rep["cost"]["map_bytes"])
                rss.append(rep["cost"]["loader_rss_bytes"])
            have = sum(call(rep["system"], "sched_get_priority_min")["count"] for rep in reps)
            equal(have, n + 2 * (part - n), "calls of round %d" % i)
    need(max(sizes) - min(sizes) < 1 << 20, "map memory: %s", sorted(sizes))
    third = len(rss) // 3
    need(max(rss[-third:]) <= max(rss[:third]) * 1.25, "memory of report: %d to %d bytes",
         max(rss[:third]), max(rss[-third:]))
    print("# %d lives, %d windows, maps %.1f MiB, report %.1f MiB" %
          (rounds * part, len(rss), max(sizes) / 2**20, max(rss) / 2**20))


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
                if reader.returncode == 0 or os.path.getsize(path):
                    with open(path, "rb") as f:
                        try:
                            reps += parse(f.read())
                        except ValueError: # cut short
                            pass
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


def poke(offset, *value):
    p = subprocess.run([os.path.join(PROGS, "poke"), pins() + "/m-state", str(offset)]
                       + [str(v) for v in value], stdout=subprocess.PIPE, check=True)
    return int(p.stdout)


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
