"""All probes at once on what hosts run: PostgreSQL under pgbench, redis, a Java VM, a Python program that talks and
writes. TOGETHER_SECONDS says for how long (`make check-together`: 5 minutes)."""
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from helpers import BIN, wait_for
from scene import Scene

SECONDS = int(os.environ.get("TOGETHER_SECONDS", "8"))
RSS_MAX = 150 << 20
TALKS = """
import os, socket, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
ends = socket.socketpair()
while True:
    os.pwrite(file, bytes(4096), 0), os.pread(file, 4096, 0)
    ends[0].send(b"x" * 100), ends[1].recv(100)
    sum(range(1000))
"""


def listed():
    told = subprocess.run([BIN, "--describe", "probes"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^\| `(\w+)` \|", told, re.MULTILINE)


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) << 10


def press_postgres(scene):
    """Has pgbench work on it until the end."""
    tool = sorted(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))[-1]
    home = scene.work / "postgres"
    who = {"cwd": home, "user": "postgres", "group": "postgres"}
    subprocess.run([tool, "-q", "-i", "-h", home, "postgres"], check=True, stderr=subprocess.DEVNULL, **who)
    scene.run([tool, "-h", home, "-c", "2", "-T", str(SECONDS + 120), "postgres"], **who)
    return tool.with_name("postgres")


@pytest.fixture
def measured():
    """The kernel counts how long BPF programs run."""
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text()
    switch.write_text("1")
    yield
    switch.write_text(before)


def bpf_seconds(profiler):
    return float(re.search(r"^stackprobe_bpf_runtime_seconds_total (\S+)$", profiler.get("/metrics").text, re.M)[1])


@pytest.mark.alone("its programs take both CPUs")
def test_all_probes_at_once(profiler, start, work, measured):
    signal.alarm(SECONDS + 120)  # the limit of conftest.py is for shorter ones
    scene = Scene(work)
    scene.work.chmod(0o755)
    try:
        pids = {name: getattr(scene, f"start_{name}")(1) for name in ("postgres", "redis_server", "java")}
        events = {"forks": "t:sched:sched_process_fork"}
        if pids["postgres"]:
            events["queries"] = f"u:{press_postgres(scene)}:PortalRun"
        pids["python"] = [start("/usr/bin/python3", "-c", TALKS, work / "talks").pid]
        wanted = [pid for some in pids.values() for pid in some]
        probes = [p for p in listed() if p != "llc"] + [f"event:{name}" for name in events]
        profiler.profile(pids=wanted, probes=probes, events=events, io_time=1, net_wait=1)
        most, began, before = 0, time.monotonic(), bpf_seconds(profiler)
        end = began + SECONDS
        while time.monotonic() < end:
            most = max(most, resident(profiler.pid))
            time.sleep(0.5)
        share = (bpf_seconds(profiler) - before) / (time.monotonic() - began)
        probes = profiler.config()["status"]["probes"]
        print({"rss MiB": most >> 20, "BPF % of a CPU": round(100 * share, 2)})
        print({name: (probe["samples"], probe["thinned"], {k: v for k, v in probe["lost"].items() if v},
                      {k: v for k, v in probe["truncated"].items() if v}) for name, probe in probes.items()})
        assert all(probe["state"] == "running" for probe in probes.values()), probes
        assert most < RSS_MAX, f"{most >> 20} MiB"
        for name in ("oncpu", "offcpu", "mem", "io", "net"):
            taken, lost = probes[name]["samples"], sum(probes[name]["lost"].values())
            assert taken > (20 if name == "mem" else 100), (name, probes[name])  # (few pages are new to them)
            assert lost <= 0.01 * (taken + lost), (name, probes[name]["lost"])
        python = pids["python"][0]
        for name in ("oncpu", "io", "net"):
            wait_for(lambda name=name: profiler.folded(name, pid=python).total(), why=f"{name} of python")
        profiler.put_ok({"state": "stopped"})
    finally:
        scene.stop()
