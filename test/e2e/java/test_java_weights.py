"""A collector that is busy keeps its weight: what isn't Java is `[jvm]`, and all together is CPU time."""
import os
import re
import signal
from pathlib import Path

import pytest

import oracle
from helpers import HZ, same_time, wait_for
from java_truth import java_frames
from javas import need_classes

COLLECTORS = ("UseG1GC", "UseParallelGC", "UseSerialGC")
SAMPLES = 4000
OF_THE_VM = re.compile(r"(GC|G1|C[12] Compiler|VM |Sweeper|Gang|ParGC|GC task)")


def threads_ns(pid):
    """{thread's name: ns on a CPU}"""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        name = (task / "comm").read_text().rstrip("\n")
        found[name] = found.get(name, 0) + int((task / "schedstat").read_text().split()[0])
    return found


class Run:
    """truth.Collecting, profiled between two stops."""

    def __init__(self, profiler, target, observer, **params):
        pid = target.pid
        oracle.stop(pid)
        profiler.profile(pids=[pid], frequency=HZ, thread_frame=1, max_overhead=0, **params)
        before, watch = threads_ns(pid), observer(HZ)
        os.kill(pid, signal.SIGCONT)
        wait_for(lambda: profiler.folded(pid=pid).total() >= SAMPLES, 60, every=1, why="samples")
        oracle.stop(pid)
        self.beside_ns = watch.ns(pid)
        after = threads_ns(pid)
        self.spent = {name: ns - before.get(name, 0) for name, ns in after.items()}
        self.cpu_ns = sum(self.spent.values())
        self.stacks = profiler.folded(pid=pid).stacks

    def samples(self, *names):
        return sum(s.value for s in self.stacks if s.frames[1] in names)


@pytest.fixture
def collecting(java, start):
    need_classes()

    def begin(collector):
        argv = java.argv("Collecting", flags=["-Xmx256m", f"-XX:+{collector}"])
        target = start(Path(java.path), *argv[1:])
        wait_for(lambda: "{}" in target.log.read_text(), 60, why="it collects")
        return target

    return begin


@pytest.mark.parametrize("collector", COLLECTORS)
def test_a_busy_collector_keeps_its_weight(profiler, collecting, observe, collector):
    run = Run(profiler, collecting(collector), observe)
    total = sum(s.value for s in run.stacks)
    same_time(total, HZ, run.cpu_ns, run.beside_ns)
    names = [name for name in run.spent if OF_THE_VM.match(name)]
    mine = [s for s in run.stacks if s.frames[1] in names]
    assert sum(s.value for s in mine) >= 0.05 * total, "the collector is busy"
    part = sum(run.spent[name] for name in names) / run.cpu_ns
    error = (part * (1 - part) / total) ** 0.5
    weather = abs(run.beside_ns / run.cpu_ns - 1)
    assert abs(run.samples(*names) / total - part) <= 4 * error + weather, (part, run.spent)
    # native_stack is 0: what the VM does for itself is one frame.
    other = [s for s in mine if s.frames[2] != "[jvm]" and not java_frames(s)]
    assert sum(s.value for s in other) <= 0.01 * sum(s.value for s in mine), other[:5]


def test_the_collectors_own_frames_are_there_when_asked_for(profiler, collecting, observe):
    run = Run(profiler, collecting("UseParallelGC"), observe, native_stack=1)
    total = sum(s.value for s in run.stacks)
    same_time(total, HZ, run.cpu_ns, run.beside_ns)
    assert not any("[jvm]" in s.frames for s in run.stacks)
