#!/usr/bin/env python3
"""Python stacks beside py-spy's and austin's, of programs that know their own (test/programs/python/).

For each program and each tool at 99 Hz: the part of the samples whose functions, files and lines are
right, samples for each that the program's CPU time makes, the tool's own CPU time (stackprobe's: daemon
and BPF), and how much slower the program is while it is sampled: PAIRS of windows, with the tool and
without, in turn; median and range.

py-spy and austin are found in PATH, or named by PY_SPY and AUSTIN. PYTHONS names the Pythons, else
/usr/bin/python3. Prints lines and judges nothing. Usage: python_peers.py [PROGRAM ...] [SECONDS=n] [PAIRS=n]
"""
import os
import re
import shutil
import signal
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from asking import Asked  # noqa: E402
from folded import Profile  # noqa: E402
from helpers import Target, missing_privilege  # noqa: E402
from python_truth import Frame, Truth, python_frames  # noqa: E402
from pythons import Place, Running, python_at, pythons  # noqa: E402
from sample_cost import BPFTOOL, STATS  # noqa: E402
from scale import Bench  # noqa: E402
from unwind_cost import bpf_seconds, task_seconds  # noqa: E402

HZ = 99
PROGRAMS = {"deep20": ["deep.py", 20], "deep500": ["deep.py", 500], "threads": ["threads.py"],
            "names": ["names.py"], "churn": ["churn.py"], "made": ["made.py", 0]}  # fmt: skip


class Stackprobe:
    """The daemon, in a session of the pid's own."""

    name, qualified = "stackprobe", True

    def __init__(self, bench, seconds):
        self.daemon, self.seconds = bench.daemon, round(seconds + 1.5)
        # Its programs stay loaded between the sessions, and with them their times.
        self.daemon.profile("^no such process$", frequency=HZ, thread_frame=0)

    def start(self, pid):
        self.before = self.cpu()
        self.session = Asked(self.daemon, seconds=self.seconds, pid=pid)

    def cpu(self):
        return task_seconds(self.daemon.pid) + bpf_seconds(self.daemon)

    def stop(self):
        """(CPU seconds since start, [(Python frames, weight)])"""
        profile = Profile(self.session.result().text)
        return (self.cpu() - self.before,
                [(python_frames(stack), stack.value) for stack in profile.stacks])


class Peer:
    """A program that samples a pid until SIGINT and writes lines to a file."""

    qualified = False

    def __init__(self, bench, _seconds):
        self.work = bench.work

    def start(self, pid):
        self.out = self.work / f"{self.name}.out"
        self.out.unlink(missing_ok=True)
        self.tool = Target(self.argv(pid), self.work / f"{self.name}.log")

    def stop(self):
        if os.waitid(os.P_PID, self.tool.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            print(f"python_peers: {self.name} ended by itself: {self.tool.log.read_text()}")
        os.kill(self.tool.pid, signal.SIGINT)  # popen's own would reap what has ended
        self.tool.reap()
        lines = self.out.read_text(errors="replace").split("\n") if self.out.exists() else []
        lines = [line.rpartition(" ") for line in lines if line and line[0] != "#"]
        return self.tool.cpu_ns / 1e9, [self.parsed(text, value) for text, _, value in lines]


class PySpy(Peer):
    name, path = "py-spy", os.environ.get("PY_SPY") or shutil.which("py-spy")

    def argv(self, pid):
        return [self.path, "record", "-p", pid, "-d", 600, "-r", HZ, "-f", "raw", "--full-filenames", "-o",
                self.out]  # fmt: skip

    @staticmethod
    def parsed(text, value):
        found = [re.fullmatch(r"(.*) \((.*):(\d+)\)", frame) for frame in text.split(";")]
        return [Frame(m[1], m[2], int(m[3])) if m else Frame("?", "", 0) for m in found], int(value)


class Austin(Peer):
    name, path = "austin", os.environ.get("AUSTIN") or shutil.which("austin")

    def argv(self, pid):
        return [self.path, "-s", "-i", round(1e6 / HZ), "-p", pid, "-x", 600, "-o", self.out]

    @staticmethod
    def parsed(text, _value):
        found = [frame.rsplit(":", 2) for frame in text.split(";")[2:]]
        return [Frame(f[1], f[0], int(f[2])) if len(f) == 3 and f[2].isdigit() else Frame("?", "", 0)
                for f in found], 1  # fmt: skip


def judge(told, tool, stacks):
    """(right, all)"""
    truth = Truth(told, tool.qualified)
    if not tool.qualified:
        stacks = [([Frame(truth.name(f.name), truth.short(f.file), f.line) for f in frames], value)
                  for frames, value in stacks]  # fmt: skip
    right = sum(value for frames, value in stacks if not truth.judge(frames))
    return right, sum(value for _, value in stacks)


def rate(program, seconds):
    before, began = program.turns(), time.monotonic()
    time.sleep(seconds)
    return (program.turns() - before) / (time.monotonic() - began)


class Found(NamedTuple):
    tool: str
    right: float  # part of the samples
    samples: int
    expected: float  # samples, for each that the program's CPU time makes
    percent: list  # of a core, in each window
    slower: list  # by what part, in each pair


def compare(bench, python, name, seconds, pairs):
    """Yields what each tool found of that program."""
    place = Place(python, bench.work)
    program = Running(place, name, PROGRAMS[name])
    try:
        ((pid, told),) = program.ready().items()
        tools = [Stackprobe(bench, seconds)]
        for peer in (PySpy, Austin):
            if peer.path:
                tools.append(peer(bench, seconds))
            else:
                print(f"python_peers: {peer.name} is not installed")
        for tool in tools:
            yield measure(tool, program, pid, told, seconds, pairs)
    finally:
        program.kill()
        place.remove()


def measure(tool, program, pid, told, seconds, pairs):
    slower, percent, expected, found = [], [], 0, []
    for _ in range(pairs):
        without = rate(program, seconds)
        began, cpu = time.monotonic(), task_seconds(pid)
        tool.start(pid)
        time.sleep(0.5)  # until it samples
        slower.append(1 - rate(program, seconds) / max(without, 1e-9))
        tool_cpu, stacks = tool.stop()
        percent.append(100 * tool_cpu / (time.monotonic() - began))
        expected += HZ * (task_seconds(pid) - cpu)
        found += stacks
    right, total = judge(told, tool, found)
    return Found(tool.name, right / max(total, 1), total, total / max(expected, 1), percent, slower)


def print_line(python, name, found):
    slower = found.slower
    print(f"python_peers: {python.name} {name} {found.tool}: {found.right:.1%} of {found.samples} right, "
          f"samples/expected {found.expected:.2f}, CPU {statistics.mean(found.percent):.2f} % of a core, slower by "
          f"{statistics.median(slower):.1%} [{min(slower):.1%}..{max(slower):.1%}]", flush=True)  # fmt: skip


def main():
    reason = missing_privilege() or ("" if BPFTOOL else "no bpftool")
    if reason:
        sys.exit(f"python_peers: {reason}")
    options = dict(arg.split("=") for arg in sys.argv[1:] if "=" in arg)
    chosen = [arg for arg in sys.argv[1:] if "=" not in arg] or list(PROGRAMS)
    found = pythons() if os.environ.get("PYTHONS") else [python_at("/usr/bin/python3")]
    before = STATS.read_text()
    try:
        STATS.write_text("1")
        with Bench() as bench:
            for python in filter(None, found):
                for name in chosen:
                    for one in compare(bench, python, name, float(options.get("SECONDS", 2)),
                                       int(options.get("PAIRS", 5))):  # fmt: skip
                        print_line(python, name, one)
    finally:
        STATS.write_text(before)


if __name__ == "__main__":
    main()
