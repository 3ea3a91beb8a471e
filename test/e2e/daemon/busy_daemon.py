"""A daemon that shows all it can: all probes, /sched and uploads, with a Java VM, a Python and a program that waits."""
import contextlib
import shutil
import tempfile
from pathlib import Path

from accounts import COUNTING, PROBES as COSTS, watch
from helpers import Target, program, wait_for
from javas import CLASSES, javas
from pyroscope_double import Pyroscope
from sched_client import PROBES as SCHED_PROBES
from sched_client import Sched
from uploads import BUSY, PROBES, Uploader, wait_windows


def commands(work):
    """What runs. Where there is no Java, or no class for it, there is none."""
    yield [program("spin"), 600]
    yield ["/usr/bin/python3", "-c", BUSY]
    if javas() and (CLASSES / "truth/Turns.class").exists():
        yield javas()[-1].argv("Turns", work / "never")


@contextlib.contextmanager
def busy_daemon():
    """The daemon, two windows after all of its probes began."""
    work = Path(tempfile.mkdtemp(prefix="stackprobe-e2e-", dir="/tmp"))
    targets = [Target(argv, work / f"target-{at}.log") for at, argv in enumerate(commands(work))]
    daemon = Uploader(work)
    try:
        with Pyroscope() as server:
            daemon.start()
            pids = [target.pid for target in targets]
            daemon.send(server, pids=pids, probes=(*PROBES, "event:forks"), mem_fault_bytes=4096, thread_frame=1,
                        events={"forks": "t:sched:sched_process_fork"})
            Sched(daemon).run(*SCHED_PROBES, snoopers={"proc_id": pids})
            watch(daemon, probes=COSTS + COUNTING)
            wait_windows(server, 2, PROBES)
            wait_for(lambda: set(pids) <= set(daemon.processes()), why="all are sampled")
            yield daemon
    finally:
        for target in targets:
            target.kill()
        if daemon.popen:
            daemon.done()
        shutil.rmtree(work)
