"""The kernel's own trace of some events, which also has those at which it runs no BPF program."""
import os
import subprocess

import pytest


def is_guarded(tid):
    """Whether the kernel keeps even root away from a thread's process: it runs no BPF program while that runs, nor in
    interrupts on top of it (the agent of a virtual machine, say)."""
    try:
        os.readlink(f"/proc/{tid}/exe")
    except PermissionError:
        return True
    except OSError:  # a thread of the kernel, or it has ended
        return False
    return False


def guarded(found):
    """Those matches of lines of a trace, each with its thread's "pid", that no BPF program can have seen."""
    found = list(found)
    tids = {tid for tid in {one["pid"] for one in found} if is_guarded(tid)}
    return [one for one in found if one["pid"] in tids]


class KernelTrace:
    """Of events ("block/block_rq_issue"), in an instance of tracefs of its own."""

    def __init__(self, work, events, condition="0"):  # "0": none
        self.root, self.events, self.condition = work / type(self).__name__, events, condition
        self.own = self.root / "instances" / f"{work.name}-{type(self).__name__}-{os.getpid()}"

    def __enter__(self):
        self.root.mkdir()
        made = subprocess.run(["mount", "-t", "tracefs", "tracefs", self.root], capture_output=True, check=False)
        if made.returncode or not all((self.root / "events" / event).exists() for event in self.events):
            self.__exit__()
            pytest.skip(f"the kernel has no tracefs with {', '.join(self.events)}")
        self.own.mkdir()
        (self.own / "buffer_size_kb").write_text("8192")
        (self.own / "trace_clock").write_text("mono")
        for event in self.events:
            folder = self.own / "events" / event
            (folder / "filter").write_text(self.condition)
            (folder / "enable").write_text("1")
        return self

    def __exit__(self, *_):
        if self.own.exists():
            (self.own / "tracing_on").write_text("0")
            self.own.rmdir()
        subprocess.run(["umount", self.root], stderr=subprocess.DEVNULL, check=False)

    def text(self):
        return (self.own / "trace").read_text()
