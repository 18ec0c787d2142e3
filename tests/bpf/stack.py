#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""stack.py OBJECT [-v]: the stack that the programs of a BPF object need, by chains of calls.

A chain may have 512 bytes (MAX_BPF_STACK, check_max_stack_depth() in kernel/bpf/verifier.c), of
which older kernels let each function have a multiple of 32. A compiler may keep more in memory than
the one that the programs were written with. Exit status 1: a chain is deeper than that. -v: the
deepest chain of each program.
"""
import os
import re
import shutil
import subprocess
import sys

LIMIT, ROUND = 512, 32
CALL = re.compile(r" +(\d+):\s+85 10 00 00 (\w\w) (\w\w) (\w\w) (\w\w)\b") # BPF_PSEUDO_CALL


def objdump():
    """That of any version: the instructions are old."""
    path = os.environ["PATH"] + "".join(":/usr/lib/llvm-%d/bin" % n for n in range(30, 13, -1))
    found = shutil.which("llvm-objdump", path=path)
    if not found:
        print("stack.py: no llvm-objdump")
        sys.exit(77)
    return found


class Function:
    def __init__(self):
        self.stack, self.calls, self.copies = 0, [], {}

    def instruction(self, line):
        """Accesses by r10, and addresses that are made of it: r2 = r10, r2 += -16."""
        for off in re.findall(r"r10 - (\d+|0x[0-9a-f]+)\)", line):
            self.stack = max(self.stack, int(off, 0))
        m = re.search(r"\t(r\d) (?:= r10|\+= -(\d+|0x[0-9a-f]+))$", line)
        if m and m[2] and self.copies.pop(m[1], None):
            self.stack = max(self.stack, int(m[2], 0))
        elif m and not m[2]:
            self.copies[m[1]] = True


def functions(obj):
    """{name: Function} of all sections; static ones lie in .text."""
    text = subprocess.run([objdump(), "-d", "-r", obj], check=True, stderr=subprocess.DEVNULL,
                          stdout=subprocess.PIPE).stdout.decode()
    fns, starts, section, f, call = {}, {}, None, None, None
    for line in text.splitlines():
        head = re.match(r"([0-9a-f]{16}) <(\w+)>:", line)
        reloc = re.search(r"R_BPF_64_32\s+(\S+)", line)
        if call and not (reloc and reloc[1] != ".text"):
            # With a relocation it counts from the section's begin, else from itself.
            f.calls.append(call[1] + 1 if reloc else call[0] + call[1] + 1)
        elif call:
            f.calls.append(reloc[1])
        call = None
        if line.startswith("Disassembly of section"):
            section = line.split()[-1].rstrip(":")
        elif head and not head[2].startswith("LBB"):
            f = fns[head[2]] = Function()
            if section == ".text":
                starts[int(head[1], 16) // 8] = head[2]
        elif f:
            f.instruction(line)
        m = CALL.match(line)
        if m:
            imm = int.from_bytes(bytes(int(b, 16) for b in m.groups()[1:]), "little", signed=True)
            call = int(m[1]), imm
    for f in fns.values():
        f.calls = {starts[c] if isinstance(c, int) else c for c in f.calls}
    return fns


def deepest(fns, name):
    """(bytes, [names]) of the deepest chain of calls that begins there."""
    f = fns[name]
    below = max((deepest(fns, c) for c in f.calls), default=(0, []))
    return max(-(-f.stack // ROUND) * ROUND, ROUND) + below[0], [name] + below[1]


def main(obj, verbose):
    fns = functions(obj)
    called = set().union(*(f.calls for f in fns.values()))
    chains = sorted((deepest(fns, f) for f in fns if f not in called), reverse=True)
    for size, names in chains if verbose else chains[:1]:
        print("%d bytes of stack: %s" % (size, " > ".join("%s %d" % (n, fns[n].stack)
                                                          for n in names)))
    return int(chains[0][0] > LIMIT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "-v" in sys.argv[2:]))
