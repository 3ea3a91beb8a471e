"""When the daemon is woken for stacks: seldom, and nothing is missing for that."""
import re
import sys
import time

import pytest

from helpers import Target, lost, wait_for

FEW = 4  # stacks that are new for one wake-up, at least
CODE = """
def compute(n, text, numbers):
    for i in range(n):
        numbers[str(i % 97)] = sorted(text[i % 5:], key=ord), divmod(i, 7), "%x" % i, hash((i, text))
        text = text[1:] + text[0]
while True:
    compute(1000, "interpreter", {})
"""


def metric(daemon, name):
    return float(re.search(rf"^stackprobe_{re.escape(name)} (\S+)$", daemon.get("/metrics").text,
                           re.MULTILINE)[1])  # fmt: skip


def looks(daemon):
    return {cause: metric(daemon, f'looks_total{{cause="{cause}"}}') for cause in ("woken", "in_turn")}


@pytest.fixture
def interpreter(tmp_path):
    """Hardly two of its samples have the same leaf."""
    target = Target([sys.executable, "-c", CODE], tmp_path / "interpreter.log")
    yield target
    target.kill()


@pytest.mark.alone("counts wake-ups by the stacks of a program that has a processor")
def test_a_program_of_ever_new_stacks_wakes_the_daemon_seldom(profiler, interpreter):
    """At 99 Hz: each second stack could wake it, by the time between them."""
    target = interpreter
    profiler.profile(pids=[target.pid], frequency=99)
    wait_for(lambda: profiler.probe()["samples"] >= 100, 30, why="it is sampled")
    told = []
    for _ in range(5):
        profiler.folded()  # the next window begins: all of its stacks are new again
        before, samples = looks(profiler), profiler.probe()["samples"]
        windows = metric(profiler, "windows_total")
        wait_for(lambda least=samples + 400: profiler.probe()["samples"] >= least, 60, why="it is sampled")
        after = looks(profiler)
        profile = profiler.folded()
        stacks, windows = metric(profiler, "window_stacks"), metric(profiler, "windows_total") - windows
        told.append((stacks, windows))
        if stacks >= 200 and windows == 1:
            break
    assert stacks >= 200 and windows == 1, f"(stacks, windows) {told}: the program is not what this test is about"
    woken, in_turn = (after[cause] - before[cause] for cause in ("woken", "in_turn"))
    assert woken <= stacks / FEW, f"woken {woken} times for {stacks} stacks"
    assert 0 < in_turn <= stacks / 2, f"looked {in_turn} times for {stacks} stacks"
    # What nobody was woken for is there when somebody asks.
    probe = profiler.probe()
    assert not lost(probe), probe
    assert profile.total(pid=target.pid) >= 500
    assert profile.total("[truncated]") <= 0.05 * profile.total(pid=target.pid)


def test_what_is_asked_for_at_once_has_all_stacks(profiler, start):
    """Each drain reads what lies there, however soon it comes."""
    target = start("rounds", 60)
    profiler.profile(pids=[target.pid], frequency=99)
    wait_for(lambda: profiler.probe()["samples"] >= 50, 30, why="it is sampled")
    for _ in range(10):
        samples = profiler.probe()["samples"]
        wait_for(lambda s=samples: profiler.probe()["samples"] >= s + 3, 30, every=0.002, why="sampled")
        samples = profiler.probe()["samples"]
        assert profiler.folded().total(pid=target.pid) >= samples
    assert not lost(profiler.probe()), profiler.probe()


def test_who_has_no_targets_is_not_woken(profiler):
    """Neither is there a timer for stacks that don't come. (A process of another test that begins just now may be
    sampled until its name is known: it is one look, and one in turn, now and then.)"""
    profiler.profile("^no such process$", frequency=99)

    def asleep():
        before, windows = looks(profiler), metric(profiler, "windows_total")
        for _ in range(3):
            profiler.folded()
        time.sleep(0.6)  # twice as long as until a look in turn
        assert metric(profiler, "windows_total") > windows
        return looks(profiler) == before

    wait_for(asleep, why=lambda: f"no look while windows end: {looks(profiler)}")
