#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Kernels, and root file systems for their guests, from the mirror that this machine's apt uses.

Nothing of the system's own apt is touched: each suite and architecture has a private apt root below
the cache, ${XDG_CACHE_HOME:-~/.cache}/utilbpf-vm, where also what was unpacked lies, under names
that hold the versions that were resolved. A download is made again when the versions change.

What cannot be had raises Missing, whose text says why.
"""
import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
import time

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "utilbpf-vm")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
UPDATE_AGAIN = 20 * 3600 # s; a package list older than that is fetched anew


class Missing(Exception):
    pass


deadline = None # time.monotonic() by which everything is to be there; what takes longer is missing


def left():
    """The seconds until then."""
    return 86400 if deadline is None else max(deadline - time.monotonic(), 0)


def finish(argv, **kw):
    """subprocess.run(), with all that it has started ended when the time is over."""
    with subprocess.Popen(argv, start_new_session=True, **kw) as p:
        try:
            out, err = p.communicate(timeout=left())
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
            raise Missing("%s: not done in the time that there was" %
                          " ".join(argv[:2])) from None
    return subprocess.CompletedProcess(argv, p.returncode, out, err)


def mirrors():
    """{label: URI} of the Debian archives that the machine is set up to use."""
    fmt = "$(ORIGIN)|$(LABEL)|$(REPO_URI)"
    try:
        out = subprocess.run(["apt-get", "indextargets", "--format", fmt], check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        raise Missing("no apt-get here") from None
    found = {}
    for line in out.splitlines():
        origin, label, uri = line.split("|")
        if origin == "Debian":
            found.setdefault(label, uri)
    if "Debian" not in found:
        raise Missing("apt is set up with no Debian mirror")
    return found


class Apt:
    """A private apt root for one suite and architecture."""

    def __init__(self, suite, arch):
        self.suite, self.arch = suite, arch
        self.dir = os.path.join(CACHE, "apt", "%s-%s" % (suite, arch))
        self.conf = os.path.join(self.dir, "apt.conf")
        for d in ["lists/partial", "archives/partial", "etc"]:
            os.makedirs(os.path.join(self.dir, d), exist_ok=True)
        self.write("status", "")
        self.write("apt.conf", "".join('%s "%s";\n' % kv for kv in [
            ("APT::Architecture", arch), ("APT::Architectures", arch),
            ("Dir::State::status", self.dir + "/status"), ("Dir::State::lists", self.dir + "/lists"),
            ("Dir::State::extended_states", self.dir + "/extended"),
            ("Dir::Cache", self.dir), ("Dir::Cache::archives", self.dir + "/archives"),
            ("Dir::Etc::sourcelist", self.dir + "/sources.list"), ("Dir::Etc::sourceparts", "-"),
            ("Dir::Etc::preferencesparts", "-"), ("APT::Sandbox::User", "root"),
            ("APT::Install-Recommends", "false"), ("Acquire::Languages", "none"),
            ("Acquire::Retries", "3")]))
        self.update(mirrors())

    def write(self, name, text):
        with open(os.path.join(self.dir, name), "w", encoding="ascii") as f:
            f.write(text)

    def sources(self, uris, labels):
        if not os.path.exists(KEYRING):
            raise Missing("no " + KEYRING)
        suites = {"Debian": self.suite, "Debian-Security": self.suite + "-security"}
        self.write("sources.list", "".join("deb [signed-by=%s] %s %s main\n" % (
            KEYRING, uris[label], suites[label]) for label in labels if label in uris))

    def run(self, tool, *args, cwd=None):
        p = finish([tool, "-c", self.conf, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                   cwd=cwd)
        if p.returncode:
            err = p.stderr.decode(errors="replace").strip().splitlines()
            raise Missing("%s %s, %s %s: %s" % (tool, args[0], self.suite, self.arch,
                                                err[0] if err else "status %d" % p.returncode))
        return p.stdout.decode()

    def update(self, uris):
        """The lists, if they are old. A mirror may be in the middle of its own update: then without
        the security suite, and again the next time."""
        stamp = os.path.join(self.dir, "updated")
        try:
            if os.stat(stamp).st_mtime + UPDATE_AGAIN > os.stat(self.conf).st_mtime:
                return
        except FileNotFoundError:
            pass
        get = ["apt-get", "-q", "update", "-o", "APT::Update::Error-Mode=any"]
        self.sources(uris, ["Debian", "Debian-Security"])
        try:
            self.run(*get)
        except Missing:
            self.sources(uris, ["Debian"])
            self.run(*get)
            return
        self.write("updated", "")

    def depends(self, package, pattern):
        """The package matching pattern that a metapackage stands for."""
        for word in re.findall(r"Depends: (\S+)", self.run("apt-cache", "depends", package)):
            if re.match(pattern, word):
                return word
        raise Missing("%s of %s depends on no kernel" % (package, self.suite))

    def version(self, package):
        m = re.search(r"^Version: (\S+)", self.run("apt-cache", "show", "--no-all-versions",
                                                   package), re.M)
        if not m:
            raise Missing("no version of %s in %s" % (package, self.suite))
        return m[1]

    def download(self, packages, closure):
        """The .deb files of the packages; with closure, of all that they depend on, too."""
        d = os.path.join(self.dir, "archives")
        if not closure:
            self.run("apt-get", "-q", "download", *packages, cwd=d)
            return [f for p in packages for f in glob.glob("%s/%s_*.deb" % (d, p))]
        self.run("apt-get", "-q", "-y", "install", "--download-only", *packages)
        return glob.glob(d + "/*.deb")

    def resolve(self, packages):
        """The names and versions of all that an installation of the packages would install."""
        out = self.run("apt-get", "-s", "install", *packages)
        return sorted(re.findall(r"^Inst (\S+) \((\S+)", out, re.M))


def unpack(debs, to, *members):
    for deb in debs:
        tar = subprocess.Popen(["dpkg", "--fsys-tarfile", deb], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "--keep-directory-symlink", "-C", to, "--wildcards",
                        *members], stdin=tar.stdout,
                       stderr=subprocess.DEVNULL if members else None, check=not members)
        tar.stdout.close()
        tar.wait()
        os.unlink(deb)


def made(path, make):
    """path, made by make(temporary directory) unless it is there; never half made."""
    if os.path.isdir(path):
        os.utime(path)
        return path
    tmp = path + ".new"
    shutil.rmtree(tmp, ignore_errors=True)
    os.makedirs(tmp)
    try:
        make(tmp)
    except BaseException:
        shutil.rmtree(tmp, ignore_errors=True)
        raise
    os.rename(tmp, path)
    return path


def kernel(suite, arch, meta):
    """(path, release) of the kernel image that a metapackage stands for."""
    apt = Apt(suite, arch)
    package = apt.depends(meta, r"linux-image-\d")
    version = apt.version(package)

    def make(tmp):
        unpack(apt.download([package], False), tmp, "./boot/vmlinu*")
        if not glob.glob(tmp + "/boot/vmlinu*"):
            raise Missing("%s holds no kernel" % package)

    d = made(os.path.join(CACHE, "kernel-%s-%s-%s" % (arch, package, version)), make)
    image, = glob.glob(d + "/boot/vmlinu*")
    return image, os.path.basename(image).split("-", 1)[1]


def relative_links(root):
    """An absolute link would lead a linker out of the tree."""
    for d, dirs, files in os.walk(root):
        for f in dirs + files:
            path = os.path.join(d, f)
            if os.path.islink(path) and os.readlink(path).startswith("/"):
                to = os.path.relpath(root + os.readlink(path), d)
                os.unlink(path)
                os.symlink(to, path)


def sysroot(arch, packages):
    """A tree with packages and all that they need: to compile against, and to run guests from."""
    apt = Apt("bookworm", arch)
    pins = apt.resolve(packages)
    key = hashlib.sha256(repr((pins, "relative links")).encode()).hexdigest()[:16]

    def make(tmp):
        # As /usr is merged with / on installed systems.
        for d in ["bin", "sbin", "lib", "lib64"]:
            os.makedirs(os.path.join(tmp, "usr", d))
            os.symlink("usr/" + d, os.path.join(tmp, d))
        unpack(apt.download(packages, True), tmp)
        relative_links(tmp)

    return made(os.path.join(CACHE, "root-%s-%s" % (arch, key)), make)


def steps(log, cwd, *commands):
    """Runs commands, their output in the file log, up to the first that fails."""
    with open(log, "wb") as f:
        for c in commands:
            if finish(c, cwd=cwd, stdout=f, stderr=subprocess.STDOUT).returncode:
                raise Missing("%s failed, see %s" % (" ".join(c[:2]), log))


def own_kernel(suite, source, fragment):
    """(path, release) of an x86_64 kernel built from the suite's package `source`, as small as can
    be but for what the configuration file fragment asks for. Takes minutes, once."""
    for tool in ["gcc", "flex", "bison", "bc", "xz"]:
        if not shutil.which(tool):
            raise Missing("no %s to build a kernel with" % tool)
    apt = Apt(suite, "amd64")
    version = apt.version(source)
    with open(fragment, "rb") as f:
        key = hashlib.sha256(f.read()).hexdigest()[:8]

    def make(tmp):
        unpack(apt.download([source], False), tmp, "./usr/src/%s.tar.xz" % source)
        tree, log = os.path.join(tmp, source), os.path.join(CACHE, source + ".log")
        steps(log, tmp, ["tar", "-xf", "usr/src/%s.tar.xz" % source])
        steps(log, tree, ["make", "-s", "tinyconfig"],
              ["scripts/kconfig/merge_config.sh", "-m", ".config", os.path.abspath(fragment)],
              ["make", "-s", "olddefconfig"],
              ["make", "-s", "-j%d" % (os.cpu_count() or 1), "bzImage"])
        with open(os.path.join(tree, "include/config/kernel.release"), encoding="ascii") as f:
            release = f.read().strip()
        os.makedirs(os.path.join(tmp, "boot"))
        shutil.copy2(os.path.join(tree, "arch/x86/boot/bzImage"),
                     os.path.join(tmp, "boot", "vmlinuz-" + release))
        shutil.rmtree(tree)
        shutil.rmtree(os.path.join(tmp, "usr"))

    d = made(os.path.join(CACHE, "kernel-own-%s-%s-%s" % (source, version, key)), make)
    image, = glob.glob(d + "/boot/vmlinuz-*")
    return image, os.path.basename(image).split("-", 1)[1]
