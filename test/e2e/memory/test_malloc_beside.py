"""mem_glibc beside other probes: each as alone, links stay, stacks stay whole."""
import signal

import pytest

from allocating import (EXACT, PROBE, Views, allocator, is_clone, let, profile_allocations,
                        standing_by, untrapped, view, wait_probed)  # fmt: skip
from asking import burned, stood
from bpf_objects import held
from helpers import HZ, same_time, told_lost, wait_burned, wait_for
from waiting import EXACT as EXACT_WAITS
from whole import cut


@pytest.fixture
def churn(start):
    """A program that allocates in four threads."""
    target = start("churn", 4)
    target.first_line()
    return target


def links(profiler):
    return held(profiler.pid, "link")


def probes(profiler, *names):
    profiler.put_ok({"cmd": {"probe": list(names)}})
    for name in names:
        profiler.wait_running(name)


@pytest.mark.parametrize("first", ("oncpu", "offcpu", "mem"))
def test_it_comes_and_goes_beside_the_links_of_another(profiler, churn, first):
    profiler.put_ok(profiler.wanting(pids=[churn.pid], probes=(first,), **EXACT))
    probes(profiler, first)
    alone = links(profiler)
    for _ in range(2):
        probes(profiler, first, PROBE)
        wait_probed(profiler, churn)
        assert links(profiler) >= alone
        assert links(profiler) - alone, "it has some of its own"
        probes(profiler, first)
        wait_for(lambda: links(profiler) == alone, why="its own are gone")


def test_another_comes_and_goes_beside_its_links_and_its_counts(profiler, start):
    target = standing_by(profiler, start, "heirs", "rest", svg_period=600)
    let(target)
    alone = links(profiler)
    for _ in range(3):
        probes(profiler, PROBE, "oncpu", "offcpu")
        assert links(profiler) >= alone
        probes(profiler, PROBE)
        wait_for(lambda: links(profiler) == alone, why="theirs are gone")
    truth = let(target)
    views = Views(profiler)
    assert views.held_bytes.total("before") == truth["before"].held_bytes
    assert views.of("after") == truth["after"]


def test_a_second_target_comes_and_goes_beside_its_links(profiler, start):
    target = standing_by(profiler, start, "heirs", "rest", entry="^(heirs|churn)$")
    let(target)
    alone = links(profiler)
    other = start("churn", 2)
    wait_for(lambda: other.pid in profiler.processes(), why="both are targets")
    wait_probed(profiler, other)
    assert links(profiler) == alone, "one set of points for the file"
    other.kill()
    wait_for(lambda: other.pid not in profiler.processes(), why="it has ended")
    assert links(profiler) == alone
    truth = let(target)
    Views(profiler, pid=target.pid).assert_exact(truth)


def test_all_four_probes_tell_what_each_tells_alone(profiler, start, copy, observe):
    every = ("oncpu", "offcpu", "mem", PROBE)
    target = standing_by(profiler, start, copy("allocations", "alloc_beside"), entry="^(alloc|spin)_beside$",
                         probes=every, frequency=HZ, **EXACT_WAITS)  # fmt: skip
    truth = let(target)
    Views(profiler, pid=target.pid).assert_exact(truth)
    spinner = stood(start, program=copy("spin", "spin_beside"))
    sampled, cpu_ns, beside_ns = burned(profiler, spinner, observe(HZ), seconds=1)
    same_time(sampled, HZ, cpu_ns, beside_ns, within=0.06)
    for probe in every:
        profiler.wait_running(probe)  # not arming any more: the spinner's files were looked at
        lost = told_lost(profiler.probe(probe))
        assert not lost, (probe, lost)


def test_profiles_of_several_probes_have_equal_roots(profiler, churn):
    profile_allocations(profiler, pids=[churn.pid], probes=("oncpu", PROBE), frequency=HZ)
    wait_probed(profiler, churn)
    wait_for(lambda: profiler.folded().total("level_1") > 100 and view(profiler).total("level_1"))
    for profile in (profiler.folded(), view(profiler)):
        roots = {s.frames[1] for s in profile.stacks if s.has("level_2", "level_1")
                 and not s.has("[truncated]")}  # fmt: skip
        assert len(roots) == 1 and is_clone(roots.pop())
    churn.popen.send_signal(signal.SIGTERM)
    assert churn.finish()["objects"] > 0


def test_on_cpu_stacks_of_a_target_are_as_whole_as_without(profiler, churn):
    """In place of a return address there is the kernel's trampoline while a call is probed."""
    # The guard has nothing to thin.
    params = {"frequency": 1000, "thread_frame": 0, **EXACT}

    def share_cut(probes):
        profiler.put_ok(profiler.wanting(pids=[churn.pid], probes=probes, **params))
        for probe in probes:
            profiler.wait_running(probe)
        if "mem_glibc" in probes:
            wait_probed(profiler, churn)
        profiler.put_ok({"params": {"icicle": int("mem_glibc" in probes)}})  # a new period
        profiler.wait_running()
        wait_burned(churn.pid, seconds=3)
        profile = profiler.folded(pid=churn.pid)
        assert profile.total() > 500
        profile = untrapped(profile)
        return profile.total("[truncated]") / profile.total(), profile

    without, _ = share_cut(("oncpu",))
    beside, profile = share_cut(("oncpu", "mem_glibc"))
    assert not [frame for frame in profile.frames() if "uprobes" in frame and
                not frame.endswith("_[k]")], profile.frames()  # fmt: skip
    assert beside <= without + 0.01, cut(profile)
    rooted = sum(s.value for s in profile.stacks if s.has("level_3", "level_2", "level_1"))
    assert rooted >= 0.5 * profile.total()
    assert allocator(profiler, churn.pid)["state"] == "probed"
