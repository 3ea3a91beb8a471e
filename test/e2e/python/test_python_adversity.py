"""Python that lies, dies and never rests: at worst its own names are wrong or missing. The daemon
lives, in bounded memory and time, and the stacks of others are right meanwhile."""
import json
import os
import random
import re
import signal
import time
from pathlib import Path

import pytest

import oracle
from helpers import wait_for
from pyframes import assert_share, functions, python_frames, share
from waiting import ended, go, let_go, stands_by, told

HZ = 999
MEMORY_KIB = 96 << 10  # what the daemon may grow by
CPU = 0.5  # of a core, at 1,000 samples a second


def resident_kib(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1])


def cpu_seconds(pid):
    return oracle.process(pid).run_ns / 1e9


class Bounds:
    """Of the daemon, while something goes on: its memory and its CPU time."""

    def __init__(self, daemon):
        self.daemon = daemon

    def __enter__(self):
        self.kib, self.cpu = resident_kib(self.daemon.pid), cpu_seconds(self.daemon.pid)
        self.began = time.monotonic()
        return self

    def __exit__(self, kind, *_):
        if kind:
            return
        assert self.daemon.alive()
        grown = resident_kib(self.daemon.pid) - self.kib
        used = (cpu_seconds(self.daemon.pid) - self.cpu) / (time.monotonic() - self.began)
        print(f"{grown} KiB more, {100 * used:.1f} % of a core")
        assert grown <= MEMORY_KIB
        assert used <= CPU


@pytest.fixture
def honest(standing):
    """A program whose stack is known, and which goes on meanwhile."""
    return standing("depth.py", 20, 110)


def profile(profiler, *targets, **params):
    pids = [target.pid for target in targets]
    profiler.profile(pids=pids, frequency=HZ, thread_frame=1, max_overhead=0, **params)


def assert_honest(profiler, honest):
    """Its stacks are right: 20 frames of one function, below those of its thread."""
    stacks = profiler.folded(pid=honest.pid).of(honest.pid)
    assert sum(s.value for s in stacks) > 100
    chain = ["_bootstrap", "_bootstrap_inner", "run", "main"] + 20 * ["descend"]
    assert_share(stacks, lambda s: functions(s) == chain, 0.99)


LIES_US = 2000
SEEDS = 250


def test_an_interpreter_that_lies_harms_nobody_else(profiler, standing, honest):
    liar = standing("liar.py", "./foreign.so", LIES_US, SEEDS)
    profile(profiler, liar, honest)
    let_go(honest)
    with Bounds(profiler):
        truth = go(liar)
        assert truth["lies"] > SEEDS and truth["empty"] == 0
        assert_honest(profiler, honest)
    # Those of its own that are named are those it has: no stack shows a thread another one's lie.
    stacks = [s for s in profiler.folded(pid=liar.pid).of(liar.pid) if s.frames[1].startswith("lie_")]
    assert sum(s.value for s in stacks) > SEEDS
    right = [s for s in stacks if s.frames[1] in functions(s)]
    print(f"{share(stacks, lambda s: s in right):.1%} of its samples have their function's name")
    assert_honest(profiler, honest)


def test_a_liar_that_waits_harms_nobody_else(profiler, standing, honest):
    """The same when it is off the CPU, grows, and allocates: other readers of the same state."""
    liar = standing("liar.py", "./foreign.so", 1000, 100)
    profiler.profile(pids=[liar.pid, honest.pid], probes=("oncpu", "offcpu", "mem"), frequency=HZ,
                     minblock=0, mem_fault_bytes=0, max_overhead=0)  # fmt: skip
    let_go(honest)
    with Bounds(profiler):
        go(liar)
        assert_honest(profiler, honest)


MADE = re.compile(r"made_(\d+)")


def test_functions_that_are_new_each_time_have_their_own_names(profiler, standing):
    """The same addresses have other code objects all the time."""
    target = standing("codes.py", "made", 8)
    profile(profiler, target)
    with Bounds(profiler):
        truth = go(target)
    assert truth["made"] > 1000
    stacks = profiler.folded(pid=target.pid).of(target.pid)
    named = mixed = 0
    for stack in stacks:
        numbers = {int(n) for f in python_frames(stack) if f
                   for n in MADE.findall(f"{f.name} {f.file}")}  # fmt: skip
        named += stack.value if numbers else 0
        mixed += stack.value if len(numbers) > 1 else 0
    total = sum(s.value for s in stacks)
    print(f"{named / total:.1%} of {total} samples have a name of {truth['made']}")
    assert mixed == 0, [s for s in stacks if len(set(MADE.findall(" ".join(s.frames)))) > 1][:3]
    assert_share(stacks, lambda s: functions(s)[:2] == ["<module>", "made"], 0.95)


@pytest.mark.parametrize("depth", (900, 1500))
def test_a_chain_of_a_thousand_is_whole_and_a_longer_one_is_counted(profiler, standing, depth):
    target = standing("depth.py", depth, 2)
    profile(profiler, target)
    go(target)
    profile_ = profiler.folded(pid=target.pid)
    deep = [s for s in profile_.of(target.pid) if functions(s).count("descend") > 500]
    assert sum(s.value for s in deep) > 20
    cut = profiler.probe()["truncated"]
    if depth < 1000:
        root = ["_bootstrap", "_bootstrap_inner", "run", "main"]
        chain = root + depth * ["descend"]
        assert_share(deep, lambda s: functions(s) == chain, 0.99)
        assert_share(deep, lambda s: "[truncated]" not in s.frames, 0.99)
        assert cut["python_depth"] == 0
    else:
        assert_share(deep, lambda s: functions(s) == 1000 * ["descend"], 0.99)
        assert_share(deep, lambda s: "[truncated]" in s.frames, 0.99)
        assert cut["python_depth"] >= 0.9 * sum(s.value for s in deep)


@pytest.mark.alone("programs that are begun as fast as can be")
def test_a_storm_of_execs(profiler, run_python, place, honest):
    profile(profiler, honest)
    let_go(honest)
    with Bounds(profiler):
        target = run_python(place.folder / "storms.py", "exec", 60)
        profiler.put_ok({"snoopers": {"proc_id": [honest.pid, target.pid],
                                      "proc_name": [{"comm": "^python",
                                                     "cmdline": f"{place.folder}/storms.py"}]}})  # fmt: skip
        wait_for(lambda: stands_by(target) or ended(target), seconds=60, why="its end")
        assert stands_by(target)
        assert_honest(profiler, honest)
    stacks = profiler.folded(pid=target.pid).of(target.pid)
    mine = [s for s in stacks if "again" in functions(s)]
    assert sum(s.value for s in mine) * 1e9 / HZ >= 0.8 * 60 * 20e6


def test_children_that_have_ended_keep_their_names(profiler, standing):
    parent = standing("storms.py", "fork", 150)
    profile(profiler, parent)
    with Bounds(profiler):
        go(parent)
    folded = profiler.folded()
    children = [s for s in folded.stacks if not s.frames[0].startswith(f"[{parent.pid}]")]
    burned_ms = 150 * 30
    child_work = [s for s in children if "child_work" in functions(s)]
    assert sum(s.value for s in child_work) * 1000 / HZ >= 0.95 * burned_ms
    in_python = [s for s in children if python_frames(s)]
    assert_share(in_python, lambda s: None not in functions(s), 0.99)


def test_processes_that_are_killed_while_they_are_read(profiler, standing, honest):
    profile(profiler, honest)
    let_go(honest)
    with Bounds(profiler):
        for turn in range(20):
            target = standing("codes.py", "made", 60)
            profiler.put_ok({"snoopers": {"proc_id": [honest.pid, target.pid]}})
            let_go(target)
            time.sleep(random.Random(turn).uniform(0, 0.25))
            target.kill()
        assert_honest(profiler, honest)


def test_a_process_that_is_stopped_keeps_its_names(profiler, standing):
    target = standing("codes.py", "stopped", 4)
    profile(profiler, target)
    for number in range(4):
        os.kill(target.pid, signal.SIGCONT)
        wait_for(lambda: told(target) == f'{{"fresh": {number}}}' and stands_by(target))  # noqa: B023
        stacks = profiler.folded(pid=target.pid).of(target.pid)
        mine = [s for s in stacks if f"fresh_{number}" in functions(s)]
        assert sum(s.value for s in mine) >= 10, (number, stacks[-3:])
        assert_share(stacks, lambda s: None not in functions(s), 0.99)


def watched(target):
    """States and tracers of a process's threads, as often as they can be read, until it stops."""
    states, tracers, looks = set(), set(), 0
    task = Path(f"/proc/{target.pid}/status")
    while not stands_by(target) and not ended(target):
        status = task.read_text()
        states.add(re.search(r"State:\s*(\S)", status)[1])
        tracers.add(int(re.search(r"TracerPid:\s*(\d+)", status)[1]))
        looks += 1
    return states, tracers, looks


def test_nobody_is_stopped_to_be_looked_at(profiler, standing):
    target = standing("pauses.py", 3)
    profile(profiler, target)
    let_go(target)
    wait_for(lambda: oracle.states(target.pid) != {"T"}, why="it runs")
    states, tracers, looks = watched(target)
    print(f"{looks} looks")
    assert looks > 1000
    assert "t" not in states and tracers == {0}, (states, tracers)
    wait_for(lambda: "while" in told(target), why="told")
    said = json.loads(told(target))
    print(said)
    assert max(said["while"]) < max(said["before"]) + 3e9
