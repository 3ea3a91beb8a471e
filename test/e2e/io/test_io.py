"""io: bytes, calls and time, by the system call, against what the program itself says that it moved."""
import os
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest

import pprof
from folded import Profile
from helpers import BIN, program, wait_for
from waiting import answer, let_go, ready, stands_by

EXACT = {"max_overhead": 0}


def profile_io(profiler, target, **params):
    params = {"frame_detail": "name", **EXACT, **params}
    profiler.put_ok(profiler.wanting(pids=[target.pid], probes=("io",), **params))
    profiler.wait_running("io")
    wait_for(lambda: profiler.config()["status"]["unwind"]["pending"] == 0, why="unwind tables")


def ask(profiler, **query):
    got = profiler.get("/flamegraph/io.folded?" + urlencode(query))
    assert got.status == 200, got.text
    return Profile(got.text)


def moves(start, profiler, work, **params):
    """The program `moves`, profiled while it runs once: what it says."""
    target = ready(start, "moves", work)
    profile_io(profiler, target, **params)
    let_go(target)
    wait_for(lambda: stands_by(target) and target.log.read_text(), why="it has moved all")
    return answer(target)


def sums(profile, function):
    """{"read file": value} of the stacks of a function, whose leaves tell way and kind."""
    found = {}
    for stack in profile.stacks:
        if function in stack.frames:
            way, kind = (frame.strip("[]") for frame in stack.frames[-2:])
            found[f"{way} {kind}"] = found.get(f"{way} {kind}", 0) + stack.value
    return found


def test_each_call_is_counted_with_the_bytes_that_it_moved(profiler, start, work):
    truth = moves(start, profiler, work)
    in_bytes, in_calls = ask(profiler), ask(profiler, value="count")
    for function, moved in truth.items():
        assert sums(in_bytes, function) == {to: b for to, (_, b) in moved.items() if b}, function
        assert sums(in_calls, function) == {to: n for to, (n, _) in moved.items()}, function
    assert not any(profiler.probe("io")["lost"].values()), profiler.probe("io")["lost"]


def test_a_failed_call_counts_nothing(profiler, start, work):
    truth = moves(start, profiler, work)
    assert truth["move_failing"] == truth["move_failing_each"] == {}
    in_calls = ask(profiler, value="count")
    assert "move_read" in in_calls.frames()
    assert not {"move_failing", "move_failing_each"} & in_calls.frames()


def test_of_interrupted_calls_those_count_that_have_moved_a_part(profiler, start, work):
    (way, (calls, moved)), = moves(start, profiler, work)["move_interrupted"].items()
    assert (way, calls) == ("write pipe", 2) and 40_000 < moved < 80_000, "the second one was interrupted"
    assert sums(ask(profiler), "move_interrupted") == {way: moved}
    assert sums(ask(profiler, value="count"), "move_interrupted") == {way: calls}


def test_time_in_the_calls_is_a_value_of_its_own(profiler, start, work):
    """A reader that waits 0.3 s for each byte spends its time in read()."""
    ends = os.pipe()
    target = start(Path("/usr/bin/python3"), "-c", "import os\ndef reads():\n while os.read(0, 1): pass\nreads()",
                   stdin=ends[0])
    os.close(ends[0])
    profile_io(profiler, target, io_time=1)
    began = time.monotonic_ns()
    os.write(ends[1], b"a")
    wait_for(lambda: ask(profiler).total("[read]", "[pipe]"), why="the first byte")
    before = ask(profiler, value="time").total("[read]", "[pipe]")
    for _ in range(3):
        time.sleep(0.3)
        os.write(ends[1], b"a")
    wait_for(lambda: ask(profiler).total("[read]", "[pipe]") == 4, why="four bytes")
    spent = (time.monotonic_ns() - began) / 1000
    found = ask(profiler, value="time").total("[read]", "[pipe]") - before
    assert 880_000 < found <= spent, (found, spent)
    assert ask(profiler, view="time", value="count").total("[read]", "[pipe]") in (3, 4)
    assert "reads (<string>)_[p]" in ask(profiler, value="time").frames()
    os.close(ends[1])


def test_without_io_time_there_is_none(profiler, start, work):
    moves(start, profiler, work)
    assert not ask(profiler, value="time").stacks
    assert ask(profiler).stacks


@pytest.mark.parametrize(("query", "says"), [
    ("value=weight", "value must be count or time"),
    ("view=held", "view must be one of bytes, time"),
    ("view=time&min_age=3", "min_age is for what is held"),
])
def test_a_wrong_value_is_refused(profiler, start, work, query, says):
    moves(start, profiler, work)
    got = profiler.get(f"/flamegraph/io.folded?{query}")
    assert got.status == 400 and says in got.text, got.text


PYTHON = f"""
import os, signal
def py_moves():
    ends = os.pipe()
    for i in range(100):
        os.write(ends[1], b"x" * (i + 1))
        os.read(ends[0], 1000)
    with open("/proc/self/exe", "rb", buffering=0) as program:
        return len(program.read(12345))
signal.raise_signal(signal.SIGSTOP)
assert py_moves() == 12345
signal.raise_signal(signal.SIGSTOP)
"""


def test_python_functions_have_their_bytes(profiler, start):
    target = start(Path("/usr/bin/python3"), "-c", PYTHON)
    wait_for(lambda: stands_by(target), why="it stands by")
    profile_io(profiler, target)
    let_go(target)
    name = "py_moves (<string>)_[p]"
    wait_for(lambda: ask(profiler).total("[read]", "[file]") and stands_by(target), why="it has moved all")
    in_bytes, in_calls = ask(profiler), ask(profiler, value="count")
    assert sums(in_bytes, name) == {"write pipe": 5050, "read pipe": 5050, "read file": 12345}
    assert sums(in_calls, name) == {"write pipe": 100, "read pipe": 100, "read file": 1}


def test_files_and_pprof_have_both_values(profiler, start, work):
    truth = moves(start, profiler, work, io_time=1)
    both = pprof.read(profiler.get("/flamegraph/io.pb.gz").body)
    assert list(map(tuple, both.sample_types)) == [("calls", "count"), ("io", "bytes")]
    timed = pprof.read(profiler.get("/flamegraph/io.pb.gz?value=time").body)
    assert list(map(tuple, timed.sample_types)) == [("calls", "count"), ("io_time", "nanoseconds")]
    profiler.put_ok({"state": "stopped"})
    for folder, ending in ((profiler.svg_dir, "svg"), (profiler.flame_dir, "folded")):
        for name in ("io", "io-time"):
            wait_for(lambda: profiler.files(folder / name, ending), why=f"a file of {name}")
    (written,) = profiler.files(profiler.flame_dir / "io", "folded")
    assert sums(Profile(written.read_text()), "move_pread") == {"read file": truth["move_pread"]["read file"][1]}


def total(profile, method, name):
    """Of the stacks in which the method has called one whose name holds that."""
    return sum(s.value for s in profile.stacks
               if method in s.frames and any(name in f for f in s.frames[s.frames.index(method):]))


def test_java_methods_have_their_bytes(profiler, start, work):
    if not Path(program("Moves.class")).exists():
        pytest.skip("no javac")
    ends = os.pipe()
    target = start(Path(shutil.which("java")), "-Xint", "-cp", Path(program("Moves.class")).parent, "Moves",
                   work / "moved", stdin=ends[0])
    os.close(ends[0])
    wait_for(lambda: "ready" in target.log.read_text(), 60, why="the VM has begun")
    profile_io(profiler, target)
    os.write(ends[1], b"x")
    wait_for(lambda: "moved" in target.log.read_text(), why="it has moved all")
    in_bytes, in_calls = ask(profiler), ask(profiler, value="count")
    # (Classes are loaded there as well, by reads of the VM's own.)
    assert sums(in_bytes, "Moves.writes_[0]")["write file"] == 300_000
    assert sums(in_calls, "Moves.writes_[0]")["write file"] == 100
    assert total(in_bytes, "Moves.reads_[0]", "readBytes") == 300_000
    assert total(in_calls, "Moves.reads_[0]", "readBytes") == 76
    os.close(ends[1])


def test_record_writes_both_values(start, work):
    target = ready(start, "moves", work)
    for view, unit in (("bytes", "bytes"), ("time", "us")):
        out = work / f"{view}.folded"
        process = subprocess.Popen(
            [BIN, "record", "-e", "io", "--set", "io_time=1", "--view", view,
             "-p", str(target.pid), "-d", "1", "--header", "-o", out], stderr=subprocess.PIPE, text=True)
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 0 and unit in said, said

