"""Names of methods with their classes: from 3.11 on code objects know them, before that functions do, which
stackprobe finds in the process. What it doesn't find is the function's name alone; no name is another one."""
import re
from collections import Counter
from pathlib import Path

import pytest

from helpers import wait_for
from pythons import SOURCES, pythons

HZ = 997
ENOUGH = 1500  # samples
FRAME = re.compile(r"(.*) \((classes|shop)\.py:(\d+)\)_\[p\]")
MARK = re.compile(r".*# (IS|WAS) (\S+)$")
HERE = [python for python in pythons() if python.root == Path("/") and python.version < (3, 13)]
each_version = pytest.mark.parametrize("cpython", HERE, ids=[python.name for python in HERE])


def marks():
    """{(file, line): (name, whether every version knows it)}"""
    found = {}
    for file in ("classes", "shop"):
        for number, line in enumerate((SOURCES / f"{file}.py").read_text().split("\n"), 1):
            match = MARK.match(line)
            if match:
                found[file, number] = (match[2], match[1] == "IS")
    return found


def sampled(profiler, start, cpython, **params):
    target = start(Path(cpython.path), "-B", SOURCES / "classes.py")
    wait_for(lambda: target.cpu_ns_now() > 5e8, 30, why="it runs")
    profiler.profile(pids=[target.pid], frequency=HZ, **params)
    wait_for(lambda: profiler.folded(pid=target.pid).total() >= ENOUGH, 60, 0.5, "enough samples")
    return profiler.folded(pid=target.pid)


def names(profile):
    """{(file, line): Counter of the names of frames there}"""
    found = {}
    for stack in profile.stacks:
        for match in filter(None, map(FRAME.fullmatch, stack.frames)):
            found.setdefault((match[2], int(match[3])), Counter())[match[1]] += stack.value
    return found


@pytest.mark.quick
@each_version
def test_methods_have_the_names_that_3_11_gives_them(profiler, start, cpython):
    wanted, found = marks(), names(sampled(profiler, start, cpython))
    assert len(wanted) == 20
    for place, (name, known) in wanted.items():
        here = found.get(place)
        assert here, f"{name} was sampled"
        alone = name.rpartition(".")[2]
        if cpython.version >= (3, 11):
            assert set(here) == {name}
        elif not known:
            assert set(here) == {alone}, "what nobody says is not guessed"
        else:
            assert set(here) <= {name, alone}
            assert here[name] >= 0.9 * here.total(), (name, here)


@each_version
def test_without_lines_the_names_are_the_same(profiler, start, cpython):
    profile = sampled(profiler, start, cpython, frame_detail="name")
    found = {frame.split(" ")[0].removesuffix("_[p]") for frame in profile.frames() if frame.endswith("_[p]")}
    for name, known in marks().values():
        if known or cpython.version >= (3, 11):
            assert name in found, sorted(found)
        else:
            assert name not in found and name.rpartition(".")[2] in found, sorted(found)


@each_version
def test_only_versions_without_qualified_names_are_searched(profiler, start, cpython):
    sampled(profiler, start, cpython)
    status = profiler.config()["status"]["python"]
    if cpython.version >= (3, 11):
        assert status["searches"] == 0 and status["qualified"] == 0
    else:
        assert 1 <= status["searches"] <= profiler.probe("oncpu")["samples"] / 10, "not for each sample"
        assert status["qualified"] >= 15
    shown = re.findall(r"^stackprobe_python_function_searches_total (\d+)$", profiler.get("/metrics").text, re.M)
    assert len(shown) == 1 and int(shown[0]) >= status["searches"]


def test_versions_before_3_11_are_here():
    missing = [minor for minor in (8, 9, 10) if not any(python.version[1] == minor for python in HERE)]
    if missing:
        pytest.skip(f"no Python 3.{missing} here")
