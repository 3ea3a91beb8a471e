#!/usr/bin/env python3
"""What a sample costs: the run time of the sampling program as the kernel's BPF statistics have it.

Two figures of one run, in turn: a busy process that isn't a target (the program looks it up and
ends: the reference, as good as an empty program on the same hook) and the same one as a target with
a stack of DEPTH frames. Then what the daemon itself used. Prints lines and judges nothing.
Usage: sample_cost.py [SECONDS]
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from helpers import Daemon, Target, missing_privilege, program  # noqa: E402

STATS = Path("/proc/sys/kernel/bpf_stats_enabled")
BPFTOOL = shutil.which("bpftool", path=os.environ["PATH"] + ":/usr/sbin")
DEPTH = 20
HZ = 1000


def bpf_stats(daemon):
    """(runs, ns) of each BPF program that this daemon has loaded."""
    ids = set()
    for path in Path(f"/proc/{daemon.pid}/fdinfo").iterdir():
        try:
            text = path.read_text()
        except FileNotFoundError:
            continue  # a target's file, read and closed again
        ids.update(int(line.split()[1]) for line in text.splitlines()
                   if line.startswith("prog_id:"))
    listed = json.loads(subprocess.check_output([BPFTOOL, "-j", "prog", "show"]))
    stats = {}
    for p in (p for p in listed if p["id"] in ids):
        # The time of a program that took over (kernel/walkers.h) is that of the first of its name.
        runs, time_ns = stats.get(p["name"], (0, 0))
        stats[p["name"]] = (runs + p.get("run_cnt", 0), time_ns + p.get("run_time_ns", 0))
    return stats


def cost(daemon, seconds):
    """ns a run of its sampling program over the next seconds, and how many runs."""

    def stats():
        (one,) = [one for name, one in bpf_stats(daemon).items() if name.startswith("sample")]
        return one

    runs, time_ns = stats()
    time.sleep(seconds)
    runs_after, time_after = stats()
    return (time_after - time_ns) / max(runs_after - runs, 1), runs_after - runs


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_kib(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def measure(work, seconds):
    daemon = Daemon(work).start()
    target = Target([program("deep"), str(DEPTH), "3600"], work / "target.log")
    try:
        daemon.put_ok(daemon.wanting("^no such process$", frequency=HZ))
        daemon.wait_running()
        bare, bare_runs = cost(daemon, seconds)
        daemon.put_ok(daemon.wanting(pids=[target.pid], frequency=HZ))
        time.sleep(1)
        before = cpu_seconds(daemon.pid)
        full, runs = cost(daemon, seconds)
        used = cpu_seconds(daemon.pid) - before
        daemon.folded()
        print(
            f"sample_cost: target with {DEPTH} frames {full:.0f} ns a sample ({runs} runs); "
            f"not a target {bare:.0f} ns ({bare_runs} runs); ratio {full / bare:.1f}"
        )
        print(
            f"sample_cost: daemon at {HZ} Hz, one busy core: {100 * used / seconds:.2f} % of a core, "
            f"{resident_kib(daemon.pid) / 1024:.1f} MiB resident"
        )
    finally:
        target.kill()
        daemon.done()


def main():
    reason = missing_privilege()
    if not reason and not BPFTOOL:
        reason = "no bpftool"
    if reason:
        sys.exit(f"sample_cost: {reason}")
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10
    before = STATS.read_text()
    work = Path(tempfile.mkdtemp(prefix="stackprobe-bench-", dir="/tmp"))
    try:
        STATS.write_text("1")
        measure(work, seconds)
    finally:
        STATS.write_text(before)
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
