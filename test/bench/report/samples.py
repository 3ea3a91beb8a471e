# SPDX-License-Identifier: GPL-2.0-or-later
"""What a sample costs, over the depth of the stack and the rate; and what a profiler costs in all over a minute."""
import contextlib
import time

import peers
from helpers import Target, lost
from peers import NOT_INSTALLED, OTEL, PERF, PROFILE, Otel, Settled, sampled
from python_cost import over
from rows import OURS, PEER, Subject
from scale import Bench, resident_kib
from unwind_cost import Busy, perf_argv, perf_run, shape

RATES = (99, 999)
# Name of a test program and its arguments: two of them are busy. `rounds` has stacks that change, `chain` one stack.
DEPTHS = {21: ("rounds", 3600), 140: ("chain", 136, 3600), 500: ("chain", 496, 3600)}
OTEL_DEPTHS = (21, 140)  # deeper ones it cuts
TURNS = 3
WHO = "stackprobe"


def put_text(hz, more=""):
    return f'PUT /flamegraph {{"cmd": {{"probe": ["oncpu"]}}, "params": {{"frequency": {hz}{more}}}, …}}'


def name_missing(subject, work):
    reason = Otel.missing(work)
    if reason:
        subject.lacks(OTEL, reason)
    return not reason


def native_ns(daemon, pids, hz, seconds):
    """ns a sample of these processes. What else was on a CPU costs a look-up each, which is taken off."""
    daemon.profile("^no such process$", frequency=hz)
    runs, ns, _ = over(daemon, seconds / 3)
    other = ns / max(runs, 1)
    daemon.profile(pids=pids, frequency=hz, max_overhead=0, thread_frame=0)
    time.sleep(1)
    runs, ns, samples = over(daemon, seconds)
    return (ns - other * (runs - samples)) / max(samples, 1)


def add_ours(subject, hz, seconds):
    with Bench() as bench:
        daemon = bench.daemon
        for depth, command in DEPTHS.items():
            with Busy(bench.work, *command) as busy:
                subject.add(f"sample-{hz}", WHO, depth, native_ns(daemon, busy.pids, hz, seconds) / 1e3)
                if depth == min(DEPTHS):
                    subject.add("whole", WHO, f"{hz} Hz", 100 * shape(daemon.folded())[0])


def add_otel(subject, hz, seconds):
    with Bench() as bench, contextlib.closing(Closing(Otel(bench.work, hz))) as otel:
        for depth in OTEL_DEPTHS:
            with Busy(bench.work, *DEPTHS[depth]):
                time.sleep(3)  # until it knows them
                runs, ns = sampled(otel.pid)
                time.sleep(seconds)
                runs, ns = (after - before for after, before in zip(sampled(otel.pid), (runs, ns)))
                subject.add(f"sample-{hz}", OTEL, depth, ns / max(runs, 1) / 1e3)


class Closing:
    """For contextlib.closing(): a profiler that has stop()."""

    def __init__(self, tool):
        self.tool, self.pid = tool, tool.pid

    def close(self):
        self.tool.stop()


def add_profile(subject, path, hz, seconds):
    """libbpf-tools' profile: user stacks by frame pointers."""
    with Bench() as bench:
        for depth, command in DEPTHS.items():
            with Busy(bench.work, *command) as busy:
                tool = Target(profile_argv(path, hz, busy.pids[0]), bench.work / "profile.log")
                time.sleep(2)
                runs, ns = sampled(tool.pid)
                time.sleep(seconds)
                runs, ns = (after - before for after, before in zip(sampled(tool.pid), (runs, ns)))
                tool.kill()
                if runs:
                    subject.add(f"sample-{hz}", PROFILE, depth, ns / runs / 1e3)


def profile_argv(path, hz, pid):
    return [path, "-F", hz, "-U", "-f", "-p", pid, 3600]


def sample(options):
    """Over depth and rate."""
    subject = Subject("sample", "Cost of a sample",
                      "The run time of the BPF program on each CPU's clock, for a sample, by the kernel's statistics "
                      "(`kernel.bpf_stats_enabled`), while two C programs without frame pointers keep two cores busy. The one for "
                      "21 frames changes its stack (21 levels at most, 15 frames on average), the deeper ones stay in one. "
                      "At 99 Hz "
                      "caches are cold, so a sample takes longer than at 999 Hz. perf takes its samples inside of the kernel, "
                      "where no such figure is to be had; its whole cost is below.")  # fmt: skip
    for hz in RATES:
        subject.quantity(f"sample-{hz}", f"BPF time of a sample at {hz} Hz", "µs", across="frames")
    subject.quantity("whole", "Stacks of 21 frames that are whole", "%", better="more", plot=False)
    subject.way(WHO, OURS, put_text("99 (999)", ', "max_overhead": 0'),
                how="What its program needs for other processes, a look-up, is taken off")  # fmt: skip
    profile = peers.find("profile")
    if not profile:
        subject.lacks(PROFILE, NOT_INSTALLED)
    with Bench() as bench:
        otel = name_missing(subject, bench.work)
    for _ in range(options.turns or TURNS):
        for hz in RATES:
            add_ours(subject, hz, options.seconds or 5)
            if otel:
                subject.way(OTEL, PEER, Otel.command("99 (999)"), how=Otel.how)
                add_otel(subject, hz, options.seconds or 5)
            if profile:
                subject.way(PROFILE, PEER, "profile -F 99 (999) -U -f -p PID", "By frame pointers, which these don't have")
                add_profile(subject, profile, hz, options.seconds or 5)
    for hz in RATES:
        subject.goal(OTEL, f"sample-{hz}", 21, 1 / 3)
    return subject


# Over minutes


def add_our_minute(subject, hz, seconds):
    with Bench() as bench, Busy(bench.work, "rounds", 3600) as busy:
        daemon = bench.daemon
        daemon.profile(pids=busy.pids, frequency=hz, thread_frame=0)
        time.sleep(5)
        settled = Settled(daemon.pid)
        time.sleep(seconds)
        add_percent(subject, WHO, hz, *settled.percent())
        subject.add("whole", WHO, f"{hz} Hz", 100 * shape(daemon.folded())[0])
        subject.add("memory", WHO, f"{hz} Hz", resident_kib(daemon.pid) / 1024)
        subject.add("lost", WHO, f"{hz} Hz", lost(daemon.probe()))


def add_percent(subject, who, hz, own, bpf):
    subject.add("cost", who, f"{hz} Hz", own + bpf)
    subject.add("own", who, f"{hz} Hz", own)


def add_otel_minute(subject, hz, seconds):
    with Bench() as bench, Busy(bench.work, "rounds", 3600), contextlib.closing(Closing(Otel(bench.work, hz))) as otel:
        time.sleep(9)  # after what its start costs
        settled = Settled(otel.pid)
        time.sleep(seconds)
        add_percent(subject, OTEL, hz, *settled.percent())
        subject.add("memory", OTEL, f"{hz} Hz", resident_kib(otel.pid) / 1024)


def add_perf_minute(subject, how, hz, seconds):
    """For a third of the time, as it needs the same in each second."""
    who, both = f"perf record, {how}", f"perf record and script, {how}"
    seconds = max(round(seconds / 3), 5)
    argv = " ".join(str(word) for word in perf_argv(how, f"{RATES[0]} ({RATES[1]})", ["PID", "PID"], "FILE", seconds))
    nothing_whole = "; no stack is whole" if how == "fp" else ""
    subject.way(who, PEER, argv, f"Without its start, its end, names and what the kernel needs for samples{nothing_whole}",
                version=peers.version("perf", "--version"))  # fmt: skip
    subject.way(both, PEER, "perf script -i FILE -F comm,ip,sym",
                f"All of perf record and the reading of its file, which has the names{nothing_whole}")  # fmt: skip

    def meanwhile(pid):
        time.sleep(2)  # after its start
        settled = Settled(pid)
        time.sleep(seconds - 3)
        add_percent(subject, who, hz, *settled.percent())
        subject.add("memory", who, f"{hz} Hz", resident_kib(pid) / 1024)

    with Bench() as bench, Busy(bench.work, "rounds", 3600) as busy:
        run = perf_run(bench.work, how, busy.pids, seconds, hz, meanwhile)
    add_percent(subject, both, hz, run.recording + run.reading, 0)
    subject.add("whole", who, f"{hz} Hz", 100 * run.whole)


def minutes(options):
    seconds = options.seconds * 12 if options.seconds else 65
    subject = Subject("minutes", "Whole cost over minutes",
                      f"CPU time of the profiler and of its BPF programs, of one core, over windows of {seconds:g} s (two of "
                      "stackprobe's own windows, with naming and drawing), while two C programs, up to 21 frames deep, keep two "
                      "cores busy; and its resident memory at the end.")  # fmt: skip
    subject.quantity("cost", "CPU time with BPF", "% of a core")
    subject.quantity("own", "Of it the profiler's processes", "% of a core", better=None, plot=False)
    subject.quantity("memory", "Resident memory", "MiB")
    subject.quantity("whole", "Stacks that are whole", "%", better="more", plot=False)
    subject.quantity("lost", "Samples lost", "samples", better=None, plot=False)
    subject.way(WHO, OURS, put_text("99 (999)"), how="With the default `max_overhead`")
    perf = peers.find("perf")
    if not perf:
        subject.lacks(PERF, NOT_INSTALLED)
    with Bench() as bench:
        otel = name_missing(subject, bench.work)
    for turn in range(options.turns or 2):
        for hz in RATES if turn == 0 else RATES[:1]:
            add_our_minute(subject, hz, seconds if hz == RATES[0] else seconds / 2)
            if otel:
                subject.way(OTEL, PEER, Otel.command("99 (999)"), how=Otel.how)
                add_otel_minute(subject, hz, seconds if hz == RATES[0] else seconds / 2)
            for how in ("fp", "dwarf") if perf and turn == 0 else ():
                add_perf_minute(subject, how, hz, seconds)
    subject.goal(OTEL, "cost", "99 Hz", 1 / 5)
    subject.goal(OTEL, "memory", "99 Hz", 1 / 4)
    return subject
