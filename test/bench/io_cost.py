#!/usr/bin/env python3
"""What a system call that moves a byte costs with io on, beside strace -c and bcc's syscount.

dd reads from /dev/zero and writes to /dev/null, a byte a call; its own clock says what a call takes: bare, with io for
others, for dd (each call's stack, no guard), the time in the call as well, with syscount of libbpf-tools, under
strace -c. All in turn, ROUNDS times; medians.

Prints lines and judges nothing. Usage: io_cost.py [CALLS=n] [ROUNDS=n]
"""
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from helpers import missing_privilege, wait_for  # noqa: E402
from scale import Bench  # noqa: E402
from sched_cost import CPU, NOBODY, Nothing, Ours, Tool  # noqa: E402

# While it runs, with a number of calls that fits its cost.
STRACE = "strace -c"


class Io(Ours):
    def __init__(self, daemon, *entries, **params):
        super().__init__(daemon, "flamegraph", "io", *entries, max_overhead=0, **params)

    def __enter__(self):
        assert self.put("running").status == 200
        wait_for(lambda: self.daemon.probe("io")["state"] == "running", why="io")
        return self


class Syscount(Tool):
    def __init__(self):
        super().__init__("syscount")

    def __enter__(self):
        super().__enter__()
        time.sleep(1)
        return self


def subjects_of(daemon):
    strace = Nothing()
    strace.missing = None if shutil.which("strace") else "strace is not installed"
    return {
        "nothing": Nothing(),
        "io of others": Io(daemon, NOBODY),
        "io": Io(daemon, "^dd$"),
        "io, io_time": Io(daemon, "^dd$", io_time=1),
        "syscount": Syscount(),
        STRACE: strace,
    }


def dd(calls, before=()):
    argv = [*before, "taskset", "-c", CPU, "dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={calls // 2}"]
    said = subprocess.run(argv, capture_output=True, text=True, check=True, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
    return float(re.search(r"copied, ([0-9.e-]+) s", said.stderr)[1]) / calls * 1e9


def main():
    reason = missing_privilege()
    if reason:
        sys.exit(f"io_cost: {reason}")
    options = dict(arg.split("=") for arg in sys.argv[1:] if "=" in arg)
    calls, rounds = int(options.get("CALLS", 1_000_000)), int(options.get("ROUNDS", 5))
    figures = {}
    with Bench() as bench:
        for _ in range(rounds):
            for name, subject in subjects_of(bench.daemon).items():
                if subject.missing:
                    print(f"io_cost: {name:14} not measured: {subject.missing}")
                    continue
                with subject:
                    spent = dd(calls // 20, ("strace", "-c", "-f", "-o", "/dev/null")) if name == STRACE else dd(calls)
                figures.setdefault(name, []).append(spent)
    bare = median(figures["nothing"])
    for name, each in figures.items():
        print(f"io_cost: {name:14} a call takes {median(each):6.0f} ns, {median(each) - bare:6.0f} more than bare")
    for name in ("syscount", STRACE):
        if name in figures:
            more = median(figures[name]) - bare
            print(f"io_cost: io adds {(median(figures['io']) - bare) / more:.2f} x what {name} adds")


if __name__ == "__main__":
    main()
