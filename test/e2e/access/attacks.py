"""What somebody else's process does to a daemon; somebody.py runs all of this text in one. Python's own
modules alone, for nothing of the test's can be read there."""
import base64
import contextlib
import http.client
import json
import os
import socket
import struct
import sys
import threading
import time

CLOSE_HARD = struct.pack("ii", 1, 0)  # SO_LINGER: a reset


def connect(to, timeout=30):
    """`to`: [address, port], or the path of a Unix socket."""
    if not isinstance(to, str):
        return socket.create_connection(tuple(to), timeout=timeout)
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(timeout)
    sock.connect(to)
    return sock


def ask(to, method="GET", path="/", body="", headers=None, timeout=30):
    """One request: [status, headers, body in base64, seconds]."""
    conn = http.client.HTTPConnection("localhost", timeout=timeout)
    began = time.monotonic()
    conn.sock = connect(to, timeout)
    try:
        conn.request(method, path, body or None, {"Connection": "close", **(headers or {})})
        answer = conn.getresponse()
        content = answer.read()
    finally:
        conn.close()
    took = time.monotonic() - began
    return [answer.status, answer.getheaders(), base64.b64encode(content).decode(), took]


def ask_at_once(to, path, times):
    """The statuses of so many GETs; 0: no answer."""
    found = [0] * times

    def one(number):
        with contextlib.suppress(OSError, http.client.HTTPException):
            found[number] = ask(to, path=path)[0]

    threads = [threading.Thread(target=one, args=(number,)) for number in range(times)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def put_and_go(to, text, times):
    """Sends a whole PUT and closes at once, in each of three ways in turn. Returns how often it was
    sent, and how often there was no connection."""
    sent = refused = 0
    for number in range(times):
        try:
            sock = connect(to)
        except OSError:
            refused += 1
            continue
        with sock:
            if number % 3 == 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, CLOSE_HARD)
            with contextlib.suppress(OSError):
                sock.sendall(text.encode())
                if number % 3 == 1:
                    sock.shutdown(socket.SHUT_WR)
                sent += 1
    return [sent, refused]


def begin_and_go(to, path, gap, during):
    """Sends a GET, closes after `gap` seconds, and again. Returns {status: how often}; 0: it had no answer yet."""
    found, end = {}, time.monotonic() + during
    while time.monotonic() < end:
        with connect(to) as sock:
            sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            time.sleep(gap)
            sock.setblocking(False)
            try:
                status = int(sock.recv(1000).split(b" ", 2)[1])
            except (BlockingIOError, IndexError):
                status = 0
        found[status] = found.get(status, 0) + 1
    return found


kept = []


def read_nothing(to, path, sources, times):
    """From each address so many connections, on each of which GETs are sent until no more goes, and nothing is
    read; they stay open until drop()."""
    text = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 100
    for source in sources:
        for _ in range(times):
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(0.2)
            with contextlib.suppress(OSError):
                sock.bind((source, 0))
                sock.connect(tuple(to))
                while True:
                    sock.sendall(text)
            kept.append(sock)


def hold(to, times, text=""):
    """So many connections that stay open until drop()."""
    for _ in range(times):
        sock = connect(to)
        sock.sendall(text.encode())
        kept.append(sock)
    return len(kept)


def drop():
    while kept:
        kept.pop().close()


def press(to, text, times, during):
    """So many connections, on each of which the next request is sent before the answer to the last one has been
    read. Returns {status: how often}, of each connection's first answer; "0": it had none."""
    found, socks = {}, [connect(to) for _ in range(times)]
    opened = list(socks)
    end = time.monotonic() + during
    firsts = {}
    for sock in socks:
        sock.setblocking(False)
    while time.monotonic() < end and socks:
        for sock in list(socks):
            try:
                sock.send(text.encode())
            except BlockingIOError:
                pass
            except OSError:
                socks.remove(sock)
        for sock in list(socks):
            try:
                while chunk := sock.recv(1 << 20):
                    if sock not in firsts:
                        firsts[sock] = chunk.split(b" ", 2)[1].decode()
                socks.remove(sock)
            except BlockingIOError:
                pass
            except OSError:
                socks.remove(sock)
        time.sleep(0.01)
    for sock in opened:
        status = firsts.get(sock, "0")
        found[status] = found.get(status, 0) + 1
    for sock in socks:
        sock.close()
    return found


def flood(to, text, a_second, during):
    """So many requests a second, on connections of a few hundred each. Returns {status: how often}."""
    found, sock, stream, used = {}, None, None, 0
    began = time.monotonic()
    for number in range(a_second * during):
        time.sleep(max(0, began + number / a_second - time.monotonic()))
        try:
            if not sock:
                sock, used = connect(to), 0
                stream = sock.makefile("rb")
            sock.sendall(text.encode())
            status = read_answer(stream)
            used += 1
        except OSError:
            status = 0
        if not status or used >= 200:
            for one in (stream, sock):
                if one:
                    one.close()
            sock = stream = None
        found[status] = found.get(status, 0) + 1
    return found


def read_answer(stream):
    """Its status; 0: there is none."""
    first = stream.readline()
    if not first:
        return 0
    length = 0
    while (line := stream.readline()) not in (b"\r\n", b""):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    stream.read(length)
    return int(first.split()[1])


def enter(cgroup):
    """Moves this process into a cgroup: its folder."""
    with open(f"{cgroup}/cgroup.procs", "w", encoding="ascii") as procs:
        procs.write(str(os.getpid()))


def ask_without_a_cgroup(to, text, cgroup):
    """The status for one request by a socket that was made in a cgroup below this process's own, which is removed
    before it connects."""
    below = f"{cgroup}/below"
    os.mkdir(below)
    enter(below)
    with socket.socket() as sock:
        enter(cgroup)
        os.rmdir(below)
        sock.connect(tuple(to))
        sock.sendall(text.encode())
        return read_answer(sock.makefile("rb"))


def answer_all():
    """A line of JSON each: {id, name, args}; the answers as they come."""
    alone = threading.Lock()

    def answer(line):
        asked = json.loads(line)
        try:
            told = {"result": globals()[asked["name"]](**asked["args"])}
        except Exception as error:  # whatever it is, the test is told
            told = {"error": f"{type(error).__name__}: {error}"}
        with alone:
            print(json.dumps({"id": asked["id"], **told}), flush=True)

    for line in sys.stdin:
        threading.Thread(target=answer, args=(line,), daemon=True).start()
