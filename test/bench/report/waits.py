# SPDX-License-Identifier: GPL-2.0-or-later
"""What a switch costs, and what a pair of malloc() and free()."""
import shutil
import tempfile
from pathlib import Path

import malloc_cost
import peers
import sched_cost
from peers import NOT_INSTALLED
from rows import OURS, PEER, REFERENCE, Subject
from scale import Bench

OFFCPUTIME, RUNQLAT, HEAPTRACK = "offcputime", "runqlat", "heaptrack"

# sched_cost's subjects: (name here, kind, beside which peers, how it is run).
SWITCHES = {
    "nothing": ("nothing", REFERENCE, None, ""),
    "empty sched_switch": ("empty program, switch", REFERENCE, None, "build/test/bpf/hooks switch"),
    "empty sched_switch + sched_wakeup": ("empty programs, switch and wake-up", REFERENCE, None,
                                          "build/test/bpf/hooks switch wakeup"),
    "offcputime -u": (OFFCPUTIME, PEER, None, "offcputime -u -m 1"),
    "runqlat": (RUNQLAT, PEER, None, "runqlat 3600"),
    "offcpu of the load": ("stackprobe offcpu, of the load", OURS, [OFFCPUTIME],
                           'PUT /flamegraph {"cmd": {"probe": ["offcpu"]}, "params": {"minblock": 0, "max_overhead": 0}, …}'),
    "offcpu of others": ("stackprobe offcpu, of others", OURS, [],
                         'PUT /flamegraph {"cmd": {"probe": ["offcpu"]}, "params": {"minblock": 0}, …}'),
    "/sched runqlat, everybody": ("stackprobe runqlat", OURS, [RUNQLAT], 'PUT /sched {"cmd": {"probe": ["runqlat"]}, …}'),
}  # fmt: skip
SWITCH_NOTES = {
    "offcputime -u": "All processes of the host; user stacks by frame pointers, not whole",
    "offcpu of the load": "Whole user stacks by unwind tables; `of others`: what it costs processes that are no targets",
    "runqlat": "All processes of the host",
}
LOADS = {"pipe": "perf bench sched pipe", "pipe, batch": "the same under SCHED_BATCH", "50 stacks": "50 stacks in turn"}


def switch(options):
    rounds, length = options.turns or 3, (options.seconds or 5) / 5
    subject = Subject("switch", "Cost of a switch",
                      "BPF time of a switch and the wake-up that belongs to it, by the kernel's statistics, and what a switch "
                      "takes in all. The loads are bound to one CPU: `perf bench sched pipe` (two in five of its switches are "
                      "preemptions, which off-CPU time leaves out and offcputime does not), the same under SCHED_BATCH, where "
                      "each switch is a wait, and a program that waits in 50 stacks in turn.")  # fmt: skip
    subject.quantity("bpf", "BPF time of a switch and a wake-up", "ns")
    subject.quantity("whole", "What the load takes for a switch", "µs", plot=False)
    loads = sched_cost.LOADS if peers.find("perf") else {"50 stacks": sched_cost.LOADS["50 stacks"]}
    if len(loads) < len(LOADS):
        subject.lacks("perf bench", NOT_INSTALLED)
    with Bench() as bench:
        subjects = sched_cost.subjects_of(bench.daemon)
        for key, (one, _) in subjects.items():
            who, kind, beside, command = SWITCHES[key]
            if one.missing:
                subject.lacks(who, NOT_INSTALLED if "not installed" in one.missing else f"it does not run here ({one.missing})")
            else:
                subject.way(who, kind, command, SWITCH_NOTES.get(key, ""), beside)
        figures = sched_cost.measure(subjects, length, rounds, loads)
    for (key, load), found in figures.items():
        who = SWITCHES[key][0]
        subject.add("whole", who, LOADS[load], *found.us)
        both = [ns + wakeup_ns for ns, wakeup_ns in zip(found.switch_ns, found.wakeup_ns)]
        if any(both):
            subject.add("bpf", who, LOADS[load], *both)
    return subject


# malloc

MALLOC_PUT = 'PUT /flamegraph {{"cmd": {{"probe": ["mem_glibc"]}}, "params": {{"mem_sample_bytes": {}, "max_overhead": 0}}, …}}'
PAIRS = {
    "bare": ("nothing", REFERENCE, None, ""),
    "empty": ("two empty uprobes", REFERENCE, None, "build/test/bpf/points LIBC empty …"),
    "counting": ("three uprobes that count", REFERENCE, None, "build/test/bpf/points LIBC counting …"),
    "exact": ("stackprobe, exact", OURS, [HEAPTRACK], MALLOC_PUT.format(0)),
    "sampled": ("stackprobe, sampled (its default)", OURS, [HEAPTRACK], MALLOC_PUT.format(524288)),
    "bystander of exact": ("stackprobe, exact, of another process", OURS, [], "the same, and another process is the target"),
    "bystander of sampled": ("stackprobe, sampled, of another process", OURS, [], "the same, and another process is the target"),
    "heaptrack": (HEAPTRACK, PEER, None, "heaptrack -o FILE build/test/programs/pairs 20 64"),
}  # fmt: skip


def malloc(options):
    subject = Subject("malloc", "Cost of malloc() and free()",
                      "What a pair of `malloc(64)` and `free()` takes at a stack depth of 20, on one CPU. stackprobe's probes are "
                      "uprobes, which come and go while the program runs; heaptrack is a library that the program starts "
                      "with, and is in it until it ends.")  # fmt: skip
    subject.quantity("pair", "Time of a pair", "ns")
    if not peers.find(HEAPTRACK):
        subject.lacks(HEAPTRACK, NOT_INSTALLED)
    work = Path(tempfile.mkdtemp(prefix="stackprobe-bench-", dir="/tmp"))
    try:
        took = malloc_cost.measure(work, options.turns or 5)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for key, (who, kind, beside, command) in PAIRS.items():
        if key in took:
            version = peers.version("heaptrack", "--version") if key == HEAPTRACK else ""
            subject.way(who, kind, command, "", beside, version)
            subject.add("pair", who, "64 bytes, 20 frames deep", *took[key])
    return subject
