"""A Java VM that runs truth.Attached, alone or in namespaces, and what an agent may leave of it."""
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import java_symbols
from helpers import wait_for
from javas import need_classes


def inner_pid(pid):
    return int(re.search(r"^NSpid:.*?(\d+)$", Path(f"/proc/{pid}/status").read_text(), re.M)[1])


class Vm:
    """A Java VM that runs truth.Attached. `before`: a command that runs it."""

    def __init__(self, java, work, *flags, before=(), env=None):
        need_classes()
        self.log = work / f"vm-{time.monotonic_ns()}.log"
        argv = [*before, *java.argv("Attached", flags=flags)]
        with self.log.open("wb") as out:
            self.popen = subprocess.Popen([str(arg) for arg in argv], stdin=subprocess.PIPE, stdout=out, stderr=out, env=env)
        wait_for(lambda: "ready" in self.log.read_text(), 60, why="a VM")
        self.pid = self.popen.pid
        if before:
            self.pid = wait_for(self.java_below)
        self.inner = inner_pid(self.pid)
        self.root = Path(f"/proc/{self.pid}/root")
        self.tmp = self.root / "tmp"
        self.data = self.tmp / f"java-data-{self.inner}"

    def be_late(self):
        """From now on it burns, busy half of the time, in what wasn't compiled until then."""
        self.popen.stdin.write(b"\n")
        self.popen.stdin.flush()

    def java_below(self):
        pids = [self.popen.pid]
        for pid in pids:
            if Path(f"/proc/{pid}/comm").read_text() == "java\n":
                return pid
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            pids += map(int, children)
        return None

    def symbols(self):
        return java_symbols.read(self.data / java_symbols.NAME)

    def has(self, name):
        return any(c.name.name == name for c in self.symbols().codes if c.kind == java_symbols.CODE)

    def left(self):
        """What attaching may leave there. (The socket is the VM's own, as any attaching makes it.)"""
        if not self.alive():
            if self.inner != self.pid:
                return []  # its /tmp went with it
            return [*Path("/tmp").glob(f"java-data-{self.inner}"),
                    *Path("/tmp").glob(f".attach_pid{self.inner}")]  # fmt: skip
        return [*self.tmp.glob(f"java-data-{self.inner}"), *self.tmp.glob(f".attach_pid{self.inner}"),
                *Path(f"/proc/{self.pid}/cwd").glob(f".attach_pid{self.inner}")]  # fmt: skip

    def reads(self):
        """Descriptors of its own below its data folder: the agent's."""
        links = [os.readlink(path) for path in Path(f"/proc/{self.pid}/fd").iterdir()]
        return [link for link in links if "/java-data-" in link]

    def alive(self):
        return self.popen.poll() is None

    def kill(self):
        for pid in {self.pid, self.popen.pid}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.popen.wait()
        self.popen.stdin.close()
