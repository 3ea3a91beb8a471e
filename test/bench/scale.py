#!/usr/bin/env python3
"""What many processes cost: 10,000 that sleep, 1,000 starts a second, 1,000 targets.

Each figure stands beside its reference in the same run: the daemon without the crowd, programs that
do not match beside some that do. The daemon's CPU time is its own (user and system) and, apart from
it, the run time of its BPF programs. Prints lines and judges nothing.
Usage: scale.py [storm|targets|crowd ...] [SECONDS=n]
"""
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from helpers import Daemon, lost, missing_privilege, program, wait_for  # noqa: E402
from sample_cost import BPFTOOL, STATS, bpf_stats, cpu_seconds  # noqa: E402

CROWD = 10000
RATE = 1000
TARGETS = 1000
BUSY = 20  # of them


def resident_kib(pid):
    """Resident memory as smaps_rollup has it: exact, where statm lags behind."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(text.split("Rss:")[1].split()[0])


def peak_kib(pid):
    return int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0])


def seconds(call):
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


class Meter:
    """What the daemon and its BPF programs used since it was made."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.began = time.monotonic()
        self.cpu_before = cpu_seconds(daemon.pid)
        self.bpf_before = bpf_stats(daemon)

    def read(self):
        self.seconds = time.monotonic() - self.began
        self.cpu = cpu_seconds(self.daemon.pid) - self.cpu_before
        self.bpf = {name: (runs - self.bpf_before.get(name, (0, 0))[0],
                           ns - self.bpf_before.get(name, (0, 0))[1])
                    for name, (runs, ns) in bpf_stats(self.daemon).items()}
        self.bpf_seconds = sum(ns for _, ns in self.bpf.values()) / 1e9
        return self

    def ns_a_run(self, name):
        runs, ns = self.bpf.get(name, (0, 0))
        return ns / max(runs, 1)


class Bench:
    """A daemon of its own with a folder of its own, and a program that runs beside it."""

    def __enter__(self):
        self.work = Path(tempfile.mkdtemp(prefix="stackprobe-bench-", dir="/tmp"))
        self.daemon = Daemon(self.work).start()
        self.crowds = []
        return self

    def crowd(self, *args):
        crowd = subprocess.Popen([program("crowd"), *map(str, args)], stdout=subprocess.PIPE)
        self.crowds.append(crowd)
        crowd.stdout.readline()

    def __exit__(self, *_):
        for crowd in self.crowds:
            crowd.kill()
            crowd.wait()
        self.daemon.done()
        shutil.rmtree(self.work)


def crowd(length):
    """PUT, memory and CPU time beside 10,000 processes that sleep, and beside none."""
    for count in (0, CROWD):
        with Bench() as bench:
            daemon = bench.daemon
            if count:
                bench.crowd(count)
            daemon.get("/healthz")
            before_kib = resident_kib(daemon.pid)
            doc = daemon.wanting("^twin_a$")
            first = seconds(lambda: daemon.put_ok(doc))
            other = daemon.wanting("^twin_b$")
            again = seconds(lambda: daemon.put_ok(other))
            time.sleep(1)
            meter = Meter(daemon)
            time.sleep(length)
            meter.read()
            print(
                f"scale: {count:5} sleeping processes: first PUT {first * 1e3:.0f} ms, another "
                f"{again * 1e3:.0f} ms; {(resident_kib(daemon.pid) - before_kib) / 1024:.2f} MiB "
                f"more resident than before the PUT (now {resident_kib(daemon.pid) / 1024:.1f}, "
                f"peak {peak_kib(daemon.pid) / 1024:.1f}); over {meter.seconds:.0f} s "
                f"{meter.cpu / meter.seconds:.3%} of a core, BPF {meter.bpf_seconds / meter.seconds:.3%}"
            )


def storm(length):
    """1,000 starts a second: of programs that match, and of some that don't."""
    for name, pattern, what in (
        ("blink", "^no such$", "do not match"),
        ("blink", "^blink$", "match"),
        ("twin_a", "^no such$", "do not match"),
        ("twin_a", "^twin_[ab]$", "match"),
    ):
        with Bench() as bench:
            daemon = bench.daemon
            daemon.put_ok(daemon.wanting(pattern))
            time.sleep(0.5)
            before_kib = resident_kib(daemon.pid)
            meter = Meter(daemon)
            other = program(name.replace("_a", "_b"))
            out = subprocess.check_output(
                [program("storm"), str(RATE), str(length), program(name), other])
            meter.read()
            told = json.loads(out)
            daemon.folded()
            probe = daemon.probe()
            started = told["started"]
            print(
                f"scale: {started / told['seconds']:.0f} starts/s of {name}, which {what}: daemon "
                f"{meter.cpu * 1e6 / started:.0f} us a start (the program itself "
                f"{told['children_cpu_us'] / started:.0f} us), BPF exec {meter.ns_a_run('on_exec'):.0f}, "
                f"fork {meter.ns_a_run('on_fork'):.0f}, exit {meter.ns_a_run('on_exit'):.0f} ns; "
                f"{(resident_kib(daemon.pid) - before_kib) / 1024:.1f} MiB more resident, peak "
                f"{peak_kib(daemon.pid) / 1024:.1f}; samples {probe['samples']}, "
                f"lost {lost(probe)}, of them {({k: v for k, v in probe['lost'].items() if v})}, "
                f"truncated {({k: v for k, v in probe['truncated'].items() if v})}"
            )


def targets(length):
    """1,000 targets, few of them busy now and then."""
    with Bench() as bench:
        daemon = bench.daemon
        bench.crowd("-x", TARGETS - 1 - BUSY, BUSY)
        before_kib = resident_kib(daemon.pid)
        doc = daemon.wanting("^crowd$", multi_instance=1)
        meter = Meter(daemon)
        put = seconds(lambda: daemon.put_ok(doc))
        armed = seconds(daemon.wait_running)
        meter.read()
        print(f"scale: {TARGETS} targets: PUT {put * 1e3:.0f} ms, running {armed * 1e3:.0f} ms later, "
              f"CPU until then {meter.cpu * 1e3:.0f} ms")
        meter = Meter(daemon)
        time.sleep(length)
        meter.read()
        idle_kib = resident_kib(daemon.pid)
        config = seconds(daemon.config)
        get = seconds(lambda: daemon.get("/flamegraph/oncpu.svg"))

        def stop():
            daemon.put_ok({"state": "stopped"})
            wait_for(lambda: len(written()) >= BUSY, seconds=60, every=0.01)

        def written():
            return daemon.files(daemon.flame_dir, "folded")

        stopped = seconds(stop)
        print(
            f"scale: {TARGETS} targets over {meter.seconds:.0f} s: {meter.cpu / meter.seconds:.2%} of a "
            f"core, BPF {meter.bpf_seconds / meter.seconds:.3%}; {(idle_kib - before_kib) / 1024:.1f} "
            f"MiB more resident, peak {peak_kib(daemon.pid) / 1024:.1f}; GET /flamegraph "
            f"{config * 1e3:.0f} ms, GET oncpu.svg {get * 1e3:.0f} ms, stop until "
            f"{len(written())} files are there {stopped * 1e3:.0f} ms"
        )


def run_parts(parts):
    """Those of {name: (function, seconds)} that the command line names, else all, while the kernel
    keeps BPF statistics. SECONDS=n: for each."""
    chosen = [arg for arg in sys.argv[1:] if "=" not in arg] or list(parts)
    length = next((int(arg.split("=")[1]) for arg in sys.argv[1:] if "=" in arg), 0)
    before = STATS.read_text()
    try:
        STATS.write_text("1")
        for part in chosen:
            call, default = parts[part]
            call(length or default)
    finally:
        STATS.write_text(before)


def main():
    reason = missing_privilege()
    if not reason and not BPFTOOL:
        reason = "no bpftool"
    if reason:
        sys.exit(f"scale: {reason}")
    # The crowd last: that many processes take their time to end.
    parts = {"storm": (storm, 10), "targets": (targets, 35), "crowd": (crowd, 60)}
    run_parts(parts)


if __name__ == "__main__":
    main()
