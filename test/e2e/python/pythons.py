"""Which Pythons there are, and the programs of test/programs/python/ run by one of them.

PYTHONS names them, colon-separated: python programs, and roots (folders to chroot into, in which
usr/bin/python3.N lies: PYTHON_ROOTS). Without it: python3.8 … python3.15 in PATH and pyenv's.
"""
import json
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import NamedTuple

from helpers import ROOT, Target, wait_for

SOURCES = ROOT / "test/programs/python"
MINORS = range(8, 16)
ASKED = """import json, sys, sysconfig
print(json.dumps([sys.executable, sys.version_info[:3], sysconfig.get_paths()["include"]]))"""


def into(root):
    """A command's begin that runs the rest in that root, which has a /proc then. exec() all the way: the
    pid is the program's."""
    if root == Path("/"):
        return []
    if (root / "proc/self").exists():
        return ["chroot", root]
    script = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    return ["unshare", "-m", "sh", "-c", script, root]


class Python(NamedTuple):
    path: str  # in its root
    root: Path
    version: tuple
    include: str  # in its root

    @property
    def name(self):
        where = "-root" if self.root != Path("/") else ""
        return ".".join(map(str, self.version)) + where

    def argv(self, *args, folder="/"):
        """In that folder of its root."""
        return [*into(self.root), "env", "-C", folder, self.path, "-B", *args]


def python_at(path, root=Path("/")):
    try:
        text = subprocess.run([*into(root), path, "-c", ASKED], capture_output=True, check=True, timeout=20)
        executable, version, include = json.loads(text.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return Python(executable, root, tuple(version), include) if tuple(version) >= (3, 8) else None


def pythons():
    """All that are there, each once, the oldest first."""
    named = [path for path in os.environ.get("PYTHONS", "").split(":") if path]
    if not named:
        named = filter(None, (shutil.which(f"python3.{minor}") for minor in MINORS))
        named = [*named, *map(str, Path.home().glob(".pyenv/versions/*/bin/python3"))]
    found = [python_at(path) for path in named]
    for root in filter(None, os.environ.get("PYTHON_ROOTS", "").split(":")):
        inside = [path for minor in MINORS for path in Path(root).glob(f"usr/bin/python3.{minor}")]
        found += [python_at("/" + str(path.relative_to(root)), Path(root)) for path in inside]
    each = {os.path.realpath(p.path) if p.root == Path("/") else p.version: p for p in found if p}
    return sorted(each.values(), key=lambda p: (p.version, p.path))


def missing_versions():
    return sorted(set(MINORS) - {python.version[1] for python in pythons()})


class Place:
    """A copy of the programs where that Python sees it, and where they write."""

    def __init__(self, python, work):
        self.python, self.work = python, work
        self.folder = Path("/tmp") / f"{work.name}-{python.name}"  # as the programs see it
        self.real = python.root / self.folder.relative_to("/")
        shutil.copytree(SOURCES, self.real, ignore=shutil.ignore_patterns("__pycache__"))

    def remove(self):
        shutil.rmtree(self.real)

    def build_extension(self):
        """callback.c against this Python's headers; False where there are none."""
        include = self.python.root / Path(self.python.include).relative_to("/")
        if not (include / "Python.h").exists():
            return False
        # Debian's pyconfig.h includes the architecture's, below its own /usr/include.
        folders = ["-I", include, "-idirafter", self.python.root / "usr/include"]
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-g", *folders, "-o", self.real / "callback.so",
                        SOURCES / "callback.c"], check=True)  # fmt: skip
        return True


class Running:
    """A program of test/programs/python/ that has written down its stacks, with its children."""

    def __init__(self, place, name, argv, processes=1):
        self.name, self.place, self.processes = name, place, processes
        self.path = place.real / name
        script, *args = argv
        script = [script] if script.endswith(".py") else ["-m", script]
        argv = place.python.argv(*script, place.folder / name, *args, folder=place.folder)
        self.target = Target(argv, place.work / f"{place.python.name}-{name}.log")

    def ready(self):
        """{pid: what it wrote down}"""

        def written():
            assert self.target.popen.poll() is None, self.target.log.read_text()
            found = list(self.path.parent.glob(f"{self.path.name}.*.json"))
            return len(found) == self.processes and found

        found = wait_for(written, 100, why=f"{self.place.python.name} {self.name} tells its stacks")
        return {int(path.suffixes[-2][1:]): json.loads(path.read_text()) for path in found}

    def clocks(self, truth):
        """{name: seconds} that the program has counted itself."""
        names = truth.get("clocks", [])
        return dict(zip(names, self.page("clocks", len(names)) if names else ()))

    def turns(self):
        """How often the threads' turns were done."""
        return sum(self.page("turns", 64))

    def page(self, name, count):
        path = self.path.with_name(f"{self.path.name}.{self.target.pid}.{name}")
        return struct.unpack_from(f"{count}d", path.read_bytes())

    def kill(self):
        self.target.kill()
