"""Perf maps: made code has the names that its process tells in /tmp/perf-PID.map, below its own root and by
its own pid, and none where it tells two, or somebody else does."""
import os
import re
from pathlib import Path

import pytest

from helpers import HZ, wait_for
from whole import profile_still

LEAF = 128  # where in its page jit's code without a frame lies (test/programs/optimized/jit.c)
NAMELESS = "[jit]_[j]"


def made_at(pid):
    def found():
        maps = Path(f"/proc/{pid}/maps").read_text()
        return re.search(r"^(\w+)-\w+ rwxp 00000000 00:00 0 *$", maps, re.M)

    return int(wait_for(found)[1], 16)


def line(pid, name, at=LEAF, size=32):
    return f"{made_at(pid) + at:x} {size:x} {name}\n"


@pytest.fixture
def perf_map():
    """The map of that process; perf_map(pid, name): a line more of its leaf."""
    paths = []

    def add(pid, name):
        path = Path(f"/tmp/perf-{pid}.map")
        paths.append(path)
        with path.open("a") as out:
            out.write(line(pid, name))
        return path

    yield add
    for path in paths:
        path.unlink(missing_ok=True)


def counted(profiler, pid):
    """{frame of made code: samples} of all that GET has."""
    found = {}
    for stack in profiler.folded(pid=pid).of(pid):
        for frame in stack.frames:
            if frame.endswith("_[j]"):
                found[frame] = found.get(frame, 0) + stack.value
    return found


def leaf_frames(profiler, pid, least=100, before=None):
    """What made code was called in `least` samples and more, beside those that were there before."""
    before = before or {}

    def enough():
        found = counted(profiler, pid)
        more = {frame: n - before.get(frame, 0) for frame, n in found.items() if n > before.get(frame, 0)}
        return sum(more.values()) >= least and set(more)

    return wait_for(enough, 30, 0.1)


@pytest.mark.quick
def test_made_code_has_the_name_that_its_process_tells(profiler, start, perf_map):
    target = start("jit", "leaf", 60)
    perf_map(target.pid, "LazyCompile:*work /app/server.js:1:2")
    profiler.profile(pids=[target.pid], frequency=HZ)
    assert leaf_frames(profiler, target.pid) == {"LazyCompile:*work /app/server.js:1:2_[j]"}
    assert lost(profiler) == set()


def test_whose_runtime_names_code_if_it_is_told_to_is_told_how(profiler, start, copy, perf_map):
    target, other = start(copy("jit", "node"), "leaf", 60), start("jit", "leaf", 60)
    profiler.profile(pids=[target.pid, other.pid], frequency=HZ)
    leaf_frames(profiler, target.pid)
    wait_for(lambda: "--perf-basic-prof" in profiler.processes()[target.pid].get("names_with", ""), why="it is told")
    assert "names_with" not in profiler.processes()[other.pid]
    perf_map(target.pid, "named")
    wait_for(lambda: "named_[j]" in counted(profiler, target.pid), why="its map is read")
    wait_for(lambda: "names_with" not in profiler.processes()[target.pid], why="it is told no more")


def test_what_is_told_later_counts_from_then_on(profiler, start, perf_map):
    target = start("jit", "leaf", 60)
    profiler.profile(pids=[target.pid], frequency=HZ)
    assert leaf_frames(profiler, target.pid) == {NAMELESS}
    perf_map(target.pid, "late")
    counted(profiler, target.pid)  # a window ends
    assert leaf_frames(profiler, target.pid, before=counted(profiler, target.pid)) == {"late_[j]"}


def test_of_two_names_in_a_window_none_is_guessed_and_then_the_newer_one_holds(profiler, start, perf_map):
    target = start("jit", "leaf", 60)
    perf_map(target.pid, "older")
    profiler.profile(pids=[target.pid], frequency=HZ)
    assert leaf_frames(profiler, target.pid) == {"older_[j]"}
    perf_map(target.pid, "newer")
    seen, before = [], counted(profiler, target.pid)
    for _ in range(6):
        seen.append(leaf_frames(profiler, target.pid, 20, before))
        before = counted(profiler, target.pid)
    assert any(NAMELESS in frames for frames in seen) and seen[-1] == {"newer_[j]"}, seen


def lost(profiler):
    """Why addresses have no names; GET and /metrics agree on it."""
    told = profiler.config()["status"]["perf_maps_lost"]
    found = re.findall(r'^stackprobe_perf_maps_lost_total\{cause="(\w+)"\} (\d+)$', profiler.get("/metrics").text, re.M)
    assert {cause: int(count) for cause, count in found} == told
    return {cause for cause, count in told.items() if count}


@pytest.mark.parametrize("how", ["another user's", "a link", "a FIFO", "a folder", "too large"])
def test_what_is_not_the_processes_own_file_is_not_read_and_counted(profiler, start, perf_map, work, how):
    target = start("jit", "leaf", 60)
    path = perf_map(target.pid, "foreign")
    if how == "another user's":
        os.chown(path, 31337, 31337)
    elif how == "too large":
        os.truncate(path, 257 << 20)
    else:
        path.rename(work / "elsewhere")
    if how == "a link":
        path.symlink_to(work / "elsewhere")
    elif how == "a FIFO":
        os.mkfifo(path)
    elif how == "a folder":
        path.mkdir()
    profiler.profile(pids=[target.pid], frequency=HZ)
    assert leaf_frames(profiler, target.pid) == {NAMELESS}
    assert lost(profiler) == {"too_large" if how == "too large" else "foreign"}
    if how == "a folder":
        path.rmdir()


def test_lines_that_make_no_sense_are_passed_over(profiler, start, perf_map):
    target = start("jit", "leaf", 60)
    path = perf_map(target.pid, "right")
    with path.open("ab") as out:
        out.write(b"\n \nzz 10 a\n10\n10 20\n10 20 \nffffffffffffffff ffffffffffffffff over\n0x10 0x\n")
        out.write(b"1" * 100_000 + b"\n\0\0\0\n" + f"{made_at(target.pid):x} 0 empty\n".encode())
        out.write(f"{made_at(target.pid) + LEAF:x} 20 half a li".encode())
    profiler.profile(pids=[target.pid], frequency=HZ)
    assert leaf_frames(profiler, target.pid) == {"right_[j]"}


def test_a_process_that_ended_before_the_window_has_its_names(profiler, start, perf_map):
    target = start("jit", "leaf", 1.5)
    path = perf_map(target.pid, "brief")
    profile_still(profiler, target)
    target.finish()
    path.unlink()
    assert leaf_frames(profiler, target.pid) == {"brief_[j]"}


@pytest.mark.parametrize("options", [
    pytest.param((), id="its own pids"),
    pytest.param(("--user", "1234:1234", "--read-only", "--cap-drop", "all"), id="another user"),
    pytest.param(("--uidmap", "0:100000:5000", "--gidmap", "0:100000:5000"), id="user namespace"),
])  # fmt: skip
def test_the_containers_own_tmp_and_pid_count(profiler, podman, perf_map, options):
    """Not what lies in this machine's /tmp under either of its pids."""
    container = podman.run("c", "/opt/c_jit", "leaf", 60, options=options)
    pid = container.pid
    assert container.inner_pid == 1
    perf_map(pid, "of_this_machine")
    path = container.root / "tmp/perf-1.map"
    path.write_text(line(pid, "of_the_container"))
    owner = Path(f"/proc/{pid}").stat()
    os.chown(path, owner.st_uid, owner.st_gid)
    profiler.profile("^c_jit$", pids=[pid], frequency=HZ)
    assert leaf_frames(profiler, pid) == {"of_the_container_[j]"}
    container.kill()
    container.wait()
    profile = profiler.folded(pid=pid)
    assert not profile.total() or profile.total("of_the_container_[j]")
