"""Events with a begin and an end (bpf/stack/probe_halves.h): a program with BPF of its own, from
the daemon's headers, makes them; its probe's weight is 7 an event."""
import json
import subprocess

import pytest

from helpers import PROGRAMS, missing_privilege

WEIGHT = 7
NO_WAY = 77  # halves.c
WAYS = pytest.mark.parametrize("way", ["run", "iterator"])


def made(scene, way="run"):
    """What came of the events of that scene, and what the program wrote beside. `way`: that of
    renewing events at a window's end."""
    if missing_privilege():
        pytest.skip(missing_privilege())
    done = subprocess.run([str(PROGRAMS.parent / "bpf/halves"), scene, way], timeout=60, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == NO_WAY:
        pytest.skip(f"this kernel lets no program go through a map by {way}")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["samples"] == sum(c["samples"] for window in seen["windows"] for c in window), seen
    return seen, done.stderr.decode()


def count(events, waiting=0, mine=True, samples=None):
    return {"mine": mine, "weight": WEIGHT * events, "events": events, "waiting": waiting,
            "samples": events if samples is None else samples}


def test_events_that_another_process_ends_count_for_stack_and_thread_of_their_begin():
    seen, _ = made("pairs")  # and 500 ends that had no begin
    (window,) = seen["windows"]
    assert sorted(window, key=lambda c: c["mine"]) == [count(400, mine=False), count(600)], seen
    assert seen["lost"] == {} and seen["left"] == 0, seen


def test_events_that_go_on_have_no_weight_yet():
    seen, _ = made("waiting")
    assert seen["windows"] == [[count(1, waiting=4)]], seen
    assert seen["lost"] == {} and seen["left"] == 4, seen


def test_an_event_whose_begin_was_lost_is_lost_once():
    seen, _ = made("lost")
    assert seen["windows"] == [[count(10)]], seen
    assert seen["lost"] == {"stacks_full": 20}, seen


def test_a_full_map_refuses_events_and_counts_them():
    seen, _ = made("full")
    assert seen["windows"] == [[count(64)]], seen
    assert seen["lost"] == {"pending_full": 36}, seen


def test_a_second_begin_tells_that_the_first_has_no_end():
    seen, _ = made("twice")
    assert seen["windows"] == [[count(1)]], seen
    assert seen["lost"] == {"unended": 1}, seen


@WAYS
def test_an_event_is_waiting_in_each_window_until_its_end_is_counted_in_the_last(way):
    seen, _ = made("windows", way)
    assert seen["windows"] == [[count(1, waiting=2)], [count(1, waiting=1)], [count(1)]], seen
    assert seen["lost"] == {} and seen["left"] == 0, seen
    # The frames were sent in the first window: the daemon keeps them, for events are waiting.
    assert len(seen["stacks"]) == 1, seen


@WAYS
def test_where_there_is_little_room_old_events_are_given_up(way):
    seen, _ = made("old", way)
    assert seen["windows"] == [[count(0)]], seen
    assert seen["lost"] == {"unended": 6}, seen


@WAYS
@pytest.mark.parametrize("scene", ["young", "roomy"])
def test_else_they_stay(scene, way):
    seen, _ = made(scene, way)
    assert seen["windows"] == [[count(6)]], seen
    assert seen["lost"] == {}, seen


def test_the_weight_may_be_the_time_since_the_begin():
    seen, beside = made("timed")
    ((one,),) = seen["windows"]
    least, most = map(int, beside.split())
    assert least <= one["weight"] <= most, (seen, beside)


def test_an_event_stands_for_those_that_were_not_drawn():
    seen, _ = made("drawn")
    ((one,),) = seen["windows"]
    assert one == count(one["samples"] + seen["left_out"], samples=one["samples"]), seen
    assert one["samples"] < 2000, seen
    # 4,000 events, one in 4 drawn: a standard deviation of 110.
    assert abs(one["events"] - 4000) <= 550, seen


def test_an_event_at_once_has_the_stack_of_user_code_alone():
    seen, _ = made("whole")
    assert seen["windows"] == [[count(3)]], seen
    assert [stack["kernel"] for stack in seen["stacks"]] == [0], seen
    assert seen["stacks"][0]["user"] > 0, seen


def test_at_a_tracepoint_the_stack_has_the_kernels_frames_as_well():
    seen, _ = made("kernel")
    assert seen["windows"] == [[count(2)]], seen
    assert len(seen["stacks"]) == 1 and seen["stacks"][0]["kernel"] > 0, seen
