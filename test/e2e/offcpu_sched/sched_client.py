"""What tests of /sched share: its calls over HTTP, and a reader of its stream."""
import http.client
import json
import re
import socket
import threading

from helpers import ROOT

# Those of THE LIST; each is called as its number there.
PROBES = [name.lower() for name in re.findall(r"\bX\((\w+), ", (ROOT / "bpf/shared/sched_probes.h").read_text())]


class Sched:
    """The feature /sched of a daemon."""

    def __init__(self, daemon):
        self.daemon = daemon

    def put(self, doc):
        return self.daemon.request("PUT", "/sched", b"json=" + json.dumps(doc).encode())

    def run(self, *probes, snoopers=None, **params):
        """PUTs that these run; without snoopers for all processes."""
        doc = {"cmd": {"probe": list(probes)}, "params": params, "state": "running"}
        answer = self.put({**doc, "snoopers": snoopers or {}})
        assert answer.status == 200, answer.text

    def stop(self):
        assert self.put({"state": "stopped"}).status == 200

    def config(self):
        answer = self.daemon.get("/sched")
        assert answer.status == 200, answer.text
        return answer.json()

    def probe(self, name):
        return self.config()["status"]["probes"][name]

    def get(self, name, query=""):
        return self.daemon.get(f"/sched/{name}{query}", timeout=60)

    def json(self, probe, query=""):
        answer = self.get(f"{probe}.json", query)
        assert answer.status == 200, answer.text
        return answer.json()

    def groups(self, probe, query=""):
        """{group: histogram}"""
        return {one["group"]: one for one in self.json(probe, query)["histograms"]}

    def count(self, probe):
        """All that was counted, over all groups."""
        return sum(one["count"] for one in self.json(probe)["histograms"])


class Follower(threading.Thread):
    """Reads PROBE.txt?follow=1 until it ends or close() is called."""

    def __init__(self, daemon, probe="runqslower"):
        super().__init__(daemon=True)
        self.conn = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=60)
        self.conn.request("GET", f"/sched/{probe}.txt?follow=1")
        self.sock = self.conn.sock
        self.answer = self.conn.getresponse()
        self.status = self.answer.status
        self.lines = []
        self.ended = False
        if self.status == 200:
            self.start()

    def run(self):
        try:
            for line in iter(self.answer.readline, b""):
                self.lines.append(line.decode())
            self.ended = True
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass  # close() takes it away while it reads

    def events(self):
        return [line for line in self.lines[1:] if not line.startswith("#")]

    def close(self):
        try:
            self.sock.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the daemon closed it first
        self.conn.close()
