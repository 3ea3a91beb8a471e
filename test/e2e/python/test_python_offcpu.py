"""What Python waits for, and what makes it grow: off-CPU, mem and mem_glibc name the function."""
import pytest

import oracle
from allocating import Views, assert_nothing_lost, let_tell, profile_allocations, wait_probed
from helpers import wait_for
from pyframes import (assert_share, functions, known, of_thread, share, shows, wrong)
from test_mem import KINDS, Seen as SeenMem, profile_mem
from test_offcpu_waits import may_see_them
from waiting import Seen, go, lost_waits, offcpu, profile_offcpu

RIGHT = 0.99
BLOCKED = "blocked.py"
WAITERS = ("sleeper", "locker", "timed", "getter", "simplest", "receiver", "reader", "selector",
           "eventer")  # fmt: skip
# What Python code of the standard library such a call is in, root first.
INSIDE = {"getter": ["get", "wait"], "eventer": ["wait", "wait"]}


def begins(stack):
    """A thread that has not come to its own function yet: it gives itself a name."""
    return "name_thread" in functions(stack)


def waits_right(name):
    """Whether a stack is that of this waiter: its line, and below it nothing but the library's."""

    def right(stack):
        if begins(stack):
            return True
        if not shows(stack, known(BLOCKED, name)):
            return False
        mine = functions(stack)
        return mine[mine.index(name) + 1 :] == INSIDE.get(name, [])

    return right


@pytest.mark.quick
def test_waits_name_the_function_and_the_line(profiler, standing):
    target = standing(BLOCKED, "for", 2)
    profile_offcpu(profiler, pids=[target.pid], thread_frame=1)
    truth = go(target)
    seen = Seen(profiler)
    for name in WAITERS:
        mine = of_thread(seen.times, target.pid, name)
        waited_us = sum(s.value for s in mine)
        # (Its clock has the times when others had its CPU as well.)
        assert waited_us >= 0.6 * truth[name]["sum_ns"] / 1000, (name, truth[name])
        assert_share(mine, waits_right(name), RIGHT)
    feeder = of_thread(seen.times, target.pid, "feeder")
    assert_share(feeder, lambda s: begins(s) or "feeder" in functions(s), RIGHT)
    main = [s for s in seen.times.of(target.pid) if "join" in functions(s)]
    helper = known(BLOCKED, "helper", "for_a_while")
    assert_share(main, lambda s: shows(s, helper) or shows(s, known(BLOCKED, "for_a_while")), RIGHT)
    own = {*WAITERS, "feeder", "for_a_while", "name_thread"}
    assert_share(seen.times.of(target.pid), lambda s: own & set(functions(s)), RIGHT)
    assert lost_waits(profiler) == {}


def test_a_long_wait_among_short_ones_has_its_functions(profiler, standing):
    """Its stack is taken at its end, where the kernel lets us."""
    target = standing("seldom.py", 10)
    profile_offcpu(profiler, pids=[target.pid], minblock=10_000)
    truth = go(target)
    seen = Seen(profiler, pid=target.pid)
    waits = [s for s in seen.times.stacks if "seldom" in functions(s)]
    assert sum(s.value for s in seen.counts.stacks if "seldom" in functions(s)) == 10
    assert 0.9 * truth["sum_ns"] <= sum(s.value for s in waits) * 1000 <= truth["sum_ns"] + 10_000
    assert all("[truncated]" not in s.frames for s in waits)
    assert lost_waits(profiler) == {}


def test_each_wait_begins_at_the_root_of_its_thread(profiler, standing):
    target = standing(BLOCKED, "for", 1)
    profile_offcpu(profiler, pids=[target.pid], thread_frame=1)
    go(target)
    profile = offcpu(profiler)
    for name in WAITERS:
        root = ["_bootstrap", "_bootstrap_inner", "run", "run", "run", name]
        stacks = of_thread(profile, target.pid, name)
        assert_share(stacks, lambda s, root=root: functions(s)[: len(root)] == root or begins(s), RIGHT)
        assert_share(stacks, lambda s: "[truncated]" not in s.frames, RIGHT)


def test_threads_that_blocked_before_the_probe_show_where(profiler, run_python):
    target = run_python(BLOCKED, "ever")
    target.first_line()
    wait_for(lambda: oracle.states(target.pid) == {"S"}, why="they block")
    profile_offcpu(profiler, pids=[target.pid], thread_frame=1)
    may_see_them(profiler)
    profile = wait_for(lambda: offcpu(profiler).total(pid=target.pid) > 5e6 and offcpu(profiler))
    for name in WAITERS:
        stacks = of_thread(profile, target.pid, name)
        assert_share(stacks, waits_right(name), RIGHT)
    main = [s for s in profile.of(target.pid) if "for_ever" in functions(s)]
    assert_share(main, lambda s: shows(s, known(BLOCKED, "for_ever")), RIGHT)


def test_who_waits_for_the_gil_shows_his_own_function(profiler, standing):
    target = standing(BLOCKED, "gil", 2)
    profile_offcpu(profiler, pids=[target.pid], thread_frame=1)
    go(target)
    profile = offcpu(profiler)
    waiter = of_thread(profile, target.pid, "waiter")
    assert sum(s.value for s in waiter) >= 1e6, "it hardly ever has the lock"
    assert_share(waiter, lambda s: begins(s) or shows(s, known(BLOCKED, "waiter")), RIGHT)
    computer = of_thread(profile, target.pid, "computer")
    assert sum(s.value for s in computer) >= 0.5e6
    assert_share(computer, lambda s: begins(s) or "computer" in functions(s), RIGHT)
    assert_share(computer, lambda s: not {"waiter", "holder"} & set(functions(s)), RIGHT)


# Memory

GROWS = "grows.py"
LINES = {"arrays": ["arrays"], "extended": ["extended"], "objects": ["objects", "numbers"],
         "methods": ["methods"]}  # fmt: skip


def test_what_makes_it_grow_is_named(profiler, standing):
    target = standing(GROWS)
    profile_mem(profiler, target)
    truth = go(target)
    seen = SeenMem(profiler)
    stacks = [s for s in seen.bytes.of(target.pid) if s.frames[-1] in KINDS]
    for name in LINES:
        mine = [s for s in stacks if name in functions(s)]
        grown = sum(s.value for s in mine)
        # (What it gave back meanwhile is counted as well: a list that moves.)
        assert 0.97 * truth[name]["grown"] <= grown <= 1.25 * truth[name]["grown"], name
        lines = [known(GROWS, at, name) for at in LINES[name]]
        assert_share(mine, lambda s, lines=lines: any(shows(s, at) for at in lines), 0.98)
    below = [s for s in stacks if shows(s, known(GROWS, "below"))]
    assert sum(s.value for s in below) >= 8 << 20
    assert all(functions(s).count("below") == 11 for s in below)
    assert_share(stacks, lambda s: "main" in functions(s), RIGHT)


def test_what_is_asked_of_malloc_is_named(profiler, standing):
    target = standing(GROWS)
    profile_allocations(profiler, pids=[target.pid])
    wait_probed(profiler, target)
    truth = let_tell(target)
    views = Views(profiler)
    for name in ("library", "large"):
        objects, size = truth[name]["asked"]
        at = known(GROWS, name)
        for profile, least in ((views.bytes, size), (views.objects, objects),
                               (views.held_bytes, size), (views.held_objects, objects)):  # fmt: skip
            mine = [s for s in profile.of(target.pid) if shows(s, at)]
            exact = sum(s.value for s in mine)
            # What ctypes and the list of what is kept take stands there as well.
            assert least <= exact <= 1.02 * least + 200_000, (name, exact, least)
    called = [s for s in views.objects.of(target.pid)
              if shows(s, known(GROWS, "library")) and s.frames[-1] == "malloc"]  # fmt: skip
    assert sum(s.value for s in called) >= truth["library"]["asked"][0]
    everything = views.bytes.of(target.pid)
    right = lambda s: "main" in functions(s)  # noqa: E731
    assert share(everything, right) >= RIGHT, wrong(everything, right)
    assert_nothing_lost(profiler)
