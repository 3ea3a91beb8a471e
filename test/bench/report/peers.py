# SPDX-License-Identifier: GPL-2.0-or-later
"""The peers: where they are, which version, and OpenTelemetry's profiler as something that is started and read."""
import os
import re
import shlex
import shutil
import subprocess
import time
from pathlib import Path

from bpf_objects import bpftool, held
from helpers import Target, wait_for
from otlp_sink import Sink
from seccomp import forbidding

PATH = os.environ["PATH"] + ":/usr/sbin:/usr/share/bcc/tools:" + str(Path.home() / ".cargo/bin")
NOT_INSTALLED = "it is not installed"
OTEL, PERF, PROFILE = "OpenTelemetry's profiler", "perf", "libbpf-tools' profile"
CAP_SYS_RESOURCE = 24
SETRLIMIT, PRLIMIT64 = 160, 302  # x86-64


def find(*names, variable=None):
    """The first of these programs, or what the variable names."""
    named = os.environ.get(variable or "")
    return named or next((path for path in (shutil.which(name, path=PATH) for name in names) if path), None)


def version(*argv):
    """The line that has a number in it, of what a program says of itself."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    lines = [line.strip() for line in (done.stdout + done.stderr).split("\n") if re.search(r"\d\.\d", line)]
    return lines[0] if lines else ""


def shown(argv):
    """A command line for the page: programs by their names, folders of the run left out."""
    words = [str(word) for word in argv]
    return shlex.join([Path(words[0]).name, *(re.sub(r"/tmp/\S*/", "", word) for word in words[1:])])


def may_raise_limits():
    bounds = re.search(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text())[1]
    return bool(int(bounds, 16) >> CAP_SYS_RESOURCE & 1)


def programs(pid):
    """The BPF programs that a process holds."""
    ids = held(pid, "prog")
    return [one for one in bpftool("prog", "show") if one["id"] in ids]


def sampled(pid):
    """(runs, ns) of its programs on clocks."""
    mine = [one for one in programs(pid) if one["type"] == "perf_event"]
    return sum(one.get("run_cnt", 0) for one in mine), sum(one.get("run_time_ns", 0) for one in mine)


def bpf_ns(pid):
    """Of all its programs."""
    return sum(one.get("run_time_ns", 0) for one in programs(pid))


class Otel:
    """OpenTelemetry's eBPF profiler. OTEL_PROFILER names it, else it is in PATH."""

    path = find("ebpf-profiler", "otel-ebpf-profiler", variable="OTEL_PROFILER")

    def __init__(self, work, hz, seconds=60):
        self.sink = Sink()
        self.argv = [self.path, "-collection-agent", self.sink.address, "-disable-tls", "-samples-per-second", str(hz)]
        # It raises a limit that kernels since 5.11 don't have, and ends where it may not. There the call does nothing.
        how = {} if may_raise_limits() else {"preexec_fn": forbidding(SETRLIMIT, PRLIMIT64, error=0)}
        self.target = Target(self.argv, work / "otel.log", **how)
        try:
            wait_for(self.samples, seconds, 0.05, why=self.said)
        except BaseException:
            self.stop()
            raise

    def said(self):
        return f"no sample; it said: {self.target.log.read_text(errors='replace')[-300:].strip() or 'nothing'}"

    def samples(self):
        status = self.target.popen.poll()
        assert status is None, f"it ended with status {status}; {self.said()}"
        return sampled(self.pid)[0]

    @property
    def pid(self):
        return self.target.pid

    def stop(self):
        self.target.kill()
        self.sink.close()

    @classmethod
    def command(cls, hz):
        return f"{Path(cls.path).name} -collection-agent ADDRESS -disable-tls -samples-per-second {hz}"

    @classmethod
    def missing(cls, work):
        """Why it can't be had here, or None. It is started for a try."""
        if not cls.path:
            return NOT_INSTALLED
        try:
            cls(work, 99).stop()
        except (AssertionError, OSError) as error:
            return f"it does not run here ({str(error)[-400:].strip()})".replace("\n", " ").replace("|", "/")
        return None

    how = ("All processes of the host, its default; reports go to a sink on loopback that is not counted; stacks are cut at "
           "145 frames" + ("" if may_raise_limits() else
                           "; its calls that raise limits were answered with success, without which it ends"))  # fmt: skip


class Settled:
    """CPU time and BPF time of a process over some seconds."""

    def __init__(self, pid):
        self.pid, self.began = pid, time.monotonic()
        self.cpu, self.bpf = self.now()

    def now(self):
        tasks = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks), bpf_ns(self.pid)

    def percent(self):
        """(process, BPF) of a core since then."""
        cpu, bpf = self.now()
        passed = (time.monotonic() - self.began) * 1e9
        return 100 * (cpu - self.cpu) / passed, 100 * (bpf - self.bpf) / passed
