"""mem_glibc's third view: what the program itself mapped and did not give back, to the byte."""
import os
import signal

import pytest

from allocating import (built_with, let, let_go, profile_allocations, standing_by, view,
                        wait_probed)  # fmt: skip
from helpers import wait_for
from waiting import answer


def mapped(profiler, **query):
    return view(profiler, "mmap", **query)


@pytest.fixture
def told(profiler, start):
    return let(standing_by(profiler, start, "mapper"))


def test_each_site_has_what_is_left_of_its_ranges(profiler, told):
    profile, count = mapped(profiler), mapped(profiler, value="count")
    for name, site in told.items():
        assert profile.total(name) == site.held_bytes, name
        assert count.total(name) == site.held_objects, name
    assert not any(s.has("[truncated]") for s in profile.stacks)


def test_a_range_that_lost_its_middle_and_its_ends_has_the_rest(profiler, told):
    assert mapped(profiler).total("map_partial") == (1024 - 384) * 1024


def test_what_was_mapped_over_is_of_who_mapped_over_it(profiler, told):
    profile = mapped(profiler)
    assert profile.total("map_under") == profile.total("map_over") == 512 * 1024


def test_mremap_takes_a_range_to_its_own_site(profiler, told):
    profile = mapped(profiler)
    for name, site in (("growing", "remap_grow"), ("moving", "remap_move"),
                       ("shrinking", "remap_shrink")):  # fmt: skip
        assert profile.total(f"map_for_{name}") == 0
        assert profile.total(site) == told[site].held_bytes


def test_what_another_thread_unmapped_is_gone(profiler, told):
    assert told["map_elsewhere"].bytes == 10 * 65536
    assert mapped(profiler).total("map_elsewhere") == 0


def test_what_allocator_and_libc_map_for_themselves_is_not_there(profiler, told):
    profile = mapped(profiler)
    assert profile.total() == sum(site.held_bytes for site in told.values())
    assert not {"not_own", "malloc", "calloc", "pthread_create"} & profile.frames()
    # … which is in the other view instead.
    assert view(profiler).total("not_own") == 100 << 20
    assert view(profiler, "inuse").total("not_own") == 50 << 20


def test_the_programs_own_mappings_are_in_no_other_view(profiler, told):
    for name in ("alloc", "inuse"):
        assert not {"map_keep", "map_drop", "remap_grow"} & view(profiler, name).frames()


def test_the_called_function_is_the_leaf(profiler, told):
    for stack in mapped(profiler).stacks:
        assert stack.frames[1] == "_start"
        assert stack.frames[-1] in ("mmap", "mmap64", "__mmap", "mremap", "__mremap"), stack


@pytest.mark.quick
def test_big_blocks_of_malloc_and_stacks_of_threads_are_not_there(profiler, start):
    let(standing_by(profiler, start, "allocations"))
    profile = mapped(profiler)
    assert not {"keep_big", "drop_big", "in_thread"} & profile.frames(), profile.stacks


def test_what_ended_has_nothing_mapped(profiler, start):
    target = standing_by(profiler, start, "mapper")
    let_go(target)
    answer(target)
    assert mapped(profiler).total() > 0
    os.kill(target.pid, signal.SIGKILL)
    target.reap()
    wait_for(lambda: mapped(profiler).total() == 0, why="nothing is mapped")


def test_who_was_no_target_for_a_while_begins_anew(profiler, start):
    target = standing_by(profiler, start, "mapper", entry="^mapper$")
    let(target)
    assert mapped(profiler).total() > 0
    profile_allocations(profiler, "^nobody$")  # what it unmaps now isn't seen
    profile_allocations(profiler, "^mapper$")
    wait_probed(profiler, target)
    assert mapped(profiler).total() == 0


@pytest.mark.parametrize("allocator", ("musl", "jemalloc", "tcmalloc"))
def test_no_allocator_maps_on_the_programs_account(profiler, start, allocator):
    truth = let(standing_by(profiler, start, built_with(allocator)))
    assert mapped(profiler).total() == 0, mapped(profiler).stacks
    assert view(profiler).total("keep_big") == truth["keep_big"].bytes
