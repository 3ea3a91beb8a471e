"""--costs=FILE: what each test costs, a line of JSON each: seconds on the wall, CPU seconds of all its processes,
and seconds in which it built something. The CPU time is that of a cgroup that pytest (each worker) puts itself
into, so what else runs on the machine has no part in it; containers are outside. test/e2e/costs makes a table."""
import json
import os
import subprocess
import time
from pathlib import Path

import pytest

ROOTS = [(Path("/sys/fs/cgroup"), "cpu.stat"), (Path("/sys/fs/cgroup/unified"), "cpu.stat"),
         (Path("/sys/fs/cgroup/cpuacct"), "cpuacct.usage")]  # fmt: skip
BUILDERS = {"gcc", "cc", "g++", "clang", "musl-gcc", "go", "rustc", "javac", "jar", "make", "npm", "dwz", "objcopy",
            "strip", "openssl", "ld", "as"}  # fmt: skip


def is_building(argv):
    words = [os.path.basename(str(word)) for word in (argv if isinstance(argv, (list, tuple)) else [argv])]
    return bool(words) and (words[0] in BUILDERS or words[:2] in (["podman", "import"], ["podman", "build"]))


class Costs:
    def __init__(self, path):
        self.path = path
        self.building = 0.0
        self.group, self.stat = self.make_group()
        self.run = subprocess.run
        subprocess.run = self.run_timed

    @staticmethod
    def make_group():
        for root, stat in ROOTS:
            group = root / f"stackprobe-costs-{os.getpid()}"
            if not (root / "cgroup.procs").exists():
                continue
            group.mkdir()
            if (group / stat).exists():
                (group / "cgroup.procs").write_text(str(os.getpid()))
                return group, group / stat
            group.rmdir()
        raise pytest.UsageError("--costs: no cgroup that counts CPU time")

    def cpu(self):
        text = self.stat.read_text()
        return int(text.split()[1]) / 1e6 if self.stat.name == "cpu.stat" else int(text) / 1e9

    def run_timed(self, *args, **kwargs):
        began = time.monotonic()
        try:
            return self.run(*args, **kwargs)
        finally:
            if is_building(args[0] if args else kwargs.get("args")):
                self.building += time.monotonic() - began

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        began, cpu, building = time.monotonic(), self.cpu(), self.building
        yield
        told = {"test": item.nodeid, "wall": time.monotonic() - began, "cpu": self.cpu() - cpu,
                "building": self.building - building, "alone": bool(item.get_closest_marker("alone"))}  # fmt: skip
        with self.path.open("a") as out:
            out.write(json.dumps(told) + "\n")

    def pytest_unconfigure(self):
        (self.group.parent / "cgroup.procs").write_text(str(os.getpid()))
        try:
            self.group.rmdir()
        except OSError:
            pass  # who outlives the tests is in it
