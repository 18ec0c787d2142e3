#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What is installed beside the program, against what the program itself says: check.py [NAME...]

An option that --help tells of must stand in the man page and in the completion in the same words,
and the other way round; so must every column. Needs ./utilbpf, no privilege.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "live"))
import run # pylint: disable=wrong-import-position
from run import TOOL, TOP, Fail, Skip, equal, need, test # pylint: disable=wrong-import-position

run.tests.clear() # those of the live system are not ours

DIST = os.path.join(TOP, "user", "dist")
MAN = os.path.join(DIST, "utilbpf.8")
COMPLETION = os.path.join(DIST, "utilbpf.bash")


def tool(*args):
    return subprocess.run([TOOL, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", check=False, timeout=60)


def help_text():
    r = tool("--help")
    equal(r.returncode, 0, "status of --help")
    return r.stdout


def help_options():
    """As --help has them: "-d, --duration SEC"."""
    found = re.findall(r"^ {2}(?: {4}|)((?:-\w, )?--[a-z][a-z-]*(?: [^\s]+)?)(?= |$)",
                       help_text(), re.M)
    need(len(found) > 10, "only %d options found in --help", len(found))
    return set(found)


def help_commands():
    """Those of "utilbpf start|stop [OPTIONS]" in the usage."""
    usage = help_text().split("\n\n")[0]
    return {w for m in re.findall(r"utilbpf ([a-z|]+)", usage) for w in m.split("|")}


def words(options):
    """-d and --duration of "-d, --duration SEC"."""
    return {w for o in options for w in re.findall(r"(?<!\S)--?[A-Za-z][a-z-]*", o)}


def same(have, want, what):
    need(not want - have, "not in %s: %s", what, ", ".join(sorted(want - have)))
    need(not have - want, "only in %s: %s", what, ", ".join(sorted(have - want)))


# ---- the man page ----

def man_source():
    with open(MAN, encoding="utf-8") as f:
        return f.read()


def plain(line):
    """A line of the man page's source as it reads."""
    m = re.match(r"\.([BIR]{1,2}) (.*)", line)
    args = re.findall(r'"((?:[^"]|"")*)"|(\S+)', m[2] if m else line)
    text = ("" if m and len(m[1]) > 1 else " ").join(a or b for a, b in args)
    return re.sub(r"\\f[BIRP]", "", text).replace("\\-", "-")


def man_tags(section):
    """What the paragraphs of a section are about."""
    m = re.search(r"^\.SH %s\n(.*?)(?=^\.SH |\Z)" % section, man_source(), re.M | re.S)
    need(m, "the man page has no section %s", section)
    return [plain(tag) for tag in re.findall(r"^\.TP\n(.*)$", m[1], re.M)]


@test
def man_page_has_every_option():
    same({t for t in man_tags("OPTIONS") if t.startswith("-")}, help_options(), "the man page")


@test
def man_page_has_every_command():
    need(help_commands(), "no commands found in --help")
    same({re.match(r"utilbpf ([a-z]+)", t)[1] for t in man_tags("COMMANDS")}, help_commands(),
         "the man page")


def keys_of(schema):
    """Every name of a property, of a schema's parts too."""
    out = set()
    if isinstance(schema, dict):
        out |= set(schema.get("properties", {}))
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            out |= keys_of(part)
    return out


def told(text, names, what):
    missing = [n for n in sorted(names) if not re.search(r"(?<![\w+])%s(?![\w+])" % re.escape(n),
                                                         text)]
    need(not missing, "%s not in the man page: %s", what, ", ".join(missing))


@test
def man_page_has_every_column():
    m = re.search(r"^\.SH COLUMNS\n(.*?)(?=^\.SH )", man_source(), re.M | re.S)
    text = plain(m[1].replace("\n", " "))
    sort_keys = re.search(r"--sort KEY.*\n +(\S+,\S+)\n", help_text())
    need(sort_keys, "--help does not list the sort keys")
    told(text, sort_keys[1].split(","), "sort keys")
    told(text, keys_of(json.loads(tool("--json-schema").stdout)), "JSON keys")
    with open(os.path.join(TOP, "user", "out_text.c"), encoding="utf-8") as f:
        headings = re.findall(r'\{\s*COL_\w+, "([^"]+)", CELL_', f.read())
    need(len(headings) > 20, "only %d headings found", len(headings))
    told(text, headings, "headings")


@test
def man_page_has_every_file():
    """The paths that the sources name as strings."""
    names = set()
    for name in os.listdir(os.path.join(TOP, "user")):
        if not name.endswith((".c", ".h")):
            continue
        with open(os.path.join(TOP, "user", name), encoding="utf-8") as f:
            names |= set(re.findall(r'"(/(?:proc|sys|etc|run|var)/[^"%\s]*)"', f.read()))
    need(names, "the sources name no file")
    missing = {n.rstrip("/") for n in names} - set(man_tags("FILES"))
    need(not missing, "FILES of the man page lacks %s", ", ".join(sorted(missing)))


@test
def man_page_is_sound():
    if not shutil.which("groff"):
        raise Skip("no groff")
    p = subprocess.run(["groff", "-t", "-man", "-ww", "-z", "-Tutf8", MAN], stderr=subprocess.PIPE,
                       encoding="utf-8", check=False)
    equal((p.returncode, p.stderr), (0, ""), "groff")
    need(all(len(line) <= 100 for line in man_source().splitlines()), "a line over 100 columns")


# ---- the completion ----

def complete(*argv):
    """What bash offers for the last word of a command line."""
    script = ('. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _utilbpf; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    p = subprocess.run(["bash", "--norc", "-uc", script, "bash", COMPLETION, "utilbpf", *argv],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                       check=False)
    equal((p.returncode, p.stderr), (0, ""), "completion of %s" % (argv,))
    return set(p.stdout.split())


@test
def completion_has_every_option():
    same(complete("-") - {"--"}, words(help_options()), "the completion")


@test
def completion_has_every_command():
    same({w for w in complete("") if not w.startswith("-")}, help_commands(), "the completion")


@test
def completion_of_values():
    """Every value that is offered is taken; of lists in --help, each is offered."""
    for o in sorted(help_options()):
        if not re.search(r" [^-\s]+$", o):
            continue
        for name in words([o]):
            if name in ("-o", "--output"):
                continue
            for value in complete(name, ""):
                if os.path.exists(value): # a file's name, offered as such
                    continue
                r = tool(name, value, "--version")
                need(r.returncode == 0, "%s %s is offered, but: %s", name, value, r.stderr)
    m = re.search(r"--sort KEY.*\n +(\S+,\S+)\n", help_text())
    same(complete("-s", ""), set(m[1].split(",")), "the sort keys of the completion")
    for option, known in [("-b", "bogus"), ("-f", "bogus"), ("--engine", "bogus"), ("-e", "bogus")]:
        said = tool(option, known).stderr
        m = re.search(r"takes (?:a list of )?(.*), not", said)
        need(m, "no list of values in: %s", said)
        want = set(re.split(r",\s*| or ", m[1]))
        same(complete(option, ""), want, "the completion of " + option)


@test
def completion_goes_on():
    equal(complete("-e", "sched,ir"), {"sched,irqs"}, "the second of a list")
    equal(complete("--by", "=", "pro"), {"process"}, "a value after =")
    equal(complete("--by", "="), {"system", "cpu", "group", "process", "task"}, "values after =")
    need("bash" in complete("--", "bas"), "a COMMAND after --")
    with tempfile.TemporaryDirectory() as d:
        with open(os.path.join(d, "file"), "wb"):
            pass
        equal(complete("-o", os.path.join(d, "f")), {os.path.join(d, "file")}, "a file")
        equal(complete("--", "cat", os.path.join(d, "f")), {os.path.join(d, "file")}, "a file")


# ---- the systemd unit ----

UNIT = os.path.join(DIST, "utilbpf.service")
MAX_EXPOSURE = 1.5 # of 10, as systemd-analyze counts


def analyze(*args):
    """systemd-analyze on the unit, made to run the program that was built."""
    if not shutil.which("systemd-analyze"):
        raise Skip("no systemd-analyze")
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "utilbpf.service")
        with open(UNIT, encoding="utf-8") as f:
            text = f.read()
        need("/usr/local/sbin/utilbpf serve" in text, "ExecStart is not what make install changes")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace("/usr/local/sbin/utilbpf", TOOL))
        p = subprocess.run(["systemd-analyze", *args, path], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, encoding="utf-8", check=False, timeout=60,
                           env={**os.environ, "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0"})
    return p.returncode, p.stdout


@test
def unit_is_valid():
    equal(analyze("verify", "--man=no"), (0, ""), "systemd-analyze verify")


@test
def unit_is_confined():
    _, out = analyze("security", "--offline=true")
    m = re.search(r"Overall exposure level for utilbpf.service: ([0-9.]+)", out)
    need(m, "systemd-analyze security said: %s", out)
    need(float(m[1]) <= MAX_EXPOSURE, "exposure %s is over %s:\n%s", m[1], MAX_EXPOSURE, out)


# ---- the DaemonSet ----

@test
def daemonset_is_valid():
    try:
        import yaml # pylint: disable=import-outside-toplevel
    except ImportError as e:
        raise Skip("no python3-yaml") from e
    with open(os.path.join(DIST, "utilbpf.k8s.yaml"), encoding="utf-8") as f:
        docs = list(yaml.safe_load_all(f))
    equal([d["kind"] for d in docs], ["Namespace", "DaemonSet"], "kinds")
    spec = docs[1]["spec"]
    pod = spec["template"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    equal({k: labels.get(k) for k in spec["selector"]["matchLabels"]},
          spec["selector"]["matchLabels"], "labels of the pod")
    equal(docs[1]["metadata"]["namespace"], docs[0]["metadata"]["name"], "namespace")
    c, = pod["containers"]
    # the arguments are taken, and the port is the one of the service
    r = tool(*c["args"], "--help")
    equal((r.returncode, r.stderr), (0, ""), "utilbpf %s" % " ".join(c["args"]))
    port, = c["ports"]
    need(c["args"][c["args"].index("--listen") + 1].endswith(":%d" % port["containerPort"]),
         "the port is not where it listens")
    equal(spec["template"]["metadata"]["annotations"]["prometheus.io/port"],
          str(port["containerPort"]), "the annotated port")
    for probe in ("startupProbe", "livenessProbe"):
        equal(c[probe]["httpGet"], {"path": "/healthz", "port": port["name"]}, probe)
    sec = c["securityContext"]
    equal((sec["privileged"], sec["allowPrivilegeEscalation"], sec["readOnlyRootFilesystem"]),
          (False, False, True), "securityContext")
    equal(sec["capabilities"], {"drop": ["ALL"],
                                "add": ["BPF", "PERFMON", "SETUID", "SETGID", "SETPCAP"]}, "caps")
    equal({m["name"] for m in c["volumeMounts"]}, {v["name"] for v in pod["volumes"]}, "volumes")
    need(all(m["readOnly"] for m in c["volumeMounts"]), "a volume can be written")


# ---- the dashboard ----

@test
def dashboard_is_sound():
    """Its queries are run against a real server in tests/live/serve.py."""
    with open(os.path.join(DIST, "utilbpf-grafana.json"), encoding="utf-8") as f:
        d = json.load(f)
    ids = [p["id"] for p in d["panels"]]
    equal(len(set(ids)), len(ids), "ids of panels")
    variables = {v["name"] for v in d["templating"]["list"]}
    taken = set()
    for p in d["panels"]:
        g = p["gridPos"]
        cells = {(x, y) for x in range(g["x"], g["x"] + g["w"])
                 for y in range(g["y"], g["y"] + g["h"])}
        need(not cells & taken and g["x"] + g["w"] <= 24, "panel %s overlaps", p["title"])
        taken |= cells
        equal(p["type"] == "row", not p.get("targets"), "queries of panel " + p["title"])
        for t in p.get("targets", []):
            used = set(re.findall(r"\$(\w+)", t["expr"])) - {"__rate_interval"}
            need(used <= variables, "unknown variables in %s", t["expr"])
            need("utilbpf_" in t["expr"], "no series of ours in %s", t["expr"])


# ---- make install ----

@test
def make_install():
    with tempfile.TemporaryDirectory() as d:
        p = subprocess.run(["make", "-s", "install", "DESTDIR=" + d, "PREFIX=/opt/u"], cwd=TOP,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8",
                           check=False, env={**os.environ, "MAKEFLAGS": ""})
        equal(p.returncode, 0, "make install said: %s; status" % p.stdout)
        have = {}
        for path, _, files in os.walk(d):
            for f in files:
                full = os.path.join(path, f)
                have[os.path.relpath(full, d)] = os.stat(full).st_mode & 0o777
        with open(os.path.join(d, "opt/u/lib/systemd/system/utilbpf.service"),
                  encoding="utf-8") as f:
            unit = f.read()
    want = {"opt/u/sbin/utilbpf": 0o755,
            "opt/u/share/man/man8/utilbpf.8": 0o644,
            "opt/u/share/bash-completion/completions/utilbpf": 0o644,
            "opt/u/lib/systemd/system/utilbpf.service": 0o644}
    equal(have, want, "what make install installs")
    need("ExecStart=/opt/u/sbin/utilbpf serve" in unit, "the unit starts another program")


if __name__ == "__main__":
    sys.exit(run.main(sys.argv[1:]))
