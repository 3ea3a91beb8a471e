"""How the stand-in for Pyroscope fails to answer a push.

drop     stores it, closes without a word
hang     takes the request and says nothing
garbage  answers with what isn't HTTP
redirect sends the client elsewhere on the same server
half     stores it, closes in the middle of an answer of 200
endless  a 200 whose body never ends; `headers`: whose head never ends; `trickle`: a byte at a time
status   answers so
"""

import contextlib
import random
import socket
import threading
from dataclasses import dataclass, field

ELSEWHERE = "/elsewhere"
TOLD = {"drop": 0, "hang": 0, "garbage": 0, "redirect": 307}
STORES = ("drop", "half")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@dataclass
class Fault:
    how: str
    times: object = None  # None: until told otherwise
    status: int = 0
    stores: object = None  # whether the push is stored all the same
    over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self):
        assert self.how in FAULTS, self.how
        if self.stores is None:
            self.stores = self.how in STORES

    @property
    def told(self):
        """The status that the client can read, 0 where there is none."""
        return self.status or TOLD.get(self.how, 200)


def drop(_fault, _handler, _double):
    """Its connection is closed after any fault."""


def hang(fault, _handler, double):
    while not (fault.over.is_set() or double.ended.wait(0.05)):
        pass


def garbage(_fault, handler, _double):
    handler.wfile.write(random.Random(1).randbytes(8192) + b"\r\n\r\n")


def redirect(fault, handler, double):
    handler.send_response(fault.told)
    handler.send_header("Location", double.url + ELSEWHERE)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def half(_fault, handler, _double):
    handler.wfile.write(HEAD + b'Content-Length: 1000\r\n\r\n{"half')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_WR)


def for_ever(fault, handler, double, piece, every):
    """Until it is told to stop, or the client has gone."""
    with contextlib.suppress(OSError):
        while not (fault.over.is_set() or double.ended.wait(every)):
            handler.wfile.write(piece)


def endless(fault, handler, double):
    handler.wfile.write(HEAD + b"\r\n")
    for_ever(fault, handler, double, b"x" * 16384, 0.002)


def headers(fault, handler, double):
    handler.wfile.write(HEAD)
    for_ever(fault, handler, double, b"X-More: " + b"x" * 1000 + b"\r\n", 0.002)


def trickle(fault, handler, double):
    handler.wfile.write(HEAD + b"\r\n")
    for_ever(fault, handler, double, b" ", 0.1)


def status(fault, handler, _double):
    handler.send_response(fault.status)
    handler.send_header("Content-Length", "0")
    handler.end_headers()


FAULTS = {
    one.__name__: one for one in (drop, hang, garbage, redirect, half, endless, headers, trickle, status)
}


def answer_badly(fault, handler, double):
    FAULTS[fault.how](fault, handler, double)
