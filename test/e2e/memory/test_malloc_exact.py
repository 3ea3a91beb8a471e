"""mem_glibc with every allocation: each site has the bytes and the objects that it was given, and what
of them is left, whoever freed the rest."""
import os
import signal

import pytest

from allocating import (Views, assert_nothing_lost, let, let_go, let_tell, standing_by, truth_of, view,
                        wait_probed)  # fmt: skip
from helpers import wait_for

BUILDS = ("allocations", "allocations_bare")  # with frame pointers, and without


@pytest.mark.quick
@pytest.mark.parametrize("build", BUILDS)
def test_each_site_has_its_bytes_and_objects_allocated_and_in_use(profiler, start, build):
    truth = let(standing_by(profiler, start, build))
    views = Views(profiler)
    views.assert_exact(truth)
    views.assert_whole()
    assert_nothing_lost(profiler)


@pytest.fixture
def told(profiler, start):
    """What `allocations` told, its answer as it is; the views are as they are then."""
    return let_tell(standing_by(profiler, start, "allocations_bare"))


def test_all_that_is_there_is_on_a_known_site(profiler, told):
    known = {*told["sites"], "pthread_create", "pthread_create@@GLIBC_2.34", "printf"}
    for profile in Views(profiler).all():
        strange = [s for s in profile.stacks if not known & set(s.frames)]
        assert not strange, strange


def test_what_another_thread_freed_is_not_in_use(profiler, told):
    seen = Views(profiler).of("plain", "feed")
    assert (seen.bytes, seen.objects) == (60_000, 200)
    assert (seen.held_bytes, seen.held_objects) == (0, 0)


def test_what_a_thread_left_behind_is_in_use(profiler, told):
    assert Views(profiler).of("leave", "keep_in_thread").held_bytes == 25 * 40


def test_a_realloc_takes_its_block_to_its_own_site_moved_or_not(profiler, told):
    assert told["moved"] and told["in_place"]
    views, truth = Views(profiler), truth_of(told)
    for begin, after in (("grow", "grow"), ("nudge", "nudge"), ("shrink", "shrink"),
                         ("array", "grow_array"), ("zero", "to_zero")):  # fmt: skip
        assert views.of(f"begin_{begin}").held_objects == 0
        assert views.of(after) == truth.get(after, (0, 0, 0, 0))


def test_a_realloc_that_fails_leaves_its_block_where_it_was(profiler, told):
    views = Views(profiler)
    assert views.of("begin_fail") == (900, 10, 900, 10)
    assert views.of("fail") == (0, 0, 0, 0)


def test_what_fails_is_counted_nowhere(profiler, told):
    assert Views(profiler).of("too_much") == (0, 0, 0, 0)


def test_the_called_function_is_the_leaf_on_the_whole_stack(profiler, told):
    (stack,) = Views(profiler).stacks("keep_malloc")
    assert stack.frames[1] == "_start"
    assert stack.frames[-4:] == ("main", "plain", "keep_malloc", "malloc")


def test_it_is_of_the_thread_that_allocated(profiler, start):
    let(standing_by(profiler, start, "allocations", thread_frame=1))
    (stack,) = Views(profiler).stacks("keep_in_thread")
    assert stack.frames[1] == "allocations"
    assert "main" not in stack.frames


def test_reading_does_not_change_what_is_read(profiler, told):
    first, second = Views(profiler), Views(profiler)
    assert [p.stacks.sort() or p.stacks for p in first.all()] == [
        p.stacks.sort() or p.stacks for p in second.all()
    ]


def test_what_is_freed_after_a_reading_is_no_longer_in_use(profiler, start):
    target = standing_by(profiler, start, "heirs", "rename", entry="^heirs")
    assert let(target)["before"].held_bytes == 5000
    assert view(profiler, "inuse").total("before") == 5000
    os.kill(target.pid, signal.SIGCONT)
    target.reap()
    wait_for(lambda: view(profiler, "inuse").total() == 0, why="nothing is in use")
    assert view(profiler).total("before") == 5000, "it has been allocated all the same"


@pytest.mark.parametrize("threads", (1, 4))
def test_threads_that_allocate_without_a_pause_have_all_that_they_were_given(
        profiler, start, threads):  # fmt: skip
    target = standing_by(profiler, start, "churn", "-w", threads, 1)
    let_go(target)
    told = target.finish()
    views = Views(profiler, pid=target.pid)
    seen = views.of("run", "level_3", "level_2", "level_1")
    lost = profiler.probe("mem_glibc")["lost"]
    assert (seen.objects, seen.bytes) == (told["objects"], told["bytes"]), lost
    wait_for(lambda: view(profiler, "inuse", pid=target.pid).total() == 0, why="it has ended")
    views.assert_whole()
    assert_nothing_lost(profiler)


def test_who_starts_while_it_is_probed_has_all_that_it_was_given_from_its_first_moment_on(
        profiler, start):  # fmt: skip
    # Another process has the library's points there already.
    standing_by(profiler, start, "heirs", "rest", entry="^(heirs|churn)$")
    target = start("churn", 2, 1)
    told = target.finish()
    # What threads and printf() take is little; the first stacks may come before the unwind tables.
    seen = Views(profiler, pid=target.pid)
    assert 0 <= seen.objects.total() - told["objects"] <= 10
    assert 0 <= seen.bytes.total() - told["bytes"] <= 100_000


def test_two_targets_of_one_libc_have_each_its_own(profiler, start):
    one = standing_by(profiler, start, "allocations", entry="^allocations")
    other = start("allocations_bare")
    wait_for(lambda: other.pid in profiler.processes(), why="both are targets")
    wait_probed(profiler, other)
    truths = {target.pid: let(target) for target in (one, other)}
    for pid, truth in truths.items():
        Views(profiler, pid=pid).assert_exact(truth)
