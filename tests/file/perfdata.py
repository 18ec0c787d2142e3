#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes perf.data files: of any byte order and word size, with old kernels' layouts, as files and as
streams, compressed, with lost records, and damaged. Nothing here reads one: that is what is tested.

A Recording is filled record by record in the order in which a recorder writes them, then saved:

    r = Recording(big=True, word=4)
    r.sample(1000, 0, 7, "sys_enter", id=3)
    r.save("/tmp/x")
"""
import ctypes
import ctypes.util
import struct

IDENTIFIER, IP, TID, TIME = 1 << 16, 1, 2, 4
ADDR, READ, CALLCHAIN, ID, CPU = 8, 16, 32, 64, 128
PERIOD, STREAM_ID, RAW = 256, 512, 1024

LOST, COMM, EXIT, FORK, SAMPLE, LOST_SAMPLES, SWITCH, SWITCH_CPU_WIDE = 2, 3, 4, 7, 9, 13, 14, 15
ATTR, TRACING_DATA, FINISHED_ROUND, AUXTRACE = 64, 66, 68, 71
THREAD_MAP, FEATURE, COMPRESSED, COMPRESSED2 = 73, 80, 81, 83

STATES_NEW = {"S": 1, "D": 2, "T": 4, "t": 8, "X": 0x10, "Z": 0x20, "P": 0x40, "I": 0x80, "+": 0x100}
# 4.9: the raw bits
STATES_OLD = {"S": 1, "D": 2, "T": 4, "t": 8, "Z": 16, "X": 32, "x": 64, "K": 128, "W": 256, "P": 512,
              "N": 1024, "n": 2048, "+": 4096}

# name: system, id, fields; a field is its C type and name, `comm` stands for a task's name
EVENTS = {
    "sched_switch": ("sched", 301, ["comm prev_comm", "pid_t prev_pid", "int prev_prio", "long prev_state",
                                    "comm next_comm", "pid_t next_pid", "int next_prio"]),
    "sched_migrate_task": ("sched", 302, ["comm comm", "pid_t pid", "int prio", "int orig_cpu",
                                          "int dest_cpu"]),
    "sched_process_fork": ("sched", 303, ["comm parent_comm", "pid_t parent_pid", "comm child_comm",
                                          "pid_t child_pid"]),
    "sched_process_exec": ("sched", 304, ["text filename", "pid_t pid", "pid_t old_pid"]),
    "sched_process_exit": ("sched", 305, ["comm comm", "pid_t pid", "int prio"]),
    "sched_wakeup": ("sched", 306, ["comm comm", "pid_t pid", "int prio", "int target_cpu"]),
    "sched_stat_sleep": ("sched", 307, ["comm comm", "pid_t pid", "u64 delay"]),
    "sched_stat_blocked": ("sched", 308, ["comm comm", "pid_t pid", "u64 delay"]),
    "sched_stat_iowait": ("sched", 309, ["comm comm", "pid_t pid", "u64 delay"]),
    "sched_stat_runtime": ("sched", 310, ["comm comm", "pid_t pid", "u64 runtime"]),
    "sys_enter": ("raw_syscalls", 401, ["long id", "args args"]),
    "sys_exit": ("raw_syscalls", 402, ["long id", "long ret"]),
    "irq_handler_entry": ("irq", 501, ["int irq", "text name"]),
    "irq_handler_exit": ("irq", 502, ["int irq", "int ret"]),
    "softirq_entry": ("irq", 503, ["unsigned int vec"]),
    "softirq_exit": ("irq", 504, ["unsigned int vec"]),
    "hcall_entry": ("powerpc", 601, ["unsigned long opcode"]),
    "hcall_exit": ("powerpc", 602, ["unsigned long opcode", "long retval"]),
    "task_rename": ("task", 701, ["pid_t pid", "comm oldcomm", "comm newcomm", "short oom_score_adj"]),
}


class Recording:
    """old: the layout and numbers of a 4.9 kernel; dynamic: names as new kernels store them."""

    def __init__(self, big=False, word=8, old=False, dynamic=False, stream=False, compress=0, read_format=0,
                 sample_type=IDENTIFIER | IP | TID | TIME | CPU | PERIOD | RAW, id_all=True, dummy=True,
                 events=tuple(EVENTS), arch="x86_64", cpus=2, per_task=None, host="recorder",
                 features=True, clock=None, attr_size=128, switches=False,
                 bounds=None):
        self.e, self.word, self.old, self.dynamic = ">" if big else "<", word, old, dynamic
        self.big, self.stream, self.compress, self.read_format = big, stream, compress, read_format
        self.sample_type, self.id_all, self.dummy = sample_type, id_all, dummy
        self.events, self.arch, self.cpus, self.host = list(events), arch, cpus, host
        self.features, self.clock, self.attr_size, self.switches = features, clock, attr_size, switches
        self.bounds = bounds  # times of the first and the last sample, as the header tells them
        self.data = []  # records as bytes
        self.states = STATES_OLD if old else STATES_NEW
        self.names, self.times = {}, []
        self.zstd = None
        if per_task is not None:
            self.data.append(self.record(THREAD_MAP, self.pack("QQ", 1, per_task) + b"x".ljust(16, b"\0")))

    # ---- numbers ----

    def pack(self, fmt, *values):
        return struct.pack(self.e + fmt, *values)

    def number(self, size, v):
        return (v & ((1 << 8 * size) - 1)).to_bytes(size, "big" if self.big else "little")

    def record(self, kind, body, misc=0):
        return self.pack("IHH", kind, misc, len(body) + 8) + body

    # ---- formats ----

    def fields(self, name):
        """(declaration, name, offset, size, signed) of the event's own fields."""
        at, out = 8, []
        for f in EVENTS[name][2]:
            ctype, _, fname = f.rpartition(" ")
            text = ctype == "text" or (ctype == "comm" and self.dynamic and name != "sched_switch")
            if text:
                size, decl, align, signed = 4, "__data_loc char[] " + fname, 4, 0
            elif ctype == "comm":
                size, decl, align, signed = 16, f"char {fname}[16]", 1, 0
            elif ctype == "args":
                size, decl, align, signed = 6 * self.word, f"unsigned long {fname}[6]", self.word, 0
            else:
                size = {"long": self.word, "unsigned long": self.word, "u64": 8, "short": 2}.get(ctype, 4)
                decl, align, signed = f"{ctype} {fname}", size, int("u" != ctype[0])
            at += -at % align
            out.append((decl, fname, at, size, signed, text))
            at += size
        return out, at

    def format(self, name):
        lines = [f"name: {name}", f"ID: {EVENTS[name][1]}", "format:",
                 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;",
                 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;",
                 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;",
                 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;", ""]
        for decl, _, at, size, signed, _ in self.fields(name)[0]:
            lines.append(f"\tfield:{decl};\toffset:{at};\tsize:{size};\tsigned:{signed};")
        lines += ["", self.print_format(name), ""]
        return "\n".join(lines).encode()

    def print_format(self, name):
        if name != "sched_switch":
            return 'print fmt: "%d", REC->common_pid'
        flags = ", ".join('{ %#x, "%s" }' % (v, k) for k, v in self.states.items() if k != "+")
        top = self.states["+"]
        return (f'print fmt: "%s%s", REC->prev_state & {top - 1} ? __print_flags(REC->prev_state & {top - 1}'
                f', "|", {flags}) : "R", REC->prev_state & {top} ? "+" : ""')

    def tracing_data(self):
        out = b"\x17\x08\x44tracing" + b"0.6\0" + bytes([int(self.big), self.word]) + self.pack("I", 4096)
        for h in (b"header_page", b"header_event"):
            out += h + b"\0" + self.pack("Q", 2) + b"x\n"
        out += self.pack("I", 0)
        systems = {}
        for name in self.events:
            systems.setdefault(EVENTS[name][0], []).append(name)
        out += self.pack("I", len(systems))
        for system, names in systems.items():
            out += system.encode() + b"\0" + self.pack("I", len(names))
            for n in names:
                f = self.format(n)
                out += self.pack("Q", len(f)) + f
        return out + self.pack("IIQ", 0, 0, 0)

    # ---- records ----

    def raw(self, tid, name, values):
        fields, end = self.fields(name)
        out = bytearray(end)
        out[0:2] = self.number(2, EVENTS[name][1])
        out[4:8] = self.number(4, tid)
        for _, fname, at, size, _, text in fields:
            v = values.get(fname, 0)
            if text:
                v = (v or "").encode() + b"\0"
                out[at:at + 4] = self.number(4, len(out) | len(v) << 16)
                out += v
            elif isinstance(v, (str, bytes)):
                v = v if isinstance(v, bytes) else v.encode()
                out[at:at + size] = v[:size].ljust(size, b"\0")
            elif size in (1, 2, 4, 8):
                out[at:at + size] = self.number(size, v)
        return bytes(out)

    def event_id(self, name):
        return 1000 + self.events.index(name) if name in self.events else 999

    def sample_fields(self, t, cpu, pid, tid, ident):
        s, out = self.sample_type, b""
        if s & IDENTIFIER:
            out += self.pack("Q", ident)
        if s & IP:
            out += self.pack("Q", 0xffffffff81000000)
        if s & TID:
            out += self.pack("II", pid, tid)
        if s & TIME:
            out += self.pack("Q", t)
        if s & ADDR:
            out += self.pack("Q", 0)
        if s & ID:
            out += self.pack("Q", ident)
        if s & STREAM_ID:
            out += self.pack("Q", ident)
        if s & CPU:
            out += self.pack("II", cpu, 0)
        if s & PERIOD:
            out += self.pack("Q", 1)
        if s & READ:
            f = self.read_format
            times = 8 * (bool(f & 1) + bool(f & 2))
            each = self.pack("Q", 5) + b"\0" * 8 * (bool(f & 4) + bool(f & 16))
            out += self.pack("Q", 2) + b"\0" * times + 2 * each if f & 8 else each[:8] + b"\0" * times + each[8:]
        if s & CALLCHAIN:
            out += self.pack("QQQQ", 3, 1, 2, 3)
        return out

    def tail(self, t, cpu, pid, tid, ident=0):
        if not self.id_all:
            return b""
        s, out = self.sample_type, b""
        if s & TID:
            out += self.pack("II", pid, tid)
        if s & TIME:
            out += self.pack("Q", t)
        if s & ID:
            out += self.pack("Q", ident)
        if s & STREAM_ID:
            out += self.pack("Q", ident)
        if s & CPU:
            out += self.pack("II", cpu, 0)
        if s & IDENTIFIER:
            out += self.pack("Q", ident)
        return out

    def sample(self, t, cpu, tid, event, /, pid_of=None, **values):
        raw = self.raw(tid, event, values)
        raw += b"\0" * (-(len(raw) + 4) % 8)
        body = self.sample_fields(t, cpu, tid if pid_of is None else pid_of, tid, self.event_id(event))
        self.times.append(t)
        self.data.append(self.record(SAMPLE, body + self.pack("I", len(raw)) + raw))

    def switch(self, t, cpu, prev, nxt, state="S", pid=None):
        """prev and nxt: (tid, name); state: a letter, `+` preempted, R."""
        number = sum(self.states[c] for c in state if c != "R")
        self.sample(t, cpu, prev[0], "sched_switch", pid_of=pid, prev_pid=prev[0], prev_comm=prev[1],
                    next_pid=nxt[0], next_comm=nxt[1], prev_state=number, prev_prio=120, next_prio=120)

    def call(self, t, cpu, tid, nr, to=None, ret=0, exit_nr=None):
        self.sample(t, cpu, tid, "sys_enter", id=nr)
        if to is not None:
            self.sample(to, cpu, tid, "sys_exit", id=nr if exit_nr is None else exit_nr, ret=ret)

    def lost(self, t, cpu, n):
        self.data.append(self.record(LOST, self.pack("QQ", 1, n) + self.tail(t, cpu, 0, 0)))

    def comm(self, t, cpu, pid, tid, name, exec_=False):
        body = self.pack("II", pid, tid) + (name.encode() + b"\0").ljust(16, b"\0")
        self.data.append(self.record(COMM, body + self.tail(t, cpu, pid, tid), misc=0x2000 if exec_ else 0))

    def fork(self, t, cpu, pid, ppid, tid, ptid, kind=FORK):
        body = self.pack("IIIIQ", pid, ppid, tid, ptid, t)
        self.data.append(self.record(kind, body + self.tail(t, cpu, ppid, ptid)))

    def switch_record(self, t, cpu, pid, tid, out, other=None, preempt=False):
        misc = (0x2000 if out else 0) | (0x4000 if preempt else 0)
        body = self.pack("II", *other) if other else b""
        self.data.append(self.record(SWITCH_CPU_WIDE if other else SWITCH, body + self.tail(t, cpu, pid, tid),
                                     misc))

    def round(self):
        self.data.append(self.record(FINISHED_ROUND, b""))

    def bytes(self, b):
        self.data.append(b)

    # ---- the whole ----

    def attr(self, sample_type, config, kind=2, switches=False):
        bits = [0, 1, 18] if self.id_all else [0, 1]
        if switches:
            bits.append(26)
        clock = 0
        if self.clock is not None:
            bits.append(25)
            clock = self.clock
        flags = bytearray(8)
        for b in bits:
            flags[b // 8] |= 1 << (7 - b % 8 if self.big else b % 8)
        a = self.pack("IIQQQQ", kind, self.attr_size, config, 1, sample_type, self.read_format) + bytes(flags)
        a += b"\0" * (92 - len(a)) + self.pack("I", clock)
        return a.ljust(self.attr_size, b"\0")[:self.attr_size]

    def attrs(self):
        """(attribute, ids) of each event."""
        out = [(self.attr(self.sample_type, EVENTS[n][1]), [self.event_id(n)]) for n in self.events]
        if self.dummy:  # as perf has it: one that gives COMM and FORK, with another sample_type
            other = self.sample_type & ~(RAW | PERIOD | READ | CALLCHAIN)
            out.append((self.attr(other, 9, kind=1, switches=self.switches), [999]))
        return out

    def feature_list(self):
        def text(s):
            b = s.encode() + b"\0"
            return self.pack("I", len(b)) + b
        out = {1: self.tracing_data(), 3: text(self.host), 4: text("4.9.0" if self.old else "6.9.0"),
               6: text(self.arch), 7: self.pack("II", self.cpus, self.cpus)}
        if self.compress:
            out[27] = self.pack("IIIII", 1, 1, 1, 1, 1 << 20)
        if self.bounds:
            out[21] = self.pack("QQ", *self.bounds)
        if self.clock is not None:
            out[29] = self.pack("IIQQ", 1, self.clock, 1700000000000000000, 5000)
        return out

    def deflate(self, records):
        """The records as zstd, in COMPRESSED records that cut them anywhere."""
        if self.zstd is None:
            self.zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
        data, z = b"".join(records), self.zstd
        z.ZSTD_compressBound.restype = z.ZSTD_compress.restype = ctypes.c_size_t
        z.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
        z.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
        out = b""
        for i in range(0, len(data), 1000):
            part = data[i:i + 1000]
            room = ctypes.create_string_buffer(z.ZSTD_compressBound(len(part)))
            n = z.ZSTD_compress(room, len(room), part, len(part), 1)
            part = room.raw[:n]
            if self.compress == 2:
                part = self.pack("Q", n) + part + b"\0" * (-n % 8)
            out += self.record(COMPRESSED2 if self.compress == 2 else COMPRESSED, part)
        return out

    def body(self):
        if not self.compress:
            return b"".join(self.data)
        out, group = b"", []
        for r in self.data:
            kind = struct.unpack(self.e + "I", r[:4])[0]
            if kind < 64:
                group.append(r)
                continue
            out += self.deflate(group) + r
            group = []
        return out + self.deflate(group)

    def stream_bytes(self):
        out = self.number(8, 0x32454c4946524550) + self.pack("Q", 16)
        for a, ids in self.attrs():
            out += self.record(ATTR, a + b"".join(self.pack("Q", i) for i in ids))
        for k, f in self.feature_list().items():
            if k != 1 and self.features:
                out += self.record(FEATURE, self.pack("Q", k) + f)
        t = self.tracing_data()
        t += b"\0" * (-len(t) % 8)
        return out + self.record(TRACING_DATA, self.pack("I", len(t))) + t + self.body()

    def file_bytes(self):
        ids, attrs, at = b"", b"", 104
        for a, i in self.attrs():
            attrs += a + self.pack("QQ", at + len(ids), 8 * len(i))
            ids += b"".join(self.pack("Q", x) for x in i)
        attrs_at, body = at + len(ids), self.body()
        data_at = attrs_at + len(attrs)
        feats = self.feature_list() if self.features else {1: self.tracing_data()}
        table_at = data_at + len(body)
        table, tail, where = b"", b"", table_at + 16 * len(feats)
        for k in sorted(feats):
            table += self.pack("QQ", where + len(tail), len(feats[k]))
            tail += feats[k]
        head = self.number(8, 0x32454c4946524550)
        head += self.pack("QQQQQQQQ", 104, self.attr_size + 16, attrs_at, len(attrs), data_at, len(body), 0, 0)
        bits = [0] * (32 // self.word)
        for k in feats:
            bits[k // (8 * self.word)] |= 1 << k % (8 * self.word)
        head += b"".join(self.number(self.word, b) for b in bits)
        return head + ids + attrs + body + table + tail

    def whole(self):
        return self.stream_bytes() if self.stream else self.file_bytes()

    def save(self, path):
        with open(path, "wb") as f:
            f.write(self.whole())
        return path
