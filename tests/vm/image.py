#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Initial file systems for guests: a base with busybox and Python from a fetched root, and on top of
it, as a second archive, what is under test. The kernel unpacks concatenated archives in order."""
import glob
import os
import py_compile
import re
import shutil
import subprocess
import sys

# Of Python's library, what tests do not import.
UNUSED = """pydoc_data asyncio test email xml multiprocessing unittest http logging urllib turtle.py html
xmlrpc tarfile.py doctest.py pydoc.py lib2to3 idlelib ensurepip venv wsgiref distutils ctypes sqlite3 curses
dbm tkinter sitecustomize.py mailbox.py pickletools.py pdb.py _pyio.py _pydecimal.py config-3*""".split()
DYNLOAD = "_json _contextvars mmap resource termios _queue _opcode _csv _struct _posixsubprocess select math " \
    "_random _bisect _sha512 _datetime fcntl".split()

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /var/tmp /root
/bin/busybox --install -s /usr/bin
export PATH=/usr/bin:/usr/sbin HOME=/root LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t bpf bpf /sys/fs/bpf 2>/dev/null
mount -t cgroup2 cgroup2 /sys/fs/cgroup 2>/dev/null
ip link set lo up 2>/dev/null
for l in stdin:0 stdout:1 stderr:2; do ln -sf /proc/self/fd/${l#*:} /dev/${l%:*}; done
ln -sf /proc/self/fd /dev/fd
cd /t
. /job
status=$?
dmesg -c | grep -A 60 -E 'WARNING: CPU|BUG:|Oops|rcu:.*detected' | sed 's/^/VM-KERNEL /'
echo "VM-STATUS $status"
sync
reboot -f
"""


def needed(root, path):
    """The shared libraries that an ELF file asks for."""
    p = subprocess.run(["readelf", "-d", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    libs = re.findall(r"NEEDED.*\[(.*)\]", p.stdout.decode())
    p = subprocess.run(["readelf", "-l", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return libs, re.findall(r"interpreter: (\S+)\]", p.stdout.decode())


def add(root, stage, path):
    """Copies root's path, at its place, with what it needs to run."""
    to = os.path.join(stage, path.lstrip("/"))
    if os.path.lexists(to):
        return
    os.makedirs(os.path.dirname(to), exist_ok=True)
    shutil.copy2(os.path.join(root, path.lstrip("/")), to)
    add_needed(root, stage, to)


def resolve(root, path):
    """path below root, its symbolic links followed within root."""
    for _ in range(16):
        full = os.path.join(root, path.lstrip("/"))
        if not os.path.islink(full):
            return path
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(full)))
    raise OSError("too many links: " + path)


def add_needed(root, stage, elf):
    libs, interp = needed(root, elf)
    triplet = os.path.basename(os.path.dirname(glob.glob(root + "/usr/lib/*/crt1.o")[0]))
    for lib in libs:
        path = "/usr/lib/%s/%s" % (triplet, lib)
        if os.path.lexists(os.path.join(stage, path.lstrip("/"))):
            continue
        if not os.path.exists(root + path):
            path = "/usr/lib/" + lib
        if os.path.exists(root + path):
            add(root, stage, path)
        elif lib not in [os.path.basename(i) for i in interp]:
            raise OSError("%s needs %s, which is not in %s" % (elf, lib, root))
    for i in interp:
        real = resolve(root, "/usr" + i if i.startswith("/lib") else i)
        to = os.path.join(stage, "usr", i.lstrip("/"))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if not os.path.lexists(to):
            shutil.copy2(os.path.join(root, real.lstrip("/")), to)


def add_python(root, stage):
    lib = os.path.basename(glob.glob(root + "/usr/lib/python3.*")[0])
    src, dst = root + "/usr/lib/" + lib, stage + "/usr/lib/" + lib

    def skip(d, names):
        if os.path.basename(d) == "lib-dynload":
            return [n for n in names if n.split(".")[0] not in DYNLOAD]
        if os.path.basename(d) == "encodings":
            return [n for n in names if n not in ("__init__.py", "aliases.py", "utf_8.py",
                                                  "latin_1.py", "ascii.py", "utf_8_sig.py")]
        return [n for n in names if d == src and any(re.fullmatch(u.replace("*", ".*"), n)
                                                     for u in UNUSED) or n == "__pycache__"]

    shutil.copytree(src, dst, ignore=skip, symlinks=True, dirs_exist_ok=True)
    for so in glob.glob(dst + "/lib-dynload/*.so"):
        add_needed(root, stage, so)
    add(root, stage, "/usr/bin/" + lib)
    os.symlink(lib, stage + "/usr/bin/python3")
    # The guest emulates a CPU: it had better not compile the library.
    if lib == "python%d.%d" % sys.version_info[:2]:
        for py in glob.glob(dst + "/**/*.py", recursive=True):
            py_compile.compile(py, dfile=py[len(stage):],
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def archive(stage, to):
    """stage as a gzipped newc archive."""
    with open(to + ".tmp", "wb") as f:
        files = subprocess.Popen(["find", ".", "-mindepth", "1", "-print0"], cwd=stage,
                                 stdout=subprocess.PIPE)
        cpio = subprocess.Popen(["cpio", "-0", "-o", "-H", "newc", "--quiet", "-R", "0:0"],
                                cwd=stage, stdin=files.stdout, stdout=subprocess.PIPE)
        gz = subprocess.run(["gzip", "-1"], stdin=cpio.stdout, stdout=f)
    if files.wait() or cpio.wait() or gz.returncode:
        raise OSError("cannot make " + to)
    os.rename(to + ".tmp", to)


def base(root, to):
    """The archive of what does not change with the project."""
    stage = to + ".stage"
    shutil.rmtree(stage, ignore_errors=True)
    for d in ["bin", "sbin", "lib", "lib64"]:
        os.makedirs(os.path.join(stage, "usr", d))
        os.symlink("usr/" + d, os.path.join(stage, d))
    shutil.copy2(resolve_busybox(root), stage + "/usr/bin/busybox")
    if os.path.exists(root + "/usr/sbin/bpftool"):
        add(root, stage, "/usr/sbin/bpftool")
    add_python(root, stage)
    lib, = glob.glob(root + "/usr/lib/*/libgcc_s.so.1") # which pthread_exit asks for by itself
    add(root, stage, lib[len(root):])
    with open(stage + "/init", "w", encoding="ascii") as f:
        f.write(INIT)
    os.chmod(stage + "/init", 0o755)
    os.makedirs(stage + "/etc")
    with open(stage + "/etc/passwd", "w", encoding="ascii") as f:
        f.write("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
    archive(stage, to)
    shutil.rmtree(stage)


def resolve_busybox(root):
    return root + resolve(root, "/usr/bin/busybox" if os.path.exists(root + "/usr/bin/busybox")
                          else "/bin/busybox")


def project(root, files, to):
    """The archive of the files {place in the guest: file}, with the libraries that they need."""
    stage = to + ".stage"
    shutil.rmtree(stage, ignore_errors=True)
    for place, src in files.items():
        dst = os.path.join(stage, place.lstrip("/"))
        os.makedirs(os.path.dirname(dst), exist_ok=True)
        shutil.copy2(src, dst)
        with open(src, "rb") as f:
            elf = f.read(4) == b"\x7fELF"
        if elf:
            subprocess.run(["objcopy", "--strip-debug", dst], stderr=subprocess.DEVNULL)
            add_needed(root, stage, dst)
    # /lib is a link in the base, under which the archive's own usr/lib comes to lie.
    archive(stage, to)
    shutil.rmtree(stage)
