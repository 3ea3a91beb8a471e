"""Uploads to old servers: folded text to /ingest, of which nothing is lost there without a word."""
from pathlib import Path

import pytest

from helpers import wait_for
from pyroscope_asking import pyroscope
from pyroscope_ingest import CPU, LINE_MAX, WALL
from pyroscope_stored import samples
from uploads import CPU_NS, PROBES, busy, pid_of, wait_sums

# Of each probe: what it is at the server, and how much there of the files' unit.
KINDS = {
    "oncpu": (CPU, CPU_NS),
    "offcpu": (WALL, 1000),
    "mem": ("memory:alloc_space:bytes::", 1),
    "mem_glibc": ("memory:alloc_space:bytes::", 1),
}
HOSTILE = 'a;b "{x=1,}\xff'.encode("latin-1").decode("utf-8", "surrogateescape")
UUID = Path("/sys/class/dmi/id/product_uuid")


def of_probe(server, probe):
    return [one for one in server.stored if one.labels["service_name"].startswith(f"gala-gopher-{probe}-")]


def sums(server, probe):
    """{pid or None: value}, in the files' unit."""
    type, unit = KINDS[probe]
    found = {}
    for sample, value in samples(of_probe(server, probe), type):
        pid = sample.labels.get("pid")
        found[pid] = found.get(pid, 0) + value / unit
    return found


@pytest.mark.parametrize("multi_instance", [pytest.param(0, marks=pytest.mark.quick), 1])
def test_all_is_accepted_and_the_same_as_the_files(uploader, start, copy, multi_instance):
    daemon = uploader()
    pids = [busy(start).pid, start(copy("spin", HOSTILE), 600).pid]
    with pyroscope() as server:
        daemon.send(server, pids=pids, probes=PROBES, multi_instance=multi_instance, pyroscope_api="ingest")
        wait_for(lambda: all(of_probe(server, probe) for probe in PROBES), 40,
                 why=lambda: f"{[one.labels for one in server.stored]} {server.refused}")  # fmt: skip
        daemon.put_ok({"state": "stopped"})
        for probe in PROBES:
            files = daemon.wait_stacks(probe, set(pids if probe == "oncpu" else pids[:1]))
            expected = {}
            for frames, value in files.items():
                pid = str(pid_of(frames)) if multi_instance else None
                expected[pid] = expected.get(pid, 0) + value
            wait_sums(lambda probe=probe: sums(server, probe), expected)
            assert {one.types for one in of_probe(server, probe)} == {(KINDS[probe][0],)}
        daemon.wait_sent()
        assert (server.refused, server.put_off, server.repeated, daemon.lost()) == ([], [], [], {})
        assert (daemon.upload("api"), {one.api for one in server.stored}) == ("ingest", {"ingest"})
        assert all(one.labels["host"] and one.labels["pyroscope_spy"] == "stackprobe" for one in server.stored)
        if UUID.exists():
            assert {one.labels["service_name"].endswith(UUID.read_text().strip()) for one in server.stored} == {True}
        comms = {one.labels["comm"] for one in server.stored if multi_instance}
        assert comms == ({"python3", 'a;b "_x=1__\ufffd'} if multi_instance else set())


def test_no_line_is_longer_than_the_server_reads(uploader, start, work):
    """It would be lost there, and all behind it."""
    script = work / "long.py"
    script.write_text(LONG)
    daemon = uploader()
    target = start(Path("/usr/bin/python3"), script)
    with pyroscope() as server:
        daemon.send(server, pids=[target.pid], pyroscope_api="ingest")
        wait_for(lambda: daemon.probe()["samples"] > 300, 20)
        daemon.put_ok({"state": "stopped"})
        files = daemon.wait_stacks("oncpu", {target.pid})
        assert max(len(";".join(frames).encode()) for frames in files) > LINE_MAX, "the files have it whole"
        wait_sums(lambda: sums(server, "oncpu"), {None: files.total()})
        assert (server.refused, daemon.lost()) == ([], {})
        lines = [line for one in server.stored for line in one.body.split(b"\n")]
        assert LINE_MAX / 2 < max(map(len, lines)) <= LINE_MAX


LONG = """
import sys
sys.setrecursionlimit(2000)
made = {}
def burn():
    sum(range(20000))
made["next_0"] = burn
for number in range(1, 900):
    name = "f%03d_" % number + "long" * 50
    exec("def %s(): made['next_%d']()" % (name, number - 1), {"made": made}, made)
    made["next_%d" % number] = made[name]
while True:
    made["next_%d" % number]()
"""
