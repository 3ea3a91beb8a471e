"""Python's threads: samples are CPU time, and each thread's stack is its own, whoever has the GIL,
whatever interpreter it is in, and whether it has a state of Python at all."""
import pytest

from helpers import same_time
from pyframes import assert_share, functions, is_python, known, of_thread, shows
from waiting import go

HZ = 1000
RIGHT = 0.99
LOOPS = ("first", "second", "third", "fourth")
SHARING = "sharing.py"


def profiled(profiler, standing, name, *args, **params):
    """What a program tells, and its profile on the CPU."""
    target = standing(name, *args)
    profiler.profile(pids=[target.pid], frequency=HZ, thread_frame=1, max_overhead=0, **params)
    truth = go(target)
    return truth, profiler.folded(pid=target.pid), target


def samples(profile, name):
    return sum(s.value for s in profile.stacks if name in functions(s))


def assert_own_time(profile, truth):
    """Samples are the threads' CPU time: four standard errors of a count, and never under 3 %."""
    for name, cpu_ns in truth.items():
        expected = cpu_ns * HZ / 1e9
        same_time(samples(profile, name), HZ, cpu_ns, within=max(0.03, 4 / expected**0.5))
    named = sum(samples(profile, name) for name in truth)
    same_time(named, HZ, sum(truth.values()), within=0.04)


def test_threads_that_wait_for_the_gil_have_no_samples(profiler, standing):
    truth, profile, target = profiled(profiler, standing, SHARING, "fight", 4)
    assert_own_time(profile, truth)
    # One at a time: all together have no more than the process had, and the main thread waits.
    same_time(profile.total(pid=target.pid), HZ, sum(truth.values()), within=0.05)
    waiting = [s for s in profile.stacks if not set(LOOPS) & set(functions(s))]
    assert sum(s.value for s in waiting) <= 0.03 * profile.total(), waiting[:5]


def test_shares_with_the_gil_released_are_the_threads_own(profiler, standing):
    truth, profile, _ = profiled(profiler, standing, SHARING, "release", 5)
    counts = {name: samples(profile, name) for name in truth}
    total, burned = sum(counts.values()), sum(truth.values())
    assert total >= 1000
    for name, cpu_ns in truth.items():
        share = cpu_ns / burned
        error = (share * (1 - share) / total) ** 0.5
        assert abs(counts[name] / total - share) <= 4 * error, (counts, truth)
    assert_own_time(profile, truth)


@pytest.mark.parametrize("mode", ("fight", "release", "mixed"))
def test_a_thread_has_its_own_frames(profiler, standing, mode):
    truth, profile, target = profiled(profiler, standing, SHARING, mode, 2)
    for name in truth:
        mine = of_thread(profile, target.pid, name)
        others = set(LOOPS) - {name}
        assert_share(mine, lambda s, own=name: own in functions(s), RIGHT)
        assert not [s for s in mine if others & set(functions(s))]


# Sub-interpreters


def follows(stack, *wanted):
    """Whether these functions are there in that order, from the root."""
    mine = iter(functions(stack))
    return all(name in mine for name in wanted)


def test_a_sub_interpreter_stands_above_who_runs_it(profiler, standing):
    _, profile, target = profiled(profiler, standing, "interpreters.py", "nested", 1)
    for chain in (("outer", "<module>", "works_inside"),
                  ("outer", "<module>", "middle", "<module>", "works_innermost")):  # fmt: skip
        mine = [s for s in profile.of(target.pid) if chain[-1] in functions(s)]
        assert sum(s.value for s in mine) >= 0.2 * HZ
        assert_share(mine, lambda s, chain=chain: follows(s, "<module>", "nested", *chain), RIGHT)
        at = known("interpreters.py", "outer")
        assert_share(mine, lambda s: shows(s, at), RIGHT)  # noqa: B023


def test_interpreters_beside_each_other_are_not_mixed(profiler, standing):
    _, profile, target = profiled(profiler, standing, "interpreters.py", "beside", 2)
    for own, other in (("left", "right"), ("right", "left")):
        mine = [s for s in of_thread(profile, target.pid, own) if own in functions(s)]
        assert sum(s.value for s in mine) >= 0.2 * HZ, own
        assert_share(mine, lambda s, own=own: follows(s, "run", "outer", "<module>", own), RIGHT)
        assert not [s for s in of_thread(profile, target.pid, own) if other in functions(s)]


# Threads of C


def test_threads_that_c_made(profiler, standing):
    _, profile, target = profiled(profiler, standing, "foreign.py", "./foreign.so", 2)
    lone = of_thread(profile, target.pid, "lone")
    assert sum(s.value for s in lone) >= 0.2 * HZ
    assert not [s for s in lone if any(map(is_python, s.frames))], "it has no state of Python"
    assert_share(lone, lambda s: s.has("lone_main", "lone_burn"), RIGHT)
    assert_share(lone, lambda s: "[truncated]" not in s.frames, RIGHT)

    burning = lambda s: "burn" in functions(s)  # noqa: E731
    caller = [s for s in of_thread(profile, target.pid, "caller") if burning(s)]
    assert sum(s.value for s in caller) >= 0.1 * HZ
    assert_share(caller, lambda s: functions(s) == ["called_back", "burn"], RIGHT)
    assert_share(caller, lambda s: in_order(s, "call_until", "called_back", "burn"), RIGHT)

    inside = [s for s in profile.of(target.pid) if burning(s) and "called_inside" in functions(s)]
    assert sum(s.value for s in inside) >= 0.1 * HZ
    chain = ["<module>", "main", "called_inside", "burn"]
    assert_share(inside, lambda s: functions(s) == chain, RIGHT)
    assert_share(inside, lambda s: in_order(s, "main", "call_until", "called_inside"), RIGHT)
    for at, stacks in (("called_back", caller), ("called_inside", inside), ("main", inside)):
        assert_share(stacks, lambda s, at=at: shows(s, known("foreign.py", at)), RIGHT)


def in_order(stack, *wanted):
    """Whether these frames, native and Python's, stand in that order."""
    frames = iter([f.split(" (")[0] if is_python(f) else f for f in stack.frames])
    return all(name in frames for name in wanted)
