"""Servers and daemons that end and come back, and the spool that is between them."""
import time

import pytest

from asking import burning
from helpers import wait_for
from pyroscope_asking import pyroscope
from uploads import assert_nothing_lost, assert_same, busy, once, pushed_stacks, wait_windows


def test_the_server_and_the_daemon_go_and_come_back(uploader, start):
    """The server dies while it answers and is away. Meanwhile the daemon is stopped and started, killed and
    started. Then the server needs some time to start."""
    daemon = uploader(restore=True)
    target = busy(start)
    probes = ("oncpu", "offcpu")
    with pyroscope() as server:
        daemon.send(server, pids=[target.pid], probes=probes)
        wait_windows(server, 1, probes)
        server.misbehave("hang", stores=True)
        mark = len(server.asked)
        wait_for(lambda: len(server.asked) >= mark + len(probes), 20, why="a window's pushes")
        server.stop()
        twice = wait_for(lambda: daemon.upload("state") == "failing" and daemon.upload())["maybe_twice"]
        stopped = time.time_ns()
        daemon.stop()
        kept = daemon.waiting()
        daemon.start()
        wait_for(lambda: len(daemon.waiting()) > len(kept), 20, why="a window")
        twice += daemon.upload("maybe_twice")
        daemon.kill()
        kept |= daemon.waiting()
        files = {probe: daemon.stacks(probe) for probe in probes}
        daemon.start()
        server.start(starting=5)
        daemon.end(server, probes, seconds=90)
        twice += daemon.upload("maybe_twice")
        assert (daemon.lost(), server.refused) == ({}, [])
        assert set(kept.values()) <= {one.until_ns for one in server.stored}
        assert len(server.repeated) == twice, "each time that an answer was lost"
        for probe in probes:
            until_stop = [one for one in once(server.stored) if one.from_ns < stopped]
            assert_same(pushed_stacks(until_stop, probe), files[probe])
            assert max(one.until_ns for one in until_stop) >= stopped


def test_a_daemon_that_is_killed_while_it_sends_says_that_it_may_be_twice(uploader, start):
    daemon = uploader(restore=True)
    target = burning(start)
    with pyroscope() as server:
        server.misbehave("hang", stores=True, times=1)
        daemon.send(server, pids=[target.pid])
        wait_for(lambda: server.stored, 20, why="a push")
        assert any(name.endswith(".sent") for name in daemon.waiting())
        daemon.kill()
        server.behave()
        daemon.start()
        wait_for(lambda: server.repeated, 20, why="it comes again")
        daemon.end(server)
        assert len(server.repeated) == daemon.upload("maybe_twice") == 1


@pytest.mark.parametrize("what", ["a file", "a link"])
def test_without_a_spool_on_disk_it_sends_all_the_same(uploader, start, work, what):
    elsewhere = work / "elsewhere"
    elsewhere.mkdir()
    if what == "a file":
        (work / "spool").write_text("nobody's")
    else:
        (work / "spool").symlink_to(elsewhere)
    daemon = uploader()
    target = burning(start)
    with pyroscope() as server:
        daemon.send(server, pids=[target.pid])
        wait_for(lambda: daemon.probe()["samples"] > 50)
        daemon.end(server)
        assert_nothing_lost(daemon, server, {target.pid})
    assert list(elsewhere.iterdir()) == []


def test_what_is_no_body_of_ours_stays_and_what_is_damaged_goes(uploader, start, work):
    spool = work / "spool"
    spool.mkdir(mode=0o700)
    damaged = f"{time.time_ns():020}-{1:020}.body"
    (spool / damaged).write_bytes(b"\0" * 1000)
    (spool / "somebody's").write_text("x")
    (spool / "old.body").symlink_to("/etc/hostname")
    daemon = uploader()
    target = burning(start)
    with pyroscope() as server:
        daemon.send(server, pids=[target.pid])
        daemon.end(server)
        assert server.refused == [] and daemon.lost() == {"unreadable": 1}
    assert sorted(path.name for path in spool.iterdir()) == ["old.body", "somebody's"]
