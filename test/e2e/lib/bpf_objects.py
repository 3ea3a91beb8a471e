"""Which BPF objects a process holds, which the kernel has, and what they are attached to."""
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest


def bpftool(*args):
    path = shutil.which("bpftool") or shutil.which("bpftool", path="/usr/sbin:/sbin")
    if not path:
        pytest.skip("bpftool is not installed")
    for _ in range(100):
        done = subprocess.run([path, "-j", *args], capture_output=True, text=True, check=False)
        if not done.returncode or "Resource temporarily unavailable" not in done.stdout + done.stderr:
            break
        time.sleep(0.05)  # another daemon's object is being made: it has its number, and can't be had yet
    done.check_returncode()
    return json.loads(done.stdout or "[]")


def held(pid, kind):
    """Ids of the BPF objects of a kind (link, prog, map) that a process has descriptors of, or
    links to."""
    ids = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            info = Path(f"/proc/{pid}/fdinfo/{fd}").read_text()
        except FileNotFoundError:
            continue  # closed just now
        ids.update(int(number) for number in re.findall(rf"^{kind}_id:\s*(\d+)", info, re.M))
    return ids


def living(kind):
    """Ids of all BPF objects of a kind in the kernel."""
    return {each["id"] for each in bpftool(kind, "list")}


def maps_of(programs):
    """Ids of the maps that these programs use."""
    used = [each.get("map_ids", []) for each in bpftool("prog", "list") if each["id"] in programs]
    return {number for ids in used for number in ids}


def attached(pid, tracepoint):
    """Programs that a process has attached to a tracepoint, one id for each time."""
    hooks = (each for each in bpftool("perf", "show") if each["pid"] == pid)
    names = ((each["prog_id"], each.get("tracepoint", "")) for each in hooks)
    return [number for number, name in names if name.rpartition(":")[2] == tracepoint]
