"""Off-CPU: each wait is counted once, with its time, on the stack that waited."""
import os
import signal
import time

import pytest

import oracle
from helpers import by_name_alone, wait_for
from waiting import (Seen, go, go_while, let_go, lost_waits, offcpu, profile_offcpu,
                     ready)  # fmt: skip

BOTH = ("", "_bare")  # with frame pointers, and without


def kernel_part(stack):
    return [frame for frame in stack.frames if frame.endswith("_[k]")]


@pytest.mark.parametrize("build", BOTH)
def test_sleeps_of_any_length_have_their_number_and_their_time(profiler, start, build):
    target = ready(start, f"naps{build}", "100us:1000", "10ms:100", "1s:1")
    profile_offcpu(profiler, "^naps")
    truth = go(target)
    seen = Seen(profiler)
    for name in ("nap_100us", "nap_10ms", "nap_1s"):
        seen.assert_holds(truth[name], "main", name)
    assert lost_waits(profiler) == {}
    assert seen.waits("[truncated]") == 0


@pytest.mark.quick
def test_a_sleep_is_one_stack_from_its_program_to_the_scheduler(profiler, start):
    target = ready(start, "naps_bare", "100us:200")
    profile_offcpu(profiler, "^naps")
    go(target)
    stacks = Seen(profiler).stacks("nap_100us")
    assert len(stacks) == 1, stacks
    frames = stacks[0].frames
    assert frames[:3] == (f"[{target.pid}]naps_bare", "naps_bare", "_start")
    assert stacks[0].has("main", "nap_100us")
    in_kernel = kernel_part(stacks[0])
    assert frames[-len(in_kernel) :] == tuple(in_kernel), "the kernel's come behind the user's"
    assert "do_nanosleep_[k]" in in_kernel
    assert in_kernel[-2:] == ["schedule_[k]", "__schedule_[k]"]


def test_a_smaller_timer_slack_shortens_the_waits_that_are_seen(profiler, start):
    target = ready(start, "naps", "-s", 1, "100us:1000")
    profile_offcpu(profiler, "^naps")
    truth = go(target)
    Seen(profiler).assert_holds(truth["nap_100us"], "main", "nap_100us")


def test_time_on_a_cpu_between_the_waits_is_not_in_them(profiler, start):
    target = ready(start, "naps_bare", "-r", 2000, "10ms:100")
    profile_offcpu(profiler, "^naps")
    before = oracle.process(target.pid)
    truth = go(target)
    seen = Seen(profiler)
    seen.assert_holds(truth["nap_10ms"], "main", "nap_10ms")
    assert seen.waits("main", "run") == 0
    # The last one is the stop at its end, which is in no state that is looked for.
    assert seen.waits() == (oracle.process(target.pid) - before).voluntary - 1


@pytest.mark.parametrize("build", BOTH)
@pytest.mark.parametrize("by", ("futex", "pipe"))
def test_threads_that_hand_over_to_each_other_have_each_its_waits(profiler, start, build, by):
    target = ready(start, f"handover{build}", by, 10000)
    profile_offcpu(profiler, "^handover")
    truth = go(target)
    seen = Seen(profiler)
    for side in ("ping", "pong"):
        seen.assert_holds(truth[side], f"{side}_wait")
        assert {s.frames[1] for s in seen.stacks(f"{side}_wait")} == {side}
    assert lost_waits(profiler) == {}


def test_who_only_yields_does_not_wait(profiler, start):
    target = ready(start, "handover", "yield", 10000, cpu=0)
    profile_offcpu(profiler, "^handover")
    assert go(target)["involuntary"] >= 1000, "they share no CPU"
    seen = Seen(profiler)
    assert seen.waits("ping_wait") == seen.waits("pong_wait") == 0


@pytest.mark.parametrize("build", BOTH)
def test_two_callers_with_equal_frames_have_each_its_own_time(profiler, start, build):
    target = ready(start, f"callers{build}", 200)
    profile_offcpu(profiler, "^callers")
    truth = go(target)
    seen = Seen(profiler)
    for name in ("short_caller", "long_caller"):
        seen.assert_holds(truth[name], "main", name, "helper")


def test_a_parent_that_waits_in_state_d_and_its_child_have_each_its_time(profiler, start):
    target = ready(start, "dstate", "vfork", 20)
    profile_offcpu(profiler, "^dstate$")
    truth = go(target)
    seen = Seen(profiler)
    mine = Seen(profiler, pid=target.pid)
    children = sum(s.value for s in seen.counts.stacks if s.has("child_nap"))
    assert children == truth["naps"]["switches"]
    assert mine.waits("child_nap") == 0
    # The child's sleep is in a function that the parent called: it is a process of its own.
    mine.assert_holds(truth["waits"], "main", "vfork_wait")


def test_waits_for_the_disk_are_there_with_what_the_kernel_did(profiler, start, work):
    target = ready_on_disk(start, work)
    profile_offcpu(profiler, "^dstate$")
    truth = go(target)
    seen = Seen(profiler)
    seen.assert_holds(truth["waits"], "main", "direct_wait")
    frames = {frame for s in seen.stacks("direct_wait") for frame in s.frames}
    assert any(frame.startswith("io_schedule") for frame in frames), frames


def ready_on_disk(start, work):
    """`dstate direct`, or a skip where files can't be read past the page cache."""
    target = start("dstate", "direct", 200, work / "block")
    wait_for(lambda: oracle.states(target.pid) in ({"T"}, {"Z"}), why="it stands by or has ended")
    if oracle.states(target.pid) == {"Z"}:
        pytest.skip(f"no O_DIRECT below {work}: {target.log.read_text()}")
    return target


def test_processes_that_block_once_and_die_are_all_there(profiler, start):
    target = ready(start, "mayflies", 100)
    profile_offcpu(profiler, by_name_alone("^mayflies$"))
    truth = go(target)["mayfly_nap"]
    seen = Seen(profiler)
    seen.assert_holds(truth, "main", "mayfly", "mayfly_nap")
    pids = {s.frames[0] for s in seen.stacks("mayfly_nap")}
    assert len(pids) == 100
    assert f"[{target.pid}]mayflies" not in pids


def test_who_is_killed_in_a_wait_has_waited_until_then(profiler, start):
    target = ready(start, "naps", "1s:60")
    profile_offcpu(profiler, "^naps$")
    before_ns = time.monotonic_ns()
    let_go(target)
    wait_for(lambda: oracle.states(target.pid) == {"S"}, every=0.001, why="it sleeps")
    asleep_ns = time.monotonic_ns()
    time.sleep(0.4)
    killed_ns = time.monotonic_ns()
    os.kill(target.pid, signal.SIGKILL)
    target.reap()
    after_ns = time.monotonic_ns()
    seen = Seen(profiler)
    waits, waited_ns = seen.waits("main", "nap_1s"), seen.ns("main", "nap_1s")
    # One, unless this test was so late that the next one had begun: between the two it has run.
    assert 1 <= waits <= 1 + (after_ns - before_ns) // 1e9
    assert killed_ns - asleep_ns - 1000 - (waits - 1) * 10e6 <= waited_ns <= after_ns - before_ns


def test_reading_and_equal_puts_in_the_middle_of_waits_change_nothing(profiler, start):
    target = ready(start, "naps_bare", "10ms:100", "100ms:30")
    profile_offcpu(profiler, "^naps")

    def read_and_put():
        offcpu(profiler)
        profiler.put_ok(profiler.settings())

    truth, reads = go_while(target, read_and_put)
    assert reads >= 3
    seen = Seen(profiler)
    seen.assert_holds(truth["nap_10ms"], "main", "nap_10ms")
    seen.assert_holds(truth["nap_100ms"], "main", "nap_100ms")
    assert lost_waits(profiler) == {}


def test_on_cpu_beside_it_changes_no_count(profiler, start):
    target = ready(start, "naps_bare", "-r", 1000, "100us:500")
    profile_offcpu(profiler, "^naps", probes=("oncpu", "offcpu"), frequency=1000)
    truth = go(target)
    Seen(profiler).assert_holds(truth["nap_100us"], "main", "nap_100us")
    assert profiler.folded().total("main", "run") >= 350
