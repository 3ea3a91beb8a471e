# SPDX-License-Identifier: GPL-2.0-or-later
"""Python's and Java's stacks: whether they are right, and what they cost."""
import os
import time

import java_cost
import java_peers
import python_peers
from javas import Leaves, javas
from peers import NOT_INSTALLED, version
from pythons import python_at, pythons
from rows import OURS, PEER, Subject
from samples import WHO, put_text
from scale import Bench

PROGRAMS = {"deep20": "20 frames", "deep500": "500 frames", "threads": "threads"}
HZ = 99


def python(options):
    found = pythons() if os.environ.get("PYTHONS") else [python_at("/usr/bin/python3")]
    chosen = found[0] if found else None
    name = f"Python {chosen.name}" if chosen else "Python"
    subject = Subject("python", "Python",
                      f"{name}, programs that know their own stacks, at {HZ} Hz: how many of the samples have the right "
                      "functions, files and lines from the first to the last frame; CPU time of the profiler, of stackprobe "
                      "with BPF; and how much slower the program is, in pairs of windows with the profiler and "
                      "without.")  # fmt: skip
    subject.quantity("right", "Samples that are right", "%", better="more", plot=False)
    subject.quantity("cost", "CPU time", "% of a core")
    subject.quantity("slower", "The program is slower by", "%", plot=False, ratio=False)
    subject.way(WHO, OURS, f"GET /flamegraph/oncpu.folded?seconds=N&pid=PID beside {put_text(HZ)}", "With native frames")
    for peer, argv in ((python_peers.PySpy, "py-spy record -p PID -d 600 -r 99 -f raw --full-filenames -o FILE"),
                       (python_peers.Austin, "austin -s -i 10101 -p PID -x 600 -o FILE")):  # fmt: skip
        if peer.path:
            subject.way(peer.name, PEER, argv, version=version(peer.path, "--version"))
        else:
            subject.lacks(peer.name, NOT_INSTALLED)
    if not chosen:
        subject.lacks(WHO, "there is no Python from 3.8 on here")
        return subject
    with Bench() as bench:
        for key, where in PROGRAMS.items():
            for one in python_peers.compare(bench, chosen, key, options.seconds or 2, options.turns or 3):
                subject.add("right", one.tool, where, 100 * one.right)
                subject.add("cost", one.tool, where, *one.percent)
                subject.add("slower", one.tool, where, *(100 * part for part in one.slower))
    return subject


def add_truth(subject, bench, vm, seconds):
    program = Leaves(vm, bench.work)
    try:
        program.ready()
        time.sleep(5)  # until it is compiled
        tools = [java_peers.Stackprobe(bench, vm)]
        if java_peers.AsyncProfiler.serves(vm):
            tools.append(java_peers.AsyncProfiler(bench, vm))
        for tool in tools:
            found = java_peers.measure(program, tool, seconds)
            subject.add("right", tool.name, "all kinds of code", 100 * found.whole.share("right"))
            subject.add("root", tool.name, "all kinds of code", 100 * found.whole.root_share)
            subject.add("worst", tool.name, "all kinds of code", found.worst)
    finally:
        program.kill()


def add_slower(subject, bench, vm, seconds, pairs):
    for where, leaf in (("55 frames", java_cost.DEPTHS["55"]), ("505 frames", java_cost.DEPTHS["505"])):
        with java_cost.Busy(bench, vm, leaf) as running:
            tools = [(WHO, java_cost.Profiled(bench, "native"))]
            if java_peers.AsyncProfiler.serves(vm):
                tools.append((java_peers.AsyncProfiler.name, java_peers.AsyncProfiler(bench, vm)))
            for who, tool in tools:
                each = java_cost.slower(running, tool, seconds, pairs)
                subject.add("slower", who, where, *(100 * part for part in each))


def java(options):
    found = javas()
    name = f"Java {found[0].name}" if found else "Java"
    subject = Subject("java", "Java",
                      f"{name} without a flag, a program that knows its own stacks, two busy threads and more, at {HZ} Hz: how "
                      "many of the samples of its threads have the right frames, how many begin at the thread's root, and the "
                      "largest error of a function's share of the time; and how much slower a program with one busy thread is, "
                      "in pairs of windows with the profiler and without.")  # fmt: skip
    subject.quantity("right", "Samples that are right", "%", better="more", plot=False)
    subject.quantity("root", "Samples that begin at the root", "%", better="more", plot=False)
    subject.quantity("worst", "Largest error of a share", "points", plot=False)
    subject.quantity("slower", "The program is slower by", "%", ratio=False)
    subject.way(WHO, OURS, put_text(HZ), "`java_source` native: no agent in the VM")
    if not found:
        subject.lacks(WHO, "there is no Java VM here")
        return subject
    if java_peers.AsyncProfiler.serves(found[0]):
        subject.way(java_peers.AsyncProfiler.name, PEER,
                    "jcmd PID JVMTI.agent_load libasyncProfiler.so start,event=cpu,interval=10101010,threads",
                    "An agent inside of the VM")  # fmt: skip
    else:
        subject.lacks(java_peers.AsyncProfiler.name, NOT_INSTALLED)
    with Bench() as bench:
        add_truth(subject, bench, found[0], options.seconds * 2 if options.seconds else 10)
        pairs = options.turns or 4
        add_slower(subject, bench, found[0], 2 * pairs * (options.seconds or 2.5), pairs)
    return subject
