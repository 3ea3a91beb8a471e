#!/usr/bin/env python3
"""What uploads cost: CPU time of the daemon, its readers of source lines too, and its memory, with a server
(a stand-in, a process of its own time) and with files alone, in turns. The same programs under all probes: one of
C that has one stack, one of C with changing ones, one of Python. Each turn is a daemon of its own, from its first
window on, for the first windows have most of the source lines; files are written once. Prints lines and judges nothing.
Usage: upload_cost.py [SECONDS_OF_A_WINDOW]
"""
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from helpers import Target, missing_privilege, program  # noqa: E402
from memory import mib, targets_seconds  # noqa: E402
from pyroscope_asking import pyroscope  # noqa: E402
from uploads import BUSY, PROBES, Uploader  # noqa: E402

TURNS = 2
WINDOWS = 3


def cpu_ms(pid):
    """User and system time of a process, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    own, children = (sum(map(int, fields[at : at + 2])) for at in (11, 13))
    tick = 1000 / os.sysconf("SC_CLK_TCK")
    return own * tick, children * tick


class Turn:
    """A daemon for so many windows."""

    def __init__(self, pids, name, seconds):
        work = Path(tempfile.mkdtemp(prefix="stackprobe-bench-", dir="/tmp"))
        daemon = Uploader(work, period=int(seconds)).start()
        try:
            before = cpu_ms(daemon.pid)
            daemon.send(name, pids=pids, probes=PROBES, svg_period=max(30, int(WINDOWS * seconds)))
            for _ in range(WINDOWS):
                time.sleep(seconds)
            time.sleep(min(2, seconds / 2))  # what ended last is sent
            own, readers = (b - a for a, b in zip(before, cpu_ms(daemon.pid)))
            self.ms, self.readers_ms = (own + readers) / WINDOWS, readers / WINDOWS
            self.rss, self.peak = mib(daemon.pid, "VmRSS"), mib(daemon.pid, "VmHWM")
            self.lost = daemon.lost()
        finally:
            daemon.done()
            shutil.rmtree(work)


def measure(pids, seconds):
    with pyroscope() as server:
        found, began = {server.url: [], "": []}, targets_seconds(pids)
        for turn in range(2 * TURNS):
            name = (server.url, "")[turn % 2]
            found[name].append(Turn(pids, name, seconds))
        theirs = targets_seconds(pids) - began
        sent = [one.size for one in server.asked]
    uploads, files = found.values()
    ms, alone = (statistics.mean(turn.ms for turn in turns) for turns in (uploads, files))
    each = " ".join(f"{one.ms / max(other.ms, 1):.2f}" for one, other in zip(uploads, files))
    readers = statistics.mean(turn.readers_ms for turn in uploads)
    print(f"upload_cost: {len(pids)} targets, {len(PROBES)} probes, windows of {seconds:g} s: the daemon's CPU time "
          f"{ms:.0f} ms a window with uploads, {readers:.0f} of them readers of lines; with files alone {alone:.0f} ms, ratio "
          f"{ms / max(alone, 1):.2f} (each pair {each}); all targets {theirs * 1e3 / WINDOWS / TURNS / 2:.0f} ms")
    print(f"upload_cost: resident {max(turn.rss for turn in uploads):.1f} MiB, at most "
          f"{max(turn.peak for turn in uploads):.1f}, with uploads; with files alone "
          f"{max(turn.rss for turn in files):.1f}, {max(turn.peak for turn in files):.1f}; {len(sent)} requests, "
          f"{statistics.mean(sent or [0]) / 1024:.1f} KiB each, lost {[turn.lost for turn in uploads]}")  # fmt: skip


def main():
    reason = missing_privilege()
    if reason:
        sys.exit(f"upload_cost: {reason}")
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 30
    work = Path(tempfile.mkdtemp(prefix="stackprobe-bench-", dir="/tmp"))
    long = int(TURNS * 2 * (WINDOWS + 1) * seconds + 600)
    targets = [Target([program(name), str(long)], work / name) for name in ("spin", "rounds")]
    targets.append(Target(["/usr/bin/python3", "-c", BUSY], work / "busy"))
    try:
        measure([target.pid for target in targets], seconds)
    finally:
        for target in targets:
            target.kill()
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
