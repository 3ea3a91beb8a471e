#!/usr/bin/env python3
"""What /proc costs: a reading of PROCESSES processes, the end of a process, a switch.

Printed are, with PROCESSES processes that sleep: the time until `GET /proc/proc_cpu.json?top=20` is answered, the daemon's
CPU time for it, and its resident memory before and after; and the CPU time of a fork and an exit with /proc stopped and
with it running, in turn. At a switch, a fault and a call its probes proc_cpu, proc_sched, proc_fault and proc_io run no
program; those that count wake-ups, softirqs and pages are measured under a load of some 200,000 switches a second, beside an
empty program at the switch: BPF time a switch, of all programs of the daemon together.

Prints lines and judges nothing. Usage: proc_cost.py [PROCESSES=n] [FORKS=n] [ROUNDS=n] [SECONDS=n]
"""
import os
import re
import resource
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from accounts import COUNTING, PROBES, watch  # noqa: E402
from helpers import cpu_ns, missing_privilege  # noqa: E402
from sample_cost import STATS  # noqa: E402
from scale import Bench, bpf_stats  # noqa: E402
from sched_cost import empty, pipe  # noqa: E402


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def reading(daemon):
    """Seconds until the answer, and the daemon's CPU time, ms."""
    before, began = cpu_ns(daemon.pid), time.monotonic()
    answer = daemon.get("/proc/proc_cpu.json?top=20")
    assert answer.status == 200, answer.text
    return time.monotonic() - began, (cpu_ns(daemon.pid) - before) / 1e6


def fork_us(forks):
    """CPU time of a fork and an exit, us, of parent and child."""

    def spent():
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    before = spent()
    for _ in range(forks):
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
    return 1e6 * (spent() - before) / forks


def bpf_ns(owner, length):
    """BPF time of a switch by the owner's programs, ns; and how long the load takes for one, us."""
    before = bpf_stats(owner)
    switches, us = pipe(length)
    after = bpf_stats(owner)
    return sum(ns - before.get(name, (0, 0))[1] for name, (_, ns) in after.items()) / switches, us


def switches(daemon, length, rounds):
    subjects = {"the kernel's sums alone": PROBES, **{name: (name,) for name in COUNTING}, "all": PROBES + COUNTING}
    figures = {name: [] for name in ("an empty program", *subjects)}
    STATS.write_text("1")
    for _ in range(rounds):
        with empty("switch") as nothing:
            figures["an empty program"].append(bpf_ns(nothing, length))
        for name, probes in subjects.items():
            watch(daemon, probes=probes)
            figures[name].append(bpf_ns(daemon, length))
            watch(daemon, state="stopped")
    STATS.write_text("0")
    bare = median(ns for ns, _ in figures["an empty program"])
    for name, of in figures.items():
        ns, us = (median(one[i] for one in of) for i in (0, 1))
        print(f"proc_cost: a switch: {name}: {ns:.0f} ns of BPF, {ns / bare:.2f} x an empty program; {us:.2f} us in all")


def main():
    why = missing_privilege()
    if why:
        sys.exit(f"proc_cost: {why}")
    options = dict(arg.split("=") for arg in sys.argv[1:])
    processes, forks, rounds, seconds = (int(options.get(name, default)) for name, default in
                                         (("PROCESSES", 10000), ("FORKS", 2000), ("ROUNDS", 5), ("SECONDS", 2)))  # fmt: skip
    with Bench() as bench:
        daemon, readings, costs = bench.daemon, [], {"stopped": [], "running": []}
        for _ in range(rounds):
            for state, of in costs.items():
                watch(daemon, state=state)
                of.append(fork_us(forks))
        print("proc_cost: a fork and an exit take "
              + ", ".join(f"{median(of):.1f} us with /proc {state}" for state, of in costs.items()))  # fmt: skip
        watch(daemon, state="stopped")
        switches(daemon, seconds, rounds)
        bench.crowd(processes)
        before_mib = resident_mib(daemon.pid)
        watch(daemon)
        for _ in range(rounds):
            readings.append(reading(daemon))
        took, cpu_ms = (median(one[i] for one in readings) for i in (0, 1))
        print(f"proc_cost: {processes} processes: an answer in {1e3 * took:.0f} ms, {cpu_ms:.0f} ms of CPU; resident "
              f"{before_mib:.1f} MiB before, {resident_mib(daemon.pid):.1f} MiB after")  # fmt: skip


if __name__ == "__main__":
    main()
