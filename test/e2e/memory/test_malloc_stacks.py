"""Whole stacks through malloc() to the root, in programs as their compilers and runtimes make them."""
import shutil
import subprocess
from pathlib import Path

import pytest

from allocating import (Views, allocator, assert_nothing_lost, is_clone, let, let_go,
                        profile_allocations, standing_by, view, wait_probed)  # fmt: skip
from helpers import PROGRAMS, wait_for
from test_symbols import go_leads_back
from waiting import stands_by


def assert_rooted(profile, *frames, root="_start"):
    """All stacks with these frames, one above the other, are whole and begin there."""
    mine = [s for s in profile.stacks if s.has(*frames)]
    assert mine, (frames, [s.frames for s in profile.stacks][:5])
    for stack in mine:
        assert "[truncated]" not in stack.frames, stack
        assert stack.frames[1] == root, stack


def test_c_without_frame_pointers(profiler, start):
    truth = let(standing_by(profiler, start, "allocations_bare"))
    views = Views(profiler)
    views.assert_whole()
    for name, site in truth.items():
        if site.bytes and name != "keep_in_thread":
            assert_rooted(views.bytes, name)
            assert "main" in views.stacks(name)[0].frames
    (in_thread,) = views.stacks("keep_in_thread")
    assert in_thread.frames[-3:] == ("leave", "keep_in_thread", "malloc")
    assert is_clone(in_thread.frames[1]), in_thread


def test_operator_new_of_cpp(profiler, start):
    truth = let(standing_by(profiler, start, "newer"))
    views = Views(profiler)
    views.assert_exact(truth)
    views.assert_whole()
    for name in truth:
        assert_rooted(views.bytes, "main", name)
    for stack in views.stacks("objects"):
        assert any(frame.startswith("operator new") for frame in stack.frames), stack


def test_vectors_of_rust(profiler, start):
    truth = let(standing_by(profiler, start, "rustvec"))
    views = Views(profiler)
    views.assert_exact(truth)
    views.assert_whole()
    for name in truth:
        assert_rooted(views.bytes, name)


def test_c_called_from_go(profiler, start):
    if not go_leads_back():
        pytest.skip("Go before 1.20 keeps no way back from C")
    target = standing_by(profiler, start, "gomalloc")
    truth = let(target)
    views = Views(profiler)
    views.assert_exact(truth)
    views.assert_whole()
    for stack in views.stacks("c_keep"):
        assert "main.keep" in stack.frames and "main.main" in stack.frames, stack
        assert stack.frames.index("main.main") < stack.frames.index("main.keep")
        assert stack.frames.index("main.keep") < stack.frames.index("c_keep")
    for stack in views.stacks("main.pass"):
        assert stack.frames[-1] in ("malloc", "__libc_malloc"), stack


PYTHON = """
import os, signal
os.kill(os.getpid(), signal.SIGSTOP)
kept = [bytearray(1000000) for _ in range(50)]
grown = bytearray(10)
for _ in range(50):
    grown.extend(bytes(100000))
print(len(grown), flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
"""


def test_lines_of_python(profiler, start):
    target = start(Path("/usr/bin/python3"), "-c", PYTHON)
    wait_for(lambda: stands_by(target), why="it stands by")
    profile_allocations(profiler, pids=[target.pid])
    wait_probed(profiler, target)
    let_go(target)
    wait_for(lambda: stands_by(target) and target.log.read_text(), why="told")
    views = Views(profiler)
    views.assert_whole()
    lines = [n for n, text in enumerate(PYTHON.splitlines(), 1) if "kept" in text or "extend" in text]
    kept, grown = (views.bytes.total(f"<module> (<string>:{line})_[p]") for line in lines)
    assert kept >= 50_000_000 and grown >= 5_000_000
    assert kept + grown >= 0.99 * views.bytes.total()
    held = sum(s.value for s in views.held_bytes.stacks if s.frames[-1] in ("malloc", "realloc"))
    assert 55_000_000 <= held <= 65_000_000
    assert 50 <= sum(s.value for s in views.held_objects.stacks) <= 5000
    assert_nothing_lost(profiler)


@pytest.fixture
def natively(start):
    """A JVM with `Natively`, which waits for a line."""
    path = shutil.which("java")
    if not path:
        pytest.skip("java is not installed")
    if not (PROGRAMS / "Natively.class").exists():
        pytest.skip("Natively was not built: no javac")
    jvm = subprocess.Popen([path, "-Xint", "-cp", PROGRAMS, "Natively"], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE)  # fmt: skip
    yield jvm
    jvm.kill()
    jvm.communicate()


def test_native_code_of_java(profiler, natively):
    """What Java has outside its heap is below its methods; the VM's own is [jvm]'s."""
    assert natively.stdout.readline() == b"ready\n"
    profile_allocations(profiler, pids=[natively.pid])
    wait_for(lambda: allocator(profiler, natively.pid).get("state") == "probed")
    natively.stdin.write(b"\n")
    natively.stdin.flush()
    assert b"buffers" in natively.stdout.readline()
    profile = view(profiler, "inuse")
    buffers = [s for s in profile.stacks if any("os::malloc" in f for f in s.frames)
               and any("Unsafe_AllocateMemory" in f for f in s.frames)]  # fmt: skip
    assert 40_000_000 <= sum(s.value for s in buffers) <= 42_000_000
    deflaters = [s for s in profile.stacks if s.has("Java_java_util_zip_Deflater_init")]
    # What a deflater of level 6 takes is zlib's business: 256 KB and more.
    assert sum(s.value for s in deflaters) >= 20 * 250_000
    for stack in buffers + deflaters:
        assert stack.frames[-1] in ("malloc", "calloc", "__libc_calloc"), stack
        assert any(f.startswith("Natively.main (Natively.java:") for f in stack.frames), stack
    assert not [s for s in profile.stacks if any(f.startswith("CompileBroker") for f in s.frames)]
