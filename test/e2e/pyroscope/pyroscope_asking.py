"""Requests to the stand-in for Pyroscope, good ones and others, for the tests of the stand-in itself."""

import functools
import http.client
import json
import time
import urllib.parse
from contextlib import contextmanager
from typing import NamedTuple

import pytest

from helpers import Response
from pprof_maker import S, cpu
from pyroscope_double import Pyroscope
from pyroscope_push import JSON, PATH, PROTO, json_body, proto_body

CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"
SAMPLES = "process_cpu:samples:count:cpu:nanoseconds"
GONE = (ConnectionError, http.client.HTTPException, TimeoutError)
LABELS = (("__name__", "process_cpu"), ("service_name", "demo"))


class Request(NamedTuple):
    body: object
    path: str = PATH
    method: str = "POST"
    headers: tuple = (("Content-Type", JSON),)

    def but(self, **headers):
        return self._replace(headers=(*self.headers, *[(k.replace("_", "-"), v) for k, v in headers.items()]))


class Row(NamedTuple):
    """A rule: a request that keeps it, one that breaks it and no other. Each is called when it is needed."""

    rule: str
    what: str
    good: object
    bad: object
    status: int = 400


def each(rows):
    return pytest.mark.parametrize("row", rows, ids=[f"{row.rule}: {row.what}" for row in rows])


def pushed(*bodies, labels=LABELS, proto=False):
    """A request of one series with these pprofs."""
    if proto:
        return Request(proto_body(labels, *bodies), headers=(("Content-Type", PROTO),))
    return Request(json_body(labels, *bodies))


def ingested(text="main;work 3\n", **params):
    """Without a param: None in its place."""
    params = {"name": "demo.cpu{host=h1}", "from": int(time.time()) - 30, "sampleRate": 99, **params}
    query = urllib.parse.urlencode({k: v for k, v in params.items() if v is not None})
    body = text if isinstance(text, bytes) else text.encode()
    return Request(body, f"/ingest?{query}", headers=(("Content-Type", "text/plain"),))


@functools.cache
def begin():
    """Of the first window, in seconds."""
    return int(time.time()) - 600


def window(*stacks, at=0, seconds=30):
    """A push of the window that begins so many seconds after the first."""
    return pushed(cpu(*stacks, time_ns=(begin() + at) * S, duration_ns=seconds * S).zipped())


@contextmanager
def pyroscope(**how):
    """One that answers at once and takes as much as there is."""
    with Pyroscope(**{"delay": 0, "rate": 1 << 40, **how}) as server:
        yield server


def connect(server, timeout=10):
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)


def send(connection, request):
    """An answer on a connection that stays."""
    connection.putrequest(request.method, request.path, skip_accept_encoding=True)
    for name, value in request.headers:
        connection.putheader(name, value)
    if request.body is not None:
        connection.putheader("Content-Length", str(len(request.body)))
    connection.endheaders(request.body)
    answer = connection.getresponse()
    return Response(answer.status, answer.headers, answer.read())


def ask(server, request=None, timeout=60):
    """An answer, of a push that is fine where nothing else is said."""
    connection = connect(server, timeout)
    try:
        return send(connection, request or pushed(cpu().zipped()))
    finally:
        connection.close()


def lost(server, request=None, timeout=10):
    """A push whose answer never comes, or not whole."""
    with pytest.raises(GONE):
        ask(server, request, timeout=timeout)


def code_of(answer):
    told = json.loads(answer.body)
    assert set(told) == {"code", "message"} and told["message"], told
    return told["code"]


def hold(server, row):
    """The good one is stored whole, the other not at all, for that one reason."""
    stored, refused = len(server.stored), len(server.refused)
    answer = ask(server, row.good())
    assert (answer.status, server.refused[refused:]) == (200, []), answer.body[:300]
    assert len(server.stored) > stored, "said 200 and stored nothing"
    stored = len(server.stored)
    answer = ask(server, row.bad())
    assert [rule for rule, _ in server.refused[refused:]] == [row.rule], server.refused[refused:]
    assert (answer.status, len(server.stored)) == (row.status, stored), answer.body[:300]
    return answer
