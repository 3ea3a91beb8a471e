#!/usr/bin/env python3
"""What a call of an empty function costs when it is an event, and whether a million of them are counted.

`points` calls event_tick() and passes a static probe, CALLS times each. Printed is the CPU time that a call takes beyond
the bare one: with the function watched for another process of the same file, for this one (each call's stack, no guard),
with the time in the call as well, and the static probe; and how many were counted. All in turn, ROUNDS times; medians.

Prints lines and judges nothing. Usage: event_cost.py [CALLS=n] [ROUNDS=n]
"""
import os
import signal
import subprocess
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
import oracle  # noqa: E402
from helpers import PROGRAMS, missing_privilege, wait_for  # noqa: E402
from scale import Bench  # noqa: E402

POINTS = (PROGRAMS / "points").resolve()
TICK = f"u:{POINTS}:event_tick"
BEGUN = f"usdt:{POINTS}:points:begun"


def ran_ns(pid):
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


class Points:
    """A process that has stopped itself before its calls."""

    def __init__(self, calls):
        self.popen = subprocess.Popen([POINTS, str(calls), "0"], stdout=subprocess.DEVNULL)
        self.pid, self.calls = self.popen.pid, calls
        self.await_stop()

    def await_stop(self):
        wait_for(lambda: oracle.states(self.pid) == {"T"}, 120, why="it has stopped itself")

    def cost(self):
        """CPU time of a call, ns."""
        before = ran_ns(self.pid)
        os.kill(self.pid, signal.SIGCONT)
        wait_for(lambda: oracle.states(self.pid) != {"T"}, why="it goes on")
        self.await_stop()
        return (ran_ns(self.pid) - before) / self.calls

    def end(self):
        self.popen.kill()
        self.popen.wait()


def watch(daemon, pid, event, timed):
    daemon.profile(pids=[pid], probes=["event:e"], events={"e": event}, event_time=timed, max_overhead=0)


def run_once(daemon, calls, event, of_others, timed):
    """Cost of a call, ns, and how many were counted."""
    target, other = Points(calls), Points(1)
    try:
        if event:
            watch(daemon, other.pid if of_others else target.pid, event, timed)
        cost = target.cost()
        counted = daemon.folded("event:e").total() if event else 0
    finally:
        target.end()
        other.end()
    daemon.put_ok({"state": "stopped"})
    return cost, counted


SUBJECTS = {
    "nothing": (None, False, 0),
    "event of others": (TICK, True, 0),
    "event": (TICK, False, 0),
    "event, event_time": (TICK, False, 1),
    "static probe": (BEGUN, False, 0),
}


def main():
    reason = missing_privilege()
    if reason:
        sys.exit(f"event_cost: {reason}")
    options = dict(arg.split("=") for arg in sys.argv[1:] if "=" in arg)
    calls, figures = int(options.get("CALLS", 1_000_000)), {}
    with Bench() as bench:
        bench.daemon.put_ok(bench.daemon.wanting("nobody-has-this-name", state="stopped"))
        for _ in range(int(options.get("ROUNDS", 3))):
            for name, subject in SUBJECTS.items():
                figures.setdefault(name, []).append(run_once(bench.daemon, calls, *subject))
    bare = median(cost for cost, _ in figures["nothing"])
    for name, rows in figures.items():
        counts = sorted({counted for _, counted in rows})
        print(f"event_cost: {name:18} a call takes {median(cost for cost, _ in rows):6.0f} ns, "
              f"{median(cost for cost, _ in rows) - bare:6.0f} more than bare; counted {counts} of {calls}")  # fmt: skip


if __name__ == "__main__":
    main()
