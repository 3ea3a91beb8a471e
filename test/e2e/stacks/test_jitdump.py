"""Jitdumps: made code has the names that its program writes to jit-PID.dump, at the time of the sample, and whole
stacks if the file tells how to unwind it, although that code keeps no frame pointers."""
import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from helpers import HZ, wait_for
from whole import ENOUGH, assert_whole, cut, profile_still, share, truncated, whole

NAMELESS = "[jit]_[j]"
CALLS = ("call_made", "run_made", "dumped::outer()_[j]", "called_back", "run_made", "dumped_inner_[j]",
         "called_back_work")  # fmt: skip


def dump_of(profiler, pid):
    return profiler.processes()[pid].get("jitdump")


def profile_of(profiler, pid):
    """A profile of its own, from now on, that has enough samples: others burn, too."""
    profile = profiler.folded(pid=pid, seconds=1)
    while profile.total() < ENOUGH:
        profile = profiler.folded(pid=pid, seconds=5)
    return profile


def names_of(profile):
    return {frame for stack in profile.stacks for frame in stack.frames if frame.endswith("_[j]")}


@pytest.mark.quick
def test_code_without_frame_pointers_has_its_names_and_its_callers(profiler, start, work):
    target = start("jit_dump", work, "rows", 60)
    profile_still(profiler, target, thread_frame=0)
    wait_for(lambda: (dump_of(profiler, target.pid) or {}).get("rows"), why="its rows are there")
    profile = profile_of(profiler, target.pid)
    assert_whole(profiler, profile, "main", *CALLS)
    assert names_of(profile) == {"dumped::outer()_[j]", "dumped_inner_[j]"}
    told = dump_of(profiler, target.pid)
    assert (told["functions"], told["left_out"]) == (2, {}) and told["rows"] >= 4, told
    assert "problem" not in told
    assert not any(profiler.config()["status"]["perf_maps_lost"].values()), "no map was asked"


def test_without_the_file_its_stacks_are_cut_and_have_no_names(profiler, start, work):
    """So it is the file that makes the difference."""
    target = start("jit_dump", work, "none", 60)
    profile_still(profiler, target, thread_frame=0)
    profile = profile_of(profiler, target.pid)
    assert whole(profile) < 0.1, [(s.value, s.frames) for s in profile.stacks][:5]
    assert names_of(profile) == {NAMELESS}
    assert dump_of(profiler, target.pid) is None


def test_a_file_without_rows_gives_names_alone(profiler, start, work):
    target = start("jit_dump", work, "names", 60)
    profile_still(profiler, target, thread_frame=0)
    profile = profile_of(profiler, target.pid)
    assert whole(profile) < 0.1
    assert names_of(profile) == {"dumped_inner_[j]"}, cut(profile)
    assert dump_of(profiler, target.pid)["rows"] == 0


def test_of_two_names_in_a_window_none_is_guessed_and_then_the_newer_one_holds(profiler, start, work):
    """The same stack is taken under both: when it was taken first is known, when last isn't."""
    target = start("jit_dump", work, "rows", 60)
    profile_still(profiler, target, thread_frame=0)
    wait_for(lambda: (dump_of(profiler, target.pid) or {}).get("rows"), why="its rows are there")
    profile = profile_of(profiler, target.pid)
    assert names_of(profile) == {"dumped::outer()_[j]", "dumped_inner_[j]"}
    profiler.folded(pid=target.pid)  # a window ends
    for number in (signal.SIGUSR1, None):
        before_ns = target.cpu_ns_now()
        wait_for(lambda: target.cpu_ns_now() > before_ns + 3e8, why="it burns")
        if number:
            target.popen.send_signal(number)
    profile = profiler.folded(pid=target.pid)
    assert profile.total(NAMELESS, "called_back") >= 0.05 * profile.total(), names_of(profile)
    assert whole(profile) >= 0.9, cut(profile)
    profile = profile_of(profiler, target.pid)
    assert names_of(profile) == {"other_outer_[j]", "dumped_inner_[j]"}
    assert share(profile, *(each.replace("dumped::outer()", "other_outer") for each in CALLS)) >= 0.98


def test_who_calls_another_function_of_that_place_is_told_from_who_called_the_first(profiler, start, work):
    """In one window: each stack has the name that its place had from then on."""
    target = start("jit_dump", work, "rows", 60, "other")
    profile_still(profiler, target, thread_frame=0)
    wait_for(lambda: (dump_of(profiler, target.pid) or {}).get("rows"), why="its rows are there")
    profiler.folded(pid=target.pid)  # a window ends
    target.popen.send_signal(signal.SIGUSR1)
    before_ns = target.cpu_ns_now()
    wait_for(lambda: target.cpu_ns_now() > before_ns + 5e8, why="it burns")
    profile = profiler.folded(pid=target.pid)
    assert profile.total("other_outer_[j]", "other_back") >= 100, names_of(profile)
    assert not profile.total("dumped::outer()_[j]", "other_back")


def test_a_process_that_ended_before_the_window_has_its_names(profiler, start, work):
    target = start("jit_dump", work, "rows", 1.5)
    profile_still(profiler, target, thread_frame=0)
    target.finish()
    for path in work.glob("jit-*.dump"):
        path.unlink()
    profile = profiler.folded(pid=target.pid)
    assert profile.total() >= ENOUGH
    assert share(profile, *CALLS) >= 0.9, cut(profile)
    assert NAMELESS not in names_of(profile)


@pytest.mark.parametrize(("how", "problem"), [
    ("another user's", "own user"), ("cut", "shorter"), ("nonsense", "no sense"), ("another's", "another process's"),
])  # fmt: skip
def test_what_is_not_right_is_told_and_gives_no_names(profiler, start, work, how, problem):
    target = start("jit_dump", work, "rows", 60)
    path = work / f"jit-{target.pid}.dump"
    wait_for(lambda: target.cpu_ns_now() > 5e7, why="it burns")
    if how == "another user's":
        os.chown(path, 31337, 31337)
    elif how == "another's":
        with path.open("r+b") as out:
            out.seek(20)
            out.write((target.pid + 1).to_bytes(4, "little"))
    elif how == "nonsense":
        with path.open("ab") as out:
            out.write(b"\0" * 64)
    profile_still(profiler, target, thread_frame=0)
    if how == "cut":
        wait_for(lambda: (dump_of(profiler, target.pid) or {}).get("rows"), why="it is read")
        os.truncate(path, 100)
    wait_for(lambda: profiler.folded(pid=target.pid) and problem in dump_of(profiler, target.pid).get("problem", ""),
             why=lambda: dump_of(profiler, target.pid))  # fmt: skip
    assert names_of(profile_of(profiler, target.pid)) == {NAMELESS}


# What V8 calls functions: * optimised, ^ compiled in between.
WORK = """
function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s }
function outer(n) { return inner(n) + 1 }
const until = Date.now() + 3000; let sum = 0; while (Date.now() < until) sum += outer(100000);
console.log(JSON.stringify({sum}))
"""


def functions_of(profile, script):
    """{function of the script: part of the samples}, without how V8 has compiled it."""
    found = {}
    for stack in profile.stacks:
        for frame in set(stack.frames):
            name = re.fullmatch(rf"JS:[*^+~]+(\S*) {re.escape(str(script))}:\d+:\d+_\[j\]", frame)
            if name:
                found[name[1]] = found.get(name[1], 0) + stack.value / profile.total()
    return found


def test_functions_of_javascript_have_the_names_that_a_perf_map_gives(profiler, start, work, monkeypatch):
    """Those that V8 has written last come when it has ended: it writes blocks of 4 KiB."""
    node = shutil.which("node") or shutil.which("nodejs")
    if not node:
        pytest.skip("node is not installed")
    script = work / "work.js"
    script.write_text(WORK)
    monkeypatch.chdir(work)  # it writes there
    found, nameless = {}, {}
    for flag in (None, "--perf-prof", "--perf-basic-prof"):
        target = start(Path(node), *[each for each in (flag,) if each], script)
        profile_still(profiler, target, thread_frame=0)
        if not flag:  # (GET ends a window, for which V8 may not have written enough)
            assert "--perf-basic-prof" in profiler.processes()[target.pid]["names_with"]
        target.finish()
        profile = profiler.folded(pid=target.pid)
        found[flag] = functions_of(profile, script)
        nameless[flag] = profile.total(NAMELESS) / profile.total()
        Path(f"/tmp/perf-{target.pid}.map").unlink(missing_ok=True)
    assert not found[None] and nameless[None] >= 0.3, (found, nameless)
    for flag in ("--perf-prof", "--perf-basic-prof"):  # V8 inlines outer, or doesn't
        assert found[flag].get("inner", 0) >= 0.3 and nameless[flag] <= 0.02, (found, nameless)


@pytest.mark.parametrize("options", [
    pytest.param((), id="its own pids"),
    pytest.param(("--uidmap", "0:100000:5000", "--gidmap", "0:100000:5000"), id="user namespace"),
])  # fmt: skip
def test_the_containers_own_pid_counts(profiler, podman, options):
    container = podman.run("c", "/opt/c_jit_dump", "/tmp", "rows", 60, options=options)
    assert container.inner_pid == 1
    profiler.profile("^c_jit_dump$", pids=[container.pid], frequency=HZ, thread_frame=0)
    wait_for(lambda: (dump_of(profiler, container.pid) or {}).get("rows"), why="its rows are there")
    profile = profile_of(profiler, container.pid)
    assert share(profile, *CALLS) >= 0.98, cut(profile)
