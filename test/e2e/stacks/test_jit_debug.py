"""Made code of which its program tells debuggers (GDB's JIT interface): whole stacks through it although it
keeps no frame pointers, exact names, and none that is no longer true."""
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from helpers import wait_for
from whole import ENOUGH, HZ, WHOLE, assert_whole, cut, profile_still, share, truncated, whole

NAMELESS = "[jit]_[j]"
CALLS = ("call_made", "run_made", "made::outer()_[j]", "called_back", "run_made", "made_inner_[j]", "called_back_work")


def made_code(profiler, pid):
    return profiler.processes()[pid].get("made_code")


def profile_of(profiler, pid):
    """A profile of its own, from now on, that has enough samples: others burn, too."""
    profile = profiler.folded(pid=pid, seconds=1)
    while profile.total() < ENOUGH:
        profile = profiler.folded(pid=pid, seconds=5)
    return profile


def names_of(profile):
    return {frame for stack in profile.stacks for frame in stack.frames if frame.endswith("_[j]")}


@pytest.mark.quick
@pytest.mark.parametrize("kind", ["object", "file"])
def test_code_without_frame_pointers_has_its_names_and_its_callers(profiler, start, kind):
    target = start("jit_debug", kind, 60)
    profile_still(profiler, target, thread_frame=0)
    profile = profile_of(profiler, target.pid)
    assert_whole(profiler, profile, "main", *CALLS)
    assert names_of(profile) == {"made::outer()_[j]", "made_inner_[j]"}
    told = made_code(profiler, target.pid)
    assert (told["files"], told["functions"], told["left_out"]) == (2, 3, {}), told
    assert told["rows"] >= 8, told
    assert not any(profiler.config()["status"]["perf_maps_lost"].values()), "no map was asked"


def test_code_that_is_told_no_more_has_no_name_and_then_another_one(profiler, start):
    target = start("jit_debug", "object", 60)
    profile_still(profiler, target, thread_frame=0)
    assert share(profile_of(profiler, target.pid), "main", *CALLS) >= 0.98
    target.popen.send_signal(signal.SIGUSR1)
    wait_for(lambda: made_code(profiler, target.pid)["files"] == 1, why="a look finds less")
    profile = profile_of(profiler, target.pid)
    assert names_of(profile) == {NAMELESS}, cut(profile)
    target.popen.send_signal(signal.SIGUSR2)
    wait_for(lambda: made_code(profiler, target.pid)["files"] == 2, why="a look finds more")
    profile = profile_of(profiler, target.pid)
    assert whole(profile) >= WHOLE, (truncated(profiler), cut(profile))
    assert names_of(profile) == {"other_outer_[j]", "other_inner_[j]"}, cut(profile)


def test_what_comes_after_the_first_sample_is_found(profiler, start):
    """It is chosen by its name, and begins later."""
    profiler.profile("^jit_debug$", frequency=HZ, thread_frame=0)
    target = start("jit_debug", "object", 60)
    wait_for(lambda: target.cpu_ns_now() > 5e8, why="it burns")
    wait_for(lambda: (made_code(profiler, target.pid) or {}).get("rows"), why="its code is looked at")
    wait_for(lambda: whole(profile_of(profiler, target.pid)) >= WHOLE, 60, why=lambda: truncated(profiler))  # rows are there soon after
    assert_whole(profiler, profile_of(profiler, target.pid), "main", *CALLS)


SOURCE = """
#include <stdint.h>
#define LEVEL __attribute__((noinline))
static volatile uint64_t sum;
LEVEL static void burn_more(uint64_t n) { for (uint64_t i = 0; i < n; i++) sum += i * n; }
LEVEL static void level_three(uint64_t n) { burn_more(n); sum++; }
LEVEL static void level_two(uint64_t n) { level_three(n + 1); sum++; }
LEVEL static void level_one(uint64_t n) { level_two(n + 1); sum++; }
int main(void) { for (;;) level_one(100000); }
"""


@pytest.mark.parametrize("kind", ["mcjit", "orc"])
def test_a_compiler_that_people_use(profiler, start, work, kind):
    """LLVM's, as `lli` runs it."""
    lli, clang = shutil.which("lli"), shutil.which("clang")
    if not lli or not clang:
        pytest.skip("lli and clang are not installed")
    (work / "levels.c").write_text(SOURCE)
    subprocess.run([clang, "-O1", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-S", "-emit-llvm", "-o",
                    work / "levels.ll", work / "levels.c"], check=True)  # fmt: skip
    target = start(Path(lli), f"--jit-kind={kind}", work / "levels.ll")
    profile_still(profiler, target, thread_frame=0)
    wait_for(lambda: (made_code(profiler, target.pid) or {}).get("functions"), why="its code is looked at")
    profile = profile_of(profiler, target.pid)
    chain = [f"{name}_[j]" for name in ("main", "level_one", "level_two", "level_three", "burn_more")]
    assert_whole(profiler, profile, *chain)
    assert names_of(profile) <= set(chain)
