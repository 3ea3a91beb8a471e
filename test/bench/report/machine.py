# SPDX-License-Identifier: GPL-2.0-or-later
"""On what the report was made."""
import os
import platform
import re
import subprocess
import time
from pathlib import Path


def line_of(path, pattern):
    try:
        found = re.search(pattern, Path(path).read_text(), re.M)
    except OSError:
        return None
    return found[1].strip() if found else None


def cpu_model():
    return line_of("/proc/cpuinfo", r"^(?:model name|Model)\s*:\s*(.*)$") or platform.machine()


def memory_gib():
    return int(line_of("/proc/meminfo", r"^MemTotal:\s*(\d+) kB")) / (1 << 20)


def system():
    return line_of("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)"?$') or "unknown"


def guest():
    """Whether a hypervisor says that it is there."""
    return bool(line_of("/proc/cpuinfo", r"^flags\s*:.*\b(hypervisor)\b"))


def revision(root):
    """The commit of the tree, if it is a checkout."""
    argv = ["git", "-C", root, "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def version(binary):
    done = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False)
    return (done.stdout or done.stderr).strip().split("\n")[0]


def told(root, binary):
    return {
        "cpu": cpu_model(), "cpus": len(os.sched_getaffinity(0)), "guest": guest(), "kernel": platform.release(),
        "arch": platform.machine(), "memory_gib": round(memory_gib(), 1), "system": system(),
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "version": version(binary),
        "revision": revision(root),
    }  # fmt: skip
