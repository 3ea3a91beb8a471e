#!/usr/bin/env python3
"""What a system call that moves a byte costs with io on, beside an empty program at the return of each call and beside
strace -c.

dd reads from /dev/zero and writes to /dev/null, a byte a call. Printed is the BPF time of a call, by the kernel's
statistics, and the CPU time that a call takes: bare, with an empty program, with io for others, for dd (each call's
stack, no guard), with the time in the call as well, with the guard at a PUT's default (the stack of one call in so
many), under strace -c (its own included). All in turn, ROUNDS times; medians. (bcc's syscount needs tracepoints that
this kernel may lack; it is measured where it runs.)

Prints lines and judges nothing. Usage: io_cost.py [CALLS=n] [ROUNDS=n]
"""
import os
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from helpers import missing_privilege, wait_for  # noqa: E402
from scale import Bench  # noqa: E402
from sched_cost import CPU, NOBODY, Nothing, Ours, Stats, empty, peer  # noqa: E402

STRACE = "strace -c"  # while it runs, a twentieth of the calls


class Io(Ours):
    def __init__(self, daemon, *entries, **params):
        super().__init__(daemon, "flamegraph", "io", *entries, **{"max_overhead": 0, **params})

    def __enter__(self):
        assert self.put("running").status == 200
        wait_for(lambda: self.daemon.probe("io")["state"] == "running", why="io")
        return self


def subjects_of(daemon):
    strace = Nothing()
    strace.missing = None if shutil.which("strace") else "strace is not installed"
    return {
        "nothing": Nothing(),
        "empty program": empty("exit"),
        "io of others": Io(daemon, NOBODY),
        "io": Io(daemon, "^dd$"),
        "io, io_time": Io(daemon, "^dd$", io_time=1),
        "io, thinned": Io(daemon, "^dd$", max_overhead=3),
        "syscount": peer("syscount", "-d", "3600"),
        STRACE: strace,
    }


def dd(calls, before=()):
    """CPU time of a call, its child's too, ns."""
    argv = [*before, "taskset", "-c", CPU, "dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={calls // 2}"]
    began = os.times()
    subprocess.run(argv, check=True, stderr=subprocess.DEVNULL)
    ended = os.times()
    spent = ended.children_user + ended.children_system - began.children_user - began.children_system
    return spent / calls * 1e9


def measure(daemon, calls, rounds):
    figures = {}
    for _ in range(rounds):
        for name, subject in subjects_of(daemon).items():
            if subject.missing:
                print(f"io_cost: {name:14} not measured: {subject.missing}")
                continue
            with subject:
                stats = Stats(subject)
                if name == STRACE:
                    spent = dd(calls // 20, ("strace", "-c", "-f", "-o", "/dev/null"))
                else:
                    spent = dd(calls)
                bpf = stats.ns("empty_exit" if name == "empty program" else "end_call", "begin_call")[1]
            figures.setdefault(name, []).append((spent, bpf))
    return {name: tuple(map(median, zip(*rows))) for name, rows in figures.items()}


def main():
    reason = missing_privilege()
    if reason:
        sys.exit(f"io_cost: {reason}")
    options = dict(arg.split("=") for arg in sys.argv[1:] if "=" in arg)
    with empty(), Bench() as bench:  # the first one keeps the kernel's statistics on
        figures = measure(bench.daemon, int(options.get("CALLS", 1_000_000)), int(options.get("ROUNDS", 5)))
    bare = figures["nothing"][0]
    for name, (spent, bpf) in figures.items():
        print(f"io_cost: {name:14} a call takes {spent:6.0f} ns, {spent - bare:6.0f} more than bare; {bpf:5.0f} ns BPF")
    more = figures["io"][0] - bare
    for name in ("empty program", "syscount", STRACE):
        if name in figures and figures[name][0] > bare:
            print(f"io_cost: io adds {more / (figures[name][0] - bare):.2f} x what {name} adds")


if __name__ == "__main__":
    main()
