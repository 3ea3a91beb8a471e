"""Misses of the last-level cache: beside perf stat where there is a PMU, and what is said where there is none."""
import json
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from helpers import BIN, wait_for

CHASES = """
import os, random, signal
size = 1 << 23
places = list(range(size))
random.shuffle(places)
def chases():
    at = 0
    while signal.sigtimedwait({signal.SIGUSR1}, 0) is None:
        for _ in range(100000): at = places[at]
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print("ready", flush=True)
chases()
print("chased", flush=True)
signal.sigwait({signal.SIGUSR1})
"""


def judged():
    told = subprocess.run([BIN, "doctor", "--json"], capture_output=True, text=True, timeout=60, check=False).stdout
    return {one["name"]: one for one in json.loads(told)["probes"]}["llc"]


def test_without_a_pmu_it_is_unsupported_and_says_why(profiler):
    found = judged()
    if found["state"] != "no":
        pytest.skip("this machine has a PMU")
    assert "cache_misses" in found["reason"] and "PMU" in found["remedy"], found
    refused = profiler.put(profiler.wanting(pids=[1], probes=("llc",)))
    assert refused.status == 503 and "cache-misses" in refused.text and "PMU" in refused.text, refused.text
    profiler.profile(pids=[1], probes=("oncpu",))
    profiler.put(profiler.wanting(pids=[1], probes=("oncpu", "llc")))
    state = wait_for(lambda: (now := profiler.probe("llc"))["state"] not in ("arming", "stopped") and now)
    assert state["state"] == "unsupported", state
    assert "cache-misses" in state["reason"] and "PMU" in state["reason"], state
    assert profiler.probe("oncpu")["state"] == "running"


def test_misses_and_references_are_those_of_perf_stat(profiler, start):
    if judged()["state"] == "no":
        pytest.skip(f"llc: {judged()['reason']}")
    if not shutil.which("perf"):
        pytest.skip("needs perf")
    target = start(Path("/usr/bin/python3"), "-c", CHASES)
    wait_for(lambda: "ready" in target.log.read_text())
    profiler.profile(pids=[target.pid], probes=("llc",), frame_detail="name", max_overhead=0, llc_period=10007)
    stat = subprocess.run(["perf", "stat", "-x,", "-e", "cache-misses,cache-references", "-p", str(target.pid),
                           "sleep", "5"], capture_output=True, text=True, check=True).stderr  # fmt: skip
    target.popen.send_signal(signal.SIGUSR1)
    wait_for(lambda: "chased" in target.log.read_text())
    counted = {event: int(number) for number, event in re.findall(r"^(\d+),,(cache-\w+)", stat, re.MULTILINE)}
    misses = profiler.folded("llc", pid=target.pid).total("chases (<string>)_[p]")
    references = profiler.folded("llc", pid=target.pid, value="count").total("chases (<string>)_[p]")
    # perf counts a part of the time: the rates are what can be compared.
    assert counted["cache-misses"] <= misses * 1.05, (counted, misses)
    assert misses / references == pytest.approx(counted["cache-misses"] / counted["cache-references"], rel=0.1)
