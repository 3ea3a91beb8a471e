"""The feature /proc: its PUT and its rows; and what the kernel itself says of a process at rest."""
import json
import time
from pathlib import Path
from urllib.parse import urlencode

from helpers import wait_for

PROBES = ("proc_cpu", "proc_sched", "proc_fault", "proc_io")  # the kernel has their numbers
COUNTING = ("proc_wakeup", "proc_softirq", "proc_pagecache")  # programs of ours count


def put(profiler, doc, status=200):
    answer = profiler.request("PUT", "/proc", b"json=" + json.dumps(doc).encode())
    assert answer.status == status, answer.text
    return answer


def watch(profiler, *comms, pids=(), probes=PROBES, state="running", **params):
    """PUTs /proc and waits until what was before is known."""
    put(profiler, {
        "cmd": {"probe": list(probes)},
        "snoopers": {"proc_id": list(pids), "proc_name": [{"comm": comm} for comm in comms]},
        "params": params,
        "state": state,
    })  # fmt: skip
    if state == "running":
        wait_for(lambda: {states(profiler)[name] for name in probes} == {"running"}, why=lambda: states(profiler))


def states(profiler):
    answer = profiler.get("/proc")
    assert answer.status == 200, answer.text
    return {name: probe["state"] for name, probe in answer.json()["status"]["probes"].items()}


def costs(profiler, probe, timeout=30, **query):
    answer = profiler.get(f"/proc/{probe}.json?" + urlencode(query), timeout=timeout)
    assert answer.status == 200, answer.text
    return answer.json()


def row_of(profiler, probe, pid, **query):
    rows = [row for row in costs(profiler, probe, **query)["rows"] if row.get("pid") == pid]
    assert len(rows) <= 1
    return rows[0] if rows else None


def cpu_clock(pid):
    """The CPU clock of a process, as clock_getcpuclockid() finds it, ns."""
    return time.clock_gettime_ns(~pid << 3 | 2)


def stat_faults(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return {"minor": int(fields[7]), "major": int(fields[9])}


def io_counts(pid):
    names = {"syscr": "read_calls", "syscw": "write_calls", "rchar": "read_chars", "wchar": "write_chars",
             "read_bytes": "read_bytes", "write_bytes": "write_bytes",
             "cancelled_write_bytes": "cancelled_bytes"}  # fmt: skip
    lines = [line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines()]
    return {names[key]: int(value) for key, value in lines}


def thread_counts(pid):
    """Of threads that live: switches, and schedstat's delay and slices."""
    sums = {"voluntary": 0, "involuntary": 0, "delay_ns": 0, "slices": 0}
    for task in Path(f"/proc/{pid}/task").iterdir():
        status = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
        _, delay, slices = (task / "schedstat").read_text().split()
        for name, more in zip(sums, (status["voluntary_ctxt_switches"], status["nonvoluntary_ctxt_switches"], delay, slices)):
            sums[name] += int(more)
    return sums
