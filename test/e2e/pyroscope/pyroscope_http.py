"""The HTTP of the stand-in for Pyroscope: requests in, answers or none out."""

import contextlib
import gzip
import json
import select
import socket
import socketserver
import sys
import time
import traceback
from http.server import BaseHTTPRequestHandler
from typing import NamedTuple

from pyroscope_faults import ELSEWHERE, answer_badly
from pyroscope_push import JSON, PATH


class Asked(NamedTuple):
    """A request as it came, and how it was answered (status 0: it wasn't)."""

    at: float  # time.monotonic() when it was there
    method: str
    path: str
    headers: object
    size: int
    status: int


class Answer(NamedTuple):
    status: int
    body: bytes = b""
    type: str = JSON
    headers: tuple = ()


def saying_no(no):
    text = json.dumps({"code": no.code, "message": no.text}).encode()
    if no.rule == "content-type":
        return Answer(415)
    if no.rule == "double-slash":
        return Answer(301, headers=(("Location", PATH),))
    return Answer(no.status, text, headers=(("Allow", "POST"),) if no.status == 405 else ())


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address, double):
        self.double = double
        self.connections = set()
        super().__init__(address, Handler)

    def get_request(self):
        connection, address = super().get_request()
        if self.double.tls:
            connection = self.double.tls.wrap_socket(
                connection, server_side=True, do_handshake_on_connect=False
            )
        self.connections.add(connection)
        return connection, address

    def shutdown_request(self, request):
        self.connections.discard(request)
        super().shutdown_request(request)

    def close_connections(self):
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_):
        """A client that is gone is no error of the server's."""
        if not isinstance(sys.exc_info()[1], OSError):
            self.double.broken.append(traceback.format_exc())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def chunks(self):
        while True:
            line = self.rfile.readline()
            if not line.endswith(b"\n"):
                raise ConnectionError("the client has gone")
            size = int(line.split(b";")[0], 16)
            yield self.exactly(size)
            self.exactly(2)
            if not size:
                return

    def exactly(self, size):
        data = self.rfile.read(size)
        if len(data) < size:
            raise ConnectionError("the client has gone")
        return data

    def body(self):
        if self.headers["Transfer-Encoding"] == "chunked":
            return b"".join(self.chunks())
        return self.exactly(int(self.headers["Content-Length"] or 0))

    def answer(self):
        double, path = self.server.double, self.requestline.split()[1]
        body, at = self.body(), time.monotonic()
        if path == "/ready" and self.command == "GET":
            ready = at >= double.ready_at
            self.send(Answer(200, b"ready\n") if ready else Answer(503, b"Some services are not running\n"))
        elif path == ELSEWHERE:
            double.followed += 1
            self.send(Answer(200, b"{}"))
        else:
            asked = Asked(at, self.command, path, self.headers, len(body), 0)
            self.answer_push(double, asked, body)

    def answer_push(self, double, asked, body):
        """What is told of it is told before the client can know."""
        fault = double.next_fault()
        answer, stored = double.take(asked.method, asked.path, asked.headers, body, fault)
        fault = fault if answer and answer.status == 200 else None
        if fault or not answer or self.has_gone():
            answer, self.close_connection = None, True
            double.count_unanswered(stored)
        status = fault.told if fault else answer.status if answer else 0
        double.asked.append(asked._replace(status=status))
        if fault:
            answer_badly(fault, self, double)
        elif answer:
            try:
                self.send(answer)
            except OSError:
                double.count_unanswered(stored)
                raise

    def has_gone(self):
        """Whether the client gave up meanwhile."""
        if self.server.double.tls or not select.select([self.connection], [], [], 0)[0]:
            return False
        try:
            return not self.connection.recv(1, socket.MSG_PEEK)
        except ConnectionError:
            return True

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = answer

    def send(self, answer):
        """Zipped where the request was, by the API that can read such."""
        zipped = self.headers["Content-Encoding"] == "gzip" and self.path == PATH
        body = gzip.compress(answer.body, mtime=0) if zipped else answer.body
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        if body:
            self.send_header("Content-Type", answer.type)
        if zipped:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
