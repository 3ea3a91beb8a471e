"""A client below admin has its share of the loop and of the connections, whatever it does."""
import time

import pytest

from asking import burning, sessions
from helpers import stopped, wait_for
from somebody import NOBODY
from askers import TOKENS, bearer, elsewhere, own, tokens
from test_limits import MIB, exchange, memory_kb


def start_theirs(start):
    return start("spin", 60, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")


def timed_while(root, path, busy):
    """How long root's GETs took, one after the other, until that has ended."""
    took = []
    while not busy.done():
        one = root.timed(path)
        assert one.answer.status == 200
        took.append(one.seconds)
    return sorted(took)


# Sessions that are begun and left


@pytest.mark.alone("asks fifty times a second, and what root waits is measured")
def test_sessions_begun_and_left_in_a_row_cost_root_no_time(serve, needs_bpf, somebody, start):
    daemon = serve()
    nobody, root = somebody(daemon), somebody(daemon, uid=0)
    target = start_theirs(start)
    attack = nobody.begin("begin_and_go", to=nobody.tcp, path=own("oncpu", target.pid, 600), gap=0.02, during=8)
    took = timed_while(root, "/flamegraph", attack)
    statuses = attack.result()
    statuses.pop("0", None)  # it was closed before
    assert list(statuses) == ["429"] and statuses["429"] > 20, statuses
    # One that is let in has its BPF programs loaded meanwhile, which root waits for: some 0.4 s.
    assert took[len(took) * 9 // 10] < 0.1 and took[-1] < 2, took[-20:]


@pytest.mark.alone("asks fifty times a second")
def test_who_begins_too_many_sessions_is_told_when_to_come_again(serve, needs_bpf, somebody, start):
    daemon = serve()
    nobody, root = somebody(daemon), somebody(daemon, uid=0)
    target, other = start_theirs(start), burning(start)
    for _ in range(5):  # a place may just have become free
        nobody.do("begin_and_go", to=nobody.tcp, path=own("oncpu", target.pid, 600), gap=0.02, during=1)
        answer = nobody.get(own("oncpu", target.pid))
        if answer.status == 429:
            break
    assert answer.status == 429 and "too fast" in answer.text
    assert answer.headers["Retry-After"] == "1"
    for _ in range(6):
        assert root.get(own("oncpu", other.pid)).status == 200, "an administrator isn't bounded"
    assert nobody.get(own("oncpu", target.pid)).status == 200


@pytest.mark.parametrize("more", [b"", b"G", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_a_session_ends_with_its_client_whatever_that_sent_behind(serve, needs_bpf, start, more):
    daemon = serve()
    target = burning(start)
    with daemon.connect() as sock:
        request = f"GET {own('oncpu', target.pid, 600)} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        sock.sendall(request)
        wait_for(lambda: sessions(daemon) == 1, why="a session")
        sock.sendall(more)
        time.sleep(0.3)
        assert sessions(daemon) == 1
    wait_for(lambda: sessions(daemon) == 0, 30, why="its end")


# Connections whose answers nobody reads

LOOPBACKS = [f"127.0.0.{number}" for number in range(2, 6)]


def test_who_reads_no_answer_keeps_nobody_out(elsewhere, somebody, tokens):
    daemon, admin, there = elsewhere(loopback_uid=False, **tokens)
    nobody = somebody(daemon)
    nobody.do("read_nothing", to=nobody.tcp, path="/metrics", sources=LOOPBACKS, times=16)
    assert admin.get("/flamegraph", to=there, headers=bearer(TOKENS["admin"])).status == 200
    assert admin.get("/flamegraph", to=admin.socket).status == 200


def test_who_reads_no_answer_for_five_seconds_loses_the_connection(serve, somebody, tokens):
    daemon = serve(loopback_uid=False, **tokens)
    nobody, admin = somebody(daemon), somebody(daemon, uid=0)
    nobody.do("read_nothing", to=nobody.tcp, path="/metrics", sources=LOOPBACKS, times=16)
    time.sleep(8)  # five, and what a busy host takes
    assert admin.get("/flamegraph", headers=bearer(TOKENS["admin"])).status == 200, "they look like one client"


# Answers that are kept


def test_who_is_no_administrator_gets_answers_a_second_old_until_a_put(serve, somebody, tokens):
    daemon = serve(**tokens)
    nobody, root = somebody(daemon), somebody(daemon, uid=0)
    reader = bearer(TOKENS["read"])

    def texts():
        return [nobody.get(path, headers=reader if path != "/metrics" else None).text
                for path in ("/metrics", "/flamegraph", "/sched")]  # fmt: skip

    def is_kept():
        began, before = time.monotonic(), texts()
        for path in ("/healthz", "/metrics", "/nothing", "/flamegraph", "/sched"):
            assert nobody.put(stopped(), path).status in (403, 404, 405)
        after = texts()
        return time.monotonic() - began > 0.9 or before == after  # a slow machine tells nothing

    time.sleep(1.1)
    assert is_kept()
    before = texts()
    assert root.put(stopped("^changed$")).status == 200
    after = texts()
    assert "^changed$" in after[1] and before[0] != after[0]
    time.sleep(1.1)
    assert texts()[0] != after[0], "it counts what was refused"


# Bodies that nobody wants


def test_bodies_of_what_is_no_put_of_a_feature_are_not_kept(serve, somebody):
    daemon = serve()
    nobody = somebody(daemon)
    before_kb = memory_kb(daemon)
    head = f"PUT /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: {MIB}\r\n\r\n"
    chunked = "PUT /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n"
    nobody.do("hold", to=nobody.tcp, times=8, text=chunked + "x" * (MIB - 1))
    assert memory_kb(daemon) < before_kb + 3 * 1024
    nobody.do("drop")
    nobody.do("hold", to=nobody.tcp, times=8, text=head)  # nothing of it is waited for
    assert daemon.alive()


def test_a_small_body_of_a_get_is_dropped_and_a_large_one_is_413(serve, somebody):
    daemon = serve()
    root = somebody(daemon, uid=0)
    for path in ("/healthz", "/flamegraph", "/sched"):
        assert root.get(path, body="x" * 60_000).status == 200
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n".encode()
        assert b" 413 " in exchange(daemon, head + b"Content-Length: 70000\r\n\r\n").split(b"\r\n")[0]
        chunks = b"".join(b"8000\r\n" + b"x" * 0x8000 + b"\r\n" for _ in range(3)) + b"0\r\n\r\n"
        assert b" 413 " in exchange(daemon, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    assert root.put(stopped()).status == 200
