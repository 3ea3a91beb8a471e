"""What the programs here share. The line of a call that has `# AT name` behind it is known by that
name to the tests (test/e2e/snakes.py)."""
import ctypes
import json
import os
import signal
import sys
import threading
import time

LIBC = ctypes.CDLL(None)


def stand_by(told=None):
    """Stops this process, that a probe may come first, or so that it is looked at in peace."""
    if told is not None:
        print(json.dumps(told), flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)


def name_thread(name):
    """As the kernel calls it."""
    LIBC.prctl(15, name.encode(), 0, 0, 0)


def resident():
    """Bytes."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * 4096


def thread_ns():
    return time.clock_gettime_ns(time.CLOCK_THREAD_CPUTIME_ID)


def named(function, *args):
    """A thread that has its function's name."""

    def run():
        name_thread(function.__name__)
        function(*args)

    return threading.Thread(target=run, daemon=True)


def programs():
    """Where the test programs of C are."""
    return sys.argv[1]
