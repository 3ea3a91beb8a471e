"""runqslower: who waited too long, who had the CPU meanwhile; and its stream of lines."""
import re
import socket
import time

import pytest

from helpers import SAN, wait_for
from sched_client import Follower, Sched

LINE = re.compile(
    r"\d\d:\d\d:\d\d (.{16}) (\d+) +(\d+) (.{16}) (\d+|-) +(\d+) +(.{16}) (\d+|-) +(\d+|-)\n"
)


def hogs(start, count=2):
    return [start("spin", 100, cpu=0) for _ in range(count)]


@pytest.mark.alone("its targets have a CPU to themselves")
def test_each_event_is_a_target_that_waited_longer(profiler, start):
    targets = hogs(start)
    sched = Sched(profiler)
    sched.run("runqslower", snoopers={"proc_id": [t.pid for t in targets]}, min_us=1000)
    wait_for(lambda: len(sched.json("runqslower")["events"]) > 50, 30)
    data = sched.json("runqslower")
    pids = {t.pid for t in targets}
    assert data["min_us"] == 1000
    assert {event["pid"] for event in data["events"]} == pids
    for event in data["events"]:
        assert event["lat_us"] > 1000 or event["lat_us"] == 1000  # it is rounded down
        assert event["comm"] == "spin" and event["cpu"] == 0
        assert event["tid"] != (event["most"] or {"tid": 0})["tid"]
    culprits = [event["most"]["tid"] for event in data["events"] if event["most"]]
    assert pids & set(culprits)
    text = sched.get("runqslower.txt").text
    lines = [line + "\n" for line in text.splitlines() if LINE.match(line + "\n")]
    assert len(lines) > 50
    assert "# run queue latency higher than 1000 us\n" in text


def test_the_last_thousand_events_are_kept(profiler):
    sched = Sched(profiler)
    sched.run("runqslower", min_us=0)
    data = wait_for(lambda: (lambda d: d if d["missed"] else None)(sched.json("runqslower")), 60)
    assert len(data["events"]) == 1000
    times = [event["time"] for event in data["events"]]
    assert times[0] <= times[-1] <= time.time() + 1


def test_lines_come_as_they_happen(profiler, start):
    targets = hogs(start)
    sched = Sched(profiler)
    sched.run("runqslower", snoopers={"proc_id": [t.pid for t in targets]}, min_us=1000)
    follower = Follower(profiler)
    assert follower.status == 200
    assert follower.answer.headers["Transfer-Encoding"] == "chunked"
    wait_for(lambda: len(follower.events()) > 30, 30)
    assert follower.lines[0].startswith("TIME     COMM             TID          LAT(us) PREV COMM")
    for line in follower.events()[:-1]:
        assert LINE.fullmatch(line), line
    # Nobody asks anything else meanwhile: what is seen has come by itself.
    seen = len(follower.events())
    wait_for(lambda: len(follower.events()) > seen + 10, 30)
    follower.close()


def test_the_stream_ends_when_the_probe_is_stopped(profiler, start):
    hogs(start)
    sched = Sched(profiler)
    sched.run("runqslower", min_us=1000)
    follower = Follower(profiler)
    wait_for(lambda: len(follower.lines) > 1, 30)
    sched.stop()
    wait_for(lambda: follower.ended, why="the stream's end")
    assert Follower(profiler).status == 404


def test_a_ninth_follower_is_429_and_one_that_went_makes_room(profiler):
    sched = Sched(profiler)
    sched.run("runqslower", min_us=4_000_000)  # nothing happens that would tell of its going
    followers = [Follower(profiler) for _ in range(8)]
    assert all(follower.status == 200 for follower in followers)
    ninth = Follower(profiler)
    assert ninth.status == 429
    followers.pop().close()

    def again():
        follower = Follower(profiler)
        if follower.status == 200:
            followers.append(follower)
        return follower.status == 200

    wait_for(again)
    for follower in followers:
        follower.close()


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])


def test_a_client_that_reads_nothing_costs_no_memory_and_holds_up_nobody(profiler, start):
    hogs(start, 3)
    sched = Sched(profiler)
    sched.run("runqslower", min_us=0)
    lazy = socket.socket()
    lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    lazy.connect(("127.0.0.1", profiler.port))
    lazy.sendall(b"GET /sched/runqslower.txt?follow=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    follower = Follower(profiler)
    wait_for(lambda: len(follower.events()) > 2000, 60)
    before = resident_kib(profiler.pid)
    seen = sched.probe("runqslower")["count"]
    wait_for(lambda: sched.probe("runqslower")["count"] > seen + 20000, 90)
    assert SAN or resident_kib(profiler.pid) < before + 2048  # freed memory is kept with SAN=1
    lazy.close()
    follower.close()


def test_sigterm_ends_streams_and_measurements(profiler):
    sched = Sched(profiler)
    sched.run("runqslower", min_us=4_000_000)
    follower = Follower(profiler)
    waiting = profiler.connect()
    waiting.sendall(b"GET /sched/runqlat.json?seconds=600 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    wait_for(lambda: profiler.alive())
    profiler.stop()
    wait_for(lambda: follower.ended or not follower.is_alive())
    waiting.close()
