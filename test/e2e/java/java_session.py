"""Runs truth.Leaves under a VM, profiles it, and keeps what was found: for the tests of a module.

The program is stopped (SIGSTOP) before the first sample and before the last is read, so its clocks are
those of the samples.
"""
import os
import signal
import time
from typing import NamedTuple

import oracle
from helpers import HZ
from java_truth import Truth
from javas import Leaves
from kept import Session
from observer import Observer

ENOUGH = 300  # samples of each leaf
LONGEST = 70  # seconds; on a busy machine there are fewer


class Measured(NamedTuple):
    judged: dict  # leaf: Judged
    stacks: list
    counts: dict  # leaf: samples in threads with a clock
    clocks: dict  # leaf: ns
    cpu_ns: int
    beside_ns: int  # the same as another observer found it
    inline_unknown: int


class JavaSession(Session):
    """What it said of the programs of each VM."""

    flags = ()

    def measure(self, java, mode="plain"):
        program = Leaves(java, self.work, mode, flags=self.flags)
        try:
            return self.sampled(program)
        finally:
            program.kill()
            self.daemon.put_ok({"state": "stopped"})

    def sampled(self, program):
        program.ready()
        oracle.stop(program.pid)
        told = program.written()
        self.daemon.profile(pids=[program.pid], frequency=HZ, thread_frame=1, max_overhead=0)
        clocks, cpu_ns = program.clocks(told), program.target.cpu_ns_now()
        unknown = self.unknown()
        observer = Observer(HZ)
        os.kill(program.pid, signal.SIGCONT)
        self.wait_for_samples(program)
        oracle.stop(program.pid)
        beside_ns = observer.ns(program.pid)
        observer.close()
        told, after = program.written(), program.clocks(told)
        truth, stacks = Truth(told), self.daemon.folded(pid=program.pid).stacks
        clocked = [name for name in truth.threads if name not in ("virtual", "ForkJoinPool-1-")]
        return Measured(
            truth.judged(stacks), stacks, truth.counts(stacks, clocked),
            {name: after[name] - clocks[name] for name in after},
            program.target.cpu_ns_now() - cpu_ns, beside_ns,
            self.unknown() - unknown)  # fmt: skip

    def unknown(self):
        return self.daemon.config()["status"]["java"]["inline_unknown"]

    def wait_for_samples(self, program):
        end = time.monotonic() + LONGEST
        while time.monotonic() < end:
            time.sleep(2)
            truth, profile = Truth(program.written()), self.daemon.folded(pid=program.pid)
            judged = truth.judged(profile.stacks)
            if all(one.total >= ENOUGH for name, one in judged.items() if name in truth.leaves):
                return
