# SPDX-License-Identifier: GPL-2.0-or-later
"""A gRPC server on loopback that takes whatever is sent and answers that all is well: OpenTelemetry's profiler takes no
sample without one. HTTP/2 as far as that needs it (RFC 9113); headers are not read, messages are counted."""
import socket
import struct
import threading

PREFACE = 24
DATA, HEADERS, SETTINGS, PING, GOAWAY, WINDOW = 0, 1, 4, 6, 7, 8  # types of frames
ACK = END_STREAM = 1
END_HEADERS = 4
MOST = (1 << 31) - 1
SETTINGS_BODY = struct.pack(">HI", 4, MOST)  # SETTINGS_INITIAL_WINDOW_SIZE
# HPACK (RFC 7541): ":status: 200" is entry 8 of its table, "content-type" entry 31.
ANSWER = b"\x88\x0f\x10\x10application/grpc"
TRAILERS = b"\x00\x0bgrpc-status\x010"
EMPTY_MESSAGE = bytes(5)  # not compressed, no bytes


def frame(kind, flags, stream, body=b""):
    return struct.pack(">I", len(body))[1:] + struct.pack(">BBI", kind, flags, stream) + body


class Sink:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.requests = self.bytes = 0
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def address(self):
        return "127.0.0.1:{}".format(self.listener.getsockname()[1])

    def accept(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                return  # closed
            threading.Thread(target=self.serve, args=(one,), daemon=True).start()

    def serve(self, one):
        try:
            with one, one.makefile("rb") as coming:
                coming.read(PREFACE)
                one.sendall(frame(SETTINGS, 0, 0, SETTINGS_BODY)
                            + frame(WINDOW, 0, 0, struct.pack(">I", MOST - 65535)))  # fmt: skip
                while head := coming.read(9):
                    length, kind, flags, stream = int.from_bytes(head[:3], "big"), *struct.unpack(">BBI", head[3:])
                    body = coming.read(length)
                    if kind == GOAWAY:
                        return
                    one.sendall(self.answer(kind, flags, stream, body))
        except (OSError, struct.error):
            pass  # it has ended

    def answer(self, kind, flags, stream, body):
        if kind == SETTINGS and not flags & ACK:
            return frame(SETTINGS, ACK, 0)
        if kind == PING and not flags & ACK:
            return frame(PING, ACK, 0, body)
        if kind == DATA:
            self.bytes += len(body)
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            self.requests += 1
            return (frame(HEADERS, END_HEADERS, stream, ANSWER) + frame(DATA, 0, stream, EMPTY_MESSAGE)
                    + frame(HEADERS, END_HEADERS | END_STREAM, stream, TRAILERS))  # fmt: skip
        return b""

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
