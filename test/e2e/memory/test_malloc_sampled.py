"""mem_glibc by bytes: weights are unbiased, whatever the size of the blocks."""
import pytest

from allocating import (Views, assert_nothing_lost, built_with, let, standing_by,
                        view)  # fmt: skip

MEAN = 16384
MEGABYTES = 250  # at each of four sites


@pytest.fixture
def sampled(profiler, start):
    target = standing_by(profiler, start, "sizes", MEGABYTES, mem_sample_bytes=MEAN)
    truth = let(target)
    return truth, Views(profiler, pid=target.pid)


def test_over_a_gigabyte_each_site_is_within_five_percent(profiler, sampled):
    truth, views = sampled
    seen = views.sites(truth)
    for name, figures in truth.items():
        for field, is_value in zip(figures._fields, figures):
            error = getattr(seen[name], field) / is_value - 1
            assert abs(error) <= 0.05, (name, field, f"{error:+.2%}", seen[name], figures)
    assert sum(site.bytes for site in truth.values()) >= 0.999e9
    views.assert_whole()
    assert_nothing_lost(profiler)


def test_blocks_far_larger_than_the_mean_are_exact(sampled):
    truth, views = sampled
    assert abs(views.of("large").bytes / truth["large"].bytes - 1) < 0.001


FUNCTIONS = ("malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", (None, "musl", "jemalloc", "tcmalloc"))
def test_what_calls_another_function_inside_is_drawn_once(profiler, start, name, function):
    """musl's calloc() calls its malloc(): drawn at both, its bytes would count twice."""
    build = built_with(name, "sizes") if name else "sizes"
    target = standing_by(profiler, start, build, 40, function, mem_sample_bytes=MEAN)
    truth = let(target)
    seen = Views(profiler, pid=target.pid).of("main")
    for field in seen._fields:
        # 10,000 samples, half of them held: 1.4 % is a standard deviation; of objects, which are
        # of the smallest blocks, of a quarter of the samples: 2.8 %.
        is_value = sum(getattr(site, field) for site in truth.values())
        error = getattr(seen, field) / is_value - 1
        assert abs(error) <= (0.12 if "objects" in field else 0.06), (field, f"{error:+.2%}")


def test_with_the_default_distance_a_gigabyte_is_a_gigabyte(profiler, start):
    target = standing_by(profiler, start, "sizes", MEGABYTES, mem_sample_bytes=524288)
    truth = let(target)
    total = view(profiler, pid=target.pid).total("main")
    # 2,000 samples: 2.2 % is a standard deviation.
    assert abs(total / sum(site.bytes for site in truth.values()) - 1) <= 0.11
    assert profiler.settings()["params"]["mem_sample_bytes"] == 524288


def test_the_guard_thins_truly_and_tells_it(profiler, start):
    target = standing_by(profiler, start, "sizes", MEGABYTES, mem_sample_bytes=MEAN, max_overhead=2)
    truth, views = let(target), Views(profiler)
    assert " · thinned to 1 in " in profiler.get("/flamegraph/mem_glibc.svg").text
    # A standard deviation is 5 % where one in 50 is taken (of the largest 13 of these); a busy host takes fewer.
    drawn = sum(site.bytes for site in truth.values()) / MEAN
    one_in = drawn / profiler.probe("mem_glibc")["samples"]
    assert one_in < 1000, "most of a site's samples were taken at random"
    within = max(0.25, 5 * (one_in / (drawn / len(truth))) ** 0.5)
    for name, site in truth.items():
        assert abs(views.of(name).bytes / site.bytes - 1) <= within, name
