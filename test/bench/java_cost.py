#!/usr/bin/env python3
"""What Java's frames cost, for each Java VM that is there (JAVAS, test/e2e/java/javas.py).

sample	BPF time a sample of one busy thread with about 55 frames of Java, and beside it that of a C
	program's stack of as many frames walked by unwind tables, in turns
busy	one busy thread at 99 Hz, 55 and 500 frames deep: CPU time of the daemon and of its BPF programs, and
	how much of the samples begin at the thread's root
slow	how much slower the program is while it is profiled at 99 Hz, in each way (java_source) and by
	async-profiler (ASYNC_PROFILER, java_peers.py): PAIRS of windows, with and without in turn; median and range

Prints lines and judges nothing. Usage: java_cost.py [sample|busy|slow ...] [SECONDS=n]
"""
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from helpers import Target, missing_privilege, program, wait_for  # noqa: E402
from java_peers import AsyncProfiler  # noqa: E402
from java_truth import Truth, merged  # noqa: E402
from javas import Leaves, javas  # noqa: E402
from python_cost import sample_ns  # noqa: E402
from sample_cost import BPFTOOL  # noqa: E402
from scale import Bench, run_parts  # noqa: E402
from unwind_cost import share_of_a_core  # noqa: E402

HZ = 99
TURNS = 4
PAIRS = 6
DEPTHS = {"55": "truth.Calls$Deep50", "505": "truth.Calls$Deep500"}


class Busy:
    """One thread that burns in one leaf."""

    def __init__(self, bench, java, leaf):
        self.program = Leaves(java, bench.work, only=[leaf])

    def __enter__(self):
        self.told = self.program.ready()
        time.sleep(2)  # until it is compiled
        return self

    def __exit__(self, *_):
        self.program.kill()

    @property
    def pid(self):
        return self.program.pid

    def judged(self, daemon):
        return merged(Truth(self.program.written()).judged(daemon.folded(pid=self.pid).stacks).values())

    def rate(self, length):
        """What it does in a second of the wall's clock."""
        before, began = self.done(), time.monotonic()
        time.sleep(length)
        return (self.done() - before) / (time.monotonic() - began)

    def done(self):
        return sum(self.program.clocks(self.told, done=True).values())


def sample(length):
    for java in javas():
        with Bench() as bench, Busy(bench, java, DEPTHS["55"]) as busy:
            native = Target([program("rounds"), 3600], bench.work / "rounds.log")
            wait_for(lambda: native.cpu_ns_now() > 1e8, why="it burns")
            found = {busy.pid: [], native.pid: []}
            for _ in range(TURNS):
                for pid in found:
                    found[pid].append(sample_ns(bench.daemon, pid, length / TURNS / 2))
            ns = {pid: sum(ns * n for ns, n in each) / sum(n for _, n in each)
                  for pid, each in found.items()}  # fmt: skip
            bench.daemon.profile(pids=[busy.pid], frequency=HZ, max_overhead=0)
            time.sleep(3)
            judged = busy.judged(bench.daemon)
            native.kill()
            print(f"java_cost: {java.name}: {ns[busy.pid] / 1e3:.2f} us a sample of 55 frames of Java "
                  f"({judged.root_share:.1%} begin at the root); 21 frames of C by unwind tables "
                  f"{ns[native.pid] / 1e3:.2f} us", flush=True)  # fmt: skip


def busy(length):
    for java in javas():
        for depth, leaf in DEPTHS.items():
            with Bench() as bench, Busy(bench, java, leaf) as running:
                bench.daemon.profile(pids=[running.pid], frequency=HZ)
                time.sleep(3)
                cpu, bpf = share_of_a_core(bench.daemon, length)
                judged = running.judged(bench.daemon)
                print(f"java_cost: {java.name}, {depth} frames at {HZ} Hz over {length} s: daemon {cpu:.3f} % "
                      f"of a core, BPF {bpf:.3f} %, together {cpu + bpf:.3f} %; {judged.total} samples, "
                      f"{judged.root_share:.1%} begin at the root, {judged.share('right'):.1%} right",
                      flush=True)  # fmt: skip


class Profiled:
    """By stackprobe, in one of the ways to see a VM (java_source)."""

    PARAMS = {"native": {}, "agent": {}, "jfr": {"multi_instance": 1, "native_stack": 0}}

    def __init__(self, bench, way):
        self.daemon, self.name = bench.daemon, way

    def start(self, pid):
        self.daemon.profile(pids=[pid], frequency=HZ, java_source=self.name, **self.PARAMS[self.name])
        wait_for(lambda: self.daemon.processes().get(pid, {}).get("java_source") == self.name, 60)

    def stop(self):
        self.daemon.put_ok({"state": "stopped"})


def slower(running, tool, length, pairs=PAIRS):
    """By how much in each pair of windows: the tool comes and goes with each."""
    found = []
    for _ in range(pairs):
        without = running.rate(length / pairs / 2)
        tool.start(running.pid)
        found.append(1 - running.rate(length / pairs / 2) / max(without, 1e-9))
        tool.stop()
    return found


def slow(length):
    for java in javas():
        peers = [AsyncProfiler] if AsyncProfiler.serves(java) else []
        for depth, leaf in {"8": "truth.Compiled", **DEPTHS}.items():
            with Bench() as bench, Busy(bench, java, leaf) as running:
                for tool in [Profiled(bench, way) for way in Profiled.PARAMS] + [peer(bench, java) for peer in peers]:
                    each = slower(running, tool, length)
                    print(f"java_cost: {java.name}, {depth} frames at {HZ} Hz, {tool.name}: slower by "
                          f"{statistics.median(each):.2%} [{min(each):.2%}..{max(each):.2%}]",
                          flush=True)  # fmt: skip


def main():
    reason = missing_privilege()
    if not reason and not BPFTOOL:
        reason = "no bpftool"
    if not reason and not javas():
        reason = "no Java"
    if reason:
        sys.exit(f"java_cost: {reason}")
    run_parts({"sample": (sample, 16), "busy": (busy, 20), "slow": (slow, 24)})


if __name__ == "__main__":
    main()
