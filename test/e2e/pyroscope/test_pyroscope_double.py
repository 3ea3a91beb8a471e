"""How the stand-in for Pyroscope answers, what it takes at once, and that it stops and starts."""

import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

from helpers import wait_for
from pprof_maker import cpu, filled
from pyroscope_asking import (
    CPU,
    LABELS,
    SAMPLES,
    ask,
    code_of,
    connect,
    ingested,
    lost,
    pushed,
    pyroscope,
    send,
    window,
)
from pyroscope_double import Pyroscope

MIB = 1 << 20
LABEL_BYTES = sum(len(name + value) for name, value in LABELS)


@pytest.fixture
def server():
    with pyroscope() as started:
        yield started


def of_size(size):
    return pushed(filled(size - LABEL_BYTES).bytes())


def rules(told):
    return [rule for rule, _ in told]


# Answers


def test_an_answer_takes_its_time():
    """The only test with the real server's half a second. What is refused is so at once."""
    with Pyroscope() as server:
        began = time.monotonic()
        assert ask(server).status == 200
        assert time.monotonic() - began >= 0.5
        assert ask(server, pushed(b"")).status == 500


def test_what_was_stored_is_seen_by_the_answer():
    with pyroscope(delay=0.5) as server:
        asking = threading.Thread(target=ask, args=(server,))
        asking.start()
        assert server.stored == []
        asking.join()
        assert len(server.stored) == 1


def test_a_connection_is_used_again(server):
    connection = connect(server)
    for status, request in [(200, None), (415, pushed(b"")._replace(headers=())), (200, None)]:
        assert send(connection, request or pushed(cpu().zipped())).status == status
    connection.close()
    assert [one.status for one in server.asked] == [200, 415, 200]


def test_a_body_in_chunks(server):
    request = pushed(cpu().zipped())
    connection = connect(server)
    pieces = [request.body[:100], request.body[100:]]
    connection.request("POST", request.path, iter(pieces), dict(request.headers), encode_chunked=True)
    assert connection.getresponse().status == 200 and len(server.stored) == 1
    connection.close()


def test_a_client_that_waits_to_be_told_to_go_on(server):
    request = pushed(cpu().zipped())
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        head = f"POST {request.path} HTTP/1.1\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
        connection.sendall(f"{head}Content-Length: {len(request.body)}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        connection.sendall(request.body)
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")


def test_half_a_request_is_none(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        head = (
            f"POST {pushed().path} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
        )
        connection.sendall(head.encode() + b'{"series"')
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""
    assert (server.asked, server.refused) == ([], [])


def test_what_is_no_http_is_told_when_it_stops():
    server = Pyroscope(delay=0).start()
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n")
        assert connection.recv(100) == b""
    with pytest.raises(AssertionError, match="invalid literal"):
        server.stop()


def test_ready(server):
    answer = ask(server, pushed()._replace(path="/ready", method="GET", body=None))
    assert (answer.status, answer.text) == (200, "ready\n")
    server.stop()
    server.start(unready=60)
    answer = ask(server, pushed()._replace(path="/ready", method="GET", body=None))
    assert answer.status == 503


@pytest.mark.parametrize(
    "how, header",
    [({"authorization": "Bearer s3cret"}, "Authorization"), ({"tenant": "one"}, "X-Scope-OrgID")],
    ids=["authorization", "tenant"],
)
def test_who_may_not(how, header):
    with pyroscope(**how) as server:
        good = pushed(cpu().zipped())
        for request in (good, good.but(**{header.replace("-", "_"): "other"}), ingested()):
            answer = ask(server, request)
            assert (answer.status, code_of(answer)) == (401, "unauthenticated")
        assert rules(server.refused) == [*how] * 3 and server.stored == []
        assert ask(server, good._replace(headers=(*good.headers, (header, *how.values())))).status == 200


def test_tls(work):
    if not shutil.which("openssl"):
        pytest.skip("no openssl")
    key, name = work / "key.pem", ["-subj", "/CN=one", "-addext", "subjectAltName=IP:127.0.0.1"]
    make = "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -keyout - -out -".split()
    key.write_bytes(subprocess.run([*make, *name], capture_output=True, check=True).stdout)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(key)
    with pyroscope(tls=tls) as server:
        knows = ssl.create_default_context(cafile=key)
        asking = urllib.request.Request(f"{server.url}{pushed().path}", pushed(cpu().zipped()).body)
        asking.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(asking, timeout=10, context=knows) as answer:
            assert (answer.status, len(server.stored)) == (200, 1)
        lost(server)  # not TLS
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE"):
            urllib.request.urlopen(asking, timeout=10)


# What goes in, and what doesn't


def test_the_bucket_has_two_mib_and_fills_again():
    with pyroscope(rate=0) as server:
        assert ask(server, of_size(2 * MIB)).status == 200
        answer = ask(server, of_size(2 * MIB))
        assert (answer.status, code_of(answer)) == (429, "resource_exhausted")
        assert "Retry-After" not in answer.headers
        server.bucket.rate = 4 * MIB
        wait_for(lambda: ask(server, of_size(2 * MIB)).status == 200, every=0.1)
    assert len(server.stored) == 2 and server.refused == []
    assert rules(server.put_off)[0] == "rate" and server.repeated == []


def test_what_is_larger_than_the_bucket_never_goes_in():
    with pyroscope(rate=1 << 40) as server:
        for _ in range(3):
            assert ask(server, of_size(2 * MIB + 1)).status == 429
    assert rules(server.refused) == ["size-2mib"] * 3 and server.put_off == []


def test_as_many_as_the_bucket_takes_are_stored():
    with pyroscope(rate=0) as server:
        answer = ask(server, pushed(*[filled(MIB - LABEL_BYTES).bytes()] * 4))
    assert (answer.status, len(server.stored), rules(server.put_off)) == (429, 2, ["rate"] * 2)


def test_folded_text_pays_what_it_is_as_a_pprof():
    with pyroscope(rate=0, burst=1000) as server:
        assert ask(server, ingested("main;work 3\n" * 1000)).status == 200
        assert ask(server, ingested("".join(f"main;work{at} 3\n" for at in range(9)))).status == 200
        answers = [ask(server, ingested("".join(f"f{at} 1\n" for at in range(20)))).status for _ in range(2)]
        assert answers == [429, 429] and rules(server.put_off) == ["rate"] * 2


def test_the_good_part_of_a_request_is_stored(server):
    bad = cpu()
    bad.doc["sample"][0]["location_id"] = []
    answer = ask(server, pushed(cpu("a").zipped(), bad.zipped(), cpu("b").zipped()))
    assert (answer.status, rules(server.refused)) == (400, ["stack-empty"])
    assert server.folded(SAMPLES) == ["a 3", "b 3"]
    answer = ask(server, pushed(cpu("c").zipped(), cpu().zipped()[:-9]))
    assert (answer.status, code_of(answer), server.folded(SAMPLES)[2:]) == (500, "unknown", ["c 3"])


def test_a_bad_series_does_not_spoil_the_others(server):
    series = [json.loads(pushed(cpu(name).zipped()).body)["series"][0] for name in "abc"]
    series[1]["labels"] = series[1]["labels"][:1]
    answer = ask(server, pushed()._replace(body=json.dumps({"series": series}).encode()))
    assert (answer.status, rules(server.refused)) == (400, ["service-missing"])
    assert server.folded(SAMPLES) == ["a 3", "c 3"]


def test_one_pprof_is_stored_whole_or_not_at_all(server):
    bad = cpu(*[(f"f{at}", 1, {"pid": str(at)}) for at in range(50)], ("main", 1, {"a.b": "x"}))
    assert ask(server, pushed(bad.zipped())).status == 400
    assert server.stored == []


def test_nothing_is_deduplicated_but_counted(server):
    """Only what was stored before: a body may be sent again that was not."""
    request = window("main;work")
    server.misbehave("status", status=503, times=1)
    assert [ask(server, request).status for _ in range(3)] == [503, 200, 200]
    assert len(server.repeated) == 1
    assert server.total(SAMPLES) == 6
    assert server.doubled() == {(SAMPLES, *key): 3 for key in keys(server)} | {
        (CPU, *key): 30_303_030 for key in keys(server)
    }
    assert server.gaps() == []


def keys(server):
    one = server.stored[0]
    return [(one.from_ns, tuple(sorted(sample.labels.items())), sample.frames) for sample in one.samples]


def test_an_empty_window_is_a_window(server):
    empty = cpu()
    empty.doc["sample"] = []
    assert ask(server, pushed(empty.zipped())).status == 200
    assert len(server.windows()) == 2 and server.total(CPU) == 0


# A clock of its own


def test_the_servers_clock_can_be_another(server):
    request = window("main")
    server.clock = lambda: time.time() + 3600
    assert (ask(server, request).status, rules(server.refused)) == (400, ["window"])
    assert "outside of ingestion window" in server.refused[0][1]


# Start and stop


def test_it_stops_and_starts_on_its_port_and_keeps_what_it_has(server):
    url = server.url
    assert ask(server).status == 200
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        ask(server)
    server.start()
    assert (server.url, ask(server).status, len(server.stored)) == (url, 200, 2)


def test_it_says_500_while_it_starts(server):
    server.stop()
    server.start(starting=0.3)
    answer = ask(server)
    assert (answer.status, code_of(answer)) == (500, "unknown")
    assert ask(server, ingested()).status == 500
    assert ask(server, pushed()._replace(path="/ready", method="GET", body=None)).status == 200
    wait_for(lambda: ask(server).status == 200)
    assert set(rules(server.put_off)) == {"starting"} and server.refused == []


def test_it_stops_in_the_middle_of_an_answer():
    """What was not answered then was not stored."""
    with pyroscope(delay=60) as server:
        ended = []
        asking = threading.Thread(target=lambda: ended.append(lost(server)))
        asking.start()
        wait_for(lambda: server.server.connections)
        time.sleep(0.1)
        server.stop()
        asking.join(10)
        assert ended and (server.stored, server.unanswered) == ([], 0)
        server.delay = 0
        server.start()
        assert ask(server).status == 200
