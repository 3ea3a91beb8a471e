"""Programs with sockets, which do what they are told once they are profiled; what the profile of it is to be."""
import json
import re
import signal
from pathlib import Path

from helpers import wait_for

PYTHON = Path("/usr/bin/python3")
LEAF = re.compile(r"\[(send|receive|tcp|udp|unix|other|retransmit|(poll|select|epoll): .*)]")

# Before the program's own text, which defines act(), and maybe more steps in `later`: what each returns is
# written as a line of JSON.
BEFORE = """
import array, json, os, select, signal, socket, struct, sys, threading, time

def listening(host="127.0.0.1"):
    server = socket.create_server((host, 0))
    return server, server.getsockname()

def connected():
    server, address = listening()
    near = socket.create_connection(address)
    far = server.accept()[0]
    return near, far

def info(sock):
    told = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    at = lambda kind, offset: struct.unpack_from(kind, told, offset)[0]
    return {"unacked": at("I", 24), "total_retrans": at("I", 100), "bytes_received": at("Q", 128),
            "bytes_sent": at("Q", 200), "bytes_retrans": at("Q", 208)}

def receive_all(sock, size):
    calls = 0
    while size > 0:
        size -= len(sock.recv(min(size, 65536)))
        calls += 1
    return calls

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
"""
AFTER = """
print("ready", flush=True)
for step in (act, *globals().get("later", ())):
    signal.sigwait({signal.SIGUSR1})
    print(json.dumps(step()), flush=True)
signal.sigwait({signal.SIGUSR1})
"""


class Scene:
    """A program that waits to be told, profiled by net."""

    def __init__(self, profiler, start, text, before=(), **params):
        self.profiler = profiler
        first, *rest = [*before, PYTHON, "-c", BEFORE + text + AFTER]
        self.target = start(Path(first), *rest)
        wait_for(lambda: "ready" in self.lines(), why=self.lines)
        params = {"frame_detail": "name", "max_overhead": 0, **params}
        profiler.profile(pids=[self.target.pid], probes=("net",), **params)
        wait_for(lambda: profiler.config()["status"]["unwind"]["pending"] == 0, why="unwind tables")

    def lines(self):
        return self.target.log.read_text()

    def act(self):
        """Has the program take its next step; what it says of that."""
        before = self.lines().count("\n")
        self.target.popen.send_signal(signal.SIGUSR1)
        return json.loads(wait_for(lambda: self.lines().split("\n")[before:-1], 60, why=self.lines)[0])

    def weights(self, function=None, **query):
        """{leaf frames: weight}, of that function's stacks."""
        found = {}
        for stack in self.profiler.folded("net", pid=self.target.pid, **query).stacks:
            if function and not any(frame.startswith(f"{function} (") for frame in stack.frames):
                continue
            leaf = tuple(frame for frame in stack.frames[1:] if LEAF.fullmatch(frame))
            found[leaf] = found.get(leaf, 0) + stack.value
        return found

    def lost(self):
        return {where: n for where, n in self.profiler.probe("net")["lost"].items() if n}
