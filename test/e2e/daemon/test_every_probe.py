"""Each probe of THE LIST has all outputs: pictures and texts, files, uploads, /metrics, GET, doctor."""
import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import pprof
from folded import Profile
from helpers import BIN, wait_for
from pprof_kinds import KINDS, OWN
from pyroscope_double import Pyroscope
from uploads import of_probe, until

# A program that each probe sees something of.
BUSY = """
import mmap, os, socket, sys, time
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
listening = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(listening.getsockname())
server, _ = listening.accept()
def burn(): sum(range(20000))
def wait(): time.sleep(0.001)
def hold(): return b"x" * 300000
def grow():
    with mmap.mmap(-1, 1 << 20) as memory: memory.write(bytes(1 << 20))
def store():
    os.pwrite(file, bytes(1 << 16), 0)
    os.fdatasync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
def load(): os.pread(file, 1 << 16, 0)
def talk():
    client.send(b"x" * 1000)
    server.recv(1000)
while True: burn(), wait(), hold(), grow(), store(), load(), talk()
"""

HEAD = re.compile(rb"\A(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE[^>]*>\s*)?<svg")


def listed():
    """What the program says of its probes: the names in the first column of its table."""
    told = subprocess.run([BIN, "--describe", "probes"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^\| `(\w+)` \|", told, re.MULTILINE)


def output(daemon, probe, ending, pid):
    answer = daemon.get(f"/flamegraph/{probe}.{ending}?pid={pid}")
    assert answer.status == 200, (ending, answer.text)
    return answer


def weights(daemon, probe, pid):
    """What each output says that all stacks weigh together."""
    folded = Profile(output(daemon, probe, "folded", pid).text)
    lines = [json.loads(line) for line in output(daemon, probe, "jsonl", pid).text.splitlines()]
    profile = pprof.read(output(daemon, probe, "pb.gz", pid).body)
    assert HEAD.match(output(daemon, probe, "svg", pid).body)
    assert all(line["profiler_type"] for line in lines)
    return {
        "folded": folded.total(),
        "json": output(daemon, probe, "json", pid).json()["total"],
        "jsonl": sum(line["count"] for line in lines),
        "pb.gz": len(profile.samples) and folded.total(),
    }


@pytest.fixture
def is_taken(monkeypatch):
    """is_taken(profile, probe): the server takes what a probe uploads that pprof_kinds.py doesn't know."""

    def let_in(profile, probe):
        types, period = set(map(tuple, profile.sample_types)), tuple(profile.period_type)
        if probe not in OWN and not any(types <= kind.types for kind in KINDS.values()):
            monkeypatch.setitem(KINDS, probe, SimpleNamespace(types=types, period=period))

    return let_in


def judged_all():
    """{probe: what doctor says of it}"""
    told = subprocess.run([BIN, "doctor", "--json"], capture_output=True, text=True, timeout=60, check=False).stdout
    return {one["name"]: one for one in json.loads(told)["probes"]}


def judged(probe):
    return judged_all()[probe]


@pytest.mark.parametrize("probe", listed())
def test_it_has_every_output(uploader, start, work, is_taken, probe):
    if judged(probe)["state"] == "no":
        pytest.skip(f"{probe}: {judged(probe)['reason']}")
    daemon = uploader()
    target = start(Path("/usr/bin/python3"), "-c", BUSY, work / "stored")
    daemon.profile(pids=[target.pid], probes=(probe,))
    wait_for(lambda: daemon.folded(probe, pid=target.pid).total() > 0, why=f"stacks of {probe}")
    is_taken(pprof.read(output(daemon, probe, "pb.gz", target.pid).body), probe)
    with Pyroscope() as server:
        daemon.send(server, pids=[target.pid], probes=(probe,))
        wait_for(lambda: until(server, probe) > 0, 60, why=lambda: f"an upload: {server.refused}")
        state = daemon.probe(probe)
        assert state["state"] == "running"
        assert state["samples"] > 0
        samples = re.search(rf'^stackprobe_samples_total{{probe="{probe}"}} (\d+)$', daemon.get("/metrics").text, re.M)
        assert int(samples[1]) >= state["samples"]
        target.kill()
        found = wait_for(lambda: len(set((now := weights(daemon, probe, target.pid)).values())) == 1 and now,
                         why=lambda: f"the same weight everywhere: {weights(daemon, probe, target.pid)}")  # fmt: skip
        assert found["folded"] > 0
        daemon.end(server, (probe,))
        assert not server.refused
        assert any(one.samples for one in of_probe(server.stored, probe))
    for folder, ending in ((daemon.svg_dir, "svg"), (daemon.flame_dir, "folded")):
        wait_for(lambda: daemon.files(folder / probe, ending), why=f"a file of {probe}")


@pytest.mark.parametrize("probe", listed())
def test_doctor_judges_it(needs_bpf, probe):
    found = judged(probe)
    assert found["state"] in {"yes", "limited", "no"}
    assert found["needs"]
