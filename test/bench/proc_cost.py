#!/usr/bin/env python3
"""What /proc costs: a reading of PROCESSES processes, and the end of a process.

Printed are, with PROCESSES processes that sleep: the time until `GET /proc/proc_cpu.json?top=20` is answered, the daemon's
CPU time for it, and its resident memory before and after; and the CPU time of a fork and an exit with /proc stopped and
with it running, in turn. At a switch, a fault and a call /proc runs no program: there is nothing to measure.

Prints lines and judges nothing. Usage: proc_cost.py [PROCESSES=n] [FORKS=n] [ROUNDS=n]
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
from accounts import watch  # noqa: E402
from helpers import cpu_ns, missing_privilege  # noqa: E402
from scale import Bench  # noqa: E402


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


def main():
    why = missing_privilege()
    if why:
        sys.exit(f"proc_cost: {why}")
    options = dict(arg.split("=") for arg in sys.argv[1:])
    processes, forks, rounds = (int(options.get(name, default)) for name, default in
                                (("PROCESSES", 10000), ("FORKS", 2000), ("ROUNDS", 5)))  # fmt: skip
    with Bench() as bench:
        daemon, readings, costs = bench.daemon, [], {"stopped": [], "running": []}
        for _ in range(rounds):
            for state, of in costs.items():
                watch(daemon, state=state)
                of.append(fork_us(forks))
        print("proc_cost: a fork and an exit take "
              + ", ".join(f"{median(of):.1f} us with /proc {state}" for state, of in costs.items()))  # fmt: skip
        watch(daemon, state="stopped")
        bench.crowd(processes)
        before_mib = resident_mib(daemon.pid)
        watch(daemon)
        for _ in range(rounds):
            readings.append(reading(daemon))
        seconds, cpu_ms = (median(one[i] for one in readings) for i in (0, 1))
        print(f"proc_cost: {processes} processes: an answer in {1e3 * seconds:.0f} ms, {cpu_ms:.0f} ms of CPU; resident "
              f"{before_mib:.1f} MiB before, {resident_mib(daemon.pid):.1f} MiB after")  # fmt: skip


if __name__ == "__main__":
    main()
