"""A GET in the background, and a target that is known to burn."""
import contextlib
import os
import threading
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlencode

from helpers import give_way, wait_burned, wait_for


class Asked(threading.Thread):
    """A GET in the background."""

    def __init__(self, daemon, ending="folded", **query):
        super().__init__()
        self.daemon_ = daemon
        self.path = f"/flamegraph/oncpu.{ending}?{urlencode(query)}"
        self.answer = None
        self.start()

    def run(self):
        try:
            self.answer = self.daemon_.get(self.path, timeout=60)
        except (OSError, HTTPException):
            pass  # the daemon has ended; there is no answer

    def result(self):
        self.join()
        return self.answer


def sessions(daemon):
    """How many run on demand."""
    lines = daemon.get("/metrics").text.split("\n")
    (line,) = [line for line in lines if line.startswith("stackprobe_ondemand_sessions ")]
    return int(float(line.split()[1]))


def wait_sampling(daemon):
    """Until the clocks of the CPUs tick for it."""

    def samples():
        found = []
        for fd in Path(f"/proc/{daemon.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # it was closed meanwhile
                found.append(os.readlink(fd))
        return "anon_inode:[perf_event]" in found

    wait_for(samples, 30, why="it samples")


def burning(start, *args):
    target = start("spin", 60, *args)
    give_way(target.pid)
    wait_burned(target.pid, seconds=0.1)
    return target
