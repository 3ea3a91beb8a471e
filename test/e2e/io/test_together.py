"""All probes at once on what hosts run: PostgreSQL, redis, a Java VM, a Python program that talks and writes."""
import re
import subprocess
import time
from pathlib import Path

import pytest

from helpers import BIN, wait_for
from scene import Scene

SECONDS = 8
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


@pytest.mark.alone("its programs take both CPUs")
def test_all_probes_at_once(profiler, start, work):
    scene = Scene(work)
    scene.work.chmod(0o755)
    try:
        pids = {name: getattr(scene, f"start_{name}")(1) for name in ("postgres", "redis_server", "java")}
        pids["python"] = [start("/usr/bin/python3", "-c", TALKS, work / "talks").pid]
        wanted = [pid for some in pids.values() for pid in some]
        profiler.profile(pids=wanted, probes=[p for p in listed() if p != "llc"], io_time=1, net_wait=1)
        most, end = 0, time.monotonic() + SECONDS
        while time.monotonic() < end:
            most = max(most, resident(profiler.pid))
            time.sleep(0.5)
        probes = profiler.config()["status"]["probes"]
        assert most < RSS_MAX, f"{most >> 20} MiB"
        for name in ("oncpu", "offcpu", "mem", "io", "net"):
            taken, lost = probes[name]["samples"], sum(probes[name]["lost"].values())
            assert probes[name]["state"] == "running" and taken > 100, (name, probes[name])
            assert lost <= 0.01 * (taken + lost), (name, probes[name]["lost"])
        python = pids["python"][0]
        for name in ("oncpu", "io", "net"):
            wait_for(lambda name=name: profiler.folded(name, pid=python).total(), why=f"{name} of python")
        profiler.put_ok({"state": "stopped"})
    finally:
        scene.stop()
