#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tests of `utilbpf serve` on the live kernel: serve.py [NAME...]

With requests that are right and wrong, slow and many, and with a real Prometheus server, which the
test starts on the loopback address.
"""
import errno
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run # pylint: disable=wrong-import-position
from cgroups import Cgroup, Churn # pylint: disable=wrong-import-position
from run import (TOOL, TOP, Fail, Skip, equal, gone, kernel_ids, near, need, # pylint: disable=wrong-import-position
                 needs_bpf, test)

run.tests.clear() # those of the other file

OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
ONCPU = {"user", "sys", "irq", "softirq", "hv", "busy"}


# ---- the server and its text ----

class Server:
    """utilbpf serve on a port of its own."""

    def __init__(self, *args, argv=()):
        self.p = subprocess.Popen([*argv, TOOL, "serve", "--listen", "127.0.0.1:0", *args],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE)
        line = self.p.stderr.readline().decode()
        m = re.match(r"utilbpf: serving http://127\.0\.0\.1:(\d+)/metrics\n$", line)
        if not m:
            self.p.kill()
            self.p.wait()
            raise Fail("serve said: %r" % line)
        self.port = int(m[1])

    def get(self, path="/metrics", accept="text/plain", method="GET", body=None, timeout=20):
        """Status, headers and body of an answer."""
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            c.request(method, path, body=body, headers={"Accept": accept} if accept else {})
            r = c.getresponse()
            return r.status, dict(r.getheaders()), r.read().decode()
        finally:
            c.close()

    def scrape(self):
        status, _, text = self.get()
        equal(status, 200, "status of a scrape")
        return samples(text)

    def fresh(self):
        """A scrape of a window that ended just now: those that come soon after get the last one."""
        before = self.scrape()["utilbpf_windows_total", frozenset()]
        while True:
            now = self.scrape()
            if now["utilbpf_windows_total", frozenset()] > before:
                return now
            time.sleep(0.02)

    def rss(self):
        return 1024 * int(self.status("VmRSS").split()[0])

    def status(self, key):
        with open("/proc/%d/status" % self.p.pid, encoding="ascii") as f:
            return re.search(r"^%s:[ \t]*(.*?)[ \t]*$" % key, f.read(), re.M)[1]

    def stop(self):
        """SIGTERM; what it said since then."""
        self.p.send_signal(signal.SIGTERM)
        err = self.p.communicate(timeout=20)[1].decode()
        equal((self.p.returncode, err), (0, ""), "status and stderr at the end")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        elif self.p.poll() is None:
            self.p.kill()
            self.p.wait()


def samples(text):
    """{(name, frozenset of labels): value}; two alike are a fault."""
    out = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        m = re.match(r'([a-z_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\})? ([0-9.]+)$', line)
        need(m, "not a sample: %r", line)
        key = m[1], frozenset(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', m[2] or ""))
        need(key not in out, "twice: %r", line)
        out[key] = float(m[3])
    return out


def total(s, name, **labels):
    want = set(labels.items())
    return sum(v for (n, have), v in s.items() if n == name and want <= have)


def is_counter(name):
    return name.endswith("_total")


SPIN = ["sh", "-c", "while :; do :; done"]


# ---- what is answered ----

@test
def answers():
    needs_bpf()
    with Server("--top", "3") as s:
        status, headers, text = s.get(accept=None)
        equal((status, headers["Content-Type"]),
              (200, "text/plain; version=0.0.4; charset=utf-8"), "plain text")
        samples(text)
        status, headers, text = s.get(accept=OPENMETRICS)
        equal((status, headers["Content-Type"]),
              (200, "application/openmetrics-text; version=1.0.0; charset=utf-8"), "OpenMetrics")
        need(text.endswith("\n# EOF\n"), "no # EOF at the end")
        samples(text)
        equal(s.get("/healthz")[::2], (200, "ok\n"), "/healthz")
        equal(s.get("/metrics?x=y")[0], 200, "/metrics with a query")
        equal(s.get("/")[0], 404, "/")
        equal(s.get("/metrics/../etc/passwd")[0], 404, "a path that goes up")
        equal(s.get(method="HEAD")[::2], (200, ""), "HEAD")
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            status, headers, _ = s.get(method=method, body=b"x" * 100)
            equal((status, headers["Allow"]), (405, "GET, HEAD"), method)


@test
def figures_obey_the_laws():
    """CPUs add up to the time, groups and processes to the system; counters never fall."""
    needs_bpf()
    with Server("--top", "3", "--max-series", "100") as s, Churn(), \
            subprocess.Popen(SPIN) as spin:
        before = s.scrape()
        for _ in range(8):
            time.sleep(0.5)
            now = s.scrape()
            for key, v in before.items():
                if is_counter(key[0]) and key in now:
                    need(now[key] >= v, "%s fell from %s to %s", key, v, now[key])
            accounted = total(now, "utilbpf_accounted_seconds_total")
            cpus = total(now, "utilbpf_cpus_online")
            near(total(now, "utilbpf_cpu_seconds_total"), accounted * cpus, 1e-6, "time of CPUs")
            system = total(now, "utilbpf_system_seconds_total")
            for kind in ("group", "process"):
                near(total(now, "utilbpf_%s_seconds_total" % kind) +
                     total(now, "utilbpf_evicted_seconds_total", kind=kind), system, 1e-6,
                     "time of %s series" % kind)
            grown = system - total(before, "utilbpf_system_seconds_total")
            rates = sum(max(0, v - before.get(key, 0)) for key, v in now.items()
                        if key[0] == "utilbpf_group_seconds_total")
            near(rates, grown, 1e-6, "increase of all groups")
            bounded = [k for k in now if re.match("utilbpf_(group|process|call)", k[0])]
            need(len(bounded) <= 100, "%d series", len(bounded))
            before = now
        spin.kill()
        equal(total(now, "utilbpf_quality_lost_events_total"), 0, "lost events")
        equal(total(now, "utilbpf_quality_residual_seconds"), 0, "residual")


@test
def group_that_ends_stays():
    needs_bpf()
    with Server() as s:
        with Cgroup() as g:
            p = g.spawn(["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"])
            p.wait()
            first = s.fresh()
        second = s.fresh()
    for name in ("utilbpf_group_seconds_total", "utilbpf_group_calls_total"):
        v = total(first, name, cgroup=g.name)
        need(v > 0, "%s of the group is %s", name, v)
        need(total(second, name, cgroup=g.name) >= v, "%s of the group fell", name)
    equal(total(second, "utilbpf_group_tasks", cgroup=g.name), 0, "tasks of the ended group")


class DockerState:
    """What docker keeps of a container of that name, for root alone; gone again in the end."""

    def __init__(self, full_id, name):
        self.full_id, self.name, self.made = full_id, name, []

    def __enter__(self):
        path = "/var/lib/docker/containers/" + self.full_id
        todo = [path]
        while not os.path.isdir(os.path.dirname(todo[-1])):
            todo.append(os.path.dirname(todo[-1]))
        try:
            for p in reversed(todo):
                os.mkdir(p, 0o700)
                self.made.append(p)
            with open(path + "/config.v2.json", "w", encoding="ascii") as f:
                json.dump({"ID": self.full_id, "Name": "/" + self.name}, f)
        except OSError as e:
            self.__exit__()
            raise Skip("cannot write docker's state: %s" % e) from e
        return self

    def __exit__(self, *_):
        if os.path.exists(self.made[-1] + "/config.v2.json"):
            os.unlink(self.made[-1] + "/config.v2.json")
        for p in reversed(self.made):
            os.rmdir(p)


@test
def names_of_docker():
    """Those that root alone can read are known after privileges are dropped, too."""
    needs_bpf()
    if os.geteuid():
        raise Skip("needs root")
    ids = ["%064x" % (os.getpid() << 160 | i << 240) for i in (1, 2)]

    def container(s, g):
        return [dict(labels).get("container") for (name, labels) in s
                if name == "utilbpf_group_tasks" and dict(labels)["cgroup"] == g.name]
    with DockerState(ids[0], "test-web"), DockerState(ids[1], "test-late"), \
            Cgroup(name="docker-%s.scope" % ids[0]) as first:
        with first.spawn(["sleep", "60"]) as p, Server() as s:
            equal(container(s.fresh(), first), ["test-web"], "name of a container")
            with Cgroup(name="docker-%s.scope" % ids[1]) as late:
                with late.spawn(["sleep", "60"]) as q:
                    equal(container(s.fresh(), late), [ids[1][:12]], "name of a later one")
                    q.kill()
            p.kill()


# ---- what it gave up ----

@test
def confined():
    needs_bpf()
    with Server() as s:
        s.scrape()
        if os.geteuid() == 0:
            equal(s.status("Uid").split(), ["65534"] * 4, "Uid")
            equal(s.status("Gid").split(), ["65534"] * 4, "Gid")
            equal(s.status("Groups"), "", "Groups")
        for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
            # CAP_BPF stays where the kernel wants it for reading
            need(int(s.status(kind), 16) in (0, 1 << 39), "%s is %s", kind, s.status(kind))
        equal(int(s.status("CapBnd"), 16), 0, "CapBnd")
        equal((s.status("NoNewPrivs"), s.status("Seccomp")), ("1", "2"), "NoNewPrivs, Seccomp")


@test
def no_call_is_refused():
    """The filter has no hole where the server must go through."""
    needs_bpf()
    if not shutil.which("strace"):
        raise Skip("no strace")
    with tempfile.TemporaryDirectory() as d:
        log = os.path.join(d, "strace")
        with Server("--top", "5", argv=["strace", "-D", "-f", "-o", log]) as s, Churn():
            for _ in range(4):
                s.scrape()
                s.get("/healthz")
                s.get("/metrics", accept=OPENMETRICS)
                time.sleep(0.3)
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with open(log, encoding="utf-8", errors="replace") as f:
                lines = f.read().splitlines()
            if lines and "+++ exited with 0 +++" in lines[-1]:
                break
            time.sleep(0.1)
    at = [i for i, line in enumerate(lines) if re.search(r"seccomp\(SECCOMP_SET_MODE_FILTER.*= 0|"
                                                         r"prctl\(PR_SET_SECCOMP.*= 0", line)]
    need(at, "no filter was set")
    after = lines[at[-1] + 1:]
    need(len([line for line in after if "accept4" in line]) >= 12, "the scrapes are not there")
    refused = [line for line in after if "EPERM" in line]
    need(not refused, "refused: %s", refused[:5])


@test
def serves_the_perf_engine():
    """Without BPF: the same answers and limits, from rings in user space."""
    r = run.run(["--engine", "perf", "-d", "0.05", "-f", "json", "-b", "system"])
    if r.status:
        raise Skip(r.err.decode(errors="replace").strip())
    with tempfile.TemporaryDirectory() as d:
        log = os.path.join(d, "strace")
        argv = ["strace", "-D", "-f", "-o", log] if shutil.which("strace") else []
        with Server("--engine", "perf", "--top", "5", argv=argv) as s, Churn(), \
                subprocess.Popen(SPIN) as spin:
            before = s.fresh()
            need(any(n == "utilbpf_build_info" and ("engine", "perf") in labels
                     for n, labels in before), "the engine is not told")
            for _ in range(4):
                time.sleep(0.4)
                now = s.fresh()
                for key, v in before.items():
                    need(not is_counter(key[0]) or now.get(key, v) >= v, "%s fell", key)
                before = now
            equal(s.get("/healthz")[::2], (200, "ok\n"), "/healthz")
            mine = [v for (n, labels), v in now.items() if n == "utilbpf_process_seconds_total" and
                    {("pid", str(spin.pid)), ("class", "user")} <= labels]
            need(mine and mine[0] > 0.2, "the spinner has %s s", mine)
            near(total(now, "utilbpf_group_seconds_total") +
                 total(now, "utilbpf_evicted_seconds_total", kind="group"),
                 total(now, "utilbpf_system_seconds_total"), 1e-6, "time of group series")
            if os.geteuid() == 0:
                equal(s.status("Uid").split(), ["65534"] * 4, "Uid")
            equal((s.status("CapEff").strip("0"), s.status("NoNewPrivs"), s.status("Seccomp")),
                  ("", "1", "2"), "CapEff, NoNewPrivs, Seccomp")
            spin.kill()
        if argv:
            time.sleep(0.5)
            with open(log, encoding="utf-8", errors="replace") as f:
                after = f.read().split("SECCOMP_SET_MODE_FILTER")[-1].splitlines()[1:]
            refused = [line for line in after if "EPERM" in line]
            need(after and not refused, "refused: %s", refused[:5])


# ---- who asks too much ----

def closed_after(sock, limit):
    """Seconds until the other side closes."""
    begin = time.monotonic()
    sock.settimeout(limit)
    try:
        while sock.recv(65536):
            pass
    except ConnectionError:
        pass
    except socket.timeout as e:
        raise Fail("still open after %d s" % limit) from e
    return time.monotonic() - begin


@test
def slow_clients_are_cut_off():
    needs_bpf()
    with Server() as s:
        silent = socket.create_connection(("127.0.0.1", s.port))
        drip = socket.create_connection(("127.0.0.1", s.port))
        begin = time.monotonic()
        sent = 0
        try:
            for byte in b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 20:
                drip.send(bytes([byte]))
                sent += 1
                time.sleep(0.25)
                if time.monotonic() - begin > 16:
                    raise Fail("a client that drips is still served after 16 s")
                if sent % 8 == 0:
                    equal(s.get("/healthz")[0], 200, "another client meanwhile")
        except ConnectionError:
            pass
        took = time.monotonic() - begin
        need(9 < took < 13, "the dripping client was cut off after %.1f s", took)
        closed_after(silent, 5)
        silent.close()
        drip.close()


@test
def many_idle_clients():
    """More than there are places for: they wait, nobody is refused, and places come free."""
    needs_bpf()
    with Server() as s:
        idle = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(200)]
        equal(s.get("/healthz", timeout=40)[0], 200, "a client after 200 idle ones")
        for c in idle:
            c.close()
        s.scrape()


@test
def big_requests_are_refused():
    needs_bpf()
    with Server() as s:
        before = s.rss()
        for head in (b"GET /" + b"x" * 200000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
                     b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 50000 + b"\r\n",
                     b"GET / HTTP/1.1\r\nX: " + b"y" * 200000 + b"\r\n\r\n",
                     b"\0" * 100000, b"\r\n" * 50000):
            c = socket.create_connection(("127.0.0.1", s.port), timeout=15)
            data = b""
            try:
                c.sendall(head)
                c.shutdown(socket.SHUT_WR)
                while chunk := c.recv(65536):
                    data += chunk
            except OSError as e: # closed before all of it was sent: as good
                if not isinstance(e, ConnectionError) and e.errno != errno.ENOTCONN:
                    raise
            c.close()
            need(not data or re.match(rb"HTTP/1\.1 (4\d\d|505)", data), "%r... was answered: %r",
                 head[:20], data[:60])
        body = b"x" * 20000000
        try:
            equal(s.get(method="POST", body=body)[0], 405, "a body of 20 MB")
        except ConnectionError:
            pass # closed before all of it was sent: as good
        s.scrape()
        need(s.rss() - before < 4 << 20, "memory grew by %d bytes", s.rss() - before)


# ---- the end, and what goes wrong at the start ----

@test
def ends_cleanly():
    needs_bpf()
    if not shutil.which("bpftool"):
        raise Skip("no bpftool")
    for sig in (signal.SIGTERM, signal.SIGINT):
        with Server() as s:
            ids = kernel_ids(s.p.pid)
            need(len(ids) > 15, "only %d kernel objects", len(ids))
            client = socket.create_connection(("127.0.0.1", s.port))
            client.send(b"GET /met")
            s.p.send_signal(sig)
            equal(s.p.wait(timeout=20), 0, "status after " + sig.name)
            client.close()
        need(gone(ids), "kernel objects are left after %s", sig.name)


@test
def port_in_use():
    needs_bpf()
    with Server() as s:
        r = run.run(["serve", "--listen", "127.0.0.1:%d" % s.port])
    equal(r.status, 1, "status")
    need(re.fullmatch(r"utilbpf: cannot listen at 127\.0\.0\.1:\d+: Address already in use; "
                      r"give another place with --listen\n", r.err.decode()), "it said: %s", r.err)


# ---- load ----

SCRAPES, AT_ONCE = 1000, 50


@test
def load_of_scrapes():
    needs_bpf()
    failures = []

    def client(s, n):
        for i in range(n):
            try:
                status, _, text = s.get(accept=OPENMETRICS if i % 2 else "text/plain")
                if status != 200 or not samples(text):
                    failures.append(status)
            except Exception as e: # pylint: disable=broad-except
                failures.append(repr(e))

    def volley(s, scrapes):
        threads = [threading.Thread(target=client, args=(s, scrapes // AT_ONCE))
                   for _ in range(AT_ONCE)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    with Server("--top", "20") as s, Churn() as churn:
        volley(s, 200) # so that every table has the size that it needs
        rss, rounds = s.rss(), churn.rounds
        first, begin = s.fresh(), time.monotonic()
        volley(s, SCRAPES)
        last, took = s.fresh(), time.monotonic() - begin
        need(not failures, "%d of %d scrapes failed: %s", len(failures), SCRAPES, failures[:3])
        need(churn.rounds - rounds > 10, "only %d groups came and went", churn.rounds - rounds)
        need(s.rss() - rss < 4 << 20, "memory grew from %d to %d", rss, s.rss())
        name = "utilbpf_accounted_seconds_total"
        near((last[name, frozenset()] - first[name, frozenset()]) * 1e9, took * 1e9, 0.02,
             "accounted time")
        near(total(last, "utilbpf_cpu_seconds_total"),
             total(last, "utilbpf_cpu_online_seconds_total"), 1e-9, "time of CPUs")
        for k in ("lost_events", "dropped_tasks", "dropped_calls", "out_of_order"):
            equal(total(last, "utilbpf_quality_%s_total" % k), 0, k)
    print("  %d scrapes in %.1f s, %d at once, %d groups came and went" %
          (SCRAPES, took, AT_ONCE, churn.rounds - rounds))


# ---- Prometheus itself ----

def prometheus_dir():
    p = subprocess.run([os.path.join(TOP, "tests", "prometheus.sh"),
                        os.path.join(TOP, ".build", "prometheus")], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, encoding="utf-8", check=False, timeout=300)
    if p.returncode:
        raise Skip("no prometheus: " + " ".join(p.stderr.split()[-12:]))
    return p.stdout.strip()


def free_port():
    with socket.socket() as c:
        c.bind(("127.0.0.1", 0))
        return c.getsockname()[1]


class Prometheus:
    """A server that scrapes one target each second."""

    def __init__(self, target):
        binary = os.path.join(prometheus_dir(), "prometheus")
        self.dir = tempfile.TemporaryDirectory()
        self.url = "http://127.0.0.1:%d" % free_port()
        config = os.path.join(self.dir.name, "prometheus.yml")
        with open(config, "w", encoding="ascii") as f:
            f.write("global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
                    "scrape_configs: [{job_name: utilbpf, static_configs: [{targets: "
                    "['127.0.0.1:%d']}]}]\n" % target)
        with open(os.path.join(self.dir.name, "log"), "wb") as log:
            self.p = subprocess.Popen([binary, "--config.file=" + config, "--log.level=warn",
                                       "--storage.tsdb.path=" + self.dir.name + "/data",
                                       "--web.listen-address=" + self.url[7:]],
                                      stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def api(self, path, **args):
        url = self.url + path + ("?" + urllib.parse.urlencode(args) if args else "")
        try:
            with urllib.request.urlopen(url, timeout=10) as r:
                return json.load(r)["data"]
        except urllib.error.HTTPError as e:
            raise Fail("%s: %s" % (args, e.read().decode())) from e

    def query(self, expr):
        return self.api("/api/v1/query", query=expr)["result"]

    def value(self, expr):
        r = self.query(expr)
        equal(len(r), 1, "results of " + expr)
        return float(r[0]["value"][1])

    def wait(self, seconds=30):
        """Until it has scraped."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.query("up == 1"):
                    return
            except OSError:
                pass
            time.sleep(0.2)
        with open(os.path.join(self.dir.name, "log"), encoding="utf-8") as f:
            raise Fail("prometheus does not scrape: %s" % f.read()[-500:])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.p.terminate()
        self.p.wait()
        self.dir.cleanup()


def proc_stat():
    """Busy and all ticks; steal is in no class of ours, guest is part of user."""
    with open("/proc/stat", encoding="ascii") as f:
        v = [int(x) for x in f.readline().split()[1:9]]
    idle = v[3] + v[4]
    return sum(v[:7]) - idle, sum(v[:7])


def dashboard():
    with open(os.path.join(TOP, "user", "dist", "utilbpf-grafana.json"), encoding="utf-8") as f:
        d = json.load(f)
    return [t["expr"] for p in d["panels"] for t in p.get("targets", [])]


@test
def rate_is_what_proc_stat_says():
    needs_bpf()
    prometheus_dir()
    seconds = 15
    with subprocess.Popen(SPIN) as spin, Server("--top", "10") as s:
        try:
            with Prometheus(s.port) as prom:
                prom.wait()
                time.sleep(1)
                busy, ticks = proc_stat()
                time.sleep(seconds)
                end = proc_stat()
                rate = "sum(rate(utilbpf_cpu_seconds_total%%s[%ds]))" % seconds
                have = prom.value(rate % '{class!="idle"}' + " / " + rate % "")
                want = (end[0] - busy) / (end[1] - ticks)
                need(want > 0.3, "the machine was not busy")
                near(have * 1e6, want * 1e6, 0.03, "busy fraction")
                # Of the same two scrapes. rate() goes by when prometheus began to ask, which on
                # a machine that stalls is not when it was answered; and where a series began
                # just before, it takes less for one that began low than for others.
                grown = "({0} - {0} offset %ds)" % seconds
                near(prom.value("sum%s / scalar%s" % (
                    grown.format("utilbpf_cpu_seconds_total"),
                    grown.format("utilbpf_accounted_seconds_total"))) * 1e6,
                     1e6 * os.cpu_count(), 0.001, "CPUs")
                near(prom.value("sum(rate(utilbpf_group_seconds_total[%ds])) / "
                                "sum(rate(utilbpf_system_seconds_total[%ds]))"
                                % (seconds, seconds)) * 1e6, 1e6, 0.01, "rate of all groups")
                target, = prom.api("/api/v1/targets")["activeTargets"]
                equal((target["health"], target["lastError"]), ("up", ""), "the target")
                equal(prom.value("min_over_time(up[%ds])" % seconds), 1, "every scrape")
                for expr in dashboard():
                    expr = expr.replace("$instance", ".*").replace("$__rate_interval", "10s")
                    need(prom.query(expr), "nothing to show for %s", expr)
                print("  busy: rate() %.4f, /proc/stat %.4f" % (have, want))
        finally:
            spin.kill()


@test
def metrics_are_clean_and_told_of():
    """promtool has nothing to say; the man page has every series, the dashboard only such."""
    needs_bpf()
    promtool = os.path.join(prometheus_dir(), "promtool")
    texts = []
    with Server("--top", "5") as s:
        texts.append(s.get()[2])
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "u.prom")
        r = run.run(["-d", "0.5", "-f", "openmetrics", "-T", "5", "-o", path])
        equal((r.status, r.out, r.err), (0, b"", b""), "-f openmetrics -o FILE")
        equal(os.listdir(d), ["u.prom"], "files")
        with open(path, encoding="utf-8") as f:
            texts.append(f.read())
    for text in texts:
        p = subprocess.run([promtool, "check", "metrics"], input=text, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        equal((p.returncode, p.stdout), (0, ""), "promtool check metrics")
    names = {n for n, _ in samples(texts[0])}
    equal(names, {n for n, _ in samples(texts[1])}, "names in the file")
    with open(os.path.join(TOP, "user", "dist", "utilbpf.8"), encoding="utf-8") as f:
        man = f.read()
    untold = [n for n in names if not re.search(r"\b%s\b" % n, man) and
              not re.match("utilbpf_(quality|cost)_", n)]
    need(not untold, "not in the man page: %s", untold)
    told = set(re.findall(r"\butilbpf_[a-z_]+[a-z]\b", re.sub(r"(?s)^.*\.SH SERIES", "", man)))
    equal(told - names, set(), "series that only the man page has")
    used = {n for e in dashboard() for n in re.findall(r"utilbpf_[a-z_]+", e)}
    equal(used - names, set(), "series that only the dashboard has")


if __name__ == "__main__":
    sys.exit(run.main(sys.argv[1:]))
