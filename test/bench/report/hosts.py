# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time and memory over processes and targets; what it costs to begin; what unwind tables cost."""
import contextlib
import time
from contextlib import closing
from pathlib import Path

from bpf_objects import bpftool, held
from helpers import Daemon, Target, wait_for
from load_cost import verified
from peers import OTEL, Otel, Settled, programs, sampled
from rows import OURS, PEER, Subject
from samples import WHO, Closing, name_missing, put_text
from scale import Bench, resident_kib
from unwind_cost import LOADER, Busy, find_llvm, metrics, task_seconds

COUNTS = (10, 100, 1000)
HZ = 99
START_TURNS = 5


def map_bytes(pid, before):
    """Of the BPF maps that have come since `before` and that this process holds, or nobody: those that lie inside of
    another map."""
    mine, of_others = held(pid, "map"), set(before)
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            of_others |= held(process.name, "map")
    return sum(one.get("bytes_memlock", 0) for one in bpftool("map", "show")
               if one["id"] in mine or one["id"] not in of_others)  # fmt: skip


def all_maps():
    return {one["id"] for one in bpftool("map", "show")}


def add_host(subject, who, count, pid, seconds):
    settled = Settled(pid)
    time.sleep(seconds)
    subject.add("cost", who, count, sum(settled.percent()))
    subject.add("memory", who, count, resident_kib(pid) / 1024)


def our_host(subject, who, count, seconds, **wanted):
    with Bench() as bench, Busy(bench.work, "rounds", 3600) as busy:
        bench.crowd("-x", count)
        names = ["^crowd$"] if wanted.pop("crowd") else []
        bench.daemon.put_ok(bench.daemon.wanting(*names, pids=busy.pids, frequency=HZ, **wanted))
        wait_for(lambda: bench.daemon.probe()["state"] == "running", 60, why="armed")
        time.sleep(3)
        add_host(subject, who, count, bench.daemon.pid, seconds)


def otel_host(subject, count, seconds):
    with Bench() as bench, Busy(bench.work, "rounds", 3600):
        bench.crowd("-x", count)
        with closing(Closing(Otel(bench.work, HZ))) as otel:
            time.sleep(6)
            add_host(subject, OTEL, count, otel.pid, seconds)


def hosts(options):
    seconds = options.seconds * 2 if options.seconds else 10
    subject = Subject("hosts", "CPU and memory over processes and targets",
                      "Two busy C programs and so many processes that sleep, each with a program of its own: CPU time of the "
                      f"profiler and of its BPF programs over {seconds:g} s at {HZ} Hz, and its resident memory. Once all of "
                      "the processes are targets, once only the two.")  # fmt: skip
    subject.quantity("cost", "CPU time with BPF", "% of a core", across="processes that sleep")
    subject.quantity("memory", "Resident memory", "MiB", across="processes that sleep")
    all_of, two_of = f"{WHO}, all are targets", f"{WHO}, two are targets"
    subject.way(all_of, OURS, put_text(HZ, ', "multi_instance": 1'))
    subject.way(two_of, OURS, put_text(HZ))
    with Bench() as bench:
        otel = name_missing(subject, bench.work)
    for _ in range(options.turns or 2):
        for count in COUNTS:
            our_host(subject, all_of, count, seconds, crowd=True, multi_instance=1)
            our_host(subject, two_of, count, seconds, crowd=False)
            if otel:
                subject.way(OTEL, PEER, Otel.command(HZ), how=Otel.how)
                otel_host(subject, count, seconds)
    return subject


# Start-up


def begin_ours(subject, busy, work, probes, where):
    work.mkdir()
    daemon, began = Daemon(work), time.monotonic()
    daemon.start()
    try:
        put = time.monotonic()
        daemon.put_ok(daemon.wanting(pids=busy.pids, probes=probes, frequency=HZ))
        wait_for(lambda: daemon.probe()["samples"], every=0.002, why="a sample")
        now = time.monotonic()
        subject.add("start", WHO, where, 1e3 * (now - began))
        subject.add("put", WHO, where, 1e3 * (now - put))
        add_begin(subject, WHO, where, daemon.pid)
    finally:
        daemon.done()


def add_begin(subject, who, where, pid):
    subject.add("cpu", who, where, 1e3 * task_seconds(pid))
    try:
        walked = sum(verified(one["id"]) for one in programs(pid))
    except OSError:
        return  # a kernel before 5.16 doesn't tell
    subject.add("verified", who, where, walked / 1e3)


def begin_otel(subject, work, where):
    began = time.monotonic()
    with closing(Closing(Otel(work, HZ))) as otel:
        subject.add("start", OTEL, where, 1e3 * (time.monotonic() - began))
        add_begin(subject, OTEL, where, otel.pid)


def start(options):
    subject = Subject("start", "Start-up",
                      f"From the start of the program to its first sample at {HZ} Hz, while two C programs keep two cores "
                      "busy; its CPU time until then, which is mostly the kernel's check of the BPF programs; and the "
                      "instructions that this check walked.")  # fmt: skip
    one, four = "oncpu", "oncpu, offcpu, mem, mem_glibc"
    subject.quantity("start", "From the start to the first sample", "ms")
    subject.quantity("put", "Of it from the PUT on", "ms", better=None, plot=False)
    subject.quantity("cpu", "CPU time until then", "ms")
    subject.quantity("verified", "Verified BPF instructions", "thousands", plot=False)
    subject.way(WHO, OURS, f"stackprobe --config CONF, and {put_text(HZ)}")
    with Bench() as bench, Busy(bench.work, "rounds", 3600) as busy:
        otel = name_missing(subject, bench.work)
        for turn in range(options.turns or START_TURNS):
            for where in (one, four):
                begin_ours(subject, busy, bench.work / f"{turn}-{len(where)}", tuple(where.split(", ")), where)
            if otel:
                subject.way(OTEL, PEER, Otel.command(HZ), how=Otel.how)
                begin_otel(subject, bench.work, one)
    return subject


# Unwind tables


def add_tables(subject, who, pid, before, seconds, llvm, arm):
    """Without the library in a target, then with it. arm(): that profiler is to look at the process with it."""
    where = "two C programs"
    time.sleep(seconds)
    subject.add("maps", who, where, map_bytes(pid, before) / (1 << 20))
    subject.add("memory", who, where, resident_kib(pid) / 1024)
    if not llvm:
        return
    where = f"and {llvm.name} ({llvm.stat().st_size >> 20} MiB)"
    spent, began = task_seconds(pid), time.monotonic()
    time.sleep(seconds)
    idle = (task_seconds(pid) - spent) / (time.monotonic() - began)
    loader = arm()
    try:
        time.sleep(seconds)
        subject.add("maps", who, where, map_bytes(pid, before) / (1 << 20))
        subject.add("memory", who, where, resident_kib(pid) / 1024)
        used = task_seconds(pid) - loader.spent - idle * (time.monotonic() - loader.began)
        subject.add("cpu", who, where, 1e3 * used)
    finally:
        loader.target.kill()


class Loader:
    """A Python that has that library in it, and then burns."""

    def __init__(self, work, library, pid):
        self.spent, self.began = task_seconds(pid), time.monotonic()
        self.target = Target(["/usr/bin/python3", "-c", LOADER, library], work / "loader.log")
        wait_for(lambda: self.target.cpu_ns_now() > 5e8, 30, why="it burns")


def our_tables(subject, seconds, llvm):
    with Bench() as bench, Busy(bench.work, "rounds", 3600) as busy:
        daemon = bench.daemon
        before = all_maps() - held(daemon.pid, "map")
        daemon.profile(pids=busy.pids, frequency=HZ)

        def arm():
            loader = Loader(bench.work, llvm, daemon.pid)
            daemon.put_ok(daemon.wanting(pids=[*busy.pids, loader.target.pid], frequency=HZ))
            wait_for(lambda: not metrics(daemon).get("unwind_pending"), 30, why="tables")
            return loader

        add_tables(subject, WHO, daemon.pid, before, seconds, llvm, arm)
        subject.notes = [f"stackprobe's tables had {metrics(daemon).get('unwind_rows', 0):,.0f} rows in the end."]


def otel_tables(subject, seconds, llvm):
    before = all_maps()
    with Bench() as bench, Busy(bench.work, "rounds", 3600), closing(Closing(Otel(bench.work, HZ))) as otel:
        time.sleep(6)
        add_tables(subject, OTEL, otel.pid, before, seconds, llvm, lambda: Loader(bench.work, llvm, otel.pid))
        assert sampled(otel.pid)[0]


def tables(options):
    seconds, llvm = options.seconds or 5, find_llvm()
    subject = Subject("tables", "Unwind tables",
                      "Memory of the BPF maps (tables of all files that the targets map, with all else that is in maps) and "
                      "resident memory, with two busy C programs, then with a third one that has a large library in it; and "
                      "the CPU time that this library cost, with its names, beyond what the profiler needs anyway.")  # fmt: skip
    subject.quantity("maps", "Memory of BPF maps", "MiB")
    subject.quantity("memory", "Resident memory", "MiB")
    subject.quantity("cpu", "CPU time for the large library", "ms")
    subject.way(WHO, OURS, put_text(HZ))
    if not llvm:
        subject.lacks("libLLVM", "there is none here, so nothing was measured with a large library")
    with Bench() as bench:
        otel = name_missing(subject, bench.work)
    for _ in range(options.turns or 2):
        our_tables(subject, seconds, llvm)
        if otel:
            subject.way(OTEL, PEER, Otel.command(HZ), how=Otel.how)
            otel_tables(subject, seconds, llvm)
    return subject
