"""What processes have had of their CPUs, by process in /metrics, against the kernel's own figures."""
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

import oracle
from helpers import by_name_alone, program, wait_burned, wait_for

pytestmark = pytest.mark.xdist_group("turns")  # it is chosen by its name alone

TURNS = by_name_alone("^turns$")
WAYS = ([], ["leave"], ["exec"])
SERIES = re.compile(
    r'^stackprobe_process_(cpu_seconds|runq_wait_seconds|offcpu_seconds|context_switches|wakeups)'
    r'_total\{pid="(\d+)",comm="([^"]*)"(?:,\w+="(\w+)")?\} ([\d.]+)$', re.MULTILINE)


LAST = {}  # when each daemon was asked last


def counters(daemon):
    """Of each process, after a reading of its own (one a second): {pid: {name or (name, label): …}}."""
    time.sleep(max(0.3, LAST.get(daemon, 0) + 1.1 - time.monotonic()))
    return counters_now(daemon)


def counters_now(daemon):
    processes = {}
    LAST[daemon] = time.monotonic()
    for name, pid, comm, label, value in SERIES.findall(daemon.get("/metrics").text):
        values = processes.setdefault(int(pid), {"comm": comm})
        values[(name, label) if label else name] = float(value)
    return processes


def choose(profiler, *entries):
    profiler.profile(*entries, probes=("oncpu", "offcpu"))
    if profiler.probe("offcpu")["state"] != "running":
        pytest.skip(profiler.probe("offcpu")["reason"])


def switches(values):
    return (values["context_switches", "voluntary"], values["context_switches", "involuntary"])


def schedstat(pid, tid=None):
    """Run time and delays of a thread, in seconds."""
    text = Path(f"/proc/{pid}/task/{tid or pid}/schedstat").read_text()
    return [int(word) / 1e9 for word in text.split()[:2]]


def status_switches(pid):
    text = Path(f"/proc/{pid}/status").read_text()
    return tuple(int(n) for n in re.findall(r"voluntary_ctxt_switches:\s*(\d+)", text))


def cpu_clock(pid):
    """A process's CPU time now, those of its threads that ended included (CPUCLOCK_SCHED)."""
    return time.clock_gettime(~pid << 3 | 2)


def same(a, b):
    """As far as a double and microseconds tell."""
    return abs(a - b) < 1e-6


def children(count, *, kill=False):
    """Runs processes of few and many threads that end in all ways, two at once: {pid: rusage}."""
    usages, running = {}, []
    for i in range(count):
        threads, turns, sleep_us = (1, 2, 5, 20)[i % 4], 1 + i % 7, (10, 500, 3000)[i % 3]
        argv = [program("turns"), threads, turns, (0, 100, 2000)[i // 2 % 3], sleep_us]
        end = ["hold"] if kill else WAYS[i // 4 % 3]
        running.append(subprocess.Popen([*map(str, argv), *end], stdout=subprocess.DEVNULL))
        if len(running) > 1 or i == count - 1:
            for child in running:
                if kill:
                    time.sleep(0.005)
                    child.kill()
                _, _, usages[child.pid] = os.wait4(child.pid, 0)
                child.returncode = 0
            running = []
    return usages


def told_early(seen, told):
    """A parent may be told of an end before the process has left its CPU for the last time: then getrusage()
    lacks that switch, and one away from the CPU right before it."""
    return seen[0] - told[0] == 1 and seen[1] - told[1] in (0, 1)


@pytest.mark.quick
@pytest.mark.parametrize("kill", [False, True], ids=["by_themselves", "killed"])
def test_switches_and_run_time_of_those_that_ended_are_those_of_getrusage(profiler, kill):
    choose(profiler, TURNS)
    usages = children(60, kill=kill)
    processes, early = counters(profiler), 0
    for pid, usage in usages.items():
        seen, told = switches(processes[pid]), (usage.ru_nvcsw, usage.ru_nivcsw)
        assert processes[pid]["comm"] == "turns"
        assert seen == told or told_early(seen, told), (pid, seen, told)
        early += seen != told
        # getrusage cuts off each of its two sums at a microsecond.
        assert seen != told or abs(processes[pid]["cpu_seconds"] - usage.ru_utime - usage.ru_stime) < 3e-6
    assert early <= len(usages) // 10


def test_last_values_stay(profiler):
    choose(profiler, TURNS)
    children(4)
    before = counters(profiler)
    time.sleep(2)
    assert counters(profiler) == before


def test_delays_and_run_time_of_one_thread_are_those_of_schedstat(profiler, start):
    choose(profiler, TURNS)
    # Two that share a CPU wait for it half of the time.
    spinners = [start("turns", 1, 100_000, 2000, 10, cpu=0) for _ in range(2)]
    wait_burned(*(spinner.pid for spinner in spinners), seconds=0.3)
    oracle.stop(*(spinner.pid for spinner in spinners))
    processes, delays = counters(profiler), []
    for spinner in spinners:
        threads = [int(p.name) for p in Path(f"/proc/{spinner.pid}/task").iterdir()]
        ran, delayed = map(sum, zip(*(schedstat(spinner.pid, tid) for tid in threads)))
        values = processes[spinner.pid]
        delays.append(delayed)
        assert same(values["runq_wait_seconds"], delayed)
        assert same(values["cpu_seconds"], ran)
        os.kill(spinner.pid, signal.SIGCONT)
    assert max(delays) > 0.05  # the scheduler may let one of them wait only


def test_a_zombie_is_read_as_what_is_there(profiler):
    choose(profiler, TURNS)
    child = subprocess.Popen([program("turns"), "0"], stdout=subprocess.DEVNULL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    values = counters(profiler)[child.pid]
    ran, delayed = schedstat(child.pid)
    assert same(values["cpu_seconds"], ran)
    assert same(values["runq_wait_seconds"], delayed)
    assert switches(values) == status_switches(child.pid)
    child.wait()
    after = counters(profiler)[child.pid]
    assert after == values


def test_threads_that_ended_stay_in_the_sums_of_a_process_that_lives(profiler, start):
    choose(profiler, TURNS)
    target = start("turns", 8, 10, 1000, 1000, "hold")
    own = target.first_line()
    values = counters(profiler)[target.pid]
    assert same(values["cpu_seconds"], cpu_clock(target.pid))
    assert values["cpu_seconds"] > own["burned_ns"] / 1e9
    assert values["runq_wait_seconds"] >= own["delayed_ns"] / 1e9
    # After its threads have told of their delays each has only its end before it.
    assert values["runq_wait_seconds"] - own["delayed_ns"] / 1e9 < 0.5
    assert counters(profiler)[target.pid]["cpu_seconds"] == values["cpu_seconds"]


def test_run_time_grows_while_a_thread_never_leaves_its_cpu(profiler, start):
    choose(profiler, "^spin$")
    target = start("spin", 30)
    wait_for(lambda: target.pid in counters(profiler))
    for _ in range(3):
        before = cpu_clock(target.pid)
        time.sleep(1.1)  # what is told is at most a second old
        text = profiler.get("/metrics").text
        after = cpu_clock(target.pid)
        values = {int(s[1]): float(s[4]) for s in SERIES.findall(text) if s[0] == "cpu_seconds"}
        # The kernel's sum is as of the last tick; a virtual machine's may come late.
        assert before - 0.1 <= values[target.pid] <= after


def test_time_asleep_is_that_of_the_programs_own_clock(profiler, start):
    choose(profiler, TURNS)
    threads, turns = 4, 100
    target = start("turns", threads, turns, 0, 5000)
    own = target.finish()
    values = counters(profiler)[target.pid]
    slept = (own["slept_ns"] + own["joined_ns"]) / 1e9
    # The program's clock starts before the wait and ends after it, and on its CPU: for that it waits
    # where others are busy.
    allowed = 0.01 * slept + 50e-6 * threads * turns
    short = slept - values["offcpu_seconds", "sleep"]
    assert -allowed < short < allowed + values["runq_wait_seconds"], (values, own)


def test_a_wait_that_goes_on_grows(profiler, start):
    choose(profiler, TURNS)
    target = start("turns", 0, 0, 0, 0, "hold")
    target.first_line()

    def read():
        """(what it was, a time before that, a time after it)"""
        time.sleep(1.1)
        before = time.monotonic()
        waited = counters_now(profiler)[target.pid]["offcpu_seconds", "sleep"]
        return waited, before, time.monotonic()

    first, before_first, after_first = read()
    second, before_second, after_second = read()
    longest, shortest = after_second - before_first, before_second - after_first
    assert shortest - 0.05 <= second - first <= longest + 0.05


def test_without_off_cpu_there_is_no_series(profiler, start):
    target = start("spin", 30)
    profiler.profile("^spin$")
    wait_for(lambda: target.pid in profiler.processes(), why="it is chosen")
    assert counters(profiler) == {}
    assert profiler.config()["status"]["process_counters"].startswith("off")


def test_who_is_not_chosen_has_no_series(profiler, start):
    others = start("spin", 30)
    choose(profiler, TURNS)
    chosen = start("turns", 0, 0, 0, 0, "hold")
    chosen.first_line()
    assert set(counters(profiler)) == {chosen.pid}
    assert others.popen.poll() is None
    assert profiler.config()["status"]["process_counters"] == "running"


def observe(profiler, *entries):
    """PUT /sched."""
    body = {"cmd": {"probe": ["runqlat"]}, "state": "running",
            "snoopers": {"proc_name": list(entries)}}
    answer = profiler.request("PUT", "/sched", json.dumps(body))
    assert answer.status == 200, answer.text


def test_with_a_probe_of_sched_waits_in_all_states_and_wake_ups_are_counted(profiler):
    observe(profiler, TURNS)
    usages = children(20)
    processes = counters(profiler)
    for pid, usage in usages.items():
        seen, told = switches(processes[pid]), (usage.ru_nvcsw, usage.ru_nivcsw)
        assert seen == told or told_early(seen, told), (pid, seen, told)

    # One that was there when it was decided on: each wait has a wake-up.
    target = subprocess.Popen([program("turns"), "1", "1000000", "0", "1000"], stdout=subprocess.PIPE)
    wait_for(lambda: target.pid in counters(profiler))
    before = counters(profiler)[target.pid]

    def enough():
        now = counters(profiler)[target.pid]
        return now["wakeups"] > before["wakeups"] + 100 and now

    after = wait_for(enough, 30, why="it is woken a hundred times")
    target.kill()
    target.communicate()
    woken = after["wakeups"] - before["wakeups"]
    slept = after["context_switches", "voluntary"] - before["context_switches", "voluntary"]
    assert abs(woken - slept) <= 0.01 * slept + 2
    assert set(after) >= {("offcpu_seconds", state) for state in
                          ("runnable", "sleep", "disk", "other")}


def test_when_sched_looks_at_everybody_there_are_no_series(profiler, start):
    target = start("turns", 0, 0, 0, 0, "hold")
    target.first_line()
    observe(profiler)
    assert counters(profiler) == {}
