"""io: requests of io_urings, by who submitted them, against what the program itself says that it moved."""
import time

import pytest

from helpers import wait_for
from test_io import ask, profile_io, sums
from waiting import answer, let_go, stands_by


def rings(start, profiler, program, *args, **params):
    """A program of io_urings, profiled while it runs once: what it says, and its pid."""
    target = start(program, *args)
    wait_for(lambda: stands_by(target) or target.popen.poll() is not None, why="it stands by")
    if target.popen.poll() == 77:
        pytest.skip("io_uring is not allowed here")
    profile_io(profiler, target, **params)
    if "io_uring" in profiler.probe("io").get("unseen", ""):
        pytest.skip(profiler.probe("io")["unseen"])
    let_go(target)
    return answer(target), target.pid


def assert_holds(profiler, truth):
    in_bytes, in_calls = ask(profiler), ask(profiler, value="count")
    for function, moved in truth.items():
        assert sums(in_bytes, function) == {to: b for to, (_, b) in moved.items() if b}, function
        assert sums(in_calls, function) == {to: n for to, (n, _) in moved.items()}, function


def whole(target, truth):
    """What a program says that it moved, of all functions together, with what it says: {"read file": [calls, bytes]}."""
    found = {"write file": [1, len(target.log.read_bytes())]}
    for moved in truth.values():
        for to, (calls, count) in moved.items():
            before = found.get(to, (0, 0))
            found[to] = [before[0] + calls, before[1] + count]
    return found


def whole_of(profiler, target):
    """The same, as the profile has it."""
    in_bytes, in_calls = (profiler.folded("io", pid=target.pid, **value) for value in ({}, {"value": "count"}))
    process = in_calls.stacks[0].frames[0]
    of_bytes = sums(in_bytes, process)
    return {to: [calls, of_bytes.get(to, 0)] for to, calls in sums(in_calls, process).items()}


def told_lost(profiler):
    return {cause: count for cause, count in profiler.probe("io")["lost"].items() if count}


def test_requests_of_an_io_uring_count_for_who_submitted_them(profiler, start, work):
    truth, _ = rings(start, profiler, "rings", work)
    assert_holds(profiler, truth)
    assert {"main", "ring_read", "submit"} <= ask(profiler).frames()
    assert not told_lost(profiler)


def test_the_time_of_a_request_is_until_its_completion(profiler, start, work):
    began = time.monotonic_ns()
    rings(start, profiler, "rings", work, io_time=1)
    timed = ask(profiler, value="time")
    assert 190_000 <= timed.total("ring_wait", "submit") < (time.monotonic_ns() - began) / 1000
    assert timed.total("ring_read", "submit") < timed.total("ring_wait", "submit")


def test_each_completion_of_a_request_counts_and_each_kind_of_request(profiler, start, work):
    truth, _ = rings(start, profiler, "rings_again", work, "whole")
    assert len(truth) == 7 and truth["again_receive"] == {"write socket": [3, 600], "read socket": [4, 600]}, truth
    assert_holds(profiler, truth)
    assert not told_lost(profiler)


def test_what_the_kernel_does_not_tell_of_a_request_is_counted_as_unmeasured(profiler, start, work):
    """Five reads without a completion, three completions of two requests with one number, a splice from a file that
    the ring knows by a number of its own; and 32 reads whose completions found no room in the queue."""
    truth, _ = rings(start, profiler, "rings_again", work, "unmeasured")
    assert_holds(profiler, truth)
    assert told_lost(profiler) == {"unmeasured": 5 + 3 + 1, "unended": 32}


def test_what_a_rings_own_thread_submits_counts_for_the_process_without_a_stack(profiler, start, work):
    truth, pid = rings(start, profiler, "rings_again", work, "polled")
    (calls, moved), = truth["again_polled"].values()
    thread = (f"iou-sqp-{pid}", "[unknown]", "[read]", "[file]")
    assert ask(profiler).total(*thread) == moved
    assert ask(profiler, value="count").total(*thread) == calls
    assert "again_polled" not in ask(profiler).frames()
    told = profiler.probe("io")
    assert told["ring_thread_requests"] == calls and not any(told["truncated"].values()), told
    assert f"stackprobe_io_ring_thread_requests_total {calls}" in profiler.get("/metrics").text
    assert not told_lost(profiler)
