"""Sizes, numbers of connections, times: where the daemon says stop."""
import http.client
import json
import socket
import time

from helpers import stopped, wait_for

MIB = 1 << 20


def padded(bytes_wanted):
    """A good body of exactly that many bytes."""
    body = json.dumps({**stopped(), "ignored": ""}).encode()
    return body[:-2] + b"x" * (bytes_wanted - len(body)) + body[-2:]


def exchange(daemon, request, timeout=20):
    """Sends bytes as they are; returns what comes back until the connection ends."""
    with daemon.connect(timeout) as sock:
        try:
            sock.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            pass  # refused before all of it was read
        return read_all(sock)


def read_all(sock):
    answer = b""
    try:
        while chunk := sock.recv(65536):
            answer += chunk
    except ConnectionResetError:
        pass
    return answer


def closed(sock):
    """Whether the other side has ended this connection."""
    sock.setblocking(False)
    try:
        return sock.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    finally:
        sock.setblocking(True)


def test_a_body_of_one_mebibyte_is_read(daemon):
    assert daemon.put(padded(MIB)).status == 200


def test_a_body_over_one_mebibyte_is_413(daemon):
    head = b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    body = padded(MIB + 1)
    answer = exchange(daemon, head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    assert b" 413 " in answer.split(b"\r\n")[0]

    chunks = b"".join(b"10000\r\n" + b"x" * 65536 + b"\r\n" for _ in range(17)) + b"0\r\n\r\n"
    answer = exchange(daemon, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    assert b" 413 " in answer.split(b"\r\n")[0]
    assert daemon.get("/flamegraph").json() == {}


def test_a_body_that_only_claims_to_be_huge_costs_nothing(daemon):
    before_kb = memory_kb(daemon)
    head = b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (1 << 40)
    answer = exchange(daemon, head + b"{}")
    assert answer == b"" or b" 413 " in answer.split(b"\r\n")[0]
    assert memory_kb(daemon) < before_kb + 4096
    assert daemon.alive()


def memory_kb(daemon):
    with open(f"/proc/{daemon.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


def test_a_chunked_body_is_read(daemon):
    body = b"json=" + json.dumps(stopped("^chunked$")).encode()
    chunks = (body[i : i + 7] for i in range(0, len(body), 7))
    answer = daemon.request("PUT", "/flamegraph", chunks)  # sent chunked: no length is known
    assert answer.status == 200
    assert daemon.settings()["snoopers"]["proc_name"][0]["comm"] == "^chunked$"


def test_headers_over_a_limit_are_refused(daemon):
    for header in (b"X: " + b"y" * MIB, b"X: y\r\n" * 20000):
        answer = exchange(daemon, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + header + b"\r\n\r\n")
        assert not answer.startswith(b"HTTP/1.1 200")
    assert daemon.alive()


def test_a_connection_can_carry_many_requests(daemon):
    conn = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=10)
    conn.connect()
    local = conn.sock.getsockname()
    for _ in range(20):
        conn.request("GET", "/healthz")
        answer = conn.getresponse()
        assert answer.status == 200
        answer.read()
        assert conn.sock and conn.sock.getsockname() == local
    conn.close()


def test_one_connection_more_than_sixty_four_closes_the_one_that_waited_longest(daemon):
    waiting = []
    try:
        for _ in range(64):
            waiting.append(daemon.connect())
            time.sleep(0.005)
        time.sleep(0.2)
        assert not any(closed(sock) for sock in waiting), "64 connections at once are served"
        # The oldest one gets a request in, so that the second is the one to go.
        waiting[0].sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert waiting[0].recv(4096).startswith(b"HTTP/1.1 200")

        waiting.append(daemon.connect())
        waiting[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert waiting[-1].recv(4096).startswith(b"HTTP/1.1 200")
        wait_for(lambda: closed(waiting[1]), why="the oldest closed")
        time.sleep(0.2)
        for number, sock in enumerate(waiting):
            if number > 1:
                assert not closed(sock), number
        for sock in waiting[2:64]:
            sock.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert sock.recv(4096).startswith(b"HTTP/1.1 200")
    finally:
        for sock in waiting:
            sock.close()


def test_half_requests_are_cut_after_ten_seconds_and_hold_nobody_up(daemon):
    put = b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\njson={"
    starts = {
        "nothing": b"",
        "half a line": b"GET /fla",
        "half the headers": b"GET /flamegraph HTTP/1.1\r\nHost: localhost\r\n",
        "half a body": put,
        "drop by drop": put,
    }
    began = time.monotonic()
    open_ones = {}
    for name, head in starts.items():
        open_ones[name] = daemon.connect()
        open_ones[name].sendall(head)
    lasted = {}
    while open_ones and time.monotonic() < began + 30:
        time.sleep(0.5)
        assert daemon.get("/healthz").status == 200
        if "drop by drop" in open_ones:
            try:
                open_ones["drop by drop"].send(b" ")
            except (BrokenPipeError, ConnectionResetError):
                pass
        for name in list(open_ones):
            if ended(open_ones[name]):
                lasted[name] = time.monotonic() - began
                open_ones.pop(name).close()
    assert not open_ones, f"still open after 30 s: {list(open_ones)}"
    assert all(8 <= seconds <= 20 for seconds in lasted.values()), lasted


def ended(sock):
    """Like closed(), but an answer (408) may come first."""
    sock.setblocking(False)
    try:
        while sock.recv(4096):
            pass
        return True
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    finally:
        sock.setblocking(True)


def test_a_slow_but_whole_request_is_answered(daemon):
    body = b"json=" + json.dumps(stopped()).encode()
    head = b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    with daemon.connect() as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request = head + body
        for at in range(0, len(request), 40):
            sock.sendall(request[at : at + 40])
            time.sleep(0.2)
        assert sock.recv(4096).startswith(b"HTTP/1.1 200")
