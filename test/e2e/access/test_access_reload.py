"""Who has which role after SIGHUP, on connections that were there before."""
import signal

from asking import burning, sessions
from helpers import wait_for
from askers import TOKENS, bearer, tokens
from test_limits import read_all

GET = b"GET /flamegraph HTTP/1.1\r\nHost: localhost\r\n"


def reload(daemon, **keys):
    daemon.set_rest(**keys)
    before = len(daemon.log)
    daemon.popen.send_signal(signal.SIGHUP)
    wait_for(lambda: "was read again" in daemon.log[before:], why=lambda: daemon.log[before:])


def said(sock, headers=b""):
    """What is answered to a GET: all of it is read at once here."""
    sock.sendall(GET + headers + b"\r\n")
    return sock.recv(100_000)


def test_a_connection_that_is_idle_ends_when_the_rules_change(serve):
    daemon = serve()
    with daemon.connect() as kept, daemon.connect() as fresh:
        assert b" 200 " in said(kept).split(b"\r\n")[0]
        reload(daemon)
        assert b" 200 " in said(kept).split(b"\r\n")[0], "nothing has changed"
        reload(daemon, loopback_uid=False)
        assert kept.recv(100) == b""
        answer = said(fresh)  # it had yet to send its first one
        assert b" 401 " in answer.split(b"\r\n")[0] and b"\r\nConnection: close\r\n" in answer
        assert fresh.recv(100) == b""
    assert daemon.get("/flamegraph").status == 401


def test_a_token_that_was_taken_back_is_refused_on_an_open_connection(serve, tokens, work):
    daemon = serve(loopback_uid=False, **tokens)
    header = f"Authorization: {bearer(TOKENS['read'])['Authorization']}\r\n".encode()
    with daemon.connect() as kept:
        assert b" 200 " in said(kept, header).split(b"\r\n")[0]
        (work / "read.token").write_text("another-0123456789abcdef\n")
        reload(daemon, loopback_uid=False, **tokens)
        assert kept.recv(100) == b""
    assert daemon.request("GET", "/flamegraph", headers=bearer(TOKENS["read"])).status == 401


def test_who_is_being_answered_when_the_rules_change_is_answered_last(needs_bpf, serve, start):
    daemon = serve()
    target = burning(start)
    with daemon.connect() as sock:
        path = f"/flamegraph/oncpu.folded?pid={target.pid}&seconds=4"
        sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_for(lambda: sessions(daemon) == 1, why="a session")
        reload(daemon, loopback_uid=False)
        answer = read_all(sock)  # it ends by itself
    assert answer.startswith(b"HTTP/1.1 200 ") and b"\r\nConnection: close\r\n" in answer
    assert f"[{target.pid}]spin".encode() in answer
