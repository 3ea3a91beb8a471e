"""/proc's CPU counters: the programs that count them, with perf's software events in the place of a PMU's, which this machine
may lack; and what an answer says where there is none. (QEMU's Arm PMU: `make check-pmu`.)"""
import json
import re
import subprocess

from accounts import costs, row_of, watch
from helpers import BIN, wait_for

COUNTERS = ("cycles", "ref_cycles", "instructions", "cache_references", "cache_misses")


def test_what_counters_count_is_the_process_s_that_runs():
    """As of perf's own events of that process: page faults to the last one."""
    told = json.loads(subprocess.run([BIN.parent / "test/pmu/pmu_counts", "software"], check=True, capture_output=True,
                                     text=True).stdout)
    assert told["known"] == 0b111 and told["lost"] == 0
    for counted in told["rounds"]:
        clock, minor, faults = (counted[name] for name in COUNTERS[:3])
        assert minor["counted"] == minor["truth"] >= 40_000
        assert faults["counted"] == faults["truth"] >= 40_000
        assert 0 <= clock["counted"] / clock["truth"] - 1 < 0.1  # perf's own begins and ends within the switch
        assert abs(clock["counted"] / counted["counted_ns"] - 1) < 0.01


def test_a_counter_that_the_machine_lacks_is_named_with_its_reason(profiler, start):
    target = start("spin", 60)
    watch(profiler, probes=["proc_cpu"])
    row = wait_for(lambda: row_of(profiler, "proc_cpu", target.pid), why="it has a row")
    answer = costs(profiler, "proc_cpu")
    absent = answer.get("absent", "")
    names = set(re.findall(r"\w+", absent))
    assert profiler.get("/proc").json()["status"]["probes"]["proc_cpu"].get("absent", "") == absent
    for name in COUNTERS:
        assert (name in row) != (name in names), (absent, row)
    assert ("counted_ns" in row) == any(name in row for name in COUNTERS)
    table = profiler.get("/proc/proc_cpu.txt").text
    assert ("average_hz" in table) == ("average_hz" in row) == ("cycles" in row)
