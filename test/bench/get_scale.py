#!/usr/bin/env python3
"""A GET of 100,000 stacks: how long it takes, and how long others wait meanwhile.

`branches` makes that many distinct stacks within one window; the first GET after it has to read,
name and draw them, the second only to draw them: the difference is what comes beyond rendering.
Meanwhile GET /healthz is asked every 5 ms on a connection of its own. Each figure stands beside the
same one of a daemon without stacks. Prints lines and judges nothing.
Usage: get_scale.py [STACKS]
"""
import multiprocessing
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from allocating import wait_armed, wait_probed  # noqa: E402
from helpers import Daemon, Target, missing_privilege, program, wait_for  # noqa: E402
from waiting import answer, let_go, stands_by  # noqa: E402

PROBES = {"mem": ("faults",), "mem_glibc": ()}
OUTPUTS = ("folded", "svg")
PERIOD = 0.005


def timed_get(pipe, daemon, path):
    """In a process of its own: reading an answer of many megabytes takes Python's lock."""
    before = time.perf_counter()
    got = daemon.get(path, timeout=120)
    pipe.send((time.perf_counter() - before, got.status, len(got.body)))


class Asker:
    """GET /healthz again and again, on one connection."""

    def __init__(self, daemon):
        self.conn = daemon.http(60)

    def ask(self):
        before = time.perf_counter()
        self.conn.request("GET", "/healthz")
        self.conn.getresponse().read()
        return time.perf_counter() - before

    def while_running(self, done):
        """The waits until done() is true."""
        waits = []
        while not done():
            waits.append(self.ask())
            time.sleep(PERIOD)
        return waits


def get_beside(daemon, asker, path):
    """(seconds of the GET, its bytes, waits of /healthz meanwhile)"""
    here, there = multiprocessing.Pipe()
    child = multiprocessing.Process(target=timed_get, args=(there, daemon, path))
    child.start()
    waits = asker.while_running(here.poll)
    seconds, status, size = here.recv()
    child.join()
    assert status == 200, status
    return seconds, size, waits


def collect(daemon, work, stacks, probe):
    """Has the daemon collect so many stacks in the current window."""
    target = Target([program("branches"), stacks, 0, *PROBES[probe]], work / "target.log")
    wait_for(lambda: stands_by(target), why="it stands by")
    daemon.put_ok(daemon.wanting(pids=[target.pid], probes=(probe,), mem_sample_bytes=0, mem_fault_bytes=0,
                                 max_overhead=0, thread_frame=0))
    wait_armed(daemon, (probe,))
    if probe == "mem_glibc":
        wait_probed(daemon, target)
    daemon.get(f"/flamegraph/{probe}.folded")  # the window begins now
    let_go(target)
    answer(target)
    return target


def longest(daemon):
    """The longest callbacks of the daemon's loop, by cause, in ms, of those above 5 ms."""
    by_cause = daemon.config()["status"]["loop"]["longest_us"]
    return {cause: us // 1000 for cause, us in by_cause.items() if us > 5000}


def percent(waits):
    return f"median {statistics.median(waits) * 1e3:.1f}, longest {max(waits) * 1e3:.1f} ms"


def measure(work, stacks, probe, output):
    daemon = Daemon(work)
    with daemon.conf.open("a") as conf:
        conf.write("bpf = { stacks = 262144; stack_ring_bytes = 8388608; };\n")
    daemon.start()
    target = None
    try:
        asker = Asker(daemon)
        quiet = [asker.ask() for _ in range(100)]
        target = collect(daemon, work, stacks, probe)
        path = f"/flamegraph/{probe}.{output}"
        first, size, waits = get_beside(daemon, asker, path)
        second, _, others = get_beside(daemon, asker, path)
        count = daemon.get(f"/flamegraph/{probe}.folded").text.count("\n")
        print(
            f"get_scale: {probe}.{output}, {count} stacks: GET {first * 1e3:.0f} ms, again "
            f"{second * 1e3:.0f} ms, beyond rendering {(first - second) * 1e3:.0f} ms, "
            f"{size / 1e6:.1f} MB; /healthz meanwhile {percent(waits)} ({len(waits)} answers), "
            f"the second time {percent(others)}; before {percent(quiet)}; longest of the "
            f"loop, ms {longest(daemon)}; lost "
            f"{({k: v for k, v in daemon.probe(probe)['lost'].items() if v})}"
        )
    finally:
        if target:
            target.kill()
        daemon.done()


def main():
    reason = missing_privilege()
    if reason:
        sys.exit(f"get_scale: {reason}")
    stacks = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
    for probe in PROBES:
        for output in OUTPUTS:
            work = Path(tempfile.mkdtemp(prefix="stackprobe-bench-", dir="/tmp"))
            try:
                measure(work, stacks, probe, output)
            finally:
                shutil.rmtree(work)


if __name__ == "__main__":
    main()
