"""Off-CPU: which waits count: minblock, maxblock, states, processes; and the run queue apart."""
import os
import time

import pytest

import oracle
from helpers import ours, wait_for
from waiting import (Seen, answer, assert_time, go, go_while, let_go, offcpu, profile_offcpu,
                     ready)  # fmt: skip

MIX = ("1s:1", "100ms:3", "10ms:10", "2ms:20", "100us:100")
NAPS = ("nap_1s", "nap_100ms", "nap_10ms", "nap_2ms", "nap_100us")


def between(truth, least_us, most_us):
    """How many of a program's waits lie surely, and how many possibly, between the two: the
    program's clock has a few us more than the wait itself, and all that passed while it was not on
    a CPU afterwards."""
    unsure_ns = 20_000 + truth["slack_ns"]
    surely = sum(least_us * 1000 + unsure_ns <= ns <= most_us * 1000 for ns in truth["each_ns"])
    maybe = sum(least_us * 1000 <= ns <= most_us * 1000 + unsure_ns for ns in truth["each_ns"])
    return surely, maybe


def assert_between(seen, truth, least_us=0, most_us=2**63):
    for name in NAPS:
        surely, maybe = between(truth[name], least_us, most_us)
        assert surely <= seen.waits(name) <= maybe, (name, least_us, most_us)


def test_counts_fall_as_minblock_rises_and_are_right_at_each(profiler, start):
    for minblock, least in ((10, 133), (1000, 33), (5000, 13), (50_000, 3), (500_000, 0)):
        target = ready(start, "naps_bare", *MIX[1:])
        profile_offcpu(profiler, pids=[target.pid], minblock=minblock)
        truth = go(target)
        seen = Seen(profiler, pid=target.pid)
        assert_between(seen, truth, least_us=minblock)
        assert seen.waits("main") >= least, "those that were to be as long"


def test_few_long_waits_among_many_short_ones_are_all_there_and_whole(profiler, start):
    """The thread's last waits say that the next one will be short. It isn't."""
    target = ready(start, "naps_bare", *("100us:200", "10ms:2") * 5)
    profile_offcpu(profiler, pids=[target.pid], minblock=5000)
    told = go(target)
    truth = told["nap_10ms"]
    seen = Seen(profiler, pid=target.pid)
    seen.assert_holds(truth, "main", "nap_10ms")
    assert truth["switches"] == 10
    assert {s.frames[-1] for s in seen.stacks("nap_10ms")} == {"__schedule_[k]"}
    _, long = between(told["nap_100us"], 5000, 2**63)
    assert seen.waits("nap_100us") <= long < 1000, "those that took long"
    assert not any(profiler.probe("offcpu")["lost"].values())


def test_a_long_wait_that_was_to_be_short_is_in_each_window(profiler, start):
    target = ready(start, "naps_bare", "100us:300", "1s:3")
    profile_offcpu(profiler, pids=[target.pid], minblock=5000)
    truth, windows = go_while(target, lambda: profiler.folded("offcpu"))
    seen = Seen(profiler, pid=target.pid)
    assert windows > 1, "they end while it waits"
    assert seen.waits("main", "nap_1s") == truth["nap_1s"]["switches"] == 3
    assert_time(seen.ns("main", "nap_1s"), truth["nap_1s"], windows)  # each rounded up
    assert not any(profiler.probe("offcpu")["lost"].values())


@pytest.mark.parametrize("minblock", (3_000_000, 2**32 - 2))
def test_a_minblock_above_all_sleeps_leaves_none(profiler, start, minblock):
    target = ready(start, "naps", "100ms:1", "10ms:10", "100us:100")
    profile_offcpu(profiler, "^naps$", minblock=minblock)
    go(target)
    profile_offcpu(profiler, "^naps$", minblock=minblock)
    assert offcpu(profiler).total("main") == 0
    assert profiler.probe("offcpu")["waits_over_maxblock"] == 0


def test_what_is_longer_than_maxblock_is_left_out_and_counted(profiler, start):
    target = ready(start, "naps", *MIX)
    profile_offcpu(profiler, pids=[target.pid], maxblock=50_000)  # by its name, other tests' would count
    truth = go(target)
    seen = Seen(profiler)
    assert_between(seen, truth, most_us=50_000)
    assert seen.waits("nap_1s") == seen.waits("nap_100ms") == 0
    left_out = sum(truth[name]["switches"] for name in NAPS) - seen.waits("main")
    # One more, if it waited longer than that to be let go.
    assert left_out >= 4 and profiler.probe("offcpu")["waits_over_maxblock"] - left_out in (0, 1)


def test_a_wait_longer_than_maxblock_is_in_no_graph_while_it_goes_on(profiler, start):
    target = ready(start, "naps", "1s:1", "10ms:5")
    # (By its name it was 19, once: another run of the tests had a worker of the same name beside this one.)
    profile_offcpu(profiler, pids=[target.pid], maxblock=300_000)
    let_go(target)
    time.sleep(0.7)
    assert offcpu(profiler).total("nap_1s") <= 300_000
    truth = answer(target)
    seen = Seen(profiler)
    surely, maybe = between(truth["nap_10ms"], 0, 300_000)
    assert surely <= seen.waits("main", "nap_10ms") <= maybe
    if surely == maybe == 5:
        seen.assert_holds(truth["nap_10ms"], "main", "nap_10ms")
    told = profiler.probe("offcpu")
    # (The stop before it began is one more, if that took as long.)
    left_out = sum(waits["switches"] for waits in (truth["nap_1s"], truth["nap_10ms"])) - seen.waits("main", "nap_10ms")
    assert told["waits_over_maxblock"] - left_out in (0, 1), (told, truth, profiler.processes(), seen.times.stacks)


def test_state_d_leaves_sleeps_out(profiler, start):
    target = ready(start, "dstate", "vfork", 10)
    profile_offcpu(profiler, "^dstate$", offcpu_state="d")
    truth = go(target)
    seen = Seen(profiler)
    Seen(profiler, pid=target.pid).assert_holds(truth["waits"], "main", "vfork_wait")
    assert seen.waits("child_nap") == 0
    assert seen.waits() == truth["waits"]["switches"]


def test_state_all_has_every_switch_and_the_time_without_a_cpu(profiler, start):
    """Two that share a CPU: what they wait for it is all that they wait."""
    target = ready(start, "contend", 2, 1, cpu=0)
    profile_offcpu(profiler, "^contend$", offcpu_state="all")
    before = oracle.process(target.pid)
    go(target)
    counts = oracle.process(target.pid) - before
    seen = Seen(profiler)
    # The stop before it began, which it was in when the probe came, was a switch before that.
    switches = counts.voluntary + counts.involuntary
    assert switches <= seen.waits() <= switches + 1
    assert seen.waits("contend_run") >= 0.9 * counts.involuntary > 20
    # Some of it is before they run there, and after they are woken: much, where others are busy.
    waited_ns = seen.ns("contend_run")
    assert 0.5 * counts.delay_ns <= waited_ns <= 1.001 * counts.delay_ns + 5000 * switches


def test_without_it_two_that_share_a_cpu_do_not_wait(profiler, start):
    target = ready(start, "contend", 2, 0.5, cpu=0)
    profile_offcpu(profiler, "^contend$")
    go(target)
    waits = Seen(profiler).stacks("contend_run")
    # Its first page of code may be mapped while the other's stack is: that is a wait for a lock.
    assert not [s for s in waits if not s.has("asm_exc_page_fault_[k]")], [(s.value, s.frames) for s in waits]


def test_split_puts_the_time_after_the_wake_up_apart(profiler, start):
    """A sleeper that others keep from its CPU for milliseconds after each sleep."""
    rivals = ready(start, "contend", 2, 100, cpu=0)  # until the test's end
    target = ready(start, "naps_bare", "2ms:60", cpu=0)
    os.setpriority(os.PRIO_PROCESS, target.pid, 10)
    profile_offcpu(profiler, "^naps", offcpu_split=1)
    before = oracle.process(target.pid)
    let_go(rivals)
    truth = go(target)["nap_2ms"]
    delay_ns = (oracle.process(target.pid) - before).delay_ns
    seen = Seen(profiler)
    queued = [s for s in seen.stacks("nap_2ms") if s.frames[-1] == "[runqueue]"]
    assert queued
    assert all("[runqueue]" not in s.frames[:-1] for s in seen.times.stacks)
    queued_ns = 1000 * sum(s.value for s in queued)
    # Both parts together are the wait; the part before the wake-up is the sleep.
    assert_time(seen.ns("nap_2ms"), truth, len(seen.stacks("nap_2ms")))
    slept_ns = (seen.ns("nap_2ms") - queued_ns) / truth["switches"]
    # (Timers come late where the host has the CPU; the program's clock without what the kernel says
    # that it waited for its own is that sleep too.)
    late_ns = (truth["sum_ns"] - 0.98 * delay_ns) / truth["switches"]
    assert 1.99e6 <= slept_ns <= max(2.5e6, late_ns + 50_000)
    assert 5e6 <= queued_ns <= 1.01 * delay_ns + 20_000 * truth["switches"]
    blocked = [s for s in seen.counts.stacks if s.has("nap_2ms") and s.frames[-1] != "[runqueue]"]
    assert sum(s.value for s in blocked) == truth["switches"]


def test_without_split_there_is_no_run_queue_frame(profiler, start):
    target = ready(start, "naps", "10ms:10")
    profile_offcpu(profiler, "^naps$")
    go(target)
    assert "[runqueue]" not in offcpu(profiler).frames()


def test_of_twins_only_the_one_that_matches_appears(profiler, start, copy):
    alpha = ready(start, copy("naps", "alpha"), "10ms:20")
    beta = ready(start, copy("naps", "beta"), "10ms:20")
    profile_offcpu(profiler, "^alpha$")
    truth = go(alpha)
    go(beta)
    seen = Seen(profiler)
    assert seen.times.pids == {alpha.pid}
    seen.assert_holds(truth["nap_10ms"], "main", "nap_10ms")


def test_a_twin_that_is_chosen_later_is_there_from_then_on(profiler, start, copy):
    alpha = ready(start, copy("naps", "alpha"), "10ms:20")
    beta = ready(start, copy("naps", "beta"), "10ms:20")
    profile_offcpu(profiler, "^alpha$")
    first = go(alpha)
    profiler.put_ok({"snoopers": {"proc_name": [ours("^beta$")]}})
    wait_for(lambda: set(profiler.processes()) == {beta.pid}, why="beta is chosen")
    second = go(beta)
    seen = Seen(profiler)
    for target, truth in ((alpha, first), (beta, second)):
        mine = Seen(profiler, pid=target.pid)
        mine.assert_holds(truth["nap_10ms"], "main", "nap_10ms")
    assert seen.times.pids == {alpha.pid, beta.pid}


def test_each_probe_has_the_processes_of_its_own_expression(profiler, start, copy):
    alpha = ready(start, copy("naps", "alpha"), "-r", 5000, "10ms:40")
    beta = ready(start, copy("naps", "beta"), "-r", 5000, "10ms:40")
    profile_offcpu(
        profiler,
        {"comm": "^alpha$", "probe": ["offcpu"]},
        {"comm": "^beta$", "probe": ["oncpu"]},
        probes=("oncpu", "offcpu"),
        frequency=1000,
    )
    truth = go(alpha)
    go(beta)
    seen = Seen(profiler)
    assert seen.times.pids == {alpha.pid}
    seen.assert_holds(truth["nap_10ms"], "main", "nap_10ms")
    assert profiler.folded().pids == {beta.pid}
    assert profiler.folded().total("main", "run") >= 150


def test_a_depth_that_is_too_small_cuts_the_stack_and_keeps_its_weight(profiler, start):
    target = ready(start, "naps_bare", "-d", 100, "10ms:20")
    profile_offcpu(profiler, "^naps", offcpu_depth=16)
    truth = go(target)["nap_10ms"]
    seen = Seen(profiler)
    seen.assert_holds(truth, "dig", "nap_10ms")
    assert seen.waits("[truncated]") == truth["switches"]
    assert {s.frames.count("dig") for s in seen.stacks("nap_10ms")} <= set(range(10, 16))


@pytest.mark.parametrize("name", ["naps_bare", "narrow_naps"])
def test_a_depth_that_is_enough_has_all_of_it(profiler, start, name):
    target = ready(start, name, "-d", 200, "10ms:20")
    profile_offcpu(profiler, f"^{name}")
    truth = go(target)["nap_10ms"]
    seen = Seen(profiler)
    seen.assert_holds(truth, "main", *["dig"] * 200, "nap_10ms")
