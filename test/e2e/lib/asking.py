"""A GET in the background, and targets that are known to burn."""
import contextlib
import os
import signal
import threading
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlencode

import oracle
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
    target = start("spin", 600, *args)
    give_way(target.pid)
    wait_burned(target.pid, seconds=0.1)
    return target


def stood(start, *args, program="spin", **how):
    """One that has burned a little and stands still. What it burns from then on is sampled from its first moment, also
    where a busy host's daemon finds out about a new process late."""
    target = start(program, 600, *args, **how)
    wait_burned(target.pid, seconds=0.02)
    oracle.stop(target.pid)
    return target


def burned(profiler, target, observer, seconds=0.6, meanwhile=None):
    """Lets one that stood burn so much CPU time, does something meanwhile, and stops it. Returns its samples, its CPU
    time in ns and that by the observer, which has seen nothing of it yet."""
    wait_for(lambda: target.pid in profiler.processes(), why="it is chosen")
    samples, before_ns = profiler.folded().total(pid=target.pid), target.cpu_ns_now()
    os.kill(target.pid, signal.SIGCONT)
    if meanwhile:
        meanwhile()
    wait_burned(target.pid, seconds=seconds)
    oracle.stop(target.pid)
    samples = profiler.folded().total(pid=target.pid) - samples
    return samples, target.cpu_ns_now() - before_ns, observer.ns(target.pid)


def until_sampled(profiler, *targets, least=20):
    """Waits until each has so many samples, and kills them: nothing comes after that."""

    def fewest():
        profile = profiler.folded()
        return min(profile.total(pid=target.pid) for target in targets)

    wait_for(lambda: fewest() >= least, 60, 0.1, why=lambda: f"{least} samples of each: {fewest()}")
    for target in targets:
        target.kill()


def enough(ask, least=1):
    """The first profile of at least so many samples: in a second a busy host may have no time for what burns."""
    return wait_for(lambda: (profile := ask()).total() >= least and profile, 60, why=lambda: f"{least} samples")
