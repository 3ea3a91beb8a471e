#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What malloc() and free() cost beside mem_glibc as targets of the same libc get more: one target, the
same among 100, and a process on that libc that is none. The unit are two empty programs at the same
instructions, in the same run. (What a pair costs in each mode is malloc_cost.py's.)

All in turn, ROUNDS times; medians. Prints lines and judges nothing. Usage: malloc_targets.py [ROUNDS=n]
"""
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from allocating import allocator  # noqa: E402
from helpers import Daemon, missing_privilege, wait_for  # noqa: E402
from malloc_cost import Pairs, function, libc_of, points  # noqa: E402

PROBE = "mem_glibc"
TARGETS = 100
MODES = {"sampled": 524288, "exact": 0}


@contextmanager
def probing(daemon, pids, sample_bytes):
    """Inside it these processes are targets, and all of their points are there."""
    daemon.put_ok(daemon.wanting(pids=pids, probes=(PROBE,), mem_sample_bytes=sample_bytes,
                                 max_overhead=0))  # fmt: skip
    for pid in pids:
        wait_for(lambda pid=pid: allocator(daemon, pid).get("state") == "probed", 30, why="probed")
    daemon.wait_running(PROBE)
    try:
        yield
    finally:
        daemon.put_ok({"state": "stopped"})
        wait_for(lambda: daemon.probe(PROBE)["state"] == "stopped", why="stopped")


@contextmanager
def nothing():
    yield


def ways_of(daemon, libc, mine, others):
    at = [str(function(libc, name)[1]) for name in ("malloc", "free")]
    pids = [other.pid for other in others]
    ways = {"bare": nothing, "empty": lambda: points(libc, "empty", *at)}
    for mode, sample_bytes in MODES.items():
        for who, chosen in (("1 target", [mine.pid]), (f"{TARGETS} targets", [mine.pid, *pids]),
                            ("bystander", pids[:1])):  # fmt: skip
            ways[mode, who] = (lambda chosen=chosen, sample_bytes=sample_bytes:
                               probing(daemon, chosen, sample_bytes))  # fmt: skip
    return ways


def measure(work, rounds):
    """{way: ns of a pair}"""
    lib = work / "lib"
    lib.mkdir()
    libc = str(shutil.copy(libc_of("self"), lib / "libc.so.6"))
    mine, others = Pairs(lib), [Pairs(lib) for _ in range(TARGETS - 1)]
    daemon = Daemon(work).start()
    try:
        ways = ways_of(daemon, libc, mine, others)
        took = {way: [] for way in ways}
        for _ in range(rounds):
            for way, begin in ways.items():
                with begin():
                    took[way].append(mine.ns())
        return {way: median(ns) for way, ns in took.items()}
    finally:
        daemon.done()
        for each in (mine, *others):
            each.end()


def print_table(took):
    bare = took["bare"]
    empty = took["empty"] - bare
    print(f"malloc_targets: a pair without probes {bare:.0f} ns; two empty probes {empty:.0f} more")
    for mode in MODES:
        one = took[mode, "1 target"] - bare
        for (its_mode, who), ns in ((way, ns) for way, ns in took.items() if way[0] == mode):
            more = ns - bare
            beside = f", {more / one:.2f} x 1 target" if "targets" in who else ""
            print(f"malloc_targets: {its_mode:8} {who:12} {more:6.0f} ns more a pair: "
                  f"{more / empty:.2f} x two empty probes{beside}")  # fmt: skip


def main():
    reason = missing_privilege()
    if reason:
        sys.exit(f"malloc_targets: {reason}")
    rounds = next((int(a[7:]) for a in sys.argv[1:] if a.startswith("ROUNDS=")), 5)
    work = Path(tempfile.mkdtemp(prefix="stackprobe-bench-", dir="/tmp"))
    try:
        print_table(measure(work, rounds))
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
