"""How the stand-in for Pyroscope fails to answer."""

import threading

import pytest

from helpers import wait_for
from pprof_maker import cpu
from pyroscope_asking import GONE, ask, connect, lost, pushed, pyroscope


@pytest.fixture
def server():
    with pyroscope() as started:
        yield started


def test_it_stores_and_drops_the_connection(server):
    server.misbehave("drop", times=1)
    lost(server)
    assert (len(server.stored), server.unanswered, [one.status for one in server.asked]) == (1, 1, [0])
    assert ask(server).status == 200


def test_it_hangs(server):
    server.misbehave("hang", times=1)
    lost(server, timeout=0.2)
    assert server.stored == []
    assert ask(server).status == 200


def test_each_push_gets_the_next_fault_and_then_none(server):
    server.misbehave_in_turn({"how": "drop"}, {"how": "status", "status": 429}, {"how": "half", "stores": False})
    lost(server)
    assert ask(server).status == 429
    lost(server)
    assert [one.status for one in server.asked] == [0, 429, 200]
    assert server.fault is None and ask(server).status == 200
    assert len(server.stored) == 2, "the first and the last"


def test_it_hangs_until_it_is_told_to_behave(server):
    server.misbehave("hang", times=1)
    telling = threading.Timer(0.2, server.behave)
    telling.start()
    lost(server)
    telling.join()


def test_it_hangs_and_has_stored(server):
    request = pushed(cpu().zipped())
    server.misbehave("hang", stores=True)
    lost(server, request, timeout=0.2)
    server.behave()
    assert ask(server, request).status == 200
    assert (len(server.stored), server.unanswered, len(server.repeated)) == (2, 1, 1)


def test_a_client_that_gave_up_has_no_answer():
    with pyroscope(delay=0.3) as server:
        lost(server, timeout=0.1)
        wait_for(lambda: server.asked)
        assert (len(server.stored), server.unanswered, server.asked[0].status) == (1, 1, 0)


def test_it_answers_garbage(server):
    server.misbehave("garbage", times=1)
    lost(server)
    assert server.stored == []
    assert ask(server).status == 200


def test_it_sends_elsewhere(server):
    server.misbehave("redirect", times=1, status=308)
    answer = ask(server)
    assert (answer.status, answer.headers["Location"]) == (308, f"{server.url}/elsewhere")
    assert (server.stored, server.followed) == ([], 0)
    assert ask(server, pushed()._replace(path="/elsewhere")).status == 200
    assert (server.stored, server.followed) == ([], 1)


def test_it_closes_half_way(server):
    server.misbehave("half", times=1)
    lost(server)
    assert (len(server.stored), server.unanswered) == (1, 1)


@pytest.mark.parametrize("how", ["endless", "headers", "trickle"])
def test_it_sends_for_ever(server, how):
    """Until the client goes, or it is told to stop."""
    server.misbehave(how, times=1)
    request = pushed(cpu().zipped())
    connection = connect(server)
    connection.request(request.method, request.path, request.body, dict(request.headers))
    got = 0
    while got < (4 if how == "trickle" else 100_000):
        got += len(connection.sock.recv(65_536))
    connection.close()
    assert server.stored == []
    assert ask(server).status == 200


def test_it_ends_while_it_sends_for_ever(server):
    server.misbehave("endless")
    connection = connect(server)
    request = pushed(cpu().zipped())
    connection.request(request.method, request.path, request.body, dict(request.headers))
    server.stop()
    with pytest.raises(GONE):
        while connection.sock.recv(65_536):
            pass
        raise ConnectionError
    connection.close()


def test_it_answers_with_any_status(server):
    server.misbehave("status", status=413, times=2)
    assert [ask(server).status for _ in range(3)] == [413, 413, 200]
    assert len(server.stored) == 1


def test_a_fault_is_not_for_what_is_refused(server):
    server.misbehave("drop")
    assert ask(server, pushed(b"")).status == 500
    assert (server.stored, server.unanswered) == ([], 0)
