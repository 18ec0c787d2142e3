#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""make check-vm: the live tests under other kernels, in guests of an emulator.

run.py [-l] [-w] [-t SECONDS] [GUEST[/ENGINE]...]: -l lists the guests; with ENGINE only those steps;
the variable VM_FULL, or its name, runs all of a guest's, and -w writes the results into the manual's
table. -t: no guest begins that would not be done by then, and no kernel is built for longer.
Each guest boots a kernel with an initial file system that holds the tool, the tests and a Python;
its verdict is the exit status that it prints before it goes off. What it printed is kept in
.build/vm/NAME.log. Where a kernel or the emulator cannot be had, the guest is skipped, and says why.

As many guests run at once as this machine has CPUs. On x86_64 one thread emulates all of a guest's:
tracepoints are switched on and off there by way of a breakpoint, which QEMU's threads do not always
see in time, so that one of several CPUs runs into it when it is none any more ("Oops: int3" of a
softirq). POWER would hang so: it waits for another CPU without giving its turn away.
"""
import collections
import fcntl
import glob
import os
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
import zlib

import fetch
import image

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, ".build", "vm")
HERE = os.path.join(TOP, "tests", "vm")
MANUAL = os.path.join(TOP, "user", "dist", "utilbpf.8")
FULL = os.environ.get("VM_FULL")

Arch = collections.namedtuple("Arch", "qemu machine console cc threads")
ARCHES = {
    "amd64": Arch("qemu-system-x86_64", ["-M", "q35", "-cpu", "max"], "ttyS0", "gcc",
                  "single"),
    "arm64": Arch("qemu-system-aarch64", ["-M", "virt", "-cpu", "cortex-a57"], "ttyAMA0",
                  "aarch64-linux-gnu-gcc", "multi"),
    "ppc64el": Arch("qemu-system-ppc64", ["-M", "pseries,x-vof=on", "-cpu", "POWER9"], "hvc0",
                    "powerpc64le-linux-gnu-gcc", "multi"),
}

# A step: what runs in the guest, as which engine, with which environment; more: when there is time.
Step = collections.namedtuple("Step", "engine tests env more", defaults=("", ()))
# takes: seconds to its verdict with a CPU of its own; held_up: its emulator is stopped now and then.
Guest = collections.namedtuple("Guest", "name arch kernel steps about append machine smp mem takes held_up",
                               defaults=("", "", (), 2, "1G", 60, False))
# A host that is busy may keep a guest's CPU from running for many seconds: that is no lock-up, and
# no timer that does not work.
PATIENT = "no_timer_check watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=200"
LIMIT = 900 # s; then a guest is given up: a busy machine may take ten times as long as an idle one

LAWS = ["laws_of_one_window", "laws_of_a_command", "laws_of_intervals", "counts_of_calls"]
FEW = ["laws_of_one_window", "counts_of_calls"]
MORE = ["silent_tasks_are_there", "generations_of_a_thread"]
REST = MORE + ["no_call_lost_at_a_boundary", "generations_of_images", "kernel_threads_are_sys",
               "migrations_of_a_task", "oncpu_in_the_kernel", "sleep_of_a_sleeper",
               "stopped_while_stopped", "wait_of_two_on_one_cpu", "switches_by_kind",
               "status_of_the_command", "report_into_a_file", "descendants_and_nobody_else",
               "intervals_and_durations", "levels", "without_privilege", "no_room_for_the_report",
               "nothing_left_behind"]
# Whether a task is held up in the kernel is chance: not oncpu_in_the_kernel.
HELD_UP = MORE + LAWS + [t for t in REST if t not in MORE + ["oncpu_in_the_kernel"]]
HOTPLUG = ["cpu_leaves_and_comes_back"]
RINGS = ["rings_of_a_cpu_that_leaves", "rings_without_a_cpu"]
HCALLS = ["hypervisor_calls_agree", "hypervisor_calls_take_time"]
RING = ["auto_takes_the_ring"]
RING_MORE = ["counts_of_calls_by_perf", "intervals_add_up", "everything_at_once_by_perf"]

DEBIAN_5_10 = ("bullseye", "linux-image-cloud-")
DEBIAN_6_1 = ("bookworm", "linux-image-cloud-")
DEBIAN_6_12 = ("bookworm", "linux-image-6.12-cloud-")
POWER_6_1 = ("bookworm", "linux-image-powerpc64le")
POWER_6_12 = ("trixie", "linux-image-powerpc64le")
WITHOUT_BPF = ("bookworm", "linux-source-6.1")
RAW = "UTILBPF_WITHOUT=tp_btf"
HASH = "UTILBPF_WITHOUT=task_storage"
PERF = "GUEST_ENGINE=perf"
VERIFY = Step("verifier", ["verify"])

GUESTS = [
    # The order in which they run: where time is short, the last are left out. The longest comes first:
    # its verifier walks the cold paths with each caller, a minute each time that the tool starts.
    Guest("amd64-5.10", "amd64", DEBIAN_5_10, [
        VERIFY, Step("bpf, raw_tp, hash", FEW[:1], "", FEW[1:])], takes=240),
    Guest("amd64-6.1", "amd64", DEBIAN_6_1, [
        VERIFY, Step("bpf, few ids", [], "", ["ids_come_round"]), Step("bpf", LAWS, "", REST),
        Step("bpf, raw_tp", [], RAW, FEW + MORE), Step("bpf, hash", [], HASH, FEW + MORE),
        Step("perf", [], PERF, RING_MORE)], takes=120),
    Guest("amd64-6.12", "amd64", DEBIAN_6_12, [
        VERIFY, Step("bpf", LAWS[:2], "", LAWS[2:] + MORE), Step("bpf, raw_tp", FEW[:1], RAW, FEW[1:]),
        Step("bpf, hash", [], HASH, FEW),
        Step("bpf, CPU hotplug", HOTPLUG, "", ["cpu_offline_from_the_start"])], takes=120),
    Guest("ppc64el-6.12-hash", "ppc64el", POWER_6_12, [
        Step("bpf", HCALLS, "", FEW)], "hash MMU, XIVE", "disable_radix", takes=60),
    Guest("ppc64el-6.1", "ppc64el", POWER_6_1, [
        VERIFY, Step("bpf: refused", ["refused_with_a_reason"]),
        Step("auto: perf", RING + HCALLS, PERF, RING_MORE[1:])], "no BTF, hash MMU", "disable_radix", takes=60),
    Guest("arm64-6.1", "arm64", DEBIAN_6_1, [VERIFY, Step("bpf", FEW, "", MORE)], takes=60),
    Guest("amd64-6.12-lockdown", "amd64", DEBIAN_6_12, [
        VERIFY, Step("bpf", FEW[:1], "", FEW[1:])], "lockdown",
          "lsm=lockdown,capability lockdown=confidentiality", takes=60),
    Guest("amd64-6.12-rings", "amd64", DEBIAN_6_12, [
        Step("perf, CPU hotplug", RINGS[:1], "", RINGS[1:])], takes=40),
    Guest("ppc64el-6.12", "ppc64el", POWER_6_12, [
        VERIFY, Step("bpf", FEW[:1] + HCALLS[:1], "", FEW[1:] + MORE)], "radix MMU, XIVE", takes=90),
    Guest("amd64-6.12-held-up", "amd64", DEBIAN_6_12, [
        Step("bpf", HELD_UP[:1], "", HELD_UP[1:])], "held up by its host", takes=60, held_up=True),
    Guest("amd64-6.12-64cpus", "amd64", DEBIAN_6_12, [Step("bpf", ["many_cpus"])], "64 CPUs",
          smp=64, mem="2G", takes=90),
    Guest("ppc64el-6.12-xics", "ppc64el", POWER_6_12, [
        Step("bpf", HCALLS[:1], "", HCALLS[1:] + FEW)], "radix MMU, XICS",
          machine=["-M", "pseries,x-vof=on,ic-mode=xics", "-cpu", "POWER9"], takes=60),
    Guest("amd64-6.1-without-bpf", "amd64", WITHOUT_BPF, [
        # it has no sockets, and so no COMMAND
        Step("auto: perf", RING, "", RING_MORE[2:]), Step("bpf: refused", ["refused_with_a_reason"])],
          "no bpf(2)", "reboot=t", ["-M", "microvm,acpi=off,rtc=on", "-cpu", "max"], takes=40),
]


told = threading.local() # .lines: what a guest's thread has to say, until the guest is done


def say(fmt, *args):
    line = fmt % args if args else fmt
    if getattr(told, "lines", None) is None:
        print(line, flush=True)
    else:
        told.lines.append(line)


# ---- what a guest needs ----

def words(variable):
    """A list in the Makefile."""
    out = subprocess.run(["make", "-s", "-f", "-", "print"], cwd=TOP, stdout=subprocess.PIPE,
                         input=("include Makefile\nprint:\n\t@echo $(%s)\n" % variable).encode())
    return out.stdout.decode().split()


def root_of(arch):
    libs = [p for p in words("DEPS_BUILD") if p.startswith(("lib", "zlib"))]
    return fetch.sysroot(arch, ["libc6-dev", "python3-minimal", "libpython3-stdlib",
                                "busybox-static", "bpftool", *libs])


def compiler(arch, root):
    cc = ARCHES[arch].cc
    if not shutil.which(cc):
        raise fetch.Missing("no %s" % cc)
    return "%s --sysroot=%s" % (cc, root)


def build(arch, root):
    """The tool and the workloads for arch, below .build/vm/ARCH."""
    out = os.path.join(BUILD, arch)
    os.makedirs(out, exist_ok=True)
    triplet = os.path.basename(os.path.dirname(glob.glob(root + "/usr/lib/*/crt1.o")[0]))
    env = dict(os.environ, PKG_CONFIG_SYSROOT_DIR=root, PKG_CONFIG_PATH="",
               PKG_CONFIG_LIBDIR="%s/usr/lib/%s/pkgconfig:%s/usr/share/pkgconfig" % (root, triplet,
                                                                                  root))
    rel = os.path.relpath(out, TOP)
    log = os.path.join(BUILD, "build-%s.log" % arch)
    with open(log, "wb") as f:
        p = subprocess.run(["make", "-j2", "B=" + rel, "CC=" + compiler(arch, root),
                            "BPF_ARCH_INC=%s/usr/include/%s" % (root, triplet), "vm-programs"],
                           cwd=TOP, env=env, stdout=f, stderr=subprocess.STDOUT)
    if p.returncode:
        with open(log, encoding="utf-8", errors="replace") as f:
            sys.stdout.write(f.read())
        raise RuntimeError("does not build for %s" % arch)
    return out


def images(arch):
    """The two archives that every guest of arch boots with."""
    root = root_of(arch)
    out = build(arch, root)
    with open(os.path.join(HERE, "image.py"), "rb") as f:
        recipe = "%08x" % zlib.crc32(f.read())
    base = "%s-base-%s.gz" % (root, recipe)
    if not os.path.exists(base):
        image.base(root, base)
    files = {"/t/utilbpf": out + "/utilbpf", "/t/verify": out + "/vm/verify"}
    for f in glob.glob(out + "/live/*"):
        files["/t/.build/live/" + os.path.basename(f)] = f
    for f in ["tests/live/run.py", "tests/live/perf.py", "tests/live/cgroups.py",
              "tests/vm/guest.py"]:
        files["/t/" + f] = os.path.join(TOP, f)
    image.project(root, files, out + "/project.gz")
    return [base, out + "/project.gz"]


def job(guest):
    """The script that init runs: the steps, each with its end marked."""
    lines = ["status=0", "export LIVE_SLOW=5", "echo 0 >/proc/sys/kernel/printk_devkmsg 2>/dev/null"]
    for i, s in enumerate(guest.steps):
        cmd = "python3 tests/vm/guest.py " + " ".join(s.tests)
        if s.engine == VERIFY.engine:
            cmd = "VERIFY_ALL=1 /t/verify" if FULL else "/t/verify"
        lines += ["echo VM-STEP %d" % i, "%s %s 2>&1" % (s.env, cmd), "s=$?",
                  "echo VM-END %d $s" % i, "[ $s = 0 ] || status=1"]
    return "\n".join(lines + ["(exit $status)", ""])


# ---- a guest's life ----

def qemu(guest, kernel, initrd):
    a = ARCHES[guest.arch]
    if not shutil.which(a.qemu):
        raise fetch.Missing("no %s" % a.qemu)
    machine = list(guest.machine) or a.machine
    return [a.qemu, *machine, "-accel", "tcg,thread=" + a.threads, "-smp", str(guest.smp), "-m", guest.mem,
            "-display", "none", "-nodefaults", "-no-reboot", "-serial", "stdio", "-kernel", kernel,
            "-initrd", initrd, "-append",
            "console=%s quiet panic=-1 %s %s" % (a.console, PATIENT, guest.append)]


def hold_up(p):
    """As a hypervisor that has no CPU for the guest: its clock goes on, and no time of its tasks."""
    while p.poll() is None:
        time.sleep(random.uniform(0.05, 0.6))
        p.send_signal(signal.SIGSTOP)
        time.sleep(random.uniform(0.02, 0.3))
        p.send_signal(signal.SIGCONT)


def boot(guest, argv, log):
    """What the guest printed, line by line, and its status; None: it did not come to its end."""
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    timer = threading.Timer(LIMIT, p.kill)
    timer.start()
    if guest.held_up:
        threading.Thread(target=hold_up, args=(p,), daemon=True).start()
    lines, status, begin = [], None, time.monotonic()
    with open(log, "w", encoding="utf-8") as f:
        for raw in p.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            f.write("%6.1f %s\n" % (time.monotonic() - begin, line))
            f.flush()
            lines.append(line)
            m = re.search(r"VM-STATUS (\d+)$", line)
            if m:
                status = int(m[1])
                p.kill() # some do not come through their reset
                break
            if "Kernel panic" in line:
                p.kill()
    timer.cancel()
    p.kill()
    p.wait()
    return lines, status


Result = collections.namedtuple("Result", "guest release engine passed failed skipped")


def split(lines):
    """{step: (its lines, its status or None)}"""
    steps, at = {}, None
    for line in lines:
        m = re.search(r"VM-(STEP|END) (\d+) ?(\d+)?$", line)
        if m and m[1] == "STEP":
            at = int(m[2])
            steps[at] = ([], None)
        elif m and at is not None:
            steps[at] = (steps[at][0], int(m[3]))
            at = None
        elif at is not None:
            steps[at][0].append(line)
    return steps


def judge(guest, release, i, steps):
    """The result of step i, said."""
    step = guest.steps[i]
    what = "%s: %s" % (guest.name, step.engine)
    lines, status = steps.get(i, ([], None))
    if step.engine == VERIFY.engine:
        lines = verified(lines)
    n = collections.Counter()
    for line in lines:
        if re.match(r"(ok|FAIL|skip) ", line):
            say("%s %s: %s", line.split()[0], what, line.split(" ", 1)[1])
            n[line.split()[0]] += 1
        elif line.startswith("  "):
            say("%s", line)
    if status is None or (status and not n["FAIL"]):
        say("FAIL %s: %s, see %s.log", what, "it did not come to its end" if status is None else
            "status %d" % status, os.path.relpath(os.path.join(BUILD, guest.name), TOP))
        for line in lines[-8:]:
            say("  | %s", line)
        n["FAIL"] += 1
    return Result(guest, release, step.engine, n["ok"], n["FAIL"], n["skip"])


# ---- what the verifier says ----

def limits():
    """{(program, how): most instructions that the verifier may walk}"""
    out = {}
    with open(os.path.join(HERE, "limits"), encoding="ascii") as f:
        for line in f:
            w = line.split("#")[0].split()
            if w:
                for how, n in zip(["alone", "static", "select"], w[1:]):
                    out[w[0], how] = int(n)
                out[w[0], "static-select"] = 1000000 # the kernel's own
    return out


def verified(lines):
    """The lines of verify as tests: one for each variant, and what each program took."""
    most, bad, insns, out = limits(), [], collections.defaultdict(dict), []
    for line in lines:
        w = line.split()
        if w[:1] == ["no"]:
            out.append("  no %s here: %s" % (w[1], " ".join(w[2:])))
        elif w[:1] == ["refused"]:
            bad.append("FAIL %s: %s refused: %s" % (w[1], w[2], " ".join(w[3:])))
        elif w[:1] == ["insns"]:
            insns[w[1]][re.sub("^(btf|raw)_", "", w[2])] = w[3]
    for variant, progs in insns.items():
        how = "-".join(variant.split("-")[1:])
        how = how if how in ("static", "select", "static-select") else "alone"
        out.append("  instructions verified, %s: %s" % (
            variant, ", ".join("%s %s" % kv for kv in sorted(progs.items()))))
        over = ["%s %s of at most %s" % (p, n, most.get((p, how), "?")) for p, n in progs.items()
                if not n.isdigit() or int(n) > most.get((p, how), 0)]
        out.append("FAIL %s: over tests/vm/limits: %s" % (variant, ", ".join(over)) if over else
                   "ok %s: %d programs" % (variant, len(progs)))
    return out + bad


# ---- the kernel's own complaints ----

def complaints(guest, lines):
    """Each warning of the kernel must be listed, with its cause, in tests/vm/warnings."""
    with open(os.path.join(HERE, "warnings"), encoding="ascii") as f:
        known = [line.rstrip("\n").split(None, 2) for line in f
                 if line.strip() and not line.startswith("#")]
    text = "\n".join(m[1] for m in (re.search(r"VM-KERNEL (.*)", line) for line in lines) if m)
    n = collections.Counter()
    for part in re.split(r"(?=^.*(?:WARNING: CPU|BUG:|Oops))", text, flags=re.M):
        if not part.strip():
            continue
        head = part.strip().splitlines()[0]
        for name, pattern, cause in known:
            if re.fullmatch(name, guest.name) and re.search(pattern, part):
                say("  known: %s: %s", head, cause)
                break
        else:
            say("FAIL %s: the kernel complains: %s", guest.name, head)
            n["FAIL"] += 1
    return n["FAIL"]


# ---- the table in the manual ----

def rows(results):
    """The rows of the manual's table of kernels, one for each engine in each guest: what is tested
    there, and how that went."""
    out = []
    for r in results:
        if r.engine == VERIFY.engine:
            continue
        text = "%d passed" % r.passed
        if r.failed: # the table has to fit in a line
            text = "%d of %d passed" % (r.passed, r.passed + r.failed)
        text += ", %d skipped" % r.skipped if r.skipped else ""
        what = " ".join(filter(None, [r.guest.arch, r.guest.about]))
        out.append(("%s;%s;%s" % (re.match(r"[\d.]+", r.release)[0], what, r.engine), text))
    return out


def row_key(row):
    """Of a row of the table: releases change with the mirror, versions do not."""
    return re.match(r"\d+\.\d+", row)[0], row.split(";", 1)[1]


def manual_rows():
    """The rows that the manual has: [(row, how it went)]"""
    with open(MANUAL, encoding="utf-8") as f:
        text = re.search(r'\.\\" kernels: begin\n(.*?)\.\\" kernels: end\n', f.read(), re.S)[1]
    return [tuple(line.rsplit(";", 1)) for line in text.splitlines() if re.match(r"\d+\.", line)]


def write_manual(table):
    """What was run takes the place of what the manual has of it; the order is that of the guests."""
    have = {row_key(row): (row, went) for row, went in manual_rows()}
    have.update((row_key(row), (row, went)) for row, went in table)
    order = {}
    for g in GUESTS:
        for s in g.steps:
            order[" ".join(filter(None, [g.arch, g.about])) + ";" + s.engine] = len(order)
    lines = sorted(have.values(), key=lambda r: ([int(n) for n in row_key(r[0])[0].split(".")],
                                                 order.get(r[0].split(";", 1)[1], 0)))
    text = ".TS\ntab(;);\nlb lb lb lb\nl2 l2 l2 l.\nkernel;machine;engine;live tests\n%s.TE\n" % \
        "".join("%s;%s\n" % row for row in lines)
    with open(MANUAL, encoding="utf-8") as f:
        old = f.read()
    new = re.sub(r'(\.\\" kernels: begin\n).*?(\.\\" kernels: end\n)',
                 lambda m: m[1] + text + m[2], old, flags=re.S)
    with open(MANUAL, "w", encoding="utf-8") as f:
        f.write(new)


def prepare(guest):
    """The kernel, its release, and the initial file system."""
    suite, meta = guest.kernel
    with open(os.path.join(fetch.CACHE, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX) # others may use the cache, too
        parts = images(guest.arch)
        if meta.startswith("linux-source"):
            kernel, release = fetch.own_kernel(suite, meta, os.path.join(HERE, "nobpf.config"))
        else:
            kernel, release = fetch.kernel(suite, guest.arch,
                                           meta + (guest.arch if meta.endswith("-") else ""))
    stage = os.path.join(BUILD, guest.name)
    with open(stage + ".job", "w", encoding="ascii") as f:
        f.write(job(guest))
    image.project(None, {"/job": stage + ".job"}, stage + ".job.gz")
    with open(stage + ".initrd", "wb") as f:
        for part in parts + [stage + ".job.gz"]:
            with open(part, "rb") as g:
                shutil.copyfileobj(g, f)
    return kernel, release, stage


def in_time(guest):
    if guest.takes > fetch.left():
        raise fetch.Missing("it takes %d s, and %d are left" % (guest.takes, fetch.left()))


def run_guest(guest):
    if not shutil.which(ARCHES[guest.arch].qemu):
        raise fetch.Missing("no %s" % ARCHES[guest.arch].qemu)
    in_time(guest)
    kernel, release, stage = prepare(guest)
    in_time(guest)
    begin = time.monotonic()
    lines, _ = boot(guest, qemu(guest, kernel, stage + ".initrd"), stage + ".log")
    say("== %s: %s, %.0f s", guest.name, release, time.monotonic() - begin)
    steps = split(lines)
    results = [judge(guest, release, i, steps) for i in range(len(guest.steps))]
    results.append(Result(guest, release, VERIFY.engine, 0, complaints(guest, lines), 0))
    return results


def worker(todo, results):
    """Guest after guest, until none is left to do."""
    while True:
        try:
            g = todo.get_nowait()
        except queue.Empty:
            return
        told.lines = []
        try:
            got = run_guest(g)
        except fetch.Missing as e:
            say("skip %s: %s", g.name, e)
            got = [Result(g, "", VERIFY.engine, 0, 0, 1)]
        except Exception: # pylint: disable=broad-except
            say("FAIL %s: %s", g.name, traceback.format_exc())
            got = [Result(g, "", VERIFY.engine, 0, 1, 0)]
        results.extend(got)
        print("\n".join(told.lines), flush=True)


def run_guests(guests):
    todo, results = queue.Queue(), []
    for g in guests:
        todo.put(g)
    threads = [threading.Thread(target=worker, args=(todo, results))
               for _ in range(min(os.cpu_count() or 1, 4))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return results


def with_more(guest, full, only):
    """The guest with the steps that are asked for, and in full, with all their tests."""
    steps = [s._replace(tests=list(s.tests) + (list(s.more) if full else [])) for s in guest.steps]
    return guest._replace(steps=[s for s in steps if s.tests and (not only or s.engine in only)])


def chosen(only):
    """The guests to run, and the results of those that are left out."""
    guests, left_out = [], []
    for g in GUESTS:
        if only and g.name not in only:
            continue
        full = FULL or g.name in only
        g = with_more(g, full, only.get(g.name))
        if not g.steps:
            say("skip %s: it takes minutes; make check-vm ARGS=%s runs it", g.name, g.name)
            left_out.append(Result(g, "", VERIFY.engine, 0, 0, 1))
        else:
            guests.append(g)
    return guests, left_out


def main(args):
    if "-t" in args:
        i = args.index("-t")
        fetch.deadline = time.monotonic() + float(args[i + 1])
        del args[i:i + 2]
    only = {a.split("/")[0]: a.split("/")[1:] for a in args if not a.startswith("-")}
    unknown = set(only) - {g.name for g in GUESTS}
    if unknown or "-l" in args:
        say("\n".join(g.name for g in GUESTS))
        return 2 if unknown else 0
    os.makedirs(fetch.CACHE, exist_ok=True)
    os.makedirs(BUILD, exist_ok=True)
    guests, results = chosen(only)
    results += run_guests(guests)
    table = rows(results)
    manual = {row_key(row): went for row, went in manual_rows()}
    if "-w" in args:
        write_manual(table)
    for row, went in table:
        say("%s", " | ".join(row.split(";") + [went, "in the manual: " +
                                              manual.get(row_key(row), "nothing")]))
    passed, failed, skipped = (sum(r[i] for r in results) for i in (3, 4, 5))
    say("%d passed, %d failed, %d skipped", passed, failed, skipped)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
