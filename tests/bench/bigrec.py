#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""bigrec.py FILE EVENTS: a recording of about so many events, for measuring: four CPUs, a dozen tasks
that call, sleep and are interrupted. Prints how many it holds."""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "file"))
import perfdata # pylint: disable=wrong-import-position

EVENTS = ["sys_enter", "sys_exit", "sched_switch", "irq_handler_entry", "irq_handler_exit"]
CPUS, TURNS, CALLS = 4, 24, 18
TURN_NS = 100000
TIME_AT = 8 + 8 + 8 + 8 # header, identifier, ip, tid


def turns(r, cpu):
    """What a CPU's ring holds of one round: tasks that take turns."""
    tids = [100 * (cpu + 1) + i for i in range(3)]
    for turn in range(TURNS):
        t, tid, nxt = turn * TURN_NS + cpu * 7, tids[turn % 3], tids[(turn + 1) % 3]
        for c in range(CALLS):
            r.call(t + c * 4000, cpu, tid, c % 6, to=t + c * 4000 + 1500 + c)
        r.sample(t + 80000, cpu, tid, "irq_handler_entry", irq=cpu + 24, name="eth0")
        r.sample(t + 81000, cpu, tid, "irq_handler_exit", irq=cpu + 24, ret=1)
        r.switch(t + 90000, cpu, (tid, "t%d" % tid), (nxt, "t%d" % nxt), "S+"[turn & 1])


def one_round():
    """Its bytes, where in them the times are, and the times."""
    r = perfdata.Recording(events=EVENTS, cpus=CPUS)
    for cpu in range(CPUS):
        turns(r, cpu)
    r.round()
    at, where = 0, []
    for rec in r.data[:-1]:
        where.append(at + TIME_AT)
        at += len(rec)
    return r, bytearray(b"".join(r.data)), where, r.times


def header(r, body):
    """What comes before and behind so many bytes of records."""
    r.data = []
    whole = bytearray(r.file_bytes())
    data_at = struct.unpack_from("<Q", whole, 40)[0]
    struct.pack_into("<Q", whole, 48, body)
    for i in range(len(r.feature_list())):
        at = data_at + 16 * i
        struct.pack_into("<Q", whole, at, struct.unpack_from("<Q", whole, at)[0] + body)
    return whole[:data_at], whole[data_at:]


def write(path, events):
    """Makes it; how many events it holds."""
    r, block, where, times = one_round()
    rounds = max(1, events // len(times))
    head, tail = header(r, rounds * len(block))
    put = struct.Struct("<Q").pack_into
    with open(path, "wb") as f:
        f.write(head)
        for i in range(rounds):
            base = 10**12 + i * TURNS * TURN_NS
            for at, t in zip(where, times):
                put(block, at, base + t)
            f.write(block)
        f.write(tail)
    return rounds * len(times)


if __name__ == "__main__":
    print(write(sys.argv[1], int(sys.argv[2])))
