"""Servers that fail in each way that there is: nothing is lost, what may be twice is counted, and sampling
goes on."""
import time

from asking import burning
from helpers import SAN, wait_for
from pprof import Refused
from pyroscope_asking import pyroscope
from pyroscope_double import Pyroscope
from uploads import PROBES, assert_nothing_lost, busy, wait_windows

# All of the body has gone out, and no status came (or a gateway's, that waited in vain): the server may have it,
# and here it has.
UNKNOWN = ({"how": "drop"}, {"how": "garbage"}, {"how": "headers"}, {"how": "hang"}, {"how": "status", "status": 502},
           {"how": "status", "status": 504})  # fmt: skip
# It says that it has it, and then no end of it.
STORED = ({"how": "half"}, {"how": "endless"}, {"how": "trickle"})
# It says that it has not.
TOLD = ({"how": "status", "status": 429}, {"how": "status", "status": 500}, {"how": "status", "status": 503},
        {"how": "redirect"})  # fmt: skip


def meet(server, *faults):
    """Until each of these has been met by a push, one after the other, and a push since then went well."""
    server.misbehave_in_turn(*faults)
    wait_for(lambda: server.fault is None, 60, why=lambda: f"somebody meets {server.fault}")
    mark = len(server.asked)
    wait_for(lambda: any(one.status == 200 for one in server.asked[mark:]), 60, why="it goes on")


def hang(daemon, server):
    """All connections are taken by pushes that get no answer; the rest waits, and sampling goes on."""
    wait_for(lambda: len(server.asked) >= len(PROBES), 20, why="a window's pushes")
    rss, samples = daemon.rss_kb(), daemon.probe()["samples"]
    wait_for(lambda: daemon.upload("waiting") > len(server.asked), 20, why="another window")
    assert daemon.probe()["samples"] > samples and daemon.upload("stored") == 0
    return rss, samples


def test_whatever_it_answers_nothing_is_lost(uploader, start):
    daemon = uploader()
    target = busy(start)
    before = daemon.descriptors()
    with pyroscope() as server:
        server.misbehave("hang", stores=True)
        daemon.send(server, pids=[target.pid], probes=PROBES)
        rss, samples = hang(daemon, server)
        server.behave()
        stored = [{"stores": True, **fault} for fault in (*UNKNOWN, *STORED)]
        # Not more at once: who fails three times in a row is asked by one push at a time, and seldom.
        for some in (stored[:2], stored[2:4], stored[4:6], stored[6:], TOLD[:2], TOLD[2:]):
            meet(server, *some)
        assert daemon.probe()["samples"] > samples
        daemon.end(server, PROBES)
        assert_nothing_lost(daemon, server, {target.pid}, PROBES)
        assert len(server.repeated) >= len(PROBES) + len(UNKNOWN)
        assert daemon.upload("retries") >= len(UNKNOWN) + len(TOLD)
        assert SAN or daemon.rss_kb() < rss + 8192
        daemon.put_ok({"params": {"pyroscope_server": ""}})
        wait_for(lambda: daemon.descriptors() <= before, why=lambda: f"{before}, {daemon.descriptors()}")


class OneASecond:
    """A bucket (pyroscope_double.py) that has room for one body again after a second."""

    rate, at = 1, 0

    def take(self, _size):
        now = time.monotonic()
        if now < self.at + 1:
            return False
        self.at = now
        return True


def test_a_server_that_wants_less_at_a_time_gets_it(uploader, start):
    daemon = uploader()
    target = busy(start)
    with pyroscope() as server:
        server.bucket = OneASecond()
        daemon.send(server, pids=[target.pid], probes=PROBES)
        wait_for(lambda: daemon.probe("mem")["samples"] > 20 < daemon.probe("offcpu")["samples"])
        daemon.end(server, PROBES)
        assert {rule for rule, _ in server.put_off} == {"rate"}
        assert daemon.upload("retries") == len(server.put_off)
        assert_nothing_lost(daemon, server, {target.pid}, PROBES)
        assert server.repeated == []


class Picky(Pyroscope):
    """Can't take the first body that comes, ever."""

    cursed = None

    def push(self, body, headers):
        self.cursed = self.cursed or body
        if body == self.cursed:
            raise Refused("starting", "unknown", 500)
        return super().push(body, headers)


def test_a_body_that_it_never_takes_does_not_hold_up_others(uploader, start):
    daemon = uploader()
    target = burning(start)
    with Picky(delay=0) as server:
        daemon.send(server, pids=[target.pid])
        wait_for(lambda: server.cursed, 20, why="a push")
        wait_windows(server, 1)
        # The cursed one alone: a push of another window may be on its way.
        wait_for(lambda: daemon.upload("waiting") == 1 == len(daemon.waiting()), why=daemon.waiting)
        assert daemon.upload("maybe_twice") == 0 and daemon.lost() == {}
        server.cursed = b"another"
        daemon.end(server, seconds=90)
        assert_nothing_lost(daemon, server, {target.pid})


def test_what_it_refuses_is_not_sent_again_and_said_once(uploader, start):
    daemon = uploader()
    target = burning(start)
    with pyroscope(tenant="someone") as server:
        daemon.send(server, pids=[target.pid], probes=PROBES)
        daemon.put_ok({"state": "stopped"})
        wait_for(lambda: daemon.lost() == {"refused": len(PROBES)}, 20, why=daemon.upload)
        assert len(server.asked) == len(server.refused) == len(PROBES)
        assert daemon.log.count(": 401: ") == 1, daemon.log
        assert "401" in daemon.upload("last_failure")
        assert (daemon.waiting(), daemon.upload("retries")) == ({}, 0)
