#!/usr/bin/env python3
"""What one host sends to Pyroscope: requests, bytes and series of a window, with 10 and with 100 processes,
each its own series (multi_instance 1), 99 Hz, and what the daemon itself uses meanwhile. The figures of
doc/fleet.md. Prints lines and judges nothing. Usage: fleet_uploads.py [10|100 ...] [WINDOWS=n]
"""
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
import scene  # noqa: E402
from helpers import missing_privilege, wait_for  # noqa: E402
from pyroscope_double import Pyroscope  # noqa: E402
from sample_cost import STATS  # noqa: E402
from scale import Meter, resident_kib  # noqa: E402
from uploads import Uploader, of_probe, until  # noqa: E402

PROBES = ("oncpu", "offcpu", "mem")
HZ = 99
PERIOD = 30
FEW = {"redis-server": 2, "postgres": 1, "java": 1, "python3": 1}
# What most processes of a host do: wake up now and then, do a little, wait.
IDLER = """
import json, time
row = {"n": 1, "words": ["a", "b"]}
while True:
    for _ in range(50):
        row = json.loads(json.dumps(row))
    time.sleep(0.05)
"""


def cpu_of(pids):
    """Seconds of CPU that they have used."""
    total = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            total += int(task.read_text().split()[0]) / 1e9
    return total


def targets(work, count):
    running = scene.Scene(work)
    if count < 50:
        everything, scene.COUNTS = scene.COUNTS, FEW
        running.start()
        scene.COUNTS = everything
    else:
        running.start()
    pids = running.all_pids()[:count]
    pids += running.run_each(count - len(pids), "/usr/bin/python3", "-c", IDLER)
    time.sleep(5)
    return running, pids


def windows(stored, after_ns, before_ns):
    """{start: what arrived of that window}"""
    found = {}
    for one in stored:
        if after_ns <= one.from_ns < before_ns:
            found.setdefault(one.from_ns, []).append(one)
    return found


def show(probe, found):
    sent = [sum(len(one.body) for one in parts) for parts in found.values()]
    plain = [sum(one.profile.size for one in parts) for parts in found.values()]
    stacks = [sum(len(one.samples) for one in parts) for parts in found.values()]
    pids = [{sample.labels["pid"] for one in parts for sample in one.samples} for parts in found.values()]
    requests = sum(len(parts) for parts in found.values())
    print(f"  {probe:7} {requests / len(found):.1f} requests a window; sent {statistics.mean(sent) / 1024:.1f} KiB "
          f"(at most {max(sent) / 1024:.1f}), uncompressed {statistics.mean(plain) / 1024:.1f} "
          f"(at most {max(plain) / 1024:.1f}); {statistics.mean(stacks):.0f} stacks, "
          f"{statistics.mean(map(len, pids)):.0f} series, of all windows {len(set().union(*pids))}")  # fmt: skip
    return statistics.mean(sent), statistics.mean(plain)


def labels(found):
    return sorted({name for parts in found.values() for one in parts for sample in one.samples for name in sample.labels})


def measure(count, wanted):
    work = Path(tempfile.mkdtemp(prefix="stackprobe-bench-", dir="/tmp"))
    daemon, running = Uploader(work, period=PERIOD), None
    try:
        with Pyroscope() as server:
            running, pids = targets(work, count)
            daemon.start()
            daemon.profile(pids=pids, probes=PROBES, frequency=HZ, svg_period=600, multi_instance=1,
                           pyroscope_server=server.url)  # fmt: skip
            first = time.time_ns() + PERIOD * 10**9
            wait_for(lambda: min(until(server, probe) for probe in PROBES) >= first, 120, why="the first window")
            began, used, meter = time.time_ns(), cpu_of(pids), Meter(daemon)
            last = began + wanted * PERIOD * 10**9
            peak = 0
            while time.time_ns() < last:
                time.sleep(1)
                peak = max(peak, resident_kib(daemon.pid))
            meter.read()
            used = cpu_of(pids) - used
            wait_for(lambda: min(until(server, probe) for probe in PROBES) >= last - PERIOD * 10**9, 60)
            print(f"{count} processes, of which {', '.join(sorted(name for name, ids in running.pids.items() if ids))}; "
                  f"they used {used / meter.seconds:.2f} CPUs; missing here: {sorted(running.missing)}")  # fmt: skip
            sums = [show(probe, windows(of_probe(server.stored, probe), began - PERIOD * 10**9, last)) for probe in PROBES]
            sent, plain = (sum(part) for part in zip(*sums, strict=True))
            print(f"  together {sent / 1024:.1f} KiB a window ({sent * 3600 / PERIOD / 2**20:.1f} MiB an hour), "
                  f"uncompressed {plain / 1024:.1f} KiB ({plain / PERIOD / 1024:.2f} KiB/s)")  # fmt: skip
            print(f"  labels: {labels(windows(of_probe(server.stored, 'oncpu'), began - PERIOD * 10**9, last))}")
            print(f"  the daemon: {100 * meter.cpu / meter.seconds:.2f} % of a CPU, its BPF programs "
                  f"{100 * meter.bpf_seconds / meter.seconds:.2f} %, resident at most {peak / 1024:.1f} MiB")  # fmt: skip
            print(f"  not taken: {server.refused[:3]}, put off: {len(server.put_off)}, lost: {daemon.lost()}", flush=True)
            daemon.stop()
    finally:
        daemon.kill()
        if running:
            running.stop()
        shutil.rmtree(work, ignore_errors=True)


def main():
    reason = missing_privilege()
    if reason:
        sys.exit(f"uploads.py: {reason}")
    options = dict(word.split("=") for word in sys.argv[1:] if "=" in word)
    counts = [int(word) for word in sys.argv[1:] if "=" not in word] or [10, 100]
    before = STATS.read_text()
    try:
        STATS.write_text("1")
        for count in counts:
            measure(count, int(options.get("WINDOWS", 3)))
    finally:
        STATS.write_text(before)


if __name__ == "__main__":
    main()
