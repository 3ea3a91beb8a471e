#!/usr/bin/env python3
"""What Python's frames cost, for each Python that is there (PYTHONS, test/e2e/python/pythons.py).

sample	BPF time a sample of one busy interpreter with 20 frames of Python, beside that of the same process
	with the native walk alone (bpf.python = false), in turns
busy	one busy interpreter at 99 Hz, 20 and 500 frames deep: CPU time of the daemon and of its BPF
	programs, and how much of the samples has the whole chain
shares	three threads with the GIL released: how far their shares of the samples are from their own
	clocks, in standard errors

Prints lines and judges nothing. Usage: python_cost.py [sample|busy|shares ...] [SECONDS=n]
"""
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from helpers import Target, missing_privilege, wait_for  # noqa: E402
from pyframes import functions  # noqa: E402
from pythons import Place, pythons  # noqa: E402
from sample_cost import BPFTOOL  # noqa: E402
from scale import Bench, bpf_stats, run_parts  # noqa: E402
from unwind_cost import share_of_a_core  # noqa: E402
from waiting import answer, let_go, stands_by  # noqa: E402

HZ = 99
SAMPLE_HZ = 499  # more of them in the same time
TURNS = 3


class Program:
    """One of test/programs/python that has stopped itself before its work."""

    def __init__(self, bench, python, name, *args):
        self.place = Place(python, bench.work)
        argv = python.argv(name, *args, folder=self.place.folder)
        self.target = Target(argv, bench.work / f"{python.name}.log")

    def __enter__(self):
        wait_for(lambda: stands_by(self.target), why="it stands by")
        return self.target

    def __exit__(self, *_):
        self.target.kill()
        self.place.remove()


def sampled(daemon):
    """(runs, ns) of the sampling program of this daemon."""
    (one,) = [figures for name, figures in bpf_stats(daemon).items() if name.startswith("sample")]
    return one


def over(daemon, length):
    """(runs, ns, samples) of so many seconds."""
    before, taken = sampled(daemon), daemon.probe()["samples"]
    time.sleep(length)
    runs, ns = (b - a for a, b in zip(before, sampled(daemon)))
    return runs, ns, daemon.probe()["samples"] - taken


def sample_ns(daemon, pid, length):
    """ns a sample of that process. What else was on a CPU costs a look-up each."""
    daemon.profile("^no such process$", frequency=SAMPLE_HZ)
    runs, ns, _ = over(daemon, length / 4)
    other = ns / max(runs, 1)
    daemon.profile(pids=[pid], frequency=SAMPLE_HZ, max_overhead=0)
    time.sleep(1)
    runs, ns, samples = over(daemon, length)
    return (ns - other * (runs - samples)) / max(samples, 1), samples


def with_python(daemon, value):
    """Starts it again with that in its conf file."""
    daemon.stop()
    kept = [line for line in daemon.conf.read_text().split("\n") if not line.startswith("bpf")]
    daemon.conf.write_text("\n".join([*kept, f"bpf = {{ python = {value}; }};\n"]))
    daemon.start()


def chain_part(profile, pid, depth):
    """The part of the samples with all frames."""
    stacks = profile.of(pid)
    whole = sum(s.value for s in stacks if functions(s).count("descend") == depth)
    return whole / max(sum(s.value for s in stacks), 1)


def sample(length):
    for python in pythons():
        with Bench() as bench, Program(bench, python, "depth.py", 20, 3600) as target:
            let_go(target)
            found = {"true": [], "false": []}
            for turn in range(2 * TURNS):
                value = ("false", "true")[turn % 2]
                with_python(bench.daemon, value)
                found[value].append(sample_ns(bench.daemon, target.pid, length / TURNS / 2))
            whole = chain_part(bench.daemon.folded(), target.pid, 20)
            native, both = (sum(ns * n for ns, n in found[v]) / sum(n for _, n in found[v])
                            for v in ("false", "true"))  # fmt: skip
            each = " ".join(f"{b[0] / a[0]:.2f}" for a, b in zip(found["false"], found["true"]))
            print(f"python_cost: {python.name}, 20 frames: {both / 1e3:.2f} us a sample, native alone "
                  f"{native / 1e3:.2f} us, ratio {both / native:.2f} (each pair {each}); {whole:.1%} "
                  f"have the whole chain", flush=True)


def busy(length):
    for python in pythons():
        for depth in (20, 500):
            with Bench() as bench, Program(bench, python, "depth.py", depth, 3600) as target:
                let_go(target)
                daemon = bench.daemon
                daemon.profile(pids=[target.pid], frequency=HZ)
                time.sleep(3)
                used = target.cpu_ns_now()
                cpu, bpf = share_of_a_core(daemon, length)
                used = (target.cpu_ns_now() - used) / 1e7 / length
                profile = daemon.folded()
                whole = chain_part(profile, target.pid, depth)
                print(f"python_cost: {python.name}, {depth} frames at {HZ} Hz over {length} s: daemon "
                      f"{cpu:.3f} % of a core, BPF {bpf:.3f} %, together {cpu + bpf:.3f} % (the target "
                      f"had {used:.0f} %); {profile.total(pid=target.pid)} samples, {whole:.1%} have "
                      f"the whole chain",
                      flush=True)  # fmt: skip


def shares(length):
    for python in pythons():
        with Bench() as bench, Program(bench, python, "sharing.py", "release", length) as target:
            daemon = bench.daemon
            daemon.profile(pids=[target.pid], frequency=SAMPLE_HZ, max_overhead=0)
            let_go(target)
            truth = answer(target, length + 60)
            profile = daemon.folded(pid=target.pid)
            counts = {name: sum(s.value for s in profile.stacks if name in functions(s))
                      for name in truth}  # fmt: skip
            total, burned = max(sum(counts.values()), 1), sum(truth.values())
            told = []
            for name, ns in truth.items():
                part = ns / burned
                off = counts[name] / total - part
                told.append(f"{100 * part:.1f} % {100 * off:+.2f} points = "
                            f"{off / (part * (1 - part) / total) ** 0.5:+.2f} s.e.")
            print(f"python_cost: {python.name}, GIL released, {total} samples: {'; '.join(told)}",
                  flush=True)  # fmt: skip


def main():
    reason = missing_privilege()
    if not reason and not BPFTOOL:
        reason = "no bpftool"
    if not reason and not pythons():
        reason = "no Python 3.8 or later"
    if reason:
        sys.exit(f"python_cost: {reason}")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parts = {"sample": (sample, 15), "busy": (busy, 20), "shares": (shares, 8)}
    run_parts(parts)


if __name__ == "__main__":
    main()
