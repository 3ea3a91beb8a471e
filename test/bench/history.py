#!/usr/bin/env python3
"""History of a busy host that is made up, 4,000 frames a window: bytes on disk by level, how long a range
of an hour and of a day takes, and the memory for it. Prints lines and judges nothing.
Usage: history.py [DAYS]: 1 by default; 7 take some minutes.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

STACKS = "630"  # of a window: some 4,000 frames


def main():
    days = sys.argv[1] if len(sys.argv) > 1 else "1"
    program = Path(os.environ.get("STACKPROBE_BIN", "build/stackprobe")).parent / "test/bench/history_fill"
    with tempfile.TemporaryDirectory(prefix="stackprobe-bench-") as folder:
        told = subprocess.run([program, folder, days, STACKS], check=True, capture_output=True, text=True).stdout
    found = json.loads(told)
    megabytes = {level: found[level] / 1e6 for level in ("windows", "blocks", "hours")}
    week = megabytes["windows"] / min(int(days), 1) + 7 / int(days) * (megabytes["blocks"] + megabytes["hours"])
    print(
        f"history: {found['made_windows']:,} windows of {found['frames_a_window']:,} frames; windows of a day"
        f" {megabytes['windows']:.1f} MB, 5 minutes {megabytes['blocks']:.1f} MB, hours {megabytes['hours']:.1f} MB;"
        f" 7 days of two such probes {2 * week:.0f} MB (bound 537)"
    )
    print(f"history: CPU time of a window: {found['keep_ms']:.1f} ms to keep it, {found['settle_ms']:.1f} ms to put together")
    for name in ("hour", "day", "odd_day", "week"):
        part = found[name]
        print(
            f"history: {name} of {part['windows']:,} windows: {part['seconds'] * 1e3:.0f} ms,"
            f" {part['bytes'] / 2**20:.1f} MiB, {part['frames']:,} frames"
        )
    compared = found["compared"]
    print(f"history: two hours compared by function: {compared['seconds'] * 1e3:.0f} ms, {compared['functions']:,} functions")
    told = found["anomalies"]
    print(
        f"history: ten minutes beside an hour by process: {told['seconds'] * 1e3:.0f} ms, {told['processes']:,} processes,"
        f" {told['functions']:,} functions of theirs, {told['found']} unlike their past"
    )


if __name__ == "__main__":
    main()
