#!/usr/bin/env python3
"""What whole stacks cost: of programs without frame pointers, walked by unwind tables in the kernel.

sample	BPF time a sample: of a process that isn't a target, 21 levels that change (rounds), and the same
	stack of 21 and of 500 frames over and over (chain); a frame's price is the difference.
busy	two cores busy in rounds at 99 Hz for two windows: CPU time of the daemon and of its BPF programs.
idle	the same with 500 targets that sleep.
memory	resident and BPF maps, with two C programs, then with libLLVM in a target; rows a second.
perf	the same program beside perf record --call-graph dwarf and fp: whole stacks, bytes, CPU time.

Prints lines and judges nothing. Usage: unwind_cost.py [sample|busy|idle|memory|perf ...] [SECONDS=n]
"""
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from helpers import Target, missing_privilege, program, wait_for  # noqa: E402
from sample_cost import BPFTOOL, cost  # noqa: E402
from scale import Bench, bpf_stats, resident_kib, run_parts  # noqa: E402

HZ = 99
SLEEPING = 500
CPUS = sorted(os.sched_getaffinity(0))[:2]


def task_seconds(pid):
    """CPU time of a process by the scheduler's own count, where clock ticks would be too coarse."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def map_bytes(daemon):
    """Memory of the BPF maps: those that the daemon has open, and the chunks that hold the tables, which
    are maps inside one of these."""
    maps = {}
    for path in Path(f"/proc/{daemon.pid}/fdinfo").iterdir():
        try:
            fields = dict(re.findall(r"^(map_id|memlock):\s+(\d+)", path.read_text(), re.MULTILINE))
        except OSError:
            continue  # closed in the meantime
        if "map_id" in fields:
            maps[fields["map_id"]] = int(fields["memlock"])
    return sum(maps.values()) + metrics(daemon).get('unwind_bytes{state="allocated"}', 0)


def metrics(daemon):
    lines = daemon.get("/metrics").text.splitlines()
    return {line.rsplit(" ", 1)[0].removeprefix("stackprobe_"): float(line.rsplit(" ", 1)[1])
            for line in lines if line.startswith("stackprobe_")}


def bpf_seconds(daemon):
    return sum(ns for _, ns in bpf_stats(daemon).values()) / 1e9


class Busy:
    """Two processes of a test program, each on a core of its own."""

    def __init__(self, work, name, *args):
        self.targets = [Target([program(name), *args], work / f"{name}-{cpu}.log", cpu)
                        for cpu in CPUS]

    def __enter__(self):
        wait_for(lambda: all(t.cpu_ns_now() > 1e8 for t in self.targets), why="they burn")
        return self

    def __exit__(self, *_):
        for target in self.targets:
            target.kill()

    @property
    def pids(self):
        return [target.pid for target in self.targets]


def shape(profile):
    """(whole, mean of user frames) of a profile."""
    total = max(profile.total(), 1)
    frames = sum(s.value * sum(not f.endswith("_[k]") for f in s.frames[1:])
                 for s in profile.stacks)
    return 1 - profile.total("[truncated]") / total, frames / total


def sample_of(length, hz, name, *args):
    """ns of BPF a sample, of two busy processes; and what their stacks were like."""
    with Bench() as bench, Busy(bench.work, name, *args) as busy:
        daemon = bench.daemon
        daemon.profile("^no such process$", frequency=hz)
        other = cost(daemon, length / 3)[0]
        daemon.put_ok(daemon.wanting(pids=busy.pids, frequency=hz, thread_frame=0))
        daemon.wait_running()
        time.sleep(2)
        ns, runs = cost(daemon, length)
        whole, frames = shape(daemon.folded())
        print(f"unwind_cost: {' '.join(map(str, (name, *args[:-1])))} at {hz} Hz: {ns / 1e3:.2f} us a "
              f"sample ({runs}), not a target {other / 1e3:.2f} us; {whole:.1%} whole, {frames:.1f} "
              f"user frames")
        return ns, frames


def sample(length):
    for hz in (HZ, 999):
        sample_of(length, hz, "rounds", 3600)
        shallow, few = sample_of(length, hz, "chain", 17, 3600)
        deep, many = sample_of(length, hz, "chain", 496, 3600)
        if many > few:
            print(f"unwind_cost: at {hz} Hz {(deep - shallow) / (many - few):.0f} ns a frame between "
                  f"{few:.0f} and {many:.0f} frames")


def share_of_a_core(daemon, length):
    """(daemon, BPF) in percent of a core over that time."""
    began, cpu, bpf = time.monotonic(), task_seconds(daemon.pid), bpf_seconds(daemon)
    time.sleep(length)
    cpu, bpf = task_seconds(daemon.pid) - cpu, bpf_seconds(daemon) - bpf
    passed = time.monotonic() - began
    return 100 * cpu / passed, 100 * bpf / passed


def busy(length):
    with Bench() as bench, Busy(bench.work, "rounds", 3600) as targets:
        daemon = bench.daemon
        daemon.profile(pids=targets.pids, frequency=HZ)
        time.sleep(5)
        cpu, bpf = share_of_a_core(daemon, length)
        whole, frames = shape(daemon.folded())
        print(f"unwind_cost: two busy cores at {HZ} Hz over {length} s: daemon {cpu:.3f} % of a core, BPF "
              f"{bpf:.3f} %, together {cpu + bpf:.3f} %; {whole:.2%} whole, {frames:.1f} frames")


def idle(length):
    with Bench() as bench:
        daemon = bench.daemon
        bench.crowd("-x", SLEEPING)
        daemon.put_ok(daemon.wanting("^crowd$", frequency=HZ, multi_instance=1))
        wait_for(lambda: daemon.probe()["state"] == "running", 60, why="armed")
        time.sleep(10)
        cpu, bpf = share_of_a_core(daemon, length)
        print(f"unwind_cost: {SLEEPING} sleeping targets at {HZ} Hz over {length} s: daemon {cpu:.3f} % "
              f"of a core, BPF {bpf:.3f} %, together {cpu + bpf:.3f} %; "
              f"{resident_kib(daemon.pid) / 1024:.1f} MiB resident")


def print_memory(what, daemon):
    now = metrics(daemon)
    tables = {key: int(now[f"unwind_{key}"]) for key in ("tables", "rows") if f"unwind_{key}" in now}
    print(f"unwind_cost: with {what}: {resident_kib(daemon.pid) / 1e3 * 1.024:.1f} MB resident, BPF maps "
          f"{map_bytes(daemon) / 1e6:.1f} MB; {tables}")
    return now.get("unwind_rows", 0)


LOADER = "import ctypes, sys\nheld = ctypes.CDLL(sys.argv[1])\nwhile True: sum(range(1000))"


def find_llvm():
    places = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/llvm-*/lib", "/usr/lib64")
    found = [path for place in places for path in Path("/").glob(f"{place[1:]}/libLLVM*.so*")]
    found = [path for path in found if path.stat().st_size > 50 << 20]
    return min(found, key=lambda path: path.stat().st_size, default=None)


def memory(length):
    llvm = find_llvm()
    with Bench() as bench, Busy(bench.work, "rounds", 3600) as targets:
        daemon = bench.daemon
        daemon.profile(pids=targets.pids, frequency=HZ)
        time.sleep(length)
        daemon.folded()
        before = print_memory("two C targets", daemon)
        if not llvm:
            print("unwind_cost: no libLLVM here: not measured with it")
            return
        loader = Target(["/usr/bin/python3", "-c", LOADER, llvm], bench.work / "llvm.log")
        wait_for(lambda: loader.cpu_ns_now() > 5e8, 30, why="it burns")
        cpu, began = task_seconds(daemon.pid), time.monotonic()
        daemon.put_ok(daemon.wanting(pids=[*targets.pids, loader.pid], frequency=HZ))
        wait_for(lambda: daemon.probe()["state"] == "running"
                 and not metrics(daemon).get("unwind_pending"), 30, every=0.002)  # fmt: skip
        passed, cpu = time.monotonic() - began, task_seconds(daemon.pid) - cpu
        time.sleep(length)
        daemon.folded()
        rows = print_memory(f"libLLVM ({llvm.stat().st_size >> 20} MiB)", daemon) - before
        print(f"unwind_cost: {rows:.0f} rows more, armed after {passed * 1e3:.0f} ms, CPU {cpu * 1e3:.0f} "
              f"ms (all, with names): {rows / max(cpu, 1e-9) / 1e6:.1f} million rows a second")
        loader.kill()


class PerfRun(NamedTuple):
    whole: float  # part of the stacks
    stacks: int
    bytes: int  # a second
    recording: float  # percent of a core, with its start and its end
    reading: float


def perf_argv(how, hz, pids, data, length):
    return ["perf", "record", "-q", "-e", "cpu-clock", "-F", hz, "--call-graph", how, "-o", data,
            "-p", ",".join(map(str, pids)), "--", "sleep", length]  # fmt: skip


def perf_run(work, how, pids, length, hz=HZ, meanwhile=None):
    """Records and reads by perf. meanwhile(pid): while it records."""
    data = work / f"perf-{how}.data"
    record = Target(perf_argv(how, hz, pids, data, length), work / "perf.log")
    if meanwhile:
        meanwhile(record.pid)
    record.reap()
    text = work / "perf.txt"
    with text.open("wb") as out:
        before = os.times()
        subprocess.run(["perf", "script", "-i", data, "-F", "comm,ip,sym"], stdout=out, check=True,
                       stderr=subprocess.DEVNULL)  # fmt: skip
        after = os.times()
    reading = (after.children_user + after.children_system
               - before.children_user - before.children_system)  # fmt: skip
    stacks = [s for s in text.read_text(errors="replace").split("\n\n") if s.strip()]
    whole = sum(s.rstrip().rsplit(None, 1)[-1] == "_start" for s in stacks)
    size = data.stat().st_size
    data.unlink()
    return PerfRun(whole / max(len(stacks), 1), len(stacks), size / length,
                   100 * record.cpu_ns / 1e9 / length, 100 * reading / length)  # fmt: skip


def perf(length):
    with Bench() as bench, Busy(bench.work, "rounds", 3600) as targets:
        daemon = bench.daemon
        daemon.profile(pids=targets.pids, frequency=HZ, thread_frame=0)
        time.sleep(2)
        wrote = int(re.search(r"wchar: (\d+)", Path(f"/proc/{daemon.pid}/io").read_text())[1])
        cpu, bpf = task_seconds(daemon.pid), bpf_seconds(daemon)
        time.sleep(length)
        profile = daemon.folded()
        bpf = bpf_seconds(daemon) - bpf
        cpu = task_seconds(daemon.pid) - cpu
        daemon.put_ok({"state": "stopped"})
        wait_for(lambda: daemon.files(daemon.flame_dir, "folded"), why="the files")
        wrote = int(re.search(r"wchar: (\d+)", Path(f"/proc/{daemon.pid}/io").read_text())[1]) - wrote
        reached = sum(s.value for s in profile.stacks if s.frames[1] == "_start")
        print(f"unwind_cost: stackprobe at {HZ} Hz over {length} s: {reached / profile.total():.1%} of "
              f"{profile.total()} whole; {wrote / length / 1e3:.1f} kB/s written, named and drawn; daemon "
              f"{100 * cpu / length:.2f} %, BPF {100 * bpf / length:.2f} % of a core")
        if not shutil.which("perf"):
            print("unwind_cost: perf is not installed")
            return
        for how in ("dwarf", "fp"):
            run = perf_run(bench.work, how, targets.pids, length)
            print(f"unwind_cost: perf {how} at {HZ} Hz over {length} s: {run.whole:.1%} of {run.stacks} whole; "
                  f"{run.bytes / 1e3:.0f} kB/s written; recording {run.recording:.2f} % of a core, reading "
                  f"{run.reading:.2f} %")


def main():
    reason = missing_privilege()
    if not reason and not BPFTOOL:
        reason = "no bpftool"
    if reason:
        sys.exit(f"unwind_cost: {reason}")
    parts = {"sample": (sample, 9), "busy": (busy, 65), "idle": (idle, 60), "memory": (memory, 5),
             "perf": (perf, 15)}  # fmt: skip
    run_parts(parts)


if __name__ == "__main__":
    main()
