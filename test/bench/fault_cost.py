#!/usr/bin/env python3
"""What a page fault costs with mem on, beside programs that do nothing before and after each fault.

faults	BPF time a fault, by the kernel's statistics, and how long refault takes for one, at a stack depth
	of 20: nobody's, a bystander's, a target's of which no stack is taken, one of 64 KiB (the default),
	each. All in turn, ROUNDS times; medians. No guard.
switch	BPF time of mem's look at a switch, beside an empty program's, while handoff switches.

Prints lines and judges nothing. Usage: fault_cost.py [SECONDS=n] [ROUNDS=n]
"""
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from helpers import missing_privilege, program  # noqa: E402
from sample_cost import BPFTOOL  # noqa: E402
from scale import Bench  # noqa: E402
from sched_cost import CPU, NOBODY, Nothing, Ours, Stats, empty  # noqa: E402

DEPTH = 20
FAULTS = ("before", "after")
NEVER = 1 << 32  # bytes


class Faults(Ours):
    """The daemon with mem on; sched_cost's waits until a program at switches has run."""

    def __init__(self, daemon, *entries, **params):
        super().__init__(daemon, "flamegraph", "mem", *entries, max_overhead=0, **params)


def subjects_of(daemon):
    return {
        "nothing": Nothing(),
        "empty": empty("fault"),
        "mem of others": Faults(daemon, NOBODY),
        "mem, no stack taken": Faults(daemon, "^refault$", mem_fault_bytes=NEVER),
        "mem, one in 64 KiB": Faults(daemon, "^refault$"),
        "mem, each": Faults(daemon, "^refault$", mem_fault_bytes=0),
    }


def refault(length):
    argv = ["taskset", "-c", CPU, program("refault"), str(length), str(DEPTH)]
    return json.loads(subprocess.check_output(argv))


def bpf_ns(stats, faults):
    """Of programs before and after it, a fault."""
    spent = 0
    for hook in FAULTS:
        runs, ns = stats.ns(hook)
        spent += runs * ns
    return spent / faults


def ran(stats):
    return stats.ns("after")[0]


def measure_faults(daemon, length, rounds):
    figures = {}
    for _ in range(rounds):
        for name, subject in subjects_of(daemon).items():
            if subject.missing:
                print(f"fault_cost: {name:20} not measured: {subject.missing}")
                continue
            with subject:
                stats = Stats(subject)
                told = refault(length)
                # All faults of the host are in the programs' runs.
                ns = bpf_ns(stats, max(ran(stats), told["faults"]))
                figures.setdefault(name, []).append((ns, told["touched_ns"] / told["faults"]))
    bare_ns = median(ns for ns, _ in figures["empty"]) if "empty" in figures else 0
    bare_fault = median(fault for _, fault in figures["nothing"])
    for name, rows in figures.items():
        ns, fault = median(ns for ns, _ in rows), median(fault for _, fault in rows)
        beside = f"  {ns / bare_ns:.2f} x empty" if ns and bare_ns else ""
        print(f"fault_cost: {name:20} {ns:5.0f} ns BPF a fault{beside}; a fault takes "
              f"{fault / 1e3:.2f} us, {fault / bare_fault:.2f} x bare")  # fmt: skip


def measure_switches(daemon, length):
    with empty("switch") as nothing, Faults(daemon, NOBODY) as mem:
        bare, mine = Stats(nothing), Stats(mem)
        subprocess.check_output([program("handoff"), str(length), CPU])
        runs, ns = mine.ns("switch")
        bare_ns = bare.ns("switch")[1]
    print(f"fault_cost: {runs} switches: {ns:.0f} ns each, {ns / bare_ns:.2f} x empty ({bare_ns:.0f} ns)")


def main():
    reason = missing_privilege() or (None if BPFTOOL else "no bpftool")
    if reason:
        sys.exit(f"fault_cost: {reason}")
    options = dict(arg.split("=") for arg in sys.argv[1:] if "=" in arg)
    length, rounds = float(options.get("SECONDS", 1)), int(options.get("ROUNDS", 5))
    with empty(), Bench() as bench:  # the first one keeps the kernel's statistics on
        time.sleep(0.2)
        measure_faults(bench.daemon, length, rounds)
        measure_switches(bench.daemon, length)


if __name__ == "__main__":
    main()
