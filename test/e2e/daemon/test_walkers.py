"""Walkers of Python's and Java's frames: loaded when the first target needs them, while others are sampled."""
import sys
from pathlib import Path

import pytest

from allocating import Views, let, profile_allocations, wait_probed
from bpf_objects import bpftool, held
from helpers import lost, wait_for
from java_vm import Vm
from javas import javas, need_classes
from waiting import ready

EVERY = ("oncpu", "offcpu", "mem", "mem_glibc")
BURNS = "def burns():\n    while True:\n        sum(range(1000))\nburns()\n"
PYTHON_FRAME, JAVA_FRAME = "burns (<string>:3)_[p]", "truth.Attached"


@pytest.fixture
def machine(work, vms):
    """A Java VM that burns."""
    need_classes()
    if not javas():
        pytest.skip("no Java here")
    vms.append(Vm(javas()[-1], work))
    yield vms[-1]
    vms[-1].kill()


def program_bytes(pid):
    """Memory of the programs that a process has loaded."""
    mine = held(pid, "prog")
    return sum(each["bytes_memlock"] for each in bpftool("prog", "list") if each["id"] in mine)


def has(profiler, pid, frame):
    return any(name.startswith(frame) for name in profiler.folded().frames(pid))


def lost_in_all(profiler):
    return {probe: lost(profiler.probe(probe)) for probe in EVERY if lost(profiler.probe(probe))}


@pytest.mark.quick
def test_a_native_target_pays_for_no_runtime(profiler, start, machine):
    native = start("spin", 600)
    python = start(Path(sys.executable), "-c", BURNS)
    profiler.profile(pids=[native.pid], probes=EVERY)
    before = program_bytes(profiler.pid)
    profiler.profile(pids=[native.pid, python.pid, machine.pid], probes=EVERY)
    wait_for(lambda: has(profiler, python.pid, PYTHON_FRAME), why="Python's frames")
    machine.be_late()
    wait_for(lambda: has(profiler, machine.pid, JAVA_FRAME), why="Java's frames")
    assert program_bytes(profiler.pid) > 1.5 * before
    assert not lost_in_all(profiler)
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: not held(profiler.pid, "prog"), why="all is unloaded")
    profiler.profile(pids=[native.pid], probes=EVERY)
    assert program_bytes(profiler.pid) == before


def test_a_python_that_comes_later_has_its_frames_soon(profiler, start, copy, work):
    """What was sampled before says so, if anything was."""
    start(copy("spin", "native"), 600)
    profiler.profile("^(native|pylater)$", probes=EVERY)
    before = program_bytes(profiler.pid)
    (work / "later.py").write_text(BURNS)
    (work / "pylater").symlink_to(sys.executable)
    python = start(work / "pylater", work / "later.py")
    wait_for(lambda: has(profiler, python.pid, "burns (later.py:"), why="Python's frames")
    causes = {cause for cause, count in profiler.probe()["truncated"].items() if count}
    # (frame_pointer: the first code of all, _start, has no CFI, and its rows aren't made yet.)
    assert causes <= {"runtime_pending", "table_pending", "address", "unmapped", "exec", "frame_pointer"}, causes
    assert program_bytes(profiler.pid) > before
    assert not lost_in_all(profiler)


def test_an_exec_to_python_as_well(profiler, start, copy, work):
    profiler.profile("^(bash|python3.*)$")
    (work / "later.py").write_text(BURNS)
    target = start(Path("/bin/bash"), "-c", f"read -t 1 < /dev/zero; exec {sys.executable} {work / 'later.py'}")
    wait_for(lambda: has(profiler, target.pid, "burns (later.py:"), why="Python's frames")
    assert lost(profiler.probe()) == 0


@pytest.mark.parametrize("build", ["allocations", "allocations_bare"])
def test_no_call_is_lost_or_counted_twice_while_programs_are_exchanged(profiler, start, copy, build):
    """Programs that count their own allocations, before, while and after the runtimes of another are found."""
    probes = ("oncpu", "offcpu", "mem", "mem_glibc")
    profile_allocations(profiler, "^(alloc[0-9]|pretends)$", probes=probes)
    before = program_bytes(profiler.pid)
    truths = {}
    for number in range(6):
        target = ready(start, copy(build, f"alloc{number}"))
        wait_probed(profiler, target)
        if number == 2:
            start(copy("pretends", "pretends"), 600)
        truths[target.pid] = let(target)
    for pid, truth in truths.items():
        Views(profiler, pid=pid).assert_exact(truth)
    wait_for(lambda: program_bytes(profiler.pid) > 1.5 * before, why="walkers of both")
    assert not lost_in_all(profiler)
