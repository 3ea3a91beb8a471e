"""The agent that records by JFR (jvm_agent/jfr), asked without the daemon, and what it writes."""
import os
import re
import shutil
import signal
import socket
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from folded import Stack
from helpers import BIN, wait_for
from java_vm import inner_pid

JAR = BIN.parent / "stackprobe-jfr.jar"
STATE = "jfr-state.txt"
SUFFIX = {"0": "_[0]", "j": "_[j]", "i": "_[i]", "n": "_[j]"}


class Head(NamedTuple):
    probe: str
    sequence: int
    begin_us: int
    end_us: int
    lost_samples: int
    lost_bytes: int
    refused: int
    refused_weight: int
    cut: int


def read(path):
    """(head, stacks, {stack: events}), as doc/formats.md has the file. Values are ns or bytes."""
    first, *lines = path.read_text().splitlines()
    magic, version, probe, *numbers = first.split("\t")
    assert (magic, version) == ("stackprobe-jfr", "1")
    methods, stacks, events = [], [], Counter()
    for line in lines:
        kind, *fields = line.split("\t")
        if kind == "m":
            methods.append(fields)
            continue
        weight, count, whole, thread, told = fields
        frames = [thread] if whole == "whole" else [thread, "[truncated]"]
        for text in told.split():
            what, number, at = re.fullmatch(r"([0jin])(\d+):(\d+)", text).groups()
            owner, method, _ = methods[int(number)]
            place = f" (?:{at})" if int(at) else ""
            frames.append(f"{owner}.{method}{place}{SUFFIX[what]}")
        stacks.append(Stack(["java", *frames], int(weight)))
        events[thread] += int(count)
    return Head(probe, *map(int, numbers)), stacks, events


class Jfr:
    """The agent in a VM. JDK's own protocol: a file, SIGQUIT, a socket."""

    def __init__(self, pid, probes="oncpu+offcpu+mem", period_ms=10, idle_s=60):
        self.pid, self.inner = pid, inner_pid(pid)
        self.tmp = Path(f"/proc/{pid}/root/tmp")
        self.folder = self.tmp / f"java-data-{self.inner}"
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.jar = self.folder / "stackprobe-jfr.jar"
        self.inside = f"/tmp/{self.folder.name}"
        self.options = f"{probes},{period_ms},{idle_s}"

    def ask(self, *words):
        path = self.tmp / f".java_pid{self.inner}"
        if not path.exists():
            trigger = Path(f"/proc/{self.pid}/cwd/.attach_pid{self.inner}")
            trigger.touch()
            os.kill(self.pid, signal.SIGQUIT)
            wait_for(path.exists, 20)
            trigger.unlink()
        with socket.socket(socket.AF_UNIX) as vm:
            vm.connect(str(path))
            vm.sendall(b"".join(word.encode() + b"\0" for word in ("1", *words, *("", "", "")[: 4 - len(words)])))
            return b"".join(iter(lambda: vm.recv(4096), b"")).decode()

    def say(self, command, *words):
        """The state that the agent tells then."""
        shutil.copy(JAR, self.jar)
        options = ",".join([command, self.inside, *map(str, words)])
        answer = self.ask("load", "instrument", "false", f"{self.inside}/{self.jar.name}={options}")
        self.jar.unlink()
        assert answer.split() in (["0", "0"], ["0", "return", "code:", "0"]), answer
        state = self.folder / STATE
        return state.read_text().rstrip("\n").split("\t")[2:] if state.exists() else None

    def start(self, sequence=1):
        self.ask("jcmd", "JFR.configure stackdepth=1024")
        return self.say("start", self.options, sequence)

    def dump(self, sequence, *times):
        state = self.say("dump", sequence, *times)
        assert state[:2] == ["written", str(sequence)], state
        return {probe: read(self.folder / f"stacks-{probe}.txt") for probe in ("oncpu", "offcpu", "mem")}

    def stop(self):
        """None: the agent has removed what it wrote."""
        state = self.say("stop")
        self.folder.rmdir()
        return state
