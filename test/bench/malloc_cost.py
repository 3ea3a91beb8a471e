#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What a pair of malloc(64) and free() costs at stack depth 20, beside others in the same run.

bare        no probe
empty       programs that do nothing, at the same instructions, attached in the same way: the unit
counting    programs that count, at malloc's and free's entries and malloc's return
exact       mem_glibc with mem_sample_bytes 0; the stack is one that is known
sampled     … as it is by default, 512 KiB
bystander   another process on the same libc is the target, of exact and of sampled
heaptrack   the program under it, as far as it is installed

All in turn, ROUNDS times, on one CPU; medians, and their ratio to `empty`, without what a pair costs
bare and with it. No guard. Prints lines and judges nothing. Usage: malloc_cost.py [ROUNDS=n]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from allocating import allocator  # noqa: E402
from helpers import Daemon, PROGRAMS, missing_privilege, program, wait_for  # noqa: E402

PAIRS = 100000
WARM = 2000
DEPTH = 20
SIZE = 64
CPU = max(os.sched_getaffinity(0))
EMULATED = re.compile(r"^(nop|push|call|j[a-z]+)\b")


class Pairs:
    """The program that makes pairs, on one CPU, with a libc that nobody else has probes in."""

    def __init__(self, lib, *before):
        argv = [*before, program("pairs"), str(DEPTH), str(SIZE)]
        self.popen = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "LD_LIBRARY_PATH": str(lib)},
            preexec_fn=lambda: os.sched_setaffinity(0, {CPU}),
        )
        while self.popen.stdout.readline() != "ready\n":
            pass

    @property
    def pid(self):
        return self.popen.pid

    def ns(self):
        """For one pair, now."""
        for number in (WARM, PAIRS):
            self.popen.stdin.write(f"{number}\n")
            self.popen.stdin.flush()
            took = float(self.popen.stdout.readline())
        return took

    def end(self):
        self.popen.communicate()


def libc_of(pid):
    maps = Path(f"/proc/{pid}/maps").read_text()
    return re.search(r" (/\S*/libc\.so\.6|/\S*/libc-[0-9.]*so)$", maps, re.M)[1]


def function(libc, name):
    """Its offset, and that of its first instruction that the kernel emulates."""
    listed = subprocess.check_output(["nm", "-D", libc], text=True)
    start = int(re.search(rf"^([0-9a-f]+) \w {name}(@\S+)?$", listed, re.M)[1], 16)
    code = subprocess.check_output(
        ["objdump", "-d", "--no-show-raw-insn", f"--start-address={start}",
         f"--stop-address={start + 64}", libc], text=True)
    for address, words in re.findall(r"^\s*([0-9a-f]+):\t(.*)$", code, re.M):
        if EMULATED.match(words):
            return start, int(address, 16)
    return start, start


@contextmanager
def points(*argv):
    argv = [PROGRAMS.parent / "bpf/points", *argv]
    popen = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert popen.stdout.readline() == "attached\n"
    try:
        yield
    finally:
        popen.communicate()


class Profiler:
    """A daemon, whose probe is on inside `with`."""

    def __init__(self, work, sample_bytes):
        work.mkdir()
        self.daemon = Daemon(work).start()
        self.sample_bytes = sample_bytes

    def put(self, state, *names, pids=()):
        self.daemon.put_ok(self.daemon.wanting(
            *names, pids=pids, probes=("mem_glibc",), state=state,
            max_overhead=0, mem_sample_bytes=self.sample_bytes))

    @contextmanager
    def probing(self, pid):
        self.put("running", pids=[pid])
        self.daemon.wait_running("mem_glibc")
        wait_for(lambda: allocator(self.daemon, pid).get("state") == "probed", 30, why="probed")
        try:
            yield
        finally:
            self.put("stopped", pids=[pid])
            wait_for(lambda: self.daemon.probe("mem_glibc")["state"] == "stopped", why="stopped")


@contextmanager
def nothing():
    yield


def measure(work, rounds):
    """{way: [ns of a pair, in each round]}, of what is installed."""
    lib = work / "lib"
    lib.mkdir()
    libc = str(shutil.copy(libc_of("self"), lib / "libc.so.6"))
    pairs, other, tracked = Pairs(lib), Pairs(lib), None
    if shutil.which("heaptrack"):
        tracked = Pairs(lib, "heaptrack", "-o", str(work / "heaptrack"))
    malloc, free = function(libc, "malloc"), function(libc, "free")
    exact, sampled = Profiler(work / "exact", 0), Profiler(work / "sampled", 512 << 10)
    ways = {
        "bare": nothing,
        "empty": lambda: points(libc, "empty", str(malloc[1]), str(free[1])),
        "counting": lambda: points(libc, "counting", str(malloc[0]), str(free[0])),
        "exact": lambda: exact.probing(pairs.pid),
        "sampled": lambda: sampled.probing(pairs.pid),
        "bystander of exact": lambda: exact.probing(other.pid),
        "bystander of sampled": lambda: sampled.probing(other.pid),
    }
    took = {way: [] for way in ways}
    took["heaptrack"] = []
    for _ in range(rounds):
        for way, begin in ways.items():
            with begin():
                took[way].append(pairs.ns())
        if tracked:
            took["heaptrack"].append(tracked.ns())
    for process in filter(None, (pairs, other, tracked)):
        process.end()
    for profiler in (exact, sampled):
        profiler.daemon.done()
    return {way: ns for way, ns in took.items() if ns}


def main():
    reason = missing_privilege()
    if reason:
        sys.exit(f"malloc_cost: {reason}")
    rounds = next((int(a[7:]) for a in sys.argv[1:] if a.startswith("ROUNDS=")), 7)
    work = Path(tempfile.mkdtemp(prefix="stackprobe-bench-", dir="/tmp"))
    try:
        took = measure(work, rounds)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    took = {way: median(each) for way, each in took.items()}
    bare, empty = took["bare"], took["empty"]
    for way, ns in took.items():
        print(f"malloc_cost: {way}: {ns:.0f} ns a pair; {ns / empty:.2f} x two empty probes "
              f"({(ns - bare) / (empty - bare):.2f} x without the pair itself)")


if __name__ == "__main__":
    main()
