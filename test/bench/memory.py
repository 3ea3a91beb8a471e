#!/usr/bin/env python3
"""Memory and CPU time of the daemon on a busy host: fifty targets of ten programs (e2e/scene.py), for
three whole windows. The references of the same run are the daemon before its first target and
the CPU time of all targets. Prints two lines and judges nothing.
Usage: memory.py [SECONDS_OF_A_WINDOW]
"""
import os
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
import scene  # noqa: E402
from helpers import Daemon, missing_privilege  # noqa: E402

WINDOWS = 3
HZ = 100


def mib(pid, field):
    """A line of /proc/PID/status."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+)", text)[1]) / 1024


def cpu_seconds(pid):
    """User and system time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def targets_seconds(pids):
    """The same of those targets that live."""
    return sum(cpu_seconds(pid) for pid in pids if Path(f"/proc/{pid}").exists())


def measure(work, seconds):
    """Starts the scene, profiles it, prints."""
    targets = scene.Scene(work)
    daemon = Daemon(work)
    try:
        targets.start()
        pids = targets.all_pids()
        daemon.start()
        idle = mib(daemon.pid, "VmRSS")
        daemon.profile(pids=pids, frequency=HZ)
        began, theirs, windows = cpu_seconds(daemon.pid), targets_seconds(pids), []
        for _ in range(WINDOWS):
            time.sleep(seconds)
            daemon.folded()  # ends the window
            windows.append(cpu_seconds(daemon.pid) - began)
            began += windows[-1]
        theirs = targets_seconds(pids) - theirs
        print(
            f"memory: {len(pids)} targets, {WINDOWS} windows of {seconds:g} s: resident "
            f"{mib(daemon.pid, 'VmRSS'):.1f} MiB, at most {mib(daemon.pid, 'VmHWM'):.1f}; "
            f"idle {idle:.1f}" + (f"; not installed: {targets.missing}" if targets.missing else "")
        )
        print(
            "memory: CPU time of the daemon in each window "
            + ", ".join(f"{window * 1e3:.0f}" for window in windows)
            + f" ms; of all targets together {theirs:.0f} s"
        )
    finally:
        targets.stop()
        if daemon.popen:
            daemon.done()


def main():
    reason = missing_privilege()
    if reason:
        sys.exit(f"memory: {reason}")
    work = Path(tempfile.mkdtemp(prefix="stackprobe-bench-", dir="/tmp"))
    try:
        measure(work, float(sys.argv[1]) if len(sys.argv) > 1 else 30)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
