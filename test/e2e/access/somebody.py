"""Somebody else: a process of another user, or of root in another place, that asks the daemon in its own
name (attacks.py)."""
import base64
import http.client
import itertools
import json
import re
import subprocess
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

import attacks
from helpers import Response

NOBODY = 65534
PYTHON = "/usr/bin/python3"


class Failed(Exception):
    """What it was told to do can't be done there."""


class Timed(NamedTuple):
    answer: Response
    seconds: float


class Somebody:
    def __init__(self, daemon, uid=NOBODY, gid=None, groups=()):
        self.daemon = daemon
        self.uid = uid
        self.asked = {}
        self.numbers = itertools.count()
        self.lock = threading.Lock()
        text = Path(attacks.__file__).read_text() + "\nanswer_all()\n"
        self.popen = subprocess.Popen(
            [PYTHON, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/",
            user=uid, group=uid if gid is None else gid, extra_groups=groups,
        )  # fmt: skip
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.popen.stdout:
            told = json.loads(line)
            with self.lock:
                future = self.asked.pop(told["id"])
            if "error" in told:
                future.set_exception(Failed(told["error"]))
            else:
                future.set_result(told["result"])
        with self.lock:
            for future in self.asked.values():
                future.set_exception(Failed("it has ended"))

    @property
    def pid(self):
        return self.popen.pid

    def close(self):
        self.popen.kill()
        self.popen.wait()
        self.reader.join()
        self.popen.stdin.close()
        self.popen.stdout.close()

    def begin(self, name, **args):
        """A function of attacks.py, run there; result() waits for what it returns."""
        future = Future()
        with self.lock:
            number = next(self.numbers)
            self.asked[number] = future
            self.popen.stdin.write(json.dumps({"id": number, "name": name, "args": args}) + "\n")
            self.popen.stdin.flush()
        return future

    def do(self, name, seconds=100, **args):
        return self.begin(name, **args).result(seconds)

    # HTTP

    @property
    def tcp(self):
        return ["127.0.0.1", self.daemon.port]

    @property
    def socket(self):
        return str(self.daemon.socket)

    def asking(self, path, method="GET", to=None, **how):
        """A request that is under way: answered(…) waits for its answer."""
        return self.begin("ask", to=to or self.tcp, method=method, path=path, **how)

    def timed(self, path, **how):
        answer, seconds = took(self.asking(path, **how))
        return Timed(answer, seconds)

    def get(self, path, **how):
        return answered(self.asking(path, **how))

    def put(self, doc, path="/flamegraph", **how):
        return answered(self.asking(path, "PUT", body="json=" + json.dumps(doc), **how))


def took(future):
    status, headers, body, seconds = future.result(100)
    message = http.client.HTTPMessage()
    for name, value in headers:
        message[name] = value
    return Response(status, message, base64.b64decode(body)), seconds


def answered(future):
    return took(future)[0]


def pids_in(metrics):
    """Processes that series name."""
    return {int(pid) for pid in re.findall(r'\bpid="(\d+)"', metrics)}
