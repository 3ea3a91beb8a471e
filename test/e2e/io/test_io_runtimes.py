"""io: whole, short, failed and interrupted calls of Python and of Java, against what the program says that it moved."""
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from helpers import PROGRAMS, ROOT, program, wait_for
from test_io import EXACT, ask, profile_io, sums
from waiting import answer, let_go, ready

MOVING = ROOT / "test/programs/python/moving.py"
NIO_SIGNAL = 62  # __SIGRTMAX - 2: what java.nio interrupts a thread with, whose handler does nothing
READ, POLL = "0", "7"


def assert_holds(profiler, truth, frame):
    """Each step's bytes and calls stand below its frame, and no others."""
    in_bytes, in_calls = ask(profiler), ask(profiler, value="count")
    for step, moved in truth.items():
        assert sums(in_bytes, frame(step)) == {to: b for to, (_, b) in moved.items() if b}, step
        assert sums(in_calls, frame(step)) == {to: n for to, (n, _) in moved.items()}, step


def test_python_functions_have_the_bytes_of_whole_short_and_interrupted_calls(profiler, start, work):
    target = ready(start, Path("/usr/bin/python3"), MOVING, work)
    profile_io(profiler, target)
    let_go(target)
    truth = answer(target)
    assert truth["failing"] == truth["interrupted"] == truth["given_up"] == {}, "none of these moved anything"
    assert {"read pipe": [1, 3], "write pipe": [1, 3]} == truth["tried_again"]
    assert_holds(profiler, truth, lambda step: f"{step} (moving.py)_[p]")
    assert not any(profiler.probe("io")["lost"].values()), profiler.probe("io")


def thread_of(pid, name):
    """The folder in /proc of its thread of that name."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == name:
            return task
    return None


def waits_in(task):
    """The number of the call in which a thread waits; "running": in none."""
    return (task / "syscall").read_text().split()[0]


def switches(task):
    return int(re.search(r"^voluntary_ctxt_switches:\t(\d+)", (task / "status").read_text(), re.M)[1])


def interrupt(pid, name):
    """Interrupts the call in which that thread waits: it has woken, and waits again."""
    task = wait_for(lambda: thread_of(pid, name), why="the thread")
    caught = int(re.search(r"^SigCgt:\s+(\w+)", (task / "status").read_text(), re.M)[1], 16)
    if not caught >> (NIO_SIGNAL - 1) & 1:
        pytest.skip("this VM interrupts its channels in another way")
    wait_for(lambda: waits_in(task) == READ, why="it reads")
    before = switches(task)
    os.kill(int(task.name), NIO_SIGNAL)
    wait_for(lambda: switches(task) > before and waits_in(task) in (READ, POLL), why="it waits again")


def begin_java(start, work):
    """The program `Moving`, whose classes are loaded, and what tells it to go on."""
    if not (PROGRAMS / "Moving.class").exists():
        pytest.skip("no javac")
    ends = os.pipe()
    target = start(Path(shutil.which("java")), "-Xint", "-cp", Path(program("Moving.class")).parent, "Moving",
                   work / "moved", stdin=ends[0])  # fmt: skip
    os.close(ends[0])
    wait_for(lambda: "ready" in target.log.read_text(), 60, why="the VM has loaded its classes")
    return target, ends[1]


def test_java_methods_have_the_bytes_of_whole_short_and_interrupted_calls(profiler, start, work):
    target, end = begin_java(start, work)
    profile_io(profiler, target)
    os.write(end, b"x")
    wait_for(lambda: "waits" in target.log.read_text(), why="it waits for bytes")
    interrupt(target.pid, "interrupted")
    os.write(end, b"x")
    wait_for(lambda: target.log.read_text().endswith("}\n"), why="it has moved all")
    truth = json.loads(target.log.read_text().splitlines()[-1])
    # The last step speaks with this test as well; its parts have methods of their own.
    parts = truth.pop("interrupted")
    assert truth["failing"] == {} and parts == {"read pipe": [1, 3], "write pipe": [1, 3]}, parts
    truth |= {"waits": {"read pipe": [1, 3]}, "answers": {"write pipe": [1, 3]}}
    assert_holds(profiler, truth, lambda step: f"Moving.{step}_[0]")
    assert not any(profiler.probe("io")["lost"].values()), profiler.probe("io")
    os.close(end)


def test_java_methods_have_what_the_other_probes_count(profiler, start, work):
    """All at once: what `io` has of a step is the program's own figure (above)."""
    target, end = begin_java(start, work)
    probes, events = ("io", "net", "writeback", "event:sends"), {"sends": "t:sock:sock_send_length"}
    profiler.put_ok(profiler.wanting(pids=[target.pid], probes=probes, events=events, frame_detail="name", **EXACT))
    for probe in probes:
        profiler.wait_running(probe)
    wait_for(lambda: profiler.config()["status"]["unwind"]["pending"] == 0, why="unwind tables")
    os.write(end, b"x")
    wait_for(lambda: "waits" in target.log.read_text(), why="it waits for bytes")
    found = {probe: profiler.folded(probe) for probe in probes}
    # (On a busy machine TCP sends again, also to itself.)
    sent_again = sum(s.value for s in found["net"].stacks if s.has("Moving.sockets_[0]") and s.has("[retransmit]"))
    assert found["net"].total("Moving.sockets_[0]") - sent_again == found["io"].total("Moving.sockets_[0]") > 100_000
    assert found["writeback"].total("Moving.files_[0]") == 2 * os.sysconf("SC_PAGE_SIZE"), "5,350 bytes"
    assert found["event:sends"].total("Moving.sockets_[0]") > 2
    for probe, profile in found.items():
        steps = [stack for stack in profile.stacks if stack.has("Moving.sockets_[0]") or stack.has("Moving.files_[0]")]
        assert steps and all("Moving.main_[0]" in stack.frames and not stack.has("[truncated]") for stack in steps), probe
    os.close(end)
