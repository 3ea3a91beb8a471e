"""Python's threads: samples are CPU time, and each thread's stack is its own, whoever has the GIL,
whatever interpreter it is in, and whether it has a state of Python at all."""
import pytest

from helpers import same_time
from pyframes import assert_share, functions, is_python, known, of_thread, shows
from waiting import go

HZ = 997
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


def assert_shares(counts, truth):
    """The threads' parts of the samples are those of their own clocks, to four standard errors."""
    total, burned = sum(counts.values()), sum(truth.values())
    for name, cpu_ns in truth.items():
        part = cpu_ns / burned
        error = (part * (1 - part) / total) ** 0.5
        assert abs(counts[name] / total - part) <= 4 * error, (counts, truth)


def test_threads_that_wait_for_the_gil_have_no_samples(profiler, standing, observe):
    observer = observe(HZ)
    truth, profile, target = profiled(profiler, standing, SHARING, "fight", 4)
    counts = {name: samples(profile, name) for name in truth}
    assert_shares(counts, truth)
    # One at a time: all together have no more than the process had, and the main thread waits.
    cpu_ns, beside_ns = sum(truth.values()), observer.ns(target.pid)
    same_time(sum(counts.values()), HZ, cpu_ns, beside_ns, within=0.05)
    waiting = [s for s in profile.stacks if not set(LOOPS) & set(functions(s))]
    assert sum(s.value for s in waiting) <= max(5, 0.05 * profile.total()), waiting[:5]


def test_shares_with_the_gil_released_are_the_threads_own(profiler, standing):
    truth, profile, _ = profiled(profiler, standing, SHARING, "release", 5)
    counts = {name: samples(profile, name) for name in truth}
    assert sum(counts.values()) >= 300
    assert_shares(counts, truth)


@pytest.mark.parametrize("mode", ("fight", "release", "mixed"))
def test_a_thread_has_its_own_frames(profiler, standing, mode):
    truth, profile, target = profiled(profiler, standing, SHARING, mode, 2)
    for name in truth:
        mine = of_thread(profile, target.pid, name)
        others = set(LOOPS) - {name}
        assert not [s for s in mine if others & set(functions(s))]
        # Its beginning and its end are few.
        rest = sum(s.value for s in mine if name not in functions(s))
        assert rest <= max(5, (1 - RIGHT) * sum(s.value for s in mine)), mine[-5:]


# Sub-interpreters


def follows(stack, *wanted):
    """Whether these functions are there in that order, from the root."""
    mine = iter(functions(stack))
    return all(name in mine for name in wanted)


def test_a_sub_interpreter_stands_above_who_runs_it(profiler, standing):
    _, profile, target = profiled(profiler, standing, "interpreters.py", "nested", 2)
    for chain in (("outer", "<module>", "works_inside"),
                  ("outer", "<module>", "middle", "<module>", "works_innermost")):  # fmt: skip
        mine = [s for s in profile.of(target.pid) if chain[-1] in functions(s)]
        assert sum(s.value for s in mine) >= 50
        assert_share(mine, lambda s, chain=chain: follows(s, "<module>", "nested", *chain), RIGHT)
        at = known("interpreters.py", "outer")
        assert_share(mine, lambda s: shows(s, at), RIGHT)  # noqa: B023


def test_interpreters_beside_each_other_are_not_mixed(profiler, standing):
    _, profile, target = profiled(profiler, standing, "interpreters.py", "beside", 2)
    for own, other in (("left", "right"), ("right", "left")):
        mine = [s for s in of_thread(profile, target.pid, own) if own in functions(s)]
        assert sum(s.value for s in mine) >= 50, own
        assert_share(mine, lambda s, own=own: follows(s, "run", "outer", "<module>", own), RIGHT)
        assert not [s for s in of_thread(profile, target.pid, own) if other in functions(s)]


# Threads of C


def test_threads_that_c_made(profiler, standing):
    _, profile, target = profiled(profiler, standing, "foreign.py", "./foreign.so", 2)
    lone = of_thread(profile, target.pid, "lone")
    assert sum(s.value for s in lone) >= 50
    assert not [s for s in lone if any(map(is_python, s.frames))], "it has no state of Python"
    assert_share(lone, lambda s: s.has("lone_main", "lone_burn"), RIGHT)
    assert_share(lone, lambda s: "[truncated]" not in s.frames, RIGHT)

    burning = lambda s: "burn" in functions(s)  # noqa: E731
    caller = [s for s in of_thread(profile, target.pid, "caller") if burning(s)]
    assert sum(s.value for s in caller) >= 10
    assert_share(caller, lambda s: functions(s) == ["called_back", "burn"], RIGHT)
    assert_share(caller, lambda s: in_order(s, "call_until", "called_back", "burn"), RIGHT)

    inside = [s for s in profile.of(target.pid) if burning(s) and "called_inside" in functions(s)]
    assert sum(s.value for s in inside) >= 10
    chain = ["<module>", "main", "called_inside", "burn"]
    assert_share(inside, lambda s: functions(s) == chain, RIGHT)
    assert_share(inside, lambda s: in_order(s, "main", "call_until", "called_inside"), RIGHT)
    for at, stacks in (("called_back", caller), ("called_inside", inside), ("main", inside)):
        assert_share(stacks, lambda s, at=at: shows(s, known("foreign.py", at)), RIGHT)


def in_order(stack, *wanted):
    """Whether these frames, native and Python's, stand in that order."""
    frames = iter([f.split(" (")[0] if is_python(f) else f for f in stack.frames])
    return all(name in frames for name in wanted)
