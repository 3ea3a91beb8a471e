"""What waits on disk has bounds: of its size, and of its age. What goes past them is the oldest, and is counted.

The server that is away is none at all; another one, which a PUT names, gets what waited. To that one all goes at
once, whereas one that comes back is asked after a minute at the latest.
"""
import struct
import time
import zlib
from typing import NamedTuple

import pytest

from asking import burning
from helpers import stopped, wait_for
from pyroscope_asking import pyroscope
from uploads import PERIOD, PROBES, Uploader, busy, wait_windows

AGE = 3590 - PERIOD  # seconds after its end a window is given up: the server looks at its begin
CRC_FROM = 12  # of a body's file: magic, version, crc; then the rest of the header, until_ns at 24
MIB = 1 << 20


AWAY = "127.0.0.1:1"


@pytest.fixture
def server():
    with pyroscope() as server:
        yield server


def go_to(daemon, server):
    """What waits goes there."""
    daemon.put_ok({"params": {"pyroscope_server": server.url}})
    daemon.wait_sent()
    assert server.refused == []


class Name(NamedTuple):
    """Of a body's file: <until_ns>-<number>.body"""

    until_ns: int
    number: int


def names(daemon):
    """Of what waits, oldest first; numbers are given one after the other."""
    return sorted(Name(*map(int, name.split(".")[0].split("-"))) for name in daemon.waiting())


def metric(daemon, name):
    lines = daemon.get("/metrics").text.split("\n")
    (line,) = [line for line in lines if line.startswith(f"stackprobe_upload_{name} ")]
    return int(line.split()[1])


def size(daemon):
    """The bytes of all that waits. What is removed while they are summed up is no longer part of it."""
    while True:
        try:
            return sum((daemon.spool / name).stat().st_size for name in daemon.waiting())
        except FileNotFoundError:
            continue


def assert_counted(daemon, cause, count):
    """In GET and in /metrics, and under no other cause."""
    assert daemon.lost() == {cause: count}
    assert metric(daemon, f'lost_total{{cause="{cause}"}}') == count


def settled(daemon, probes):
    """The names when the probes' last windows are there, and what had to go for them has gone."""
    at = time.time_ns()
    daemon.put_ok({"state": "stopped"})
    wait_for(lambda: sum(one.until_ns >= at for one in names(daemon)) == probes, 30, why="the last windows")
    wait_for(lambda: metric(daemon, "waiting") == len(names(daemon)), 10, why=lambda: names(daemon))
    return names(daemon)


def grow_older(path, seconds):
    """A window that ended so much earlier, as the daemon itself would have written it."""
    content = bytearray(path.read_bytes())
    (until_ns,) = struct.unpack_from("=q", content, 24)
    until_ns -= int(seconds * 1e9)
    struct.pack_into("=q", content, 24, until_ns)
    struct.pack_into("=I", content, 8, zlib.crc32(content[CRC_FROM:]))
    rest = path.name.split("-")[1]
    path.unlink()
    path = path.parent / f"{until_ns:020}-{rest}"
    path.write_bytes(content)
    path.chmod(0o600)
    return until_ns


def test_past_spool_mb_the_oldest_go_and_are_counted(uploader, start, server):
    """A daemon finds a spool that is a bit too large: a window of one before it, many times. More come."""
    daemon = uploader(spool_mb=1)
    target = busy(start)
    daemon.send(AWAY, pids=[target.pid])
    wait_for(lambda: names(daemon), 20, why="a window")
    daemon.kill()
    (first,) = names(daemon)[:1]
    (path,) = daemon.spool.glob(f"*-{first.number:020}.*")
    content = path.read_bytes()
    too_many = 5 + MIB // len(content)
    for number in range(too_many):
        copy = daemon.spool / f"{first.until_ns:020}-{number:020}.body"
        copy.write_bytes(content)
        copy.chmod(0o600)
    daemon.start()
    daemon.put_ok(stopped(pyroscope_server=AWAY))
    wait_for(lambda: daemon.upload("lost")["no_room"] >= 5, 20, why=daemon.upload)
    wait_for(lambda: size(daemon) <= MIB, 20, why="the last one that has to go has gone")
    assert MIB - 2 * len(content) < size(daemon)
    daemon.send(AWAY, pids=[target.pid], probes=PROBES)
    lost = daemon.upload("lost")["no_room"]
    wait_for(lambda: daemon.upload("lost")["no_room"] > lost, 30, why=daemon.upload)
    kept = settled(daemon, len(PROBES))
    assert size(daemon) <= MIB
    copies = [one.number for one in kept if one.number < too_many]
    assert copies == list(range(copies[0], too_many)), "the oldest have gone"
    lost = copies[0]
    assert lost > 5 and len(kept) - len(copies) >= 2 * len(PROBES)
    assert_counted(daemon, "no_room", lost)
    assert metric(daemon, "waiting") == len(kept)
    assert metric(daemon, "waiting_bytes") == daemon.upload("waiting_bytes") == size(daemon)
    assert "upload.spool_mb is full" in daemon.log
    go_to(daemon, server)
    told = daemon.upload(), server.put_off, {one.until_ns for one in kept} - {one.until_ns for one in server.stored}
    assert len(server.stored) == len(kept) == daemon.upload("stored") == metric(daemon, "stored_total"), told
    assert time.time() - 60 < daemon.upload("last_stored") == metric(daemon, "last_stored_timestamp_seconds")
    assert {one.until_ns for one in server.stored} == {one.until_ns for one in kept}
    assert_counted(daemon, "no_room", lost)


def test_a_second_daemon_leaves_the_spool_alone_until_the_first_has_ended(uploader, start, server, work):
    """It sends from its memory; then what the first one left, too."""
    first = uploader()
    target = burning(start)
    first.send(AWAY, pids=[target.pid])
    wait_for(lambda: first.waiting(), 20, why="a window")
    (work / "second").mkdir()
    second = Uploader(work / "second", spool_dir=first.spool).start()
    try:
        second.send(server, pids=[target.pid])
        wait_windows(server, 1)
        assert "another process has" in second.log
        second.wait_sent()  # the server has a window before its answer is read
        assert second.upload("stored") == len(server.stored) and second.lost() == {}
        first.stop()
        left = first.waiting()
        assert left
        second.spool = first.spool
        wait_for(lambda: not left.keys() & first.waiting().keys(), 30, why="what was left is sent")
        second.end(server)
        assert set(left.values()) <= {one.until_ns for one in server.stored}
        assert (second.lost(), server.refused, server.repeated) == ({}, [], [])
    finally:
        second.done()


def test_what_is_an_hour_old_is_not_sent_and_counted(uploader, start, server):
    """The daemon is killed, and the windows that it leaves have ended in another time: one just so that it will
    be sent, one that gets too old while there is no server yet, and one that is when the daemon starts."""
    daemon = uploader()
    target = busy(start)
    daemon.send(AWAY, pids=[target.pid], probes=PROBES)
    wait_for(lambda: len(names(daemon)) >= 4, 40, why="bodies that wait")
    daemon.kill()
    young, still, soon, old = sorted(daemon.spool.glob("*.body"), reverse=True)[:4]
    for path in set(daemon.spool.glob("*.*")) - {young, still, soon, old}:
        path.unlink()
    content = {path: path.read_bytes()[-100:] for path in (young, still, soon, old)}

    def age(path, at):
        return grow_older(path, at - (time.time() - int(path.name.split("-")[0]) / 1e9))

    age(old, AGE + 1)
    soon_ns = age(soon, AGE - 15)
    age(still, AGE - 120)
    daemon.start()
    daemon.put_ok(stopped(pyroscope_server=AWAY))
    wait_for(lambda: daemon.upload("waiting") == 3, why=daemon.upload)
    assert time.time() < soon_ns / 1e9 + AGE
    assert_counted(daemon, "too_old", 1)
    wait_for(lambda: daemon.upload("waiting") == 2, 100, every=0.2, why=daemon.upload)
    assert time.time() > soon_ns / 1e9 + AGE
    assert_counted(daemon, "too_old", 2)
    assert "no server took them for an hour" in daemon.log
    go_to(daemon, server)
    assert {bytes(one.body)[-8:] for one in server.stored} == {content[path][-8:] for path in (young, still)}
    assert daemon.upload("stored") == 2
    wait_for(lambda: not names(daemon), why="the files are removed")
    assert_counted(daemon, "too_old", 2)
