"""The scheduler's probes: one program sees each switch, probes come and go beside each other, and
nothing of theirs outlives them."""
import pytest

import oracle
from bpf_objects import attached, held, living, maps_of
from helpers import HZ, same_time, wait_burned, wait_for
from schedule import profile_sched, put_sched, switches_metric
from waiting import (EXACT, Seen, go, go_while, let_go, lost_waits, profile_offcpu,
                     ready)  # fmt: skip


def links(profiler):
    return held(profiler.pid, "link")


def probes(profiler, *names):
    profiler.put_ok({"cmd": {"probe": list(names)}})
    for name in names:
        wait_for(lambda name=name: profiler.probe(name)["state"] == "running", why=name)


@pytest.mark.parametrize("first, second", (("oncpu", "offcpu"), ("offcpu", "oncpu")))
def test_a_second_probe_comes_and_goes_beside_the_links_of_the_first(profiler, first, second):
    profiler.put_ok(profiler.wanting("^naps", probes=(first,)))
    probes(profiler, first)
    alone = links(profiler)
    assert alone
    for _ in range(2):
        probes(profiler, first, second)
        assert links(profiler) >= alone  # (the clock's events have none)
        probes(profiler, first)
        wait_for(lambda: links(profiler) == alone, why="those of the second are gone")


def test_off_cpu_loses_no_wait_while_on_cpu_comes_and_goes(profiler, start):
    target = ready(start, "naps_bare", "100us:3000", "10ms:400")
    profile_offcpu(profiler, "^naps", svg_period=600)
    alone = links(profiler)

    def come_and_go():
        probes(profiler, "oncpu", "offcpu")
        assert alone <= links(profiler)
        probes(profiler, "offcpu")

    truth, turns = go_while(target, come_and_go)
    assert turns >= 1
    seen = Seen(profiler)
    for name in ("nap_100us", "nap_10ms"):
        seen.assert_holds(truth[name], "main", name)
    assert lost_waits(profiler) == {}


def test_on_cpu_loses_no_sample_while_off_cpu_comes_and_goes(profiler, start, observe):
    target = start("spin", 600)
    wait_burned(target.pid, seconds=0.02)
    oracle.stop(target.pid)  # from here on, whenever the daemon of a busy host has found it
    profiler.profile(pids=[target.pid], frequency=HZ)
    alone, began_ns, observer = links(profiler), target.cpu_ns_now(), observe(HZ)
    let_go(target)
    for _ in range(4):
        probes(profiler, "oncpu", "offcpu")
        assert alone <= links(profiler)
        wait_burned(target.pid, seconds=0.25)
        probes(profiler, "oncpu")
        wait_burned(target.pid, seconds=0.25)
    oracle.stop(target.pid)
    cpu_ns, beside_ns = target.cpu_ns_now() - began_ns, observer.ns(target.pid)
    same_time(profiler.folded().total(pid=target.pid), HZ, cpu_ns, beside_ns, within=0.04)


def test_off_cpu_loses_no_wait_while_the_histograms_come_and_go(profiler, start):
    target = ready(start, "naps_bare", "100us:3000", "10ms:300")
    profile_offcpu(profiler, "^naps")
    alone = links(profiler)

    def come_and_go():
        profile_sched(profiler, "^naps", probes=("runqlat", "cpudist"))
        assert alone <= links(profiler)
        put_sched(profiler, {"state": "stopped"})

    truth, turns = go_while(target, come_and_go)
    assert turns >= 1
    seen = Seen(profiler)
    for name in ("nap_100us", "nap_10ms"):
        seen.assert_holds(truth[name], "main", name)


def test_all_that_looks_at_switches_is_one_program(profiler, start):
    target = ready(start, "naps_bare", "100us:500", "10ms:20")
    profile_offcpu(profiler, "^naps", probes=("oncpu", "offcpu"))
    profile_sched(profiler, "^naps", probes=("runqlat", "runqlen", "cpudist", "offcpudist"))
    assert len(attached(profiler.pid, "sched_switch")) == 1
    assert len(attached(profiler.pid, "sched_wakeup")) == 1
    assert len(attached(profiler.pid, "sched_wakeup_new")) == 1
    # … and each of them says what it says alone.
    truth = go(target)
    seen = Seen(profiler)
    for name in ("nap_100us", "nap_10ms"):
        seen.assert_holds(truth[name], "main", name)
    counts = oracle.process(target.pid)
    assert switches_metric(profiler, target.pid) == (counts.voluntary, counts.involuntary)


def test_with_off_cpu_alone_one_program_is_at_the_switch_and_none_without(profiler):
    profiler.profile("^naps")
    assert attached(profiler.pid, "sched_switch") == []
    probes(profiler, "oncpu", "offcpu")
    assert len(attached(profiler.pid, "sched_switch")) == 1
    probes(profiler, "oncpu")
    wait_for(lambda: attached(profiler.pid, "sched_switch") == [], why="it is gone")


def everything(profiler):
    """All of the scheduler's probes run. Returns ids of the daemon's programs and maps."""
    profile_offcpu(profiler, "^naps", probes=("oncpu", "offcpu"), **EXACT)
    profile_sched(profiler, "^naps", probes=("runqlat", "runqlen", "runqslower", "cpudist"))
    programs = held(profiler.pid, "prog")
    maps = held(profiler.pid, "map") | maps_of(programs)
    assert programs and maps
    assert programs <= living("prog") and maps <= living("map")
    return programs, maps


def assert_gone(programs, maps):
    wait_for(lambda: not programs & living("prog"), why="no program is left")
    wait_for(lambda: not maps & living("map"), why="no map is left")


def test_after_a_stop_no_program_and_no_map_is_left(profiler):
    programs, maps = everything(profiler)
    put_sched(profiler, {"state": "stopped"})
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: not links(profiler), why="no link is held")
    assert_gone(programs, maps)


def test_after_a_kill_no_program_and_no_map_is_left(profiler, start):
    target = ready(start, "naps", "100us:2000")
    programs, maps = everything(profiler)
    let_go(target)
    profiler.kill()
    assert_gone(programs, maps)
