"""Requests that meet each other and processes that come in crowds: what a review found once."""
import json
import subprocess
import threading
import time

import pytest

from folded import Profile
from asking import Asked, burned, burning, stood
from helpers import HZ, wait_for


@pytest.mark.alone("holds samples of four sessions against a clock")
def test_sessions_that_begin_together_have_the_same_seconds(profiler, start, observe):
    """One that began while another's window was being read once got an empty profile."""
    target = burning(start)
    for _ in range(2):
        observer = observe(100)
        sessions = [Asked(profiler, seconds=2, pid=target.pid) for _ in range(4)]
        totals = [Profile(session.result().text).total() for session in sessions]
        # 2 s at 100 Hz of what it ran; it was observed for a while longer.
        assert min(totals) > 0.6 * observer.samples(target.pid), totals


def test_the_second_of_two_puts_decides(profiler, start):
    """The command line that the first one asks for must not answer the second."""
    first = start("spin", 600, "twin")
    wait_for(lambda: comm(first.pid) == "twin", why="the name")
    for _ in range(5):
        for cmdline in ("no such argument", "600"):
            entry = {"comm": "^twin$", "cmdline": cmdline}
            profiler.put_ok(profiler.wanting(entry, frequency=HZ))
        wait_for(lambda: first.pid in profiler.processes(), why="it matches the second")
        for cmdline in ("600", "no such argument"):
            entry = {"comm": "^twin$", "cmdline": cmdline}
            profiler.put_ok(profiler.wanting(entry, frequency=HZ))
        wait_for(lambda: first.pid not in profiler.processes(), why="it does not")


def comm(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read().strip()


def test_crowds_of_programs_that_do_not_match_take_no_room(profiler, start, observe):
    """Each was once a row in the table of targets, until it was full."""
    profiler.stop()
    profiler.conf.write_text(profiler.conf.read_text() + "bpf = { targets = 64; };\n")
    profiler.start()
    profiler.profile("^spin$", frequency=HZ)
    subprocess.run("for i in $(seq 400); do /bin/true; done", shell=True, check=True)
    samples, _, beside_ns = burned(profiler, stood(start), observe(HZ))
    assert samples > 0.9 * beside_ns * HZ / 1e9
    assert "refused_total 0\n" in profiler.get("/metrics").text


def test_a_sigterm_answers_who_waits_for_a_profile(profiler, start):
    """Requests that waited for a window were once an abort."""
    start("spin", 600)
    profiler.profile("^spin$", frequency=HZ)
    ended = threading.Event()

    def ask():
        while not ended.is_set():
            try:
                profiler.get("/flamegraph/oncpu.svg", timeout=15)
            except OSError:
                return

    askers = [threading.Thread(target=ask) for _ in range(12)]
    for asker in askers:
        asker.start()
    time.sleep(0.5)
    profiler.stop()
    ended.set()
    for asker in askers:
        asker.join(20)
        assert not asker.is_alive()


def test_a_put_while_the_daemon_stops_does_not_hold_it(profiler, start):
    start("spin", 600)
    profiler.profile("^spin$", frequency=HZ)
    body = b"json=" + json.dumps({"state": "running"}).encode()
    before = time.monotonic()
    profiler.popen.terminate()
    while profiler.popen.poll() is None and time.monotonic() - before < 10:
        try:
            profiler.request("PUT", "/flamegraph", body, timeout=5)
        except OSError:
            break
    assert profiler.popen.wait(10) == 0
    assert "could not be written in time" not in profiler.log


def test_patterns_made_for_backtracking_are_refused_or_quick(profiler):
    hard = "(?:(?:(.*)\\1){5}){5}(?:(?:(.*)\\1){5}){5}(?!)"
    doc = profiler.wanting(*[hard] * 100)
    before = time.monotonic()
    assert profiler.put(doc).status in (200, 400)
    assert time.monotonic() - before < 25
    assert profiler.alive()
