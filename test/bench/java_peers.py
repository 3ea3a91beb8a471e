#!/usr/bin/env python3
"""Java stacks beside async-profiler's, of a program that knows its own (test/programs/java/).

For each tool at 99 Hz: the part of the samples of Java threads that begin at the thread's root and whose
frames are right, those with an unknown frame, the largest error of a leaf's share, samples for each that the
program's CPU time makes. Kinds of leaf of which less than 98 % are right are told apart.

ASYNC_PROFILER names its library (libasyncProfiler.so); it is loaded by `jcmd`, so JDK 8 is without.
JAVAS names the VMs. Prints lines and judges nothing. Usage: java_peers.py [SECONDS=n]
"""
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from folded import Stack  # noqa: E402
from helpers import missing_privilege  # noqa: E402
from java_truth import FRAME, Truth, merged  # noqa: E402
from javas import Leaves, javas  # noqa: E402
from scale import Bench  # noqa: E402

HZ = 99
RIGHT = 0.98


class Stackprobe:
    name = "stackprobe"

    def __init__(self, bench, java):
        self.daemon = bench.daemon

    def start(self, pid):
        self.pid = pid
        self.daemon.profile(pids=[pid], frequency=HZ, thread_frame=1)

    def stop(self):
        return self.daemon.folded(pid=self.pid).stacks


class AsyncProfiler:
    """Its collapsed stacks, in our words."""

    name, library = "async-profiler", os.environ.get("ASYNC_PROFILER")

    def __init__(self, bench, java):
        self.out = bench.work / f"async-{java.name}.collapsed"

    @classmethod
    def serves(cls, java):
        return cls.library and shutil.which("jcmd") and java.release >= 9

    def load(self, command):
        quoted = f'"{command}"'  # for jcmd's own way to take arguments apart
        subprocess.run([shutil.which("jcmd"), str(self.pid), "JVMTI.agent_load", self.library, quoted],
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip

    def start(self, pid):
        self.pid = pid
        self.load(f"start,event=cpu,interval={round(1e9 / HZ)},threads")

    def stop(self):
        self.load(f"stop,file={self.out},collapsed,threads,ann,dot")
        lines = (line.rpartition(" ") for line in self.out.read_text().split("\n") if line)
        return [self.stack(text.split(";"), int(value)) for text, _, value in lines]

    @staticmethod
    def stack(frames, value):
        thread = re.sub(r"^\[(.*) tid=\d+\]$", r"\1", frames[0])
        frames = [frame.replace("_[1]", "_[j]") for frame in frames[1:]]
        frames = [re.sub(r"^\[(unknown|break).*", "[unknown]", frame) for frame in frames]
        thread = {"main": "java"}.get(thread, thread[:15])
        return Stack(("[0]java", thread, *frames), value)


def worst_share(truth, stacks, clocks):
    """The largest error of a leaf's share of the samples."""
    counts = truth.counts(stacks, ["leaf-0", "leaf-1", "main", "java"])
    samples, spent = max(sum(counts.values()), 1), sum(clocks.values())
    return max(abs(counts[name] / samples - ns / spent) for name, ns in clocks.items())


class Found(NamedTuple):
    samples: int  # of Java threads
    java_samples: int  # with a frame of Java
    whole: object  # all judged (java_truth)
    judged: dict  # kind of leaf: the same of it
    worst: float  # points, the largest error of a share
    expected: float  # samples for each that the program's CPU time makes


def measure(program, tool, seconds):
    told = program.written()
    before, cpu_ns = program.clocks(told), program.target.cpu_ns_now()
    tool.start(program.pid)
    time.sleep(seconds)
    stacks = tool.stop()
    cpu_ns, after = program.target.cpu_ns_now() - cpu_ns, program.clocks(told)
    truth = Truth(program.written())
    judged = truth.judged(stacks)
    whole = merged(judged.values())
    clocks = {name: after[name] - before[name] for name in after}
    java_samples = sum(any(FRAME.fullmatch(f) for f in s.frames) * s.value for s in stacks)
    return Found(whole.total, java_samples, whole, judged, 100 * worst_share(truth, stacks, clocks),
                 sum(s.value for s in stacks) / (HZ * cpu_ns / 1e9))  # fmt: skip


def print_lines(java, tool, found):
    whole = found.whole
    print(f"java_peers: {java.name} {tool.name}: {found.samples} samples of Java threads ({found.java_samples} with "
          f"a frame of Java), begin at the root {whole.root_share:.1%}, right {whole.share('right'):.1%}, "
          f"short {whole.share('short'):.1%}, nameless {whole.nameless / max(whole.total, 1):.1%}, largest error "
          f"of a share {found.worst:.1f} points, samples/expected {found.expected:.2f}", flush=True)  # fmt: skip
    for name, one in found.judged.items():
        if one.total and (one.share("right") < RIGHT or one.root_share < RIGHT):
            print(f"java_peers:   {name}: {one.text(0)}", flush=True)


def main():
    reason = missing_privilege()
    if reason:
        sys.exit(f"java_peers: {reason}")
    options = dict(arg.split("=") for arg in sys.argv[1:] if "=" in arg)
    seconds = float(options.get("SECONDS", 10))
    with Bench() as bench:
        for java in javas():
            program = Leaves(java, bench.work)
            try:
                program.ready()
                time.sleep(5)
                tools = [Stackprobe(bench, java)]
                if AsyncProfiler.serves(java):
                    tools.append(AsyncProfiler(bench, java))
                else:
                    print(f"java_peers: {java.name}: no async-profiler")
                for tool in tools:
                    print_lines(java, tool, measure(program, tool, seconds))
            finally:
                program.kill()


if __name__ == "__main__":
    main()
