"""Python stacks against what the programs wrote down: function, file and line of each frame, in order.

All programs of a version run at once, until each has ENOUGH samples; they are stopped (SIGSTOP) before
the first sample and before the last is read, so their clocks are those of the samples.
"""
import os
import shutil
import signal
import time
from pathlib import Path
from typing import NamedTuple

import pytest

import oracle
from beside import own_folder
from helpers import cpu_ns, same_time, wait_for
from kept import Session, session_of
from observer import Observer
from python_truth import Truth, judged, python_frames
from pythons import Place, Running, missing_versions, pythons

HZ = 997
ENOUGH = 1000
LONGEST = 70  # seconds; on a busy machine there are fewer, but
LEAST = 300
RIGHT = 0.99  # of a program's samples; of all programs' of a version:
ALL_RIGHT = 0.995

# name: (arguments, processes)
ON_CPU = {
    "deep20": (["deep.py", 20], 1),
    "deep500": (["deep.py", 500], 1),
    "threads": (["threads.py"], 1),
    "generators": (["generators.py"], 1),
    "asyncio": (["coroutines.py"], 1),
    "ctypes": (["qsort.py"], 1),
    "released": (["released.py"], 1),
    "methods": (["methods.py"], 1),
    "names": (["names.py"], 1),
    "kept": (["made.py", 1000], 1),
    "made": (["made.py", 0], 1),
    "churn": (["churn.py"], 1),
    "walk": (["walk.py"], 1),
    "lines": (["lines.py"], 1),
    "fork": (["processes.py", "fork"], 3),
    "spawn": (["processes.py", "spawn"], 3),
    "package": (["pkg"], 1),
    "module": (["pkg.inner.run"], 1),
    "extension": (["extension.py", "."], 1),
}
WAITING = (["waits.py"], 1)


class Measured(NamedTuple):
    judged: object
    stacks: list
    clocks: dict  # seconds by name, over the time sampled
    cpu_ns: int
    beside_ns: int  # the same as another observer found it


class PythonSession(Session):
    """What it said of the programs of each version."""

    def measure(self, python, which):
        """{name: Measured} of the programs on a CPU, or of the one that waits."""
        place, running = Place(python, self.work), []
        try:
            extension = place.build_extension()
            programs = ON_CPU if which == "oncpu" else {"waits": WAITING}
            for name, (argv, processes) in programs.items():
                if name != "extension" or extension:
                    running.append(Running(place, name, argv, processes))
            truths = [program.ready() for program in running]
            return {"oncpu": self.on_cpu, "offcpu": self.off_cpu}[which](running, truths)
        finally:
            for program in running:
                program.kill()
            place.remove()

    def on_cpu(self, running, truths):
        pids = [pid for truth in truths for pid in truth]
        oracle.stop(*pids)
        self.daemon.profile(pids=pids, frequency=HZ, thread_frame=0)
        before = [(r.clocks(t[r.target.pid]), {pid: cpu_ns(pid) for pid in t})
                  for r, t in zip(running, truths)]  # fmt: skip
        observer = Observer(HZ)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        self.wait_for_samples(truths)
        oracle.stop(*pids)
        beside = {tuple(truth): observer.ns(*truth) for truth in truths}
        observer.close()
        profile = self.daemon.folded()
        found = {}
        for program, truth, (clocks, cpu) in zip(running, truths, before):
            parts = [judged(Truth(told), profile.of(pid)) for pid, told in truth.items()]
            after = program.clocks(truth[program.target.pid])
            found[program.name] = Measured(
                sum(parts[1:], parts[0]), [s for pid in truth for s in profile.of(pid)],
                {name: after[name] - clocks[name] for name in clocks},
                sum(cpu_ns(pid) - cpu[pid] for pid in truth), beside[tuple(truth)])  # fmt: skip
        return found

    def wait_for_samples(self, truths):
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            time.sleep(1)
            profile = self.daemon.folded()
            if all(sum(profile.total(pid=pid) for pid in truth) > ENOUGH for truth in truths):
                return

    def off_cpu(self, running, truths):
        pids = [pid for truth in truths for pid in truth]
        self.daemon.profile(pids=pids, probes=("offcpu",), thread_frame=0)
        time.sleep(3)
        stacks = self.daemon.folded("offcpu").of(pids[0])
        found = judged(Truth(truths[0][pids[0]]), stacks)
        return {running[0].name: Measured(found, stacks, {}, 0, 0)}


session = session_of(PythonSession)


def measured(session, python, name, which="oncpu"):
    found = session.of(python, which)
    if name not in found:
        pytest.skip(f"no headers of Python {python.name}")
    return found[name]


HERE = pythons()
each_version = pytest.mark.parametrize("cpython", HERE, ids=[python.name for python in HERE])


@pytest.mark.parametrize("minor", missing_versions())
def test_a_version_that_is_not_here(minor):
    pytest.skip(f"no Python 3.{minor} here")


@each_version
@pytest.mark.parametrize("name", ON_CPU)
def test_stacks_are_those_that_the_program_knows(session, cpython, name):
    found = measured(session, cpython, name).judged
    print(f"python_truth: {cpython.name} {name} {found.text()}")
    assert found.total >= LEAST
    assert found.share >= RIGHT, found.text()


@each_version
def test_all_stacks_of_a_version_together(session, cpython):
    found = session.of(cpython, "oncpu").items()
    parts = [measured.judged for _, measured in found]
    found = sum(parts[1:], parts[0])
    assert found.share >= ALL_RIGHT, found.text()


@each_version
def test_waits_have_the_stack_that_waits(session, cpython):
    found = measured(session, cpython, "waits", "offcpu")
    print(f"python_truth: {cpython.name} waits {found.judged.text()}")
    assert found.judged.share >= RIGHT, found.judged.text()
    leaves = {frame.name for stack in found.stacks for frame in python_frames(stack)}
    assert {"sleeping", "locking", "getting", "reading"} <= leaves


@each_version
@pytest.mark.parametrize("name", ["threads", "released", "deep20"])
def test_samples_are_cpu_time(session, cpython, name):
    """Who waits for the GIL, or for a thread, has none. (Twenty programs take turns meanwhile, a
    few ms each: a sample more or less in each turn are some percent.)"""
    found = measured(session, cpython, name)
    same_time(found.judged.total, HZ, found.cpu_ns, found.beside_ns, within=0.1)


def by_leaf(stacks, of):
    """Samples by of(Python frames), where that isn't None."""
    counts = {}
    for stack in stacks:
        key = of(python_frames(stack))
        if key is not None:
            counts[key] = counts.get(key, 0) + stack.value
    return counts


def assert_shares(counts, clocks):
    """Within six standard errors of the program's own clocks, each: samples come by turns of the CPU, in which one part
    follows the other, so they are not as independent as the formula has it."""
    samples, seconds = sum(counts.values()), sum(clocks.values())
    for name, spent in clocks.items():
        share = spent / seconds
        error = (share * (1 - share) / samples) ** 0.5
        assert counts.get(name, 0) / samples == pytest.approx(share, abs=6 * error), (counts, clocks)


@each_version
def test_shares_without_the_gil_are_the_threads_own_clocks(session, cpython):
    found = measured(session, cpython, "released")
    counts = by_leaf(found.stacks, lambda frames: frames[-1].name if frames else None)
    assert_shares({name: counts.get(name, 0) for name in found.clocks}, found.clocks)


@each_version
def test_shares_of_lines_are_those_of_the_programs_clock(session, cpython):
    found = measured(session, cpython, "lines")
    source = (Path(__file__).parents[2] / "programs/python/lines.py").read_text().split("\n")
    part = {}  # line: name. From the clock's reading before it to the next.
    names, name = iter(found.clocks), None
    for number, text in enumerate(source, 1):
        if "began = thread_time()" in text:
            name = next(names)
        elif name and ("checksum(" in text or "for _ in" in text):
            part[number] = name
    counts = by_leaf(found.stacks, lambda frames: frames and part.get(frames[-1].line) or None)
    assert_shares(counts, found.clocks)


@each_version
def test_shares_of_a_walk_are_those_of_the_programs_clock(session, cpython):
    found = measured(session, cpython, "walk")
    clocks = {name: spent for name, spent in found.clocks.items() if name != "page"}

    def branch(frames):
        return next((frame.name for frame in frames if frame.name.startswith("n_")), None)

    assert_shares(by_leaf(found.stacks, branch), clocks)


@each_version
def test_c_that_calls_back_stands_between_the_frames_of_python(session, cpython):
    """Each of them where it is on the stack; the names of the extension's functions say where."""
    found = measured(session, cpython, "extension")
    below = {"again": 2, "back": 1}
    total = sum(stack.value for stack in found.stacks)
    wrong = {}
    for stack in found.stacks:
        names = [frame.split(" (")[0].removesuffix("_[p]") for frame in stack.frames]
        for name, least in below.items():
            for at in (i for i, frame in enumerate(names) if frame == name):
                caller = max((i for i in range(at) if stack.frames[i].endswith("_[p]")), default=0)
                if names[caller + 1 : at].count("c_level") < least:
                    wrong[stack.frames] = stack.value
    assert sum(wrong.values()) <= (1 - RIGHT) * total, max(wrong.items(), key=lambda item: item[1])


def test_the_programs_know_their_stacks_without_a_profiler():
    """What they write down is consistent: each node's caller has the line at which it called."""
    for python in HERE[:1]:
        work = own_folder()
        place = Place(python, work)
        program = Running(place, "methods", ["methods.py"])
        try:
            (told,) = program.ready().values()
            for caller, line, code in told["nodes"]:
                if caller >= 0:
                    assert line in told["codes"][told["nodes"][caller][2]][2]
            names = {told["codes"][code][0].rsplit(".", 1)[-1] for _, _, code in told["nodes"]}
            assert {"work", "__getitem__", "closed", "wrapper", "<lambda>", "__getattr__"} <= names
            wait_for(lambda: cpu_ns(program.target.pid) > 0)
        finally:
            program.kill()
            place.remove()
            shutil.rmtree(work)
