"""What the kernel itself counts of a process: /proc/PID/task/*/schedstat and status."""
import os
import re
import signal
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from helpers import wait_for


class Counts(NamedTuple):
    """Of a thread, or of all threads of a process that live."""

    run_ns: int = 0  # on a CPU
    delay_ns: int = 0  # runnable, without one
    slices: int = 0  # how often it came to a CPU
    voluntary: int = 0  # switches: it blocked, stopped or ended
    involuntary: int = 0  # … it would have gone on

    def __add__(self, other):
        return Counts(*(a + b for a, b in zip(self, other)))

    def __sub__(self, other):
        return Counts(*(a - b for a, b in zip(self, other)))


def thread(folder):
    status = (folder / "status").read_text()
    switches = re.findall(r"ctxt_switches:\s*(\d+)", status)
    return Counts(*map(int, (folder / "schedstat").read_text().split()), *map(int, switches))


def threads(pid):
    """{tid: Counts}. Of threads that are off their CPU all figures are exact."""
    return {int(path.name): thread(path) for path in Path(f"/proc/{pid}/task").iterdir()}


def process(pid):
    return sum(threads(pid).values(), Counts())


def stop(*pids):
    """SIGSTOP, until all their threads have stopped (or the process has ended): clocks and samples are of one moment
    then."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: all(states(pid) <= {"T", "Z"} for pid in pids), why=lambda: [states(pid) for pid in pids])


def states(pid):
    """The states of its threads, as letters: {"S", "D"}; nothing when it has ended."""
    found, paths = set(), []
    with suppress(FileNotFoundError):
        paths += Path(f"/proc/{pid}/task").glob("*/stat")
    for path in paths:
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that ends just now
            found.add(path.read_text().rpartition(")")[2].split()[0])
    return found


def stolen_ns():
    """CPU time that the host of this virtual machine gave to others, of all CPUs, since the start (proc(5)). The
    kernel leaves it out of run times; who reads a clock does not."""
    return int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
