"""Python processes: what they run, fixtures for it, and what is told of them."""
import os
import re
import subprocess
from pathlib import Path

import pytest

from helpers import wait_for

PROGRAM = """
import os, sys, time
def inner():
    return sum(i * i for i in range(20000))
def outer():
    inner()
def run(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        outer()
"""
FOR_LONG = PROGRAM + "run(60)\n"


@pytest.fixture(autouse=True)
def of_this_root(request):
    """Programs and libraries are moved about here: not in the roots of other systems."""
    if "python" in request.fixturenames and request.getfixturevalue("python").root != Path("/"):
        pytest.skip("it lies in another root")


@pytest.fixture
def script(work):
    def write(text, name="prog.py"):
        (work / name).write_text(text)
        return work / name

    return write


def linked(python):
    """The libpython that this Python's program has mapped, or the program itself."""
    asked = "print(open('/proc/self/maps').read())"
    maps = subprocess.run([python.path, "-c", asked], capture_output=True, text=True, check=True)
    found = re.search(r" (/\S*libpython3\.\d+\S*\.so\S*)", maps.stdout)
    return Path(found[1]) if found else Path(os.path.realpath(python.path))


def is_shared(python):
    return ".so" in linked(python).name


def version_text(python):
    return "python " + ".".join(map(str, python.version))


def wait_runtime(profiler, pid, wanted, seconds=30):
    wait_for(lambda: profiler.processes().get(pid, {}).get("runtime") == wanted, seconds,
             why=f"{wanted} in {profiler.processes()}")  # fmt: skip


def python_share(profile, pid=None):
    """How many of the samples have Python frames, all of them named."""
    total = named = 0
    for stack in profile.of(pid):
        total += stack.value
        texts = [f for f in stack.frames if f.endswith("_[p]") or f == "[python]"]
        named += stack.value if texts and "[python]" not in texts else 0
    return named / max(total, 1), total
