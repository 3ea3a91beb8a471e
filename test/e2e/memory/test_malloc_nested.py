"""What one function of an allocator calls of another counts once, and what libc allocates for its own
functions counts, on the stack of who called them."""
import pytest

from allocating import (Views, built_with, let, library, profile_allocations, standing_by, truth_of,
                        wait_probed)  # fmt: skip
from helpers import program
from waiting import answer, let_go, ready


def counted(start, monkeypatch):
    """What `nests` allocates, by a library that stands between it and the allocator."""
    monkeypatch.setenv("LD_PRELOAD", str(program("counting.so")))
    target = ready(start, "nests")
    monkeypatch.undo()
    let_go(target)
    return truth_of(answer(target))


def test_what_libc_allocates_inside_is_counted_once(profiler, start, monkeypatch):
    truth = counted(start, monkeypatch)
    assert all(site.bytes and site.objects >= 20 for site in truth.values()), truth
    let(standing_by(profiler, start, "nests"))
    Views(profiler).assert_exact(truth)


def test_a_malloc_in_front_of_another_counts_once(profiler, start, monkeypatch):
    """Both define malloc(): the preloaded one is called by the program, and calls libc's."""
    monkeypatch.setenv("LD_PRELOAD", str(program("counting.so")))
    target = ready(start, "nests")
    monkeypatch.undo()
    profile_allocations(profiler, pids=[target.pid])
    wait_probed(profiler, target)
    let_go(target)
    truth = truth_of(answer(target))
    Views(profiler).assert_exact(truth)


@pytest.mark.parametrize("name", ("musl", "jemalloc", "tcmalloc"))
def test_calloc_memalign_and_reallocarray_count_once_in_others(profiler, start, name):
    truth = let(standing_by(profiler, start, built_with(name)))
    views = Views(profiler)
    for site in ("keep_calloc", "keep_memalign", "keep_reallocarray", "keep_posix_memalign",
                 "keep_aligned_alloc", "keep_valloc", "grow"):  # fmt: skip
        assert views.of(site) == truth[site], site
        # Above main they may be cut: rows of code without any (musl's) are made when it is met.
        ways = {stack.frames[stack.frames.index("main"):] for stack in views.stacks(site)}
        assert len(ways) == 1, views.stacks(site)


@pytest.mark.parametrize("name", (None, "libjemalloc.so.2", "libtcmalloc_minimal.so.4"))
def test_cpps_operator_new_counts_once_also_where_it_throws(profiler, start, monkeypatch, name):
    """libstdc++'s calls malloc(); jemalloc and tcmalloc have their own. Through a function whose
    return is probed no exception finds its way."""
    if name:
        monkeypatch.setenv("LD_PRELOAD", library(name))
    target = ready(start, "newer")
    monkeypatch.undo()
    profile_allocations(profiler, pids=[target.pid])
    wait_probed(profiler, target)
    truth = let(target)
    views = Views(profiler)
    views.assert_exact(truth)
    # The exceptions themselves are allocated, and freed when they are caught.
    refused = views.of("refused")
    assert (refused.objects, refused.held_bytes) == (100, 0) and refused.bytes < 100 * 1000
    views.assert_whole()
