"""Which Java VMs there are, and the programs of test/programs/java/ run by one of them.

JAVAS names them: `java` programs, colon-separated. Without it: `java` in PATH and those below
/usr/lib/jvm, one of each version.
"""
import functools
import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from helpers import PROGRAMS, ROOT, Target, wait_for

CLASSES = PROGRAMS / "java"
SOURCES = ROOT / "test/programs/java"
LIBRARY = CLASSES / "libnative.so"
RELEASES = (8, 11, 17, 21, 25)  # with long support: those that have to be right
# JDK 8 has no compiler directives (truth/Levels.java).
NOT_INLINED = ("OnlyC1", "Compiled*", "Calls*", "Called", "Stubs*", "Fresh*", "Hidden")
FLAGS_OF_8 = ["-XX:CompileCommand=quiet", "-XX:CompileCommand=exclude,truth/Interpreted.*",
              *(f"-XX:CompileCommand=dontinline,truth/{name}.*" for name in NOT_INLINED)]  # fmt: skip

WAITS = "-Dtruth.waits=yes"  # truth.Leaves: begins with Leaves.go()

# name: flags
MODES = {
    "plain": [],
    "points": ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"],
    "pointers": ["-XX:+PreserveFramePointer"],
}


class Java(NamedTuple):
    path: str
    release: int
    version: str

    @property
    def name(self):
        return self.version

    def argv(self, program, *args, flags=()):
        levels = FLAGS_OF_8 if self.release == 8 else []
        return [self.path, *levels, *flags, "-cp", CLASSES, f"truth.{program}", *args]


def java_at(path):
    try:
        done = subprocess.run([path, "-version"], capture_output=True, check=True, timeout=20, text=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', done.stderr)
    return Java(os.path.realpath(path), int(found[2]), found[1]) if found else None


@functools.cache
def javas():
    """All that are there, each version once, the oldest first."""
    named = [path for path in os.environ.get("JAVAS", "").split(":") if path]
    if not named:
        named = [*filter(None, [shutil.which("java")]), *map(str, Path("/usr/lib/jvm").glob("*/bin/java"))]
    each = {}
    for java in map(java_at, dict.fromkeys(map(os.path.realpath, named))):
        if java:
            each.setdefault(java.version, java)
    return sorted(each.values(), key=lambda java: (java.release, java.version))


def library_of(java):
    return next(Path(java.path).parent.parent.rglob("server/libjvm.so"))


def need_names(java):
    """Of the VM's own functions: its file may have been stripped of them."""
    told = subprocess.run(["readelf", "-SW", library_of(java)], capture_output=True, check=True, text=True).stdout
    if ".symtab" not in told and ".gnu_debugdata" not in told:
        pytest.skip(f"Java {java.name} has no names of its own functions")


def missing_releases():
    return sorted(set(RELEASES) - {java.release for java in javas()})


def need_classes():
    if not (CLASSES / "truth/Leaves.class").exists():
        pytest.skip("the programs of test/programs/java were not built: no javac")


def all_leaves():
    """Names of the classes, as Leaves.java lists them."""
    text = (SOURCES / "truth/Leaves.java").read_text()
    listed = text[text.index("ALL = {") : text.index("};")]
    return ["truth." + name for name in re.findall(r'"([\w$]+)"', listed)]


class Leaves:
    """truth.Leaves, which burns in known stacks for ever. `only`: leaves, in one thread."""

    def __init__(self, java, work, mode="plain", only=(), flags=()):
        need_classes()
        self.java, self.path = java, work / f"leaves-{java.name}-{mode}"
        library = str(LIBRARY) if LIBRARY.exists() else "-"
        only = [name.removeprefix("truth.") for name in only]
        argv = java.argv("Leaves", self.path, library, *only, flags=[*MODES[mode], *flags])
        self.target = Target(argv, self.path.with_suffix(self.path.suffix + ".log"))
        self.pid = self.target.pid

    def go(self):
        Path(f"{self.path}.go").touch()

    def written(self):
        assert self.target.popen.poll() is None, self.target.log.read_text()
        path = Path(f"{self.path}.json")
        return path.exists() and json.loads(path.read_text())

    def ready(self):
        """What it knows of its stacks, once it has told."""
        return wait_for(self.written, 100, every=0.1, why=f"Java {self.java.name} tells its stacks")

    def clocks(self, told, done=False):
        """{leaf: ns of CPU time, in all threads that have a clock}; or how much was done."""
        found = {}
        data = Path(f"{self.path}.clocks").read_bytes()
        first = len(data) // 2 if done else 0
        for worker, leaves in enumerate(told["clocks"]):
            spent = struct.unpack_from(f"{told['width']}q", data, first + 8 * worker * told["width"])
            for name, ns in zip(leaves, spent):
                found[name] = found.get(name, 0) + ns
        return found

    def kill(self):
        self.target.kill()
