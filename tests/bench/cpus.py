#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How the cost grows with the CPUs of a machine: guests of 1, 4, 16 and 64 CPUs under an emulator that
counts a nanosecond for each instruction (QEMU's -icount), so that what a load takes there is the
number of its instructions, user and kernel. Caches and contention are not in it: no two CPUs write to
the same record but at a fork, an exit and a wakeup from another CPU.

cpus.py [-o FILE] [N...]: for machines of N CPUs; writes the figures into FILE as JSON, too.
"""
import argparse
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "tests", "vm"))
import fetch # pylint: disable=wrong-import-position
import image # pylint: disable=wrong-import-position
import run as vm # pylint: disable=wrong-import-position

LOADS = ("syscall_loop", "pingpong", "fork_exit")
JOB = """measure() {
	for load in %s; do echo "COST $1 $load $(/t/bench $load 0 1)"; done
}
measure nothing
/t/utilbpf -i 5 -f json -o /tmp/report &
until [ -s /tmp/report ]; do sleep 1; done
measure utilbpf
kill $!
wait
grep -o '"loader_cpu_ns": *[0-9]*' /tmp/report | tail -n 1 | sed 's/.*: */COST utilbpf loader /'
grep -o '"map_bytes": *[0-9]*' /tmp/report | tail -n 1 | sed 's/.*: */COST utilbpf maps /'
(exit 0)
""" % " ".join(LOADS)


def measure(n):
    """{what: {load: instructions}} of a machine of n CPUs."""
    guest = [g for g in vm.GUESTS if g.name == "amd64-6.12"][0]
    guest = guest._replace(name="cost-%dcpus" % n, smp=n, mem="2G", append="tsc=reliable")
    vm.job = lambda guest: JOB
    kernel, _, stage = vm.prepare(guest)
    image.project(vm.root_of("amd64"), {"/t/bench": os.path.join(TOP, ".build", "bench", "bench")},
                  stage + ".bench.gz")
    with open(stage + ".initrd", "ab") as f, open(stage + ".bench.gz", "rb") as g:
        f.write(g.read())
    argv = vm.qemu(guest, kernel, stage + ".initrd") + ["-icount", "shift=0"]
    lines, _ = vm.boot(guest, argv, stage + ".log")
    out = {"nothing": {}, "utilbpf": {}}
    for line in lines:
        m = re.search(r"COST (\w+) (\w+) ([\d.]+)$", line)
        if m:
            out[m[1]][m[2]] = float(m[3])
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-o", metavar="FILE")
    p.add_argument("cpus", nargs="*", type=int, default=[1, 4, 16, 64])
    a = p.parse_args()
    out = {}
    os.makedirs(vm.BUILD, exist_ok=True)
    print("instructions added, by the CPUs of the machine")
    print("CPUs" + "".join(f"{load:>14}" for load in LOADS) + f"{'loader, 5 s':>14}{'maps, MiB':>12}")
    for n in a.cpus:
        try:
            got = out[n] = measure(n)
        except fetch.Missing as e:
            print(f"skipped: {e}")
            return 0
        if "loader" not in got["utilbpf"]:
            print(f"FAIL {n} CPUs: the guest did not come to its end: see .build/vm/cost-{n}cpus.log")
            return 1
        cells = [f"{got['utilbpf'][load] - got['nothing'][load]:14.0f}" for load in LOADS]
        print(f"{n:4}" + "".join(cells) + f"{got['utilbpf']['loader'] / 1e6:11.1f} ms"
              f"{got['utilbpf']['maps'] / 2**20:12.1f}", flush=True)
    if a.o:
        with open(a.o, "w", encoding="ascii") as f:
            json.dump(out, f, indent=1)
            f.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
