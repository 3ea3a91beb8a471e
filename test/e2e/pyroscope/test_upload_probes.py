"""Each probe's profiles at a server: all at once, an event of a user's and second values among them, each with the
types that Pyroscope is known to take. (test_upload_types.c has the same of llc, which needs a PMU.)"""
from pathlib import Path

import pytest

from helpers import PROGRAMS, wait_for
from pprof_kinds import kind_of_name
from pyroscope_asking import pyroscope
from pyroscope_ingest import TYPES
from test_every_probe import BUSY, judged_all, listed
from uploads import of_probe
from waiting import let_go, ready

# The series of push.v1, and the end of /ingest's name, of each probe.
SERIES = {"oncpu": "process_cpu", "offcpu": "off_cpu", "mem": "memory", "mem_glibc": "memory"}
ENDS = {"oncpu": "cpu", "offcpu": "wall", "mem": "alloc_space", "mem_glibc": "alloc_space", "io": "bytes",
        "blkio": "bytes", "readahead": "alloc_objects", "writeback": "bytes", "net": "bytes", "llc": "alloc_objects",
        "event:naps-of-2-ms": "alloc_objects"}  # fmt: skip
# Waits for write-back and pages that nobody used come when a disk is slow, and memory is short.
SECOND = {"io_time", "blkio_time", "net_wait", "event_naps_of_2_ms_time"}
EVENTS = {"naps-of-2-ms": f"u:{(PROGRAMS / 'points').resolve()}:event_nap"}

POLLS = "import select\nwhile True: select.select([], [], [], 0.001)"


def series_of(probe):
    return SERIES.get(probe, probe.replace(":", "_").replace("-", "_"))


def wanted():
    judged = judged_all()
    return [p for p in listed() if judged[p]["state"] != "no"] + [f"event:{word}" for word in EVENTS]


@pytest.fixture
def sending(uploader, start, work):
    """sending(server, **params): a daemon that sends it all that these probes see of three programs."""

    def begin(server, **params):
        daemon, probes = uploader(), wanted()
        busy = start(Path("/usr/bin/python3"), "-c", BUSY, work / "stored")
        polls = start(Path("/usr/bin/python3"), "-c", POLLS)
        points = ready(start, "points", 1, 100000)
        daemon.send(server, pids=[busy.pid, polls.pid, points.pid], probes=probes, events=EVENTS, event_time=1, io_time=1,
                    net_wait=1, **params)  # fmt: skip
        let_go(points)
        return daemon, probes

    return begin


def test_each_probe_pushes_types_that_the_server_knows_or_takes(sending):
    with pyroscope() as server:
        daemon, probes = sending(server)
        series = {series_of(probe) for probe in probes} | SECOND

        def there():
            return {one.labels["__name__"] for one in list(server.stored) if one.samples}

        wait_for(lambda: there() >= series, 60, why=lambda: f"{series - there()} {server.refused}")
        daemon.end(server, probes)
        assert server.refused == []
    for name in there():
        kind = kind_of_name(name)
        seen = {type for one in server.stored if one.labels["__name__"] == name for type in one.types}
        known = {f"{name}:{type}:{unit}:{':'.join(kind.period)}" for type, unit in kind.types}
        assert seen and (seen < known if name == "memory" else seen == known), (name, seen)
        whose = {one.labels["probe"] for one in server.stored if one.labels["__name__"] == name}
        assert len(whose) == 1 or (name, whose) == ("memory", {"mem", "mem_glibc"})


def test_each_probe_has_a_name_of_ingest_whose_end_is_its_type(sending):
    with pyroscope() as server:
        daemon, probes = sending(server, pyroscope_api="ingest")

        def there():
            return {one.labels["probe"] for one in list(server.stored) if one.samples}

        wait_for(lambda: there() == set(probes), 60, why=lambda: f"{set(probes) - there()} {server.refused}")
        daemon.put_ok({"state": "stopped"})
        daemon.wait_sent()
        assert server.refused == []
    for probe in probes:
        assert {one.types for one in of_probe(server.stored, probe)} == {(TYPES[ENDS[probe]],)}, probe
