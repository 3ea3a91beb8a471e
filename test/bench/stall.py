#!/usr/bin/env python3
"""How long an answer may take while the daemon has much to do on a host that is busy.

24 busy loops, each in a session of its own: with autogroups (kernel.sched_autogroup_enabled) the daemon gets no more
of the CPUs than one of them. GET /healthz is asked every 10 ms, as a liveness probe does, on a new connection, by a
process that runs before others; an answer's time counts from when its request was due. Beside it, asked in the same
way at the same time, stands a program that does nothing but answer: what both have in common is waiting for a CPU.

Meanwhile: the first PUT of all four probes; a window of 100,000 stacks and its first picture, which names them (here
without the busy loops); more of these pictures; as many process starts as the CPUs give, which a snooper matches. For
each: p50, p99.9 and the worst answer of both, and by cause what the daemon says of its own loop (status.loop): the
longest stall if it became longer meanwhile, and how many were over 100 ms. Judges nothing.
Usage: stall.py [SECONDS of each load]
"""
import contextlib
import multiprocessing
import os
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import rooms  # noqa: E402, F401
from allocating import wait_armed, wait_probed  # noqa: E402
from helpers import Daemon, Target, by_name_alone, missing_privilege, program, wait_for  # noqa: E402
from waiting import answer, let_go, stands_by  # noqa: E402

BUSY = 24
EVERY = 0.01
STACKS = 100_000
PROBES = ("oncpu", "offcpu", "mem", "mem_glibc")
REQUEST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def ask(port, pipe):
    """Asks until it is told to end, then sends how long each answer took. One request at a time: those that were
    due meanwhile follow at once, and their wait counts."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    took, due = [], time.monotonic()
    while not pipe.poll():
        with socket.create_connection(("127.0.0.1", port), timeout=60) as one:
            one.sendall(REQUEST)
            status = one.recv(4096)
            while one.recv(4096):
                pass
        assert b" 200 " in status, status
        took.append(time.monotonic() - due)
        due += EVERY
        time.sleep(max(0, due - time.monotonic()))
    pipe.send(took)


def answer_all(listening):
    os.setsid()
    while True:
        one, _ = listening.accept()
        with one:
            one.recv(4096)
            one.sendall(ANSWER)


class Asker:
    def __init__(self, port):
        self.pipe, there = multiprocessing.Pipe()
        self.process = multiprocessing.Process(target=ask, args=(port, there), daemon=True)
        self.process.start()

    def end(self):
        self.pipe.send(None)
        took = sorted(self.pipe.recv())
        self.process.join()
        return took


def shown(took):
    """p50, p99.9 and the worst of sorted seconds."""
    p50, most = took[len(took) // 2], took[min(len(took) - 1, int(len(took) * 0.999))]
    return f"p50 {p50 * 1e3:.1f} p99.9 {most * 1e3:.0f} worst {took[-1] * 1e3:.0f} ms"


def loop_of(daemon):
    """What GET says of the loop; there is no status before the first PUT."""
    none = {"longest_us": {}, "stalls": {}, "longest_turn_us": 0}
    return daemon.config().get("status", {"loop": none})["loop"]


def new_stalls(before, after):
    """What the loop says of the time between, the longest first."""
    longest = {cause: us for cause, us in after["longest_us"].items() if us > before["longest_us"].get(cause, 0)}
    parts = []
    for cause, us in sorted(longest.items(), key=lambda item: -item[1])[:4]:
        over = after["stalls"][cause] - before["stalls"].get(cause, 0)
        parts.append(f"{cause} {us / 1e3:.1f} ms" + (f" ({over} over 100 ms)" if over else ""))
    if after["longest_turn_us"] > before["longest_turn_us"]:
        parts.append(f"a turn {after['longest_turn_us'] / 1e3:.1f} ms")
    return ", ".join(parts) or "none longer than before"


class Bench:
    def __init__(self, work):
        self.work = work
        self.started = 0
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.idle = multiprocessing.Process(target=answer_all, args=(self.listening,), daemon=True)
        self.idle.start()

    def start(self, *argv):
        """A program in a session of its own."""
        self.started += 1
        return Target(argv, self.work / f"target-{self.started}.log", start_new_session=True)

    @contextlib.contextmanager
    def running(self, count, *argv):
        several = [self.start(*argv) for _ in range(count)]
        try:
            yield several
        finally:
            for one in several:
                one.kill()

    def busy(self):
        return self.running(BUSY, program("spin"), 3600)

    @contextlib.contextmanager
    def daemon(self, conf=""):
        """A new daemon, in a session of its own, without the capability to run before others."""
        folder = Path(tempfile.mkdtemp(dir=self.work))
        daemon = Daemon(folder)
        daemon.before = ["setsid", "setpriv", "--bounding-set", "-sys_nice"]
        with daemon.conf.open("a") as file:
            file.write(conf)
        daemon.start()
        try:
            yield daemon
        finally:
            daemon.done()

    def measure(self, title, daemon, load):
        """Prints the line of a load."""
        before = loop_of(daemon)
        askers = [Asker(daemon.port), Asker(self.listening.getsockname()[1])]
        time.sleep(0.2)
        did = load()
        time.sleep(0.2)
        answered, idle = (asker.end() for asker in askers)
        after = loop_of(daemon)
        print(
            f"stall: {title}: {did}; /healthz {len(answered)} times, {shown(answered)}; a program that only answers "
            f"{shown(idle)}; the loop: {new_stalls(before, after)}",
            flush=True,
        )


def first_put(bench):
    with bench.busy() as busy, bench.daemon() as daemon:

        def put():
            began = time.monotonic()
            got = daemon.put(daemon.wanting(pids=[busy[0].pid], probes=PROBES), timeout=120)
            assert got.status == 200, got.text
            return f"answered in {(time.monotonic() - began) * 1e3:.0f} ms"

        bench.measure(f"first PUT of {len(PROBES)} probes", daemon, put)


def picture(daemon):
    """Fetches one; returns how long it took."""
    began = time.monotonic()
    got = daemon.get("/flamegraph/mem_glibc.svg", timeout=120)
    assert got.status == 200, got.text
    return time.monotonic() - began


def choose(daemon, target):
    """Until each allocation of the target is a sample."""
    wait_for(lambda: stands_by(target), why="it stands by")
    daemon.put_ok(daemon.wanting(pids=[target.pid], probes=("mem_glibc",), mem_sample_bytes=0, max_overhead=0,
                                 thread_frame=0))  # fmt: skip
    wait_armed(daemon, ("mem_glibc",))
    wait_probed(daemon, target)


def pictures(bench, seconds):
    conf = "bpf = { stacks = 131072; stack_ring_bytes = 8388608; };\n"
    with bench.daemon(conf) as daemon, bench.running(1, program("branches"), STACKS, 0) as (target,):
        choose(daemon, target)

        def collect():
            let_go(target)
            answer(target)
            return f"picture in {picture(daemon) * 1e3:.0f} ms"

        def render():
            several, end = [], time.monotonic() + seconds
            while not several or time.monotonic() < end:
                several.append(picture(daemon))
            return f"{len(several)}, the longest in {max(several) * 1e3:.0f} ms"

        bench.measure(f"{STACKS:,} stacks, their first picture, no busy loops", daemon, collect)
        with bench.busy():
            bench.measure("their pictures", daemon, render)


def starts(bench, seconds):
    """One starter a CPU: no session of theirs has to wait for another's child."""
    with bench.daemon() as daemon, bench.busy():
        daemon.put_ok(daemon.wanting(by_name_alone("^blink$"), probes=("oncpu",)))

        def storm():
            began, forks = time.monotonic(), forked()
            with bench.running(os.cpu_count(), program("spawner"), 10**9, 0, program("blink")):
                time.sleep(seconds)
            return f"{(forked() - forks) / (time.monotonic() - began):.0f} a second"

        bench.measure("process starts", daemon, storm)


def forked():
    """Processes and threads since the host's start."""
    return int(Path("/proc/stat").read_text().split("\nprocesses ")[1].split("\n", maxsplit=1)[0])


def main():
    reason = missing_privilege() or (not shutil.which("setpriv") and "setpriv is missing")
    if reason:
        sys.exit(f"stall: {reason}")
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory(prefix="stackprobe-bench-", dir="/tmp") as work:
        bench = Bench(Path(work))
        try:
            first_put(bench)
            pictures(bench, seconds)
            starts(bench, seconds)
        finally:
            bench.idle.kill()


if __name__ == "__main__":
    main()
