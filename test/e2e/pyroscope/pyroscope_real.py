"""A real Pyroscope, where PYROSCOPE_BIN names one, and questions to it."""
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.parse
from pathlib import Path

import pytest

from helpers import wait_for

QUERIES = "/querier.v1.QuerierService/"
HOUR_MS = 3_600_000
RINGS = ("compactor.ring.instance-addr", "distributor.ring.instance-addr", "ingester.lifecycler.addr",
         "overrides-exporter.ring.instance-addr", "query-frontend.instance-addr", "query-scheduler.ring.instance-addr",
         "segment-writer.lifecycler.addr", "store-gateway.sharding-ring.instance-addr")  # fmt: skip


def free_ports(count):
    taken = [socket.socket() for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def binary():
    named = os.environ.get("PYROSCOPE_BIN")
    if not named:
        pytest.skip("PYROSCOPE_BIN names no Pyroscope")
    found = shutil.which(named)
    assert found, f"PYROSCOPE_BIN: {named} can't be run"
    return found


# What a page shows as text: flame graphs are drawn, the table beside them isn't.
TEXTS = """[document.title, document.body.innerText, ...[...document.querySelectorAll("input")].map(i => i.value)]
           .join("\\n")"""


def page_of(url, type, selector):
    """The address of the server's own page for that profile of the last hour."""
    return f"{url}/?" + urllib.parse.urlencode({"query": type + selector, "from": "now-1h", "until": "now"})


def wait_shown(page, names, seconds=60):
    """Until the page, whose scripts ask for what it shows, has all of these names."""

    def missing():
        text = page.run(TEXTS)
        return [name for name in names if name not in text]

    wait_for(lambda: not missing(), seconds, every=0.5, why=lambda: f"{missing()} in {page.run(TEXTS)[:2000]!r}")


class RealPyroscope:
    """All of it on 127.0.0.1 and below one folder; limits as they are."""

    def __init__(self, work):
        self.work = work
        self.port, self.grpc, self.raft, self.gossip = free_ports(4)
        self.log = work / "pyroscope.log"
        self.popen = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def argv(self):
        raft = f"127.0.0.1:{self.raft}"
        options = {
            "architecture.storage": "v2",
            "server.http-listen-address": "127.0.0.1",
            "server.http-listen-port": self.port,
            "server.grpc-listen-address": "127.0.0.1",
            "server.grpc-listen-port": self.grpc,
            "memberlist.bind-addr": "127.0.0.1",
            "memberlist.bind-port": self.gossip,
            "memberlist.advertise-addr": "127.0.0.1",
            "metastore.address": f"127.0.0.1:{self.grpc}",
            "query-backend.address": f"127.0.0.1:{self.grpc}",
            "metastore.data-dir": self.work / "metastore/data",
            "metastore.raft.dir": self.work / "metastore/raft",
            "metastore.raft.bind-address": raft,
            "metastore.raft.advertise-address": raft,
            "metastore.raft.server-id": raft,
            "pyroscopedb.data-path": self.work / "db",
            "storage.backend": "filesystem",
            "storage.filesystem.dir": self.work / "storage",
            "self-profiling.disable-push": "true",
            "usage-stats.enabled": "false",
            "ingester.min-ready-duration": "0s",
            "metastore.min-ready-duration": "0s",
            "segment-writer.min-ready-duration": "0s",
        }
        # Where each part tells the others that it is; else an address that nobody listens at.
        options |= dict.fromkeys(RINGS, "127.0.0.1")
        return [binary(), *(f"-{name}={value}" for name, value in options.items())]

    def start(self):
        with self.log.open("ab") as log:
            self.popen = subprocess.Popen(self.argv(), stdout=log, stderr=log, cwd=self.work)
        wait_for(self.ready, 100, every=0.2, why=lambda: self.log.read_text()[-2000:])
        return self

    def ready(self):
        assert self.popen.poll() is None, self.log.read_text()[-2000:]
        try:
            return self.ask("GET", "/ready")[0] == 200
        except OSError:
            return False

    def stop(self, how=signal.SIGTERM):
        if self.popen and self.popen.poll() is None:
            self.popen.send_signal(how)
            self.popen.wait(60)

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def query(self, what, **doc):
        """One of querier.v1, of the last hour."""
        now = int(time.time() * 1000)
        asked = json.dumps({"start": now - HOUR_MS, "end": now + 60_000, **doc})
        status, body = self.ask("POST", QUERIES + what, asked)
        assert status == 200, body
        return json.loads(body)

    def types(self):
        return {one["ID"] for one in self.query("ProfileTypes").get("profileTypes", [])}

    def label_values(self, name):
        return set(self.query("LabelValues", name=name).get("names", []))

    def rendered(self, type, selector):
        asked = {"query": type + selector, "from": "now-1h", "until": "now", "maxNodes": 1 << 20}
        query = urllib.parse.urlencode(asked)
        status, body = self.ask("GET", "/pyroscope/render?" + query)
        assert status == 200, body
        return json.loads(body)

    def total(self, type, selector='{service_name="stackprobe"}'):
        return self.rendered(type, selector)["flamebearer"]["numTicks"]

    def names(self, type, selector='{service_name="stackprobe"}'):
        return set(self.rendered(type, selector)["flamebearer"]["names"])

    def done(self):
        self.stop()
        for folder in ("metastore", "db", "storage"):
            shutil.rmtree(Path(self.work) / folder, ignore_errors=True)
