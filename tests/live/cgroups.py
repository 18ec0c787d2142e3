# SPDX-License-Identifier: GPL-2.0-only
"""Groups of a test's own: made, worked in, and removed again."""
import os
import subprocess
import threading
import time

from run import Skip


def cgroup_root():
    with open("/proc/self/mounts", encoding="utf-8") as f:
        for line in f:
            if line.split()[2] == "cgroup2":
                return line.split()[1]
    raise Skip("no cgroup2 mount")


class Cgroup:
    """A group for the time of a with, and what runs in it."""
    made = 0

    def __init__(self, above=None, name=None):
        Cgroup.made += 1
        self.name = "%s/%s" % (above.name if above else "",
                               name or "utilbpf-test-%d-%d" % (os.getpid(), Cgroup.made))
        self.path = cgroup_root() + self.name

    def __enter__(self):
        try:
            os.mkdir(self.path)
        except OSError as e:
            raise Skip("cannot make a cgroup: %s" % e) from e
        return self

    def take(self, pid=0):
        """Moves a process here; 0: the one that calls."""
        with open(self.path + "/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(pid))

    def spawn(self, argv, **kw):
        return subprocess.Popen(argv, preexec_fn=self.take, **kw) # pylint: disable=subprocess-popen-preexec-fn

    def __exit__(self, *_):
        for _ in range(500): # its last task may not be gone yet
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.02)
        os.rmdir(self.path)


class Churn:
    """Groups that come, work a little and go, until the end of the with."""

    def __enter__(self):
        with Cgroup():
            pass # skip here where there can be none
        self.over = threading.Event()
        self.rounds = 0
        self.thread = threading.Thread(target=self.work)
        self.thread.start()
        return self

    def work(self):
        while not self.over.is_set():
            with Cgroup() as g:
                g.spawn(["sh", "-c", "i=0; while [ $i -lt 300 ]; do i=$((i+1)); done"]).wait()
            self.rounds += 1

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
