"""Probes that a user names (params.events): counts, times and stacks of functions, static probes and tracepoints,
against what the program itself says that it did."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import oracle
import pprof
from folded import Profile
from helpers import BIN, PROGRAMS, wait_for
from waiting import answer, let_go, ready

EXACT = {"max_overhead": 0, "frame_detail": "name"}
POINTS = (PROGRAMS / "points").resolve()  # the path that maps have
TICK = f"u:{POINTS}:event_tick"
NAP = f"u:{POINTS}:event_nap"
DIG = f"u:{POINTS}:event_dig"
DEPTH = 20
LIBC = os.path.realpath("/usr/lib/x86_64-linux-gnu/libc.so.6")


def watch(profiler, target, events, **params):
    probes = [f"event:{name}" for name in events]
    told = profiler.profile(pids=[target.pid], probes=probes, events=events, **{**EXACT, **params})
    for probe in probes:
        assert profiler.probe(probe)["reason"] == "", profiler.probe(probe)
    return told


def watched(start, profiler, events, ticks=0, naps=0, **params):
    """The program `points`, watched while it runs once: what it says."""
    target = ready(start, "points", ticks, naps)
    watch(profiler, target, events, **params)
    let_go(target)
    return target, answer(target)


def endless(start, profiler, probes, **params):
    """The program `points`, which calls event_tick() for ever once these probes are there."""
    target = ready(start, "points", 1, 0, "forever")
    profiler.profile(pids=[target.pid], probes=probes, **params)
    let_go(target)
    answer(target)
    let_go(target)
    return target


def counted(profiler, event, *frames, **query):
    return profiler.folded(f"event:{event}", **query).total(*frames)


@pytest.mark.quick
def test_calls_of_a_function_are_counted_exactly_with_their_stacks(profiler, start):
    target, did = watched(start, profiler, {"ticks": TICK}, ticks=50000)
    found = profiler.folded("event:ticks")
    assert found.total() == did["ticks"]
    assert [stack.frames[-3:] for stack in found.stacks] == [("main", "run_ticks", "event_tick")]
    assert profiler.probe("event:ticks")["hits"] >= did["ticks"], "of all processes: other tests run the same file"
    assert not any(profiler.probe("event:ticks")["lost"].values())
    assert profiler.folded("event:ticks", pid=target.pid).total() == did["ticks"]


def test_a_call_in_a_call_counts_as_well(profiler, start):
    _, did = watched(start, profiler, {"dug": DIG}, event_time=1)
    found = profiler.folded("event:dug")
    assert found.total() == did["dug"] == DEPTH
    assert sorted(stack.frames.count("event_dig") for stack in found.stacks) == list(range(1, DEPTH + 1))
    assert profiler.folded("event:dug", view="time", value="count").total() == DEPTH


@pytest.mark.alone("the program's clock has the time in it that others take the CPU behind the call")
def test_the_time_is_that_of_the_programs_own_clock(profiler, start):
    """Beyond what a probe itself takes: that is the time of calls of an empty function."""
    events = {"naps": NAP, "ticks": TICK}
    _, did = watched(start, profiler, events, ticks=2000, naps=200, event_time=1)
    one_us = counted(profiler, "ticks", view="time") / did["ticks"]
    found, clock = counted(profiler, "naps", view="time"), did["nap_ns"] / 1000
    assert counted(profiler, "naps") == counted(profiler, "naps", view="time", value="count") == 200
    assert clock * 0.97 - 200 * one_us <= found <= clock * 1.03 + 200 * one_us, (found, clock, one_us)


def test_short_calls_can_be_left_out(profiler, start):
    events = {"naps": NAP, "ticks": TICK}
    watched(start, profiler, events, ticks=2000, naps=50, event_time=1, event_min_us=1500)
    assert counted(profiler, "naps") == 50
    assert counted(profiler, "ticks") < 100, "of empty calls only those that were interrupted are long"
    assert profiler.probe("event:ticks")["hits"] >= 2000


def semaphore(target):
    """As it is in the program's memory."""
    listed = subprocess.run(["nm", POINTS], capture_output=True, text=True, check=True).stdout
    at = int(next(line for line in listed.splitlines() if line.endswith(" points_gated_semaphore")).split()[0], 16)
    with open(f"/proc/{target.pid}/maps") as maps, open(f"/proc/{target.pid}/mem", "rb") as memory:
        memory.seek(int(maps.readline().split("-")[0], 16) + at)
        return int.from_bytes(memory.read(2), "little")


def test_static_probes_and_their_semaphores(profiler, start):
    events = {"begun": f"usdt:{POINTS}:points:begun", "gated": f"usdt:{POINTS}:points:gated"}
    target, did = watched(start, profiler, events, ticks=5000)
    assert did["semaphore"] == 1 and did["gated"] == did["begun"] == 5000
    assert counted(profiler, "begun", "run_statics") == counted(profiler, "gated", "run_statics") == 5000
    assert semaphore(target) == 1
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: semaphore(target) == 0, why="the kernel lowers it again")


def test_without_a_probe_a_semaphore_is_zero(profiler, start):
    _, did = watched(start, profiler, {"begun": f"usdt:{POINTS}:points:begun"}, ticks=100)
    assert did["semaphore"] == did["gated"] == 0
    assert counted(profiler, "begun") == 100


def leaves(profiler, event):
    found = {}
    for stack in profiler.folded(f"event:{event}").stacks:
        found[stack.frames[-1]] = found.get(stack.frames[-1], 0) + stack.value
    return found


def test_the_value_of_an_argument_is_a_frame(profiler, start):
    watched(start, profiler, {"dug": f"{DIG} arg=1", "ticks": f"{TICK} arg=1", "narrow": f"{TICK} arg=1:1"},
            ticks=10000, event_time=1)
    assert leaves(profiler, "dug") == {f"[arg {depth}]": 1 for depth in range(1, DEPTH + 1)}
    ticks = leaves(profiler, "ticks")
    assert ticks.pop("[arg 2^12 to 2^13-1]") == 4096 and ticks.pop("[arg 2^13 to 2^14-1]") == 10000 - 8192
    assert ticks == {f"[arg {value}]": 1 for value in range(4096)}
    narrow = leaves(profiler, "narrow")
    assert len(narrow) == 256 and sum(narrow.values()) == 10000 and narrow["[arg 255]"] == 10000 // 256
    assert counted(profiler, "dug", "[arg 7]", view="time", value="count") == 1


def test_arguments_of_a_static_probe_are_where_its_note_says(profiler, start):
    begun = f"usdt:{POINTS}:points:begun"
    watched(start, profiler, {f"a{i}": f"{begun} arg={i}" for i in (1, 2, 3)}, ticks=3000)
    assert leaves(profiler, "a1") == {"[arg 0]": 1000, "[arg 1]": 1000, "[arg 2]": 1000}
    assert leaves(profiler, "a2") == {"[arg 7]": 3000}
    assert leaves(profiler, "a3") == {"[arg -2]": 3000}


FORKS = """
import os, signal
def forks():
    for _ in range(50):
        pid = os.fork()
        if pid == 0: os._exit(0)
        os.waitpid(pid, 0)
signal.raise_signal(signal.SIGSTOP)
forks()
print('{"forks": 50}', flush=True)
signal.raise_signal(signal.SIGSTOP)
"""


def python(start, text):
    target = start(Path("/usr/bin/python3"), "-c", text)
    wait_for(lambda: oracle.states(target.pid) == {"T"}, why="it stands by")
    return target


def test_a_tracepoint_counts_with_the_pythons_function(profiler, start):
    target = python(start, FORKS)
    watch(profiler, target, {"forks": "t:sched:sched_process_fork"})
    let_go(target)
    answer(target)
    found = profiler.folded("event:forks")
    assert found.total("forks (<string>)_[p]") == 50
    assert not any("trace" in frame for frame in found.frames()), "the tracing itself is no frame"


def library_of(pid, name):
    with open(f"/proc/{pid}/maps") as maps:
        return next(line.split()[-1] for line in maps if name in line and " r-xp " in line)


def test_a_function_of_a_library_counts_with_the_pythons_function(profiler, start):
    target = python(start, FORKS.replace("for _ in range(50):", "for _ in range(300): os.getppid()\n    for _ in range(50):"))
    watch(profiler, target, {"parents": f"u:{library_of(target.pid, 'libc.so')}:getppid"})
    let_go(target)
    answer(target)
    assert counted(profiler, "parents", "forks (<string>)_[p]") == 300


def test_each_mount_namespaces_own_file_is_watched(profiler, start, work):
    """Two processes have different files at one path, as two containers may."""
    place, other = work / "points", work / "other"
    shutil.copy(POINTS, place)
    shutil.copy(POINTS, other)
    inside = start(shutil.which("unshare"), "-m", "sh", "-c", f"mount --bind {other} {place} && exec {place} 700 0")
    outside = start(place, "900", "0")
    for target in (inside, outside):
        wait_for(lambda target=target: oracle.states(target.pid) == {"T"}, why="both stand by")
    profiler.profile(pids=[inside.pid, outside.pid], probes=["event:ticks"],
                     events={"ticks": f"u:{place}:event_tick"}, **EXACT)  # fmt: skip
    for target in (inside, outside):
        let_go(target)
        answer(target)
    assert counted(profiler, "ticks", pid=inside.pid) == 700
    assert counted(profiler, "ticks", pid=outside.pid) == 900


def test_a_file_that_no_target_maps_is_said(profiler, start, work):
    target = ready(start, "points", 10, 0)
    profiler.profile(pids=[target.pid], probes=["event:away"], events={"away": f"u:{work}/nowhere.so:function"}, **EXACT)
    wait_for(lambda: profiler.probe("event:away")["reason"] == "no target maps that file", why="it is said")
    assert profiler.probe("event:away")["state"] == "running"


def test_one_that_is_too_frequent_is_given_up(profiler, start):
    endless(start, profiler, ["event:ticks", "oncpu"], events={"ticks": TICK}, max_overhead=1)
    wait_for(lambda: profiler.probe("event:ticks")["state"] == "failed", why="it is given up")
    assert profiler.probe("event:ticks")["reason"].startswith("too frequent: ")
    assert profiler.probe("oncpu")["state"] == "running"
    before = profiler.folded("oncpu").total("event_tick")
    wait_for(lambda: profiler.folded("oncpu").total("event_tick") > before, why="the rest goes on")
    profiler.put_ok({"params": {"events": {"ticks": f"u:{POINTS}:run_ticks"}}})
    profiler.wait_running("event:ticks")


def test_events_come_change_and_go(profiler, start):
    endless(start, profiler, ["event:a"], events={"a": f"u:{POINTS}:run_ticks"}, **EXACT)
    wait_for(lambda: counted(profiler, "a", "run_ticks"), why="the first event")
    events = {"a": f"u:{POINTS}:clock_ns", "b": f"u:{POINTS}:run_ticks"}
    profiler.put_ok({"cmd": {"probe": ["event:a", "event:b"]}, "params": {"events": events}})
    assert profiler.config()["params"]["events"] == events
    profiler.wait_running("event:b")
    wait_for(lambda: counted(profiler, "b", "run_ticks"), why="the second event")
    assert counted(profiler, "a") == 0, "it is another function now"
    profiler.put_ok({"params": {"events": {"b": events["b"]}}})
    assert profiler.config()["cmd"]["probe"] == ["event:b"]
    wait_for(lambda: "event:a" not in profiler.config()["status"]["probes"], why="it has ended")
    got = profiler.put({"cmd": {"probe": ["event:a"]}})
    assert got.status == 400 and "unsupported probe range: event:a." in got.text, got.text


def test_a_change_that_is_taken_back_at_once_goes_on(profiler, start):
    endless(start, profiler, ["event:a"], events={"a": f"u:{POINTS}:run_ticks"}, **EXACT)
    wait_for(lambda: counted(profiler, "a", "run_ticks"), why="the event")
    for function in ("clock_ns", "run_ticks"):
        profiler.put_ok({"params": {"events": {"a": f"u:{POINTS}:{function}"}}})
    before = counted(profiler, "a", "run_ticks")
    wait_for(lambda: counted(profiler, "a", "run_ticks") > before, why="it goes on")


def test_hits_of_a_function_are_not_those_of_the_tracepoint_that_it_becomes(profiler, start):
    endless(start, profiler, ["event:a"], events={"a": TICK}, event_time=1, **EXACT)
    wait_for(lambda: counted(profiler, "a", "event_tick"), why="the function")
    profiler.put_ok({"params": {"events": {"a": "t:sched:sched_process_fork"}}})
    profiler.wait_running("event:a")
    assert profiler.folded("event:a", seconds=1).total() == 0


def test_a_larger_bound_tries_again_what_was_given_up(profiler, start):
    endless(start, profiler, ["event:ticks"], events={"ticks": TICK}, max_overhead=1)
    wait_for(lambda: profiler.probe("event:ticks")["state"] == "failed", why="it is given up")
    profiler.put_ok({"params": {"max_overhead": 0}})
    profiler.wait_running("event:ticks")


def test_a_session_on_demand_finds_only_events_that_are_named(profiler, start):
    watched(start, profiler, {"a": TICK}, ticks=10)
    profiler.put_ok({"cmd": {"probe": ["oncpu"]}, "params": {"events": {}}})
    assert profiler.get("/flamegraph/event:a.folded?seconds=1").status == 404


def test_all_outputs_have_it(profiler, start):
    watched(start, profiler, {"ticks-2": TICK}, ticks=3000, naps=0, event_time=1)
    name = "event:ticks-2"
    read = pprof.read(profiler.get(f"/flamegraph/{name}.pb.gz").body)
    assert read.total("events") == 3000
    for ending in ("svg", "html", "json", "jsonl"):
        got = profiler.get(f"/flamegraph/{name}.{ending}")
        assert got.status == 200 and "event_tick" in got.text, ending
    assert f"Event ticks-2" in profiler.get(f"/flamegraph/{name}.svg").text
    metrics = profiler.get("/metrics").text
    hits = re.search(rf'^stackprobe_event_hits_total{{probe="{name}"}} (\d+)$', metrics, re.M)
    assert int(hits[1]) >= 3000
    assert f'stackprobe_probe_up{{feature="flamegraph",probe="{name}"}} 1\n' in metrics


REFUSED = [
    ({"reads": TICK[:-1]}, "has no such function", "Is it event_tick"),
    ({"reads": f"usdt:{POINTS}:points:began"}, "has no such static probe", "points:begun"),
    ({"reads": "t:sched:sched_wakeupp"}, "the kernel has no tracepoint sched_wakeupp", "sched_wakeup"),
    ({"reads": "t:syscalls:sys_enter_openat"}, "has no tracepoint", "t:raw_syscalls:sys_enter"),
    ({"reads": "u:/usr/bin/python3:main"}, "is a link", "name that"),
    ({"reads": f"u:{LIBC}:strlen"}, "has no such", "IFUNC"),
    ({"reads": "k:vfs_reed"}, "the kernel has no function vfs_reed", "vfs_read"),
    ({"reads": "x:y"}, "params.events.reads invalid value", "u:/PATH:FUNCTION"),
    ({"reads": "u:relative:f"}, "params.events.reads invalid value", "u:/PATH:FUNCTION"),
    ({"reads": f"{TICK} arg=7"}, "the argument 7 is in no register", ""),
    ({"reads": f"{TICK} arg=0"}, "params.events.reads invalid value", "arg=N"),
    ({"reads": f"{TICK} arg=1:3"}, "params.events.reads invalid value", "arg=N"),
    ({"reads": f"usdt:{POINTS}:points:begun arg=4"}, "has no such argument", "points:begun of"),
    ({"reads": ""}, "params.events.reads invalid value", ""),
    ({"reads": "u:/" + "x" * 400 + ":f"}, "params.events.reads invalid value", ""),
    ({"reads": 7}, "params.events.reads invalid data type", ""),
    ({"Reads!": TICK}, "the name Reads! must be", ""),
    ({"r" * 33: TICK}, "must be 1 to 32", ""),
    ([], "params.events invalid data type", "event:reads"),
    ({f"e{i}": TICK for i in range(17)}, "more than 16 events", ""),
]


@pytest.mark.parametrize(("events", "says", "detail"), REFUSED)
def test_what_there_isnt_is_refused_with_what_may_be_meant(profiler, events, says, detail):
    body = profiler.wanting(pids=[os.getpid()], probes=["event:reads"], events=events)
    got = profiler.put(body)
    assert got.status == 400, got.text
    assert says in got.json()["message"] and detail in got.json()["detail"], got.text


def test_a_function_of_the_kernel_says_what_this_kernel_lacks(profiler, start):
    """This kernel may have kprobes or not: with them it counts."""
    target = ready(start, "points", 0, 0)
    got = profiler.put(profiler.wanting(pids=[target.pid], probes=["event:k", "oncpu"], events={"k": "k:vfs_write"}))
    assert got.status == 200, got.text
    probe = profiler.probe("event:k")
    if probe["state"] == "running":
        let_go(target)
        answer(target)
        assert counted(profiler, "k", "main") >= 1
        return
    assert probe["state"] == "unsupported" and "CONFIG_KPROBES" in probe["reason"], probe


def test_a_snooper_may_name_an_event_that_stays(profiler):
    names = {"proc_name": [{"comm": "nobody", "probe": ["event:a"]}]}
    profiler.put_ok({"cmd": {"probe": ["oncpu"]}, "snoopers": names, "params": {"events": {"a": TICK}}})
    got = profiler.put({"params": {"events": {}}})
    assert got.status == 400 and "params.events has no more" in got.text, got.text
    profiler.put_ok({"snoopers": {"proc_name": [{"comm": "nobody"}]}, "params": {"events": {}}})


def test_record_names_an_event_by_its_function(work):
    out = work / "out.folded"
    program = "import os\nfor _ in range(50): os.getppid()"
    subprocess.run([BIN, "record", "-q", "-e", f"u:{LIBC}:getppid arg=1:-4,x=t:sched:sched_process_exec", "-o", out,
                    "--", "/usr/bin/python3", "-c", program], check=True)  # fmt: skip
    assert Profile((work / "out.event:getppid.folded").read_text()).total() == 50
    assert Profile((work / "out.event:x.folded").read_text()).total() == 1


def test_sixteen_at_once(profiler, start):
    events = {f"e{i}": TICK for i in range(16)}
    _, did = watched(start, profiler, events, ticks=300)
    assert {counted(profiler, name) for name in events} == {300}
