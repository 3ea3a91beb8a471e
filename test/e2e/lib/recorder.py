"""stackprobe record, for its tests."""
import os
import subprocess
import time
from pathlib import Path

import pytest

from helpers import BIN, SANITIZER_REPORT, wait_for

SPUN = ("main", "outer", "middle", "inner_spin")


def run(*args, timeout=60, **kwargs):
    """stackprobe record, until it ends by itself."""
    argv = [str(arg) for arg in (BIN, "record", *args)]
    ended = subprocess.run(
        argv, capture_output=True, text=True, timeout=timeout, check=False, **kwargs
    )
    assert not SANITIZER_REPORT.search(ended.stderr), ended.stderr
    return ended


def begin(*args, **kwargs):
    argv = [str(arg) for arg in (BIN, "record", *args)]
    return subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs
    )


def has_begun(recorder, path):
    """Whether a command has written its pid there, as `sh -c 'echo $$ > path; …'` does."""
    assert recorder.poll() is None, recorder.communicate()
    return path.exists() and path.read_text().strip()


def wait_armed(recorder):
    """Until it samples: the clocks of the CPUs are its last descriptors."""

    def samples():
        assert recorder.poll() is None, recorder.communicate()
        try:
            links = [os.readlink(fd) for fd in Path(f"/proc/{recorder.pid}/fd").iterdir()]
        except FileNotFoundError:  # one was closed meanwhile
            return False
        return "anon_inode:[perf_event]" in links

    wait_for(samples, seconds=30)
    time.sleep(0.3)


def leftovers(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.fixture
def out(work, needs_bpf):
    return work / "out.folded"
