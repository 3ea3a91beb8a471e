"""Who asks, and from where: fixtures and words of the tests of access."""
import socket
from pathlib import Path
from urllib.parse import urlencode

import pytest

from asking import burning
from somebody import NOBODY

WAYS = ["tcp", "socket"]
TOKENS = {role: f"{role}-0123456789abcdef" for role in ("metrics", "read", "profile", "admin")}
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
RESOURCES = [
    "/flamegraph", "/sched", "/flamegraph/oncpu.svg", "/flamegraph/oncpu.folded", "/flamegraph/offcpu.pb.gz",
    "/flamegraph/mem_glibc.folded?view=inuse", "/sched/runqlat.json", "/sched/runqslower.jsonl?follow=1",
    "/sched/runqlat.json?seconds=1", "/flamegraph/oncpu.folded?seconds=1", "/flamegraph/oncpu.folded?pid=1&seconds=1",
    "/proc", "/proc/proc_cpu.json", "/proc/proc_io.txt?seconds=1",
    "/flamegraph/oncpu.frames", "/flamegraph/oncpu.frames?seconds=1", "/proc/all.json?seconds=1",
    "/processes", "/windows?probe=oncpu", "/changes?probe=oncpu", "/anomalies?probe=oncpu", "/events", "/flamegraph/oncpu.folded?from=-60",
    "/debug/pprof/", "/debug/pprof/profile?seconds=1", "/debug/pprof/heap?seconds=1",
]  # fmt: skip
SECOND_PATHS = [
    "/FLAMEGRAPH", "//flamegraph", "/flamegraph/", "/%66lamegraph", "/flamegraph%00", "/flamegraph%2f", "/./flamegraph",
    "/flamegraph/../flamegraph", "/healthz/../flamegraph", "/metrics/flamegraph", "/flamegraph;/metrics",
    "/flamegraph%20", "/flamegraph?/healthz", "/healthz%00/flamegraph",
]  # fmt: skip


@pytest.fixture
def theirs(start):
    """theirs("spin", 60): a test program of nobody's, from a folder that everybody may read."""

    def run(name, *args, **how):
        return start(name, *args, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", **how)

    return run


@pytest.fixture
def running(needs_bpf, serve, start):
    """The daemon, which profiles a process of root's."""
    daemon = serve()
    daemon.target = burning(start)
    daemon.put_ok(daemon.wanting("^spin$", probes=("oncpu", "offcpu")))
    daemon.wait_running()
    return daemon


@pytest.fixture
def paranoid():
    """paranoid(2): kernel.perf_event_paranoid, for as long as the test runs."""
    before = PARANOID.read_text()

    def write(level):
        try:
            PARANOID.write_text(f"{level}\n")
        except OSError as error:
            pytest.skip(f"kernel.perf_event_paranoid can't be changed: {error}")

    yield write
    PARANOID.write_text(before)


@pytest.fixture
def tokens(work):
    """Keys of the conf file: a file for each role's token."""
    keys = {}
    for role, token in TOKENS.items():
        path = work / f"{role}.token"
        path.write_text(token + "\n")
        path.chmod(0o600)
        keys[f"{role}_token_file"] = path
    return keys


def to(one, way):
    return one.tcp if way == "tcp" else one.socket


def own(daemon_probe, pid, seconds=1, **query):
    return f"/flamegraph/{daemon_probe}.folded?{urlencode({'pid': pid, 'seconds': seconds, **query})}"


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def address_elsewhere():
    """An address of this host that isn't loopback's."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("203.0.113.1", 9))  # nothing is sent
            found = sock.getsockname()[0]
        except OSError:
            found = "127.0.0.1"
    if found.startswith("127."):
        pytest.skip("this host has no address but loopback's")
    return found


@pytest.fixture
def elsewhere(serve, somebody):
    """elsewhere(…): the daemon on all addresses, and root who comes over one that isn't loopback's."""

    def begin(**keys):
        address = address_elsewhere()
        daemon = serve(bind="0.0.0.0", **keys)
        one = somebody(daemon, uid=0)
        return daemon, one, [address, daemon.port]

    return begin
