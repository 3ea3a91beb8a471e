#!/usr/bin/env python3
"""PUT to first sample: how long it takes until a small program that is already busy has a sample.

Prints one line and judges nothing; the ratio to an empty GET takes the machine's speed out of it.
Usage: put_latency.py [ROUNDS]
"""
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from helpers import Daemon, Target, missing_privilege, program  # noqa: E402


def seconds(call):
    """How long a call takes."""
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


def first_sample(daemon, pid):
    """From the PUT to the first GET that shows a sample, in a daemon with nothing loaded."""

    def put_and_poll():
        daemon.put_ok(daemon.wanting(pids=[pid], frequency=1000))
        while not daemon.probe()["samples"]:
            time.sleep(0.0005)

    return seconds(put_and_poll)


def measure(work, rounds):
    """One daemon a round, so that each PUT is the first; returns two lists of seconds."""
    gets, puts = [], []
    target = Target([program("spin"), 3600], work / "target.log")
    try:
        for number in range(rounds):
            folder = work / str(number)
            folder.mkdir()
            daemon = Daemon(folder).start()
            try:
                gets += [seconds(lambda: daemon.get("/healthz")) for _ in range(50)]
                puts.append(first_sample(daemon, target.pid))
            finally:
                daemon.done()
    finally:
        target.kill()
    return gets, puts


def main():
    reason = missing_privilege()
    if reason:
        sys.exit(f"put_latency: {reason}")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    work = Path(tempfile.mkdtemp(prefix="stackprobe-bench-", dir="/tmp"))
    try:
        gets, puts = measure(work, rounds)
    finally:
        shutil.rmtree(work)
    get, put = statistics.median(gets), statistics.median(puts)
    print(
        f"put_latency: PUT to first sample median {put * 1e3:.1f} ms, max {max(puts) * 1e3:.1f} ms "
        f"({rounds} rounds); empty GET {get * 1e3:.2f} ms; ratio {put / get:.0f}"
    )


if __name__ == "__main__":
    main()
