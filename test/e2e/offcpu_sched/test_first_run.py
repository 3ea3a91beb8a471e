"""/sched's firstrun: each new thread once, with the time until it has a CPU."""
import os
import threading
import time
from pathlib import Path

import pytest

import oracle
from helpers import wait_for
from sched_client import Sched


def told_of(name):
    """A figure of the whole machine: "processes", also threads, that were made since the boot; "procs_running"."""
    lines = Path("/proc/stat").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name} ")))


@pytest.fixture
def sched(profiler):
    sched = Sched(profiler)
    sched.run("firstrun")
    return sched


def looked_at(sched):
    """(made before, counted, made after, how many of them may not have run yet)"""
    before, waiting = told_of("processes"), told_of("procs_running")
    counted = sched.count("firstrun")
    return before, counted, told_of("processes"), max(waiting, told_of("procs_running"))


@pytest.mark.quick
def test_each_new_thread_is_counted_once(sched):
    early, first, later, waiting = looked_at(sched)
    for _ in range(200):
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
    for _ in range(100):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
    last_early, last, last_later, last_waiting = looked_at(sched)
    assert last - first >= 300
    assert last_early - later - 8 - last_waiting <= last - first <= last_later - early + 8 + waiting


def test_the_wait_is_the_time_without_a_cpu(profiler):
    """The parent goes on for 30 ms before its child gets the one CPU that both may use."""
    sched, cpus = Sched(profiler), os.sched_getaffinity(0)
    sched.run("firstrun", group_by="pid")
    try:
        os.sched_setaffinity(0, {min(cpus)})
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
        child = os.fork()
        if not child:
            time.sleep(60)
            os._exit(0)
        end = time.monotonic() + 0.03
        while time.monotonic() < end:
            pass
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, cpus)
    of_child = wait_for(lambda: sched.groups("firstrun").get(str(child)) or sched.groups("firstrun").get(child), why="its histogram")
    delay_us = oracle.process(child).delay_ns / 1000  # from its begin on, as the kernel counts it
    os.kill(child, 9)
    os.waitpid(child, 0)
    assert of_child["count"] == 1
    assert 30_000 <= of_child["sum_us"] <= 1.01 * delay_us + 1000, (of_child, delay_us)
