"""Test programs that know how long they waited (test/programs/wait.h), and what off-CPU profiles
say of them."""
import json
import os
import signal
import time
from urllib.parse import urlencode

import oracle
from folded import Profile
from helpers import told_lost, wait_for

# Nothing thinned, nothing left out: what there was is what there has to be.
EXACT = {"minblock": 0, "max_overhead": 0}


def stands_by(target):
    return oracle.states(target.pid) == {"T"}


def ready(start, name, *args, cpu=None):
    """A program that has stopped itself before its first wait: go() lets it begin."""
    target = start(name, *args, cpu=cpu)
    wait_for(lambda: stands_by(target) or ended(target), why=f"{name} stands by")
    assert target.popen.returncode is None and stands_by(target), target.log.read_text()
    return target


def ended(target):
    """Whether it is a zombie: nobody has waited for it."""
    return oracle.states(target.pid) <= {"Z"}


def let_go(target):
    os.kill(target.pid, signal.SIGCONT)


def answer(target, seconds=60):
    """What it tells when it has done its work. It has stopped again then."""
    wait_for(lambda: (stands_by(target) and told(target)) or ended(target), seconds, why="told")
    assert not ended(target), f"it has ended: {target.log.read_text()}"
    return json.loads(told(target))


def told(target):
    return target.log.read_text().strip().split("\n")[-1]


def go(target):
    """Lets it work and returns its answer; "run_ns" of its waits is what all of it ran."""
    return go_while(target, lambda: time.sleep(0.02))[0]


def go_while(target, do):
    """The same while something is done over and over. Returns the answer, and how often it was."""
    before = oracle.process(target.pid)
    let_go(target)
    times = 0
    while not stands_by(target) and not ended(target):
        do()
        times += 1
    truth = answer(target)
    run_ns = (oracle.process(target.pid) - before).run_ns
    for waits in truth.values():
        if isinstance(waits, dict):
            waits["run_ns"] = run_ns
    return truth, times


def offcpu(profiler, **query):
    """The off-CPU profile: microseconds, or with value="count" waits."""
    got = profiler.get("/flamegraph/offcpu.folded?" + urlencode(query))
    assert got.status == 200, got.text
    return Profile(got.text)


def profile_offcpu(profiler, *entries, **kwargs):
    """PUTs an off-CPU profile of them, exact where nothing else is said."""
    kwargs = {"probes": ("offcpu",), **EXACT, **kwargs}
    profiler.put_ok(profiler.wanting(*entries, **kwargs))
    wait_for(lambda: profiler.probe("offcpu")["state"] == "running", why="offcpu running")
    wait_for(lambda: profiler.config()["status"]["unwind"]["pending"] == 0, why="unwind tables")


def lost_waits(profiler):
    """What off-CPU lost, by its place."""
    return told_lost(profiler.probe("offcpu"))


class Seen:
    """Both values of one profile, taken while nothing changes."""

    def __init__(self, profiler, **query):
        self.times = offcpu(profiler, **query)
        self.counts = offcpu(profiler, value="count", **query)

    def waits(self, *frames):
        return self.counts.total(*frames)

    def ns(self, *frames):
        return self.times.total(*frames) * 1000

    def stacks(self, *frames):
        return [s for s in self.times.stacks if s.has(*frames)]

    def assert_holds(self, truth, *frames):
        """As many waits as there were, and their time."""
        waits = truth["switches"]
        assert waits > 0
        assert self.waits(*frames) == waits, (frames, truth["calls"])
        assert_time(self.ns(*frames), truth, len(self.stacks(*frames)))


def assert_time(got_ns, truth, stacks=1):
    """The time of the waits that a program measured. Its clock has the ways into the kernel and out
    of it as well, and what it waited for a CPU on them: 1 % and 5 us a wait, or, where caches are
    cold and others busy, as much as the kernel says that it ran. More than it measured is wrong
    (but weights are whole microseconds: each stack may be rounded up)."""
    usual_ns = 0.01 * truth["sum_ns"] + 5000 * truth["switches"]
    outside_ns = max(usual_ns, truth.get("run_ns", 0)) + truth["slack_ns"]
    assert truth["sum_ns"] - outside_ns <= got_ns <= truth["sum_ns"] + 1000 * stacks, (
        f"{got_ns / 1e6:.3f} ms, measured {truth['sum_ns'] / 1e6:.3f} ms in {truth['switches']} "
        f"waits ({got_ns / truth['sum_ns'] - 1:+.2%}), {outside_ns / 1e6:.3f} ms unsure"
    )
