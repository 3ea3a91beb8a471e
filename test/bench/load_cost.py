#!/usr/bin/env python3
"""What it costs to begin: the first PUT of a new daemon, with one probe and with all; of a native target,
and of a native one and a Python.

For each set of probes: the time from the PUT to its answer, the daemon's CPU time for it, and the BPF programs
that are loaded then: how many, their memory, and the instructions that the verifier walked. (These don't depend
on the machine's speed.) Prints a line for each set and judges nothing; the first probe's line is the reference of
the others.
Usage: load_cost.py [ROUNDS]
"""
import ctypes
import os
import shutil
import statistics
import struct
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from bpf_objects import bpftool, held  # noqa: E402
from helpers import Daemon, Target, missing_privilege, program  # noqa: E402

SETS = (("oncpu",), ("offcpu",), ("mem",), ("mem_glibc",), ("oncpu", "offcpu", "mem", "mem_glibc"))

BPF = {"x86_64": 321, "aarch64": 280}[os.uname().machine]
GET_FD_BY_ID, INFO_BY_FD = 13, 15  # enum bpf_cmd, include/uapi/linux/bpf.h
INFO_BYTES, VERIFIED_AT = 232, 216  # struct bpf_prog_info: its size and verified_insns, since Linux 5.16


def bpf(command, attributes):
    libc = ctypes.CDLL(None, use_errno=True)
    r = libc.syscall(BPF, command, attributes, len(attributes))
    if r < 0:
        raise OSError(ctypes.get_errno(), "bpf()")
    return r


def verified(number):
    """Instructions that the verifier walked for the program with this id."""
    attributes = ctypes.create_string_buffer(struct.pack("<III", number, 0, 0), 12)
    fd = bpf(GET_FD_BY_ID, attributes)
    try:
        info = ctypes.create_string_buffer(INFO_BYTES)
        asked = struct.pack("<IIQ", fd, INFO_BYTES, ctypes.addressof(info))
        bpf(INFO_BY_FD, ctypes.create_string_buffer(asked, len(asked)))
        return struct.unpack_from("<I", info, VERIFIED_AT)[0]
    finally:
        os.close(fd)


def cpu_ms(pid):
    """CPU time of all threads of a process."""
    spent = (Path(task, "schedstat").read_text() for task in Path(f"/proc/{pid}/task").iterdir())
    return sum(int(text.split()[0]) for text in spent) / 1e6


def begin(work, pids, probes):
    """A new daemon's first PUT: ms to its answer, CPU ms, and the programs then."""
    work.mkdir()
    daemon = Daemon(work).start()
    try:
        body = daemon.wanting(pids=pids, probes=probes)
        before, began = cpu_ms(daemon.pid), time.perf_counter()
        daemon.put_ok(body)
        answered, spent = time.perf_counter() - began, cpu_ms(daemon.pid) - before
        programs = held(daemon.pid, "prog")
        memory = sum(p["bytes_memlock"] for p in bpftool("prog", "list") if p["id"] in programs)
        return answered * 1e3, spent, len(programs), sum(map(verified, programs)), memory / 1024
    finally:
        daemon.done()


def measure(folder, what, pids, probes, rounds):
    folder.mkdir(parents=True)
    runs = [begin(folder / str(number), pids, probes) for number in range(rounds)]
    answered, spent, count, instructions, kib = map(statistics.median, zip(*runs))
    print(
        f"load_cost: {what}: {' + '.join(probes)}: first PUT answered in {answered:.0f} ms, CPU {spent:.0f} ms; "
        f"{count:.0f} programs, {instructions / 1000:.0f} k verified instructions, {kib:.0f} KiB",
        flush=True,
    )


def main():
    reason = missing_privilege()
    if reason:
        sys.exit(f"load_cost: {reason}")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    work = Path(tempfile.mkdtemp(prefix="stackprobe-bench-", dir="/tmp"))
    native = Target([program("spin"), 3600], work / "native.log")
    python = Target([Path(sys.executable), "-c", "import time\ntime.sleep(3600)"], work / "python.log")
    try:
        for what, pids in (("native", [native.pid]), ("with a Python", [native.pid, python.pid])):
            for number, probes in enumerate(SETS):
                measure(work / what / str(number), what, pids, probes, rounds)
    finally:
        native.kill()
        python.kill()
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
