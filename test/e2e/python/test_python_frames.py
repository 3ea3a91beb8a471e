"""Python's frames between native ones: their order, what native_stack and frame_detail show, and how
each output has them."""
import os
import re
import signal
from pathlib import Path

import pytest

from helpers import wait_for
from outputs import assert_outputs_agree, json_weights, tree_as_folded
from pythons import SOURCES, pythons
from waiting import stands_by

HZ = 997
ENOUGH = 400  # samples
RIGHT = 0.99
PROGRAM = SOURCES / "shown.py"
LOOP = "_PyEval_EvalFrameDefault"
CALLED = SOURCES / "called.py"
CALLERS = {"by_sorted": "key", "by_map": "next_one", "by_filter": "is_odd", "by_reduce": "add", "by_sum": "yielding"}
HELD = SOURCES / "held.py"
PYTHON = re.compile(r"(.*) \((.*?)(?::(\d+))?\)_\[p\]")

# By the leaf-most functions, where each is from: what stands above `main`.
STACKS = {
    ("Sorter.run", "Sorter.key", "work"),
    ("by_libc", "compare", "work"),
    ("recursive",) * 6 + ("work",),
}


def each():
    """The oldest, the newest, and the first that has one loop for many calls."""
    here = [python for python in pythons() if python.root == Path("/")]
    later = [python for python in here if python.version >= (3, 11)]
    chosen = {python.path: python for python in [*here[:1], *later[:1], *later[-1:]]}
    return [pytest.param(python, id=python.name) for python in chosen.values()] or [
        pytest.param(None, id="none", marks=pytest.mark.skip("no Python"))
    ]


def start_shown(start, interpreter, *options):
    target = start(Path(interpreter.path), *options, "-B", PROGRAM)
    wait_for(lambda: target.cpu_ns_now() > 3e8, 30, why="it runs")
    return target


def profiled(profiler, target, enough=ENOUGH, **params):
    """Its profile once it has so many samples; it stands still from then on."""
    os.kill(target.pid, signal.SIGCONT)
    profiler.profile(pids=[target.pid], frequency=HZ, thread_frame=0, **params)
    wait_for(lambda: profiler.folded(pid=target.pid).total() >= enough, 60, 0.5, "enough samples")
    os.kill(target.pid, signal.SIGSTOP)
    wait_for(lambda: stands_by(target), why="it stands still")
    return profiler.folded(pid=target.pid)


def names(stack):
    """Its Python functions, root first."""
    found = [PYTHON.fullmatch(frame) for frame in stack.frames]
    return tuple(match[1] for match in found if match)


def known():
    whole = [("<module>", "main", *stack) for stack in STACKS]
    return {stack[:length] for stack in whole for length in range(1, len(stack) + 1)}


def alone(name):
    """A function's name without its class."""
    return name.rpartition(".")[2]


def is_known(found, interpreter):
    """Before 3.11 a name may be without its class, until its function is found."""
    if interpreter.version >= (3, 11):
        return found in known()
    return any(len(stack) == len(found) and all(f in (name, alone(name)) for f, name in zip(found, stack))
               for stack in known())  # fmt: skip


def right(profile, interpreter):
    """The part of the weight whose Python frames are those of one of the stacks, whole."""
    hit = sum(s.value for s in profile.stacks if is_known(names(s), interpreter) and not s.has("[truncated]"))
    return hit / profile.total()


def between(stack, root, leaf):
    """The frames between the two Python functions; None: they aren't in it."""
    at = [PYTHON.fullmatch(frame) and alone(PYTHON.fullmatch(frame)[1]) for frame in stack.frames]
    if root not in at or leaf not in at:
        return None
    return stack.frames[at.index(root) + 1 : at.index(leaf)]


@pytest.mark.quick
@pytest.mark.parametrize("interpreter", each())
def test_python_frames_stand_between_the_native_ones_that_call_them(profiler, start, interpreter):
    target = start_shown(start, interpreter)
    profile = profiled(profiler, target)
    assert right(profile, interpreter) >= RIGHT, sorted((s.value, s.frames) for s in profile.stacks)[-5:]
    whole = [stack for stack in profile.stacks if not stack.has("[truncated]")]
    shown = [(stack.value, stack.frames) for stack in whole if any(LOOP in frame for frame in stack.frames)]
    assert not shown, "the interpreter's loop is hidden where Python's frames are known"
    found = [(between(stack, "by_libc", "compare"), stack) for stack in whole]
    found = [(frames, stack) for frames, stack in found if frames is not None]
    assert found, "libc's qsort calls back"
    for frames, stack in found:
        assert any("qsort" in frame for frame in frames), (stack.value, stack.frames)
        assert not any(PYTHON.fullmatch(frame) for frame in frames), (stack.value, stack.frames)
    lines = PROGRAM.read_text().split("\n")
    for frame in profile.frames():
        match = PYTHON.fullmatch(frame)
        if match and match[2] == "shown.py":
            text = lines[int(match[3]) - 1]
            assert text.strip(), (frame, text)
            if match[1] == "by_libc":
                assert "numbers" in text or "def " in text, (frame, text)


@pytest.mark.parametrize("interpreter", each())
def test_native_stack_shows_the_interpreters_own_frames_below_each_entry(profiler, start, interpreter):
    target = start_shown(start, interpreter)
    profile = profiled(profiler, target, native_stack=1)
    assert right(profile, interpreter) >= RIGHT, sorted((s.value, s.frames) for s in profile.stacks)[-5:]
    called = [(between(s, "run", "key"), s.value) for s in profile.stacks]
    called = [(frames, value) for frames, value in called if frames is not None]
    entered = sum(value for frames, value in called if frames and frames[-1] == LOOP)
    assert called and entered >= RIGHT * sum(value for _, value in called), called
    recursive = [(between(s, "main", "recursive"), s.value) for s in profile.stacks]
    recursive = [(frames, value) for frames, value in recursive if frames is not None]
    loops = sum(value for frames, value in recursive if LOOP in frames)
    total = sum(value for _, value in recursive)
    if interpreter.version >= (3, 11):  # one loop for all of them
        assert loops <= (1 - RIGHT) * total, recursive
    else:
        assert loops >= RIGHT * total, recursive


@pytest.mark.parametrize("interpreter", each())
def test_a_function_that_c_calls_has_its_callers_from_its_first_instruction(profiler, start, interpreter):
    """In 3.11 and 3.12 the loop's record on the stack has an old frame, or anything, for some instructions."""
    target = start(Path(interpreter.path), "-B", CALLED)
    wait_for(lambda: target.cpu_ns_now() > 3e8, 30, why="it runs")
    profile = profiled(profiler, target, enough=5000)
    known = {("<module>", "main"), *(("<module>", "main", caller) for caller in CALLERS)}
    known |= {("<module>", "main", *both) for both in CALLERS.items()}
    wrong = [stack for stack in profile.stacks if names(stack) not in known or stack.has("[truncated]")]
    assert sum(stack.value for stack in wrong) <= 0.001 * profile.total(), [(s.value, s.frames) for s in wrong]


def function_of_node(node):
    """(name, file, line) of .json's node, where it is Python's."""
    return (node["name"], node.get("file"), node.get("line")) if node["kind"] == "python" else None


def function_of_frame(frame):
    match = PYTHON.fullmatch(frame)
    return match and (match[1], match[2], int(match[3]) if match[3] else None)


def recursive_names(profile, name):
    return {frame for frame in profile.frames() if frame.startswith(f"{name} (")}


@pytest.mark.parametrize("interpreter", each()[-1:])
def test_all_outputs_have_function_file_and_line(profiler, start, interpreter):
    target = start_shown(start, interpreter)
    profile = profiled(profiler, target)
    assert_outputs_agree(profiler, target.pid, profile, function_of_node, function_of_frame,
                         r'<path class="y\d"[^>]*><title>work \(shown.py:\d+\)_\[p\] \(',
                         r";Sorter.key \(shown.py:\d+\)_\[p\]")  # fmt: skip
    assert len(recursive_names(profile, "work")) > 1, "several of its lines run"


@pytest.mark.parametrize("interpreter", each()[-1:])
def test_by_name_a_function_is_one_frame_whatever_its_lines(profiler, start, interpreter):
    target = start_shown(start, interpreter)
    profile = profiled(profiler, target, frame_detail="name")
    assert right(profile, interpreter) >= RIGHT
    assert recursive_names(profile, "work") == {"work (shown.py)_[p]"}
    tree = tree_as_folded(profiler, target.pid, profile, function_of_node, function_of_frame)
    assert all(line is None for _, _, line in json_weights(tree, function_of_node))
    assert profiler.settings()["params"]["frame_detail"] == "name"


@pytest.mark.parametrize("native_stack", [0, 1])
@pytest.mark.parametrize("interpreter", each()[-1:])
def test_trampolines_of_perf_maps_make_no_second_frame(profiler, start, interpreter, native_stack):
    if interpreter.version < (3, 12):
        pytest.skip("no Python that has -X perf")
    target = start_shown(start, interpreter, "-X", "perf")
    profile = profiled(profiler, target, native_stack=native_stack)
    assert right(profile, interpreter) >= RIGHT, sorted((s.value, s.frames) for s in profile.stacks)[-5:]
    jit = sum(s.value for s in profile.stacks if any("_[j]" in frame for frame in s.frames))
    assert jit <= (1 - RIGHT) * profile.total(), [s for s in profile.stacks if "_[j]" in str(s)][:3]


@pytest.mark.parametrize("interpreter", each()[-1:])
def test_what_is_held_is_shown_in_the_detail_that_is_asked_for(profiler, start, interpreter):
    target = start(Path(interpreter.path), "-B", HELD)
    profiler.profile(pids=[target.pid], probes=("mem_glibc",), thread_frame=0, mem_sample_bytes=0)
    # Many calls: the first may have come before Python's walker, and the last is stopped between its two lines.
    wait_for(lambda: profiler.folded("mem_glibc", pid=target.pid).total("keep (held.py:9)_[p]") > 50 * 200_000, 60, 0.5)
    os.kill(target.pid, signal.SIGSTOP)

    def held(**params):
        profiler.put_ok({"params": params})
        profile = profiler.folded("mem_glibc", view="inuse", pid=target.pid)
        return profile, {frame for frame in profile.frames() if frame.startswith("keep (")}

    plain, lines = held(native_stack=0, frame_detail="line")
    assert lines == {"keep (held.py:8)_[p]", "keep (held.py:9)_[p]"}
    assert not any(LOOP in frame for frame in plain.frames())
    first, second = (plain.total(f"keep (held.py:{line})_[p]") for line in (8, 9))
    assert second == pytest.approx(2 * first, rel=0.05)
    native, lines = held(native_stack=1)
    assert len(lines) == 2 and native.total(LOOP) == native.total("main (held.py:14)_[p]")
    named, functions = held(native_stack=0, frame_detail="name")
    assert functions == {"keep (held.py)_[p]"}
    assert named.total() == native.total() == plain.total()
    assert named.total("keep (held.py)_[p]") == first + second
