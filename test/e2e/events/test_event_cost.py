"""What events cost, and what stackprobe says and does about that: a million calls, events that fire too often, hits
that cost several times as much as others."""
import os
import platform
from pathlib import Path
from statistics import median

import pytest

import oracle
from helpers import PROGRAMS, wait_for
from waiting import answer, let_go, ready

CALLS = (PROGRAMS / "calls").resolve()
EMPTY, BUSY, STEPPED = (f"u:{CALLS}:event_{name}" for name in ("empty", "busy", "stepped"))
MILLION = 1_000_000
ROUNDS = 10
FOREVER = 10**9
CROWD = "t:raw_syscalls:sys_enter"
ASSUMED = (1000, 5000)  # ns of a hit, before they are measured (event/point_cost.h)


def ran_ns(pid):
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def counted(profiler, event, *frames, **query):
    return profiler.folded(f"event:{event}", **query).total(*frames)


def watch(profiler, target, events, **params):
    probes = [f"event:{name}" for name in events]
    profiler.profile(pids=[target.pid], probes=probes, events=events, **{"frame_detail": "name", **params})
    for probe in probes:
        assert profiler.probe(probe)["reason"] == "", profiler.probe(probe)


def totals(profiler, pid):
    """Calls by both views, and the time in them, us: of the empty function and of the busy one."""
    return {event: (counted(profiler, event, pid=pid), counted(profiler, event, pid=pid, view="time", value="count"),
                    counted(profiler, event, pid=pid, view="time")) for event in ("empty", "busy")}  # fmt: skip


@pytest.mark.alone("the program's clock has the time in it that others take the CPU behind the call")
def test_of_a_million_calls_each_is_counted_and_their_time_is_the_programs(profiler, start):
    """Within 3 % of the program's own clock, beyond one probe's cost: that is what calls of an empty function take. The
    median of ten rounds, each with its own empty calls."""
    target = ready(start, "calls", "time", MILLION // ROUNDS, 5)
    watch(profiler, target, {"empty": EMPTY, "busy": BUSY}, max_overhead=0, event_time=1)
    before, rounds = totals(profiler, target.pid), []
    for _ in range(ROUNDS):
        let_go(target)
        clock = answer(target)["busy_ns"] / 1000
        now = totals(profiler, target.pid)
        empty, busy = (now[event][2] - before[event][2] for event in ("empty", "busy"))
        rounds.append(((busy - clock) / clock, (busy - clock - empty) / clock))
        before = now
    for event in ("empty", "busy"):
        assert now[event][:2] == (MILLION, MILLION) and profiler.probe(f"event:{event}")["hits"] == MILLION
        assert not any(profiler.probe(f"event:{event}")["lost"].values())
    assert median(whole for whole, _ in rounds) >= -0.03, rounds
    assert median(beyond for _, beyond in rounds) <= 0.03, rounds


@pytest.mark.alone("stacks are thinned only if it fires often, and then it may not fire more often")
def test_of_an_event_that_fires_all_the_time_stacks_are_thinned_and_the_weights_are_true(profiler, start):
    count = 3 * MILLION
    target = ready(start, "calls", "ask", count)
    watch(profiler, target, {"calls": CROWD}, max_overhead=12)
    let_go(target)
    seen = {"thinned": 0, "cost_ppm": 0}

    def ended():
        told = profiler.probe("event:calls")
        assert told["state"] == "running", told["reason"]
        seen.update({key: max(seen[key], told[key]) for key in seen})
        return oracle.states(target.pid) == {"T"} and seen["cost_ppm"]  # which is found once a second

    wait_for(ended, 60, every=0.1, why="it has asked as often as it was told to")
    told = profiler.probe("event:calls")
    assert seen["thinned"] > 1 and told["samples"] < 0.7 * count, (seen, told)
    assert told["hits"] >= count, "each call is a hit, also of those whose stack isn't taken"
    assert 0 < seen["cost_ppm"] < 1_000_000, seen  # for a second it may be above the bound
    found = counted(profiler, "calls", "run_asks")
    by_chance = (count * seen["thinned"]) ** 0.5
    assert abs(found - count) <= 5 * by_chance + 0.001 * count, (found, count, seen)


def paced(profiler, start, **params):
    """A program that calls a function whose probe is cheap as often as one whose probe is not."""
    if platform.machine() != "x86_64":
        pytest.skip("all instructions are stepped here")
    target = ready(start, "calls", "pace", FOREVER)
    watch(profiler, target, {"cheap": EMPTY, "dear": STEPPED}, **params)
    let_go(target)
    return target


def costs(profiler):
    return {name: profiler.probe(f"event:{name}") for name in ("cheap", "dear")}


def test_a_hit_that_the_kernel_has_to_step_costs_more_and_get_says_so(profiler, start):
    paced(profiler, start, max_overhead=0)
    wait_for(lambda: all(one["cost_ppm"] for one in costs(profiler).values()), why="both are called")
    told = costs(profiler)
    assert told["dear"]["hit_ns"] > 1.5 * told["cheap"]["hit_ns"], told
    assert told["dear"]["cost_ppm"] > 1.3 * told["cheap"]["cost_ppm"], told


def test_the_bound_holds_for_hits_that_the_kernel_has_to_step(profiler, start):
    """Both functions are called equally often: what costs less than the bound goes on, what costs more is given up."""
    target = paced(profiler, start, max_overhead=0)
    wait_for(lambda: all(one["cost_ppm"] and one["hit_ns"] not in ASSUMED for one in costs(profiler).values()),
             why="both are called, and their costs measured")
    cheap, dear = (costs(profiler)[name]["cost_ppm"] for name in ("cheap", "dear"))
    bound = round((cheap * dear) ** 0.5 / 10_000)
    assert cheap < bound * 10_000 < dear, (cheap, dear)
    profiler.profile(pids=[target.pid], probes=["event:cheap", "event:dear"], events={"cheap": EMPTY, "dear": STEPPED},
                     max_overhead=bound)  # fmt: skip
    wait_for(lambda: profiler.probe("event:dear")["state"] == "failed", why="it is given up")
    assert profiler.probe("event:dear")["reason"].startswith("too frequent: ")
    assert profiler.probe("event:cheap")["state"] == "running"


def call_ns(target, calls):
    """CPU time of a call."""
    before = ran_ns(target.pid)
    let_go(target)
    answer(target)
    return (ran_ns(target.pid) - before) / calls


@pytest.mark.alone("CPU time of a call beside that of the same call without a probe")
@pytest.mark.parametrize(("what", "event"), [("empty", EMPTY), ("stepped", STEPPED)])
def test_what_get_says_of_a_hit_is_what_a_process_pays_that_is_no_target(profiler, start, what, event):
    """It pays for our program's look at it as well: 0.1 us."""
    calls = 20_000
    bystander = ready(start, "calls", what, calls)
    bare = median(call_ns(bystander, calls) for _ in range(ROUNDS))
    watch(profiler, ready(start, "calls", what, 1), {"e": event}, max_overhead=0)
    wait_for(lambda: profiler.probe("event:e")["hit_ns"] not in ASSUMED, why="it is measured")
    paid = median(call_ns(bystander, calls) for _ in range(ROUNDS)) - bare
    said = profiler.probe("event:e")["hit_ns"]
    assert 0.5 * paid <= said <= 1.4 * paid, (said, paid)
