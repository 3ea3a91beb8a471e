"""Stacks of programs without frame pointers are whole and in order: what compilers and programs do
with stacks, known frame by frame."""
import json
import re
import shutil
import subprocess

import pytest

from helpers import BPF_PROGRAMS, ROOT, program, wait_for
from whole import (ENOUGH, HZ, assert_chain, assert_whole, chain, is_kernel, profile_still, run, share, truncated,
                   user_frames)  # fmt: skip


# Of 64-bit and of 32-bit programs.
WIDTHS = pytest.mark.parametrize("width", ["", "narrow_"], ids=["wide", "narrow"])


# 996 below main, main and the three functions of the C library before it: a thousand.
@pytest.mark.parametrize("depth", [pytest.param(20, marks=pytest.mark.quick), 150, 500, 996])
@WIDTHS
def test_a_chain_of_known_depth_shows_every_frame_in_order(profiler, start, width, depth):
    profile = run(profiler, start, width + "chain", depth, 2)
    assert_chain(profile, depth)
    assert_whole(profiler, profile, *chain(depth))


@WIDTHS
def test_system_calls_in_a_chain_show_every_frame_in_order(profiler, start, width):
    profile = run(profiler, start, width + "chain", 50, 2, "ticks")
    assert_chain(profile, 50)
    assert_whole(profiler, profile, *chain(50))
    assert any(is_kernel(frame) for frame in profile.frames())


def build_chain(work, compiler):
    """The chain by another compiler."""
    compiler = compiler.split()
    if not shutil.which(compiler[0]):
        pytest.skip(f"no {compiler[0]}")
    built = work / "bin/chain"
    built.parent.mkdir()
    flags = "-std=gnu17 -fomit-frame-pointer -fno-optimize-sibling-calls -DWITHOUT_FRAME_POINTERS"
    source = ROOT / "test/programs/optimized/chain.c"
    subprocess.run([*compiler, *flags.split(), "-o", built, source], check=True)
    return built


@pytest.mark.parametrize("compiler", ["clang -O2", "gcc -O3 -flto", "gcc -O1"])
def test_other_compilers_chains_are_whole(profiler, start, work, compiler):
    profile = run(profiler, start, build_chain(work, compiler), 30, 2)
    assert_chain(profile, 30)
    assert_whole(profiler, profile, *chain(30))


def test_a_program_that_has_debug_frame_alone_is_whole(profiler, start, work):
    built = build_chain(work, "gcc -O2 -g -fno-asynchronous-unwind-tables")
    remove = ["--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr"]
    subprocess.run(["objcopy", *remove, built], check=True)
    profile = run(profiler, start, built, 30, 2)
    assert_chain(profile, 30)
    assert_whole(profiler, profile, *chain(30))


# What compilers and programs do with stacks


@pytest.mark.parametrize("what", ["nap", "spin"])
@pytest.mark.parametrize("cfi", ["cfi", "bare"])
def test_the_caller_of_a_leaf_without_a_frame_is_there(profiler, start, what, cfi):
    profile = run(profiler, start, "leafless", what, cfi, 1)
    assert_whole(profiler, profile, "main", "a", "b", f"{what}_{cfi}")


@WIDTHS
def test_frames_of_every_kind_are_walked(profiler, start, width):
    profile = run(profiler, start, width + "frames", 2)
    assert_whole(profiler, profile, "main", "vla_frame", "many_arguments", "big_frame",
                 "drap_frame", "aligned_frame", "bottom")  # fmt: skip


@WIDTHS
@pytest.mark.parametrize("how", ["fault", "timer"])
def test_a_handler_on_a_stack_of_its_own_shows_both_sides(profiler, start, width, how):
    profile = run(profiler, start, width + "altstack", how, 2)
    assert_whole(profiler, profile)
    handled = 0
    interrupted = ["main", "outer", "victim"] + ["forbidden"] * (how == "fault")
    for stack in profile.stacks:
        frames = user_frames(stack)
        if "handler_work" not in frames or "[truncated]" in frames:
            continue
        at = frames.index("handler")
        assert frames[at : at + 2] == ("handler", "handler_work"), frames
        # Between the two sides lies the return from the signal, which has no name in a stripped libc.
        before = list(frames[frames.index("main") : at - 1])
        if how == "fault":
            assert before == interrupted, frames
        elif before[:3] == interrupted:
            handled += stack.value
            continue
        handled += stack.value
    assert handled >= 0.5 * profile.total()
    assert handled >= 0.98 * sum(s.value for s in profile.stacks if s.has("handler_work"))


@WIDTHS
def test_threads_of_both_makes_reach_where_they_began(profiler, start, width):
    profile = run(profiler, start, width + "strands", 1)
    assert_whole(profiler, profile)
    assert share(profile, "run", "thread_work") >= 0.45
    assert share(profile, "run_cloned", "clone_work") >= 0.45
    for stack in profile.stacks:
        if stack.has("run_cloned") and not stack.has("[truncated]"):
            assert stack.frames.index("run_cloned") == 2, "only clone() is above"
        if stack.has("run") and not stack.has("[truncated]"):
            assert stack.frames.index("run") == 3, "clone() and start_thread() are above"


def test_coroutines_reach_where_they_began(profiler, start):
    profile = run(profiler, start, "coroutine", 1)
    assert_whole(profiler, profile)
    assert share(profile, "co_body", "co_step") >= 0.97
    assert share(profile, "main") <= 0.03
    for stack in profile.stacks:
        if stack.has("co_body") and not stack.has("[truncated]"):
            assert stack.frames.index("co_body") == 2, "only __start_context() is above"


def test_calls_by_a_procedure_linkage_table_are_whole(profiler, start):
    profile = run(profiler, start, "plt_calls", 2)
    assert_whole(profiler, profile, "main", "caller")
    leaves = {s.frames[-1] for s in profile.stacks if s.has("caller")}
    assert {"tiny_add", "tiny_twice"} <= leaves


def test_the_vdso_is_walked(profiler, start):
    profile = run(profiler, start, "vdso_spin", 2)
    assert_whole(profiler, profile, "main", "read_clock")
    inside = sum(
        s.value
        for s in profile.stacks
        if s.has("main", "read_clock") and re.match("__(vdso|kernel)_", s.frames[-1])
    )
    assert inside >= 0.5 * profile.total()


def test_exceptions_in_flight_are_whole(profiler, start):
    """But for the moments in which the C++ runtime has made one half of a landing: there the return
    address is the landing's already and the stack pointer not yet, whoever walks."""
    profile = run(profiler, start, "thrower", 2)
    assert_whole(profiler, profile, "main", "rounds(unsigned long)")


def test_the_same_registers_on_another_stack_are_another_stack(profiler, start):
    target = start("siblings", 5)
    profile_still(profiler, target, thread_frame=0)
    burned = target.finish()
    profile = profiler.folded(pid=target.pid)
    assert_whole(profiler, profile)
    sides = {side: share(profile, "main", side, "common", "helper") for side in ("left", "right")}
    total = sum(burned.values())
    for side, part in sides.items():
        assert abs(part - burned[side] / total) < 0.03, (sides, burned)


def test_made_code_with_a_frame_pointer_is_walked_through(profiler, start):
    profile = run(profiler, start, "jit", "frame", 2)
    assert_whole(profiler, profile, "main", "call_made", "[jit]_[j]", "called_back", "called_back_work")


def test_a_made_leaf_without_a_frame_has_its_caller(profiler, start):
    profile = run(profiler, start, "jit", "leaf", 2)
    assert_whole(profiler, profile, "main", "call_made", "[jit]_[j]")


def test_made_code_without_a_frame_pointer_is_cut_or_right_and_never_wrong(profiler, start):
    target = start("jit", "bare", 60)
    wait_for(lambda: target.cpu_ns_now() > 5e7, why="it burns")
    profiler.profile(pids=[target.pid], frequency=HZ, thread_frame=0)
    wait_for(lambda: profiler.folded().total() > ENOUGH, every=0.3)
    profile = profiler.folded()
    right = ("main", "call_made", "[jit]_[j]", "called_back", "called_back_work")
    assert profile.total("[jit]_[j]", "called_back", "called_back_work") >= 0.97 * profile.total()
    for stack in profile.stacks:
        frames = user_frames(stack)
        if "called_back" not in frames:
            continue
        known = [f for f in frames if f in right]
        assert known == list(right[len(right) - len(known) :]), frames
        assert "[truncated]" in frames or stack.has(*right), frames
    cut = profile.total("[truncated]")
    assert sum(truncated(profiler).values()) >= cut
    of_process = profiler.processes()[target.pid]["truncated"]
    assert sum(of_process.values()) >= cut


# Walks inside walks


@pytest.mark.alone("counts what a program does in some seconds, at 1,000 Hz")
def test_walks_that_interrupt_walks_do_not_mix(profiler, start):
    """Each system call, switch and call of a function takes a stack through the daemon's own buffers,
    at some thousands a second, and two timers at 1,000 Hz come in between."""
    depth = 150
    target = start("chain", depth, 60, "ticks")
    wait_for(lambda: target.cpu_ns_now() > 1e8, why="it burns")
    profiler.profile(pids=[target.pid], frequency=HZ, thread_frame=0, max_overhead=100)
    nested = [BPF_PROGRAMS / "nested", profiler.pid, target.pid, program("chain"), "tick", 8]
    answer = subprocess.run([str(arg) for arg in nested], capture_output=True, text=True, timeout=60)
    if answer.returncode == 3:
        pytest.skip(answer.stderr)
    assert answer.returncode == 0, answer.stderr
    seen = json.loads(answer.stdout)
    profile = profiler.folded()
    assert seen["nested"] >= 100, f"too few timers met a walk: {seen}"
    assert seen["calls"] > 10_000 and seen["switches"] > 0, seen
    assert profile.total("tick") > 0 or not seen["uprobes"]
    assert profiler.probe()["lost"]["walk_busy"] == 0
    assert_chain(profile, depth, at_bottom=True)
    assert_whole(profiler, profile, *chain(depth))
