"""Bodies and patterns made to hurt: each gets an answer, and the daemon lives in bounded memory."""
import json
import re
import shutil
from pathlib import Path

import pytest

from asking import until_sampled
from helpers import SAN, stopped


def body(text):
    return b"json=" + (text if isinstance(text, bytes) else text.encode())


# Those of reference/stackprobe.md 5.2, which abort the original, come first.
BODIES = [
    "[]",
    "1",
    '{"snoopers":[]}',
    '{"params":[]}',
    '{"cmd":[]}',
    '{"cmd":{"probe":{"a":1}}}',
    '{"params":{"svg_period":99999999999}}',
    '{"snoopers":{"proc_id":[-5000000000]}}',
    "null",
    '"text"',
    "true",
    "",
    '{"cmd":null,"snoopers":null,"params":null,"state":null}',
    '{"cmd":1,"snoopers":"x","params":true,"state":[]}',
    '{"cmd":{"probe":[null]}}',
    '{"cmd":{"probe":[["oncpu"]]}}',
    '{"cmd":{"probe":["' + "x" * 100_000 + '"]}}',
    '{"cmd":{"probe":[' + ",".join(['"oncpu"'] * 50_000) + "]}}",
    '{"cmd":{"probe":["cache"]}}',
    '{"state":{}}',
    '{"state":"' + "running" * 10_000 + '"}',
    '{"snoopers":{"proc_id":{}}}',
    '{"snoopers":{"proc_id":5}}',
    '{"snoopers":{"proc_id":[0]}}',
    '{"snoopers":{"proc_id":[-1]}}',
    '{"snoopers":{"proc_id":[1.5]}}',
    '{"snoopers":{"proc_id":[4294967297]}}',
    '{"snoopers":{"proc_id":[1e308]}}',
    '{"snoopers":{"proc_id":[1e999]}}',
    '{"snoopers":{"proc_id":[-1e999]}}',
    '{"snoopers":{"proc_id":[NaN]}}',
    '{"snoopers":{"proc_id":[' + ",".join(map(str, range(1, 100_000))) + "]}}",
    '{"snoopers":{"proc_name":{}}}',
    '{"snoopers":{"proc_name":[[]]}}',
    '{"snoopers":{"proc_name":[{"comm":null}]}}',
    '{"snoopers":{"proc_name":[{"comm":"x","cmdline":1}]}}',
    '{"snoopers":{"proc_name":[{"comm":"x","debugging_dir":[]}]}}',
    '{"snoopers":{"proc_name":[{"comm":"x","probe":"oncpu"}]}}',
    '{"snoopers":{"proc_name":[{"comm":"x","probe":[1]}]}}',
    '{"snoopers":{"proc_name":[{"comm":"x","probe":["bogus"]}]}}',
    '{"snoopers":{"proc_name":[{"comm":"a\\u0000b"}]}}',
    '{"snoopers":{"proc_name":[{"comm":"\\ud800"}]}}',
    '{"snoopers":{"proc_name":[' + ",".join(['{"comm":"x"}'] * 20_000) + "]}}",
    '{"snoopers":{"proc_name":[{"comm":"x","cmdline":"' + "y" * 500_000 + '"}]}}',
    '{"params":null}',
    '{"params":{"svg_period":1e999}}',
    '{"params":{"svg_period":-1e999}}',
    '{"params":{"svg_period":[60]}}',
    '{"params":{"perf_sample_period":-99999999999999999999}}',
    '{"params":{"frequency":0.0000001}}',
    '{"params":{"svg_dir":"/tmp/' + "d/" * 100_000 + '"}}',
    '{"params":{"svg_dir":"/tmp/' + "d" * 5000 + '"}}',
    '{"params":{"svg_dir":"/tmp/a\\u0000b"}}',
    '{"params":{"svg_dir":"/tmp/stackprobe-e2e-$(touch pwned);`id`|x"}}',
    '{"params":{"pyroscope_server":"' + "h" * 100_000 + ':1"}}',
    "[" * 500_000,
    "{" * 100_000,
    '{"a":' * 100_000,
    "[" * 100_000 + "]" * 100_000,
    '{"cmd":' + "[" * 5000 + "]" * 5000 + "}",
    '{"a":"' + "\\u0000" * 10_000 + '"}',
    '{"params":{' + ",".join(f'"k{i}":{i}' for i in range(50_000)) + "}}",
    '{"params":{"svg_period":60,"svg_period":61,"svg_period":"x"}}',
    '{"cmd":{"probe":["oncpu"]}} trailing',
    '{"state":"stop',
    b"\0" * 1000,
    b"{\0}",
    b'{"state":"stopped"}\0\0\0',
    b'{"state":"\xff\xfe\x80"}',
    b"\xef\xbb\xbf{}",
    b"%",
    b"%7",
    b"%7B%22",
    b"%zz%zz",
    b"%00%00",
    b"%7B%7D&json=%7B%7D&x=y",
    b"+++",
    b"9" * 500_000,
    b'{"params":{"svg_period":' + b"9" * 400_000 + b"}}",
    b"-",
    b"1e",
]

PATTERNS = [
    "(" * 255,
    "(" * 127 + ")" * 127,
    "x{255}{255}{255}",
    "(((x{1,100}){1,100}){1,100})",
    "(a+)+$",
    "(a*)*b",
    "(a|aa)+$",
    "(.*)*.*(.*)*x",
    "((a?){60}){60}a{60}",
    "(?R)*",
    "(?>(?>(?>a+)+)+)b",
    "(a)\\1{200}",
    "[" * 200,
    "[[:bogus:]]",
    "[z-a]",
    "x{2,1}",
    "x{99999}",
    "*",
    "\\",
    "(?C1)(?{system('id')})",
    "(*LIMIT_MATCH=4294967295)(a+)+$",
    "(*UTF)\\x{10ffff}",
    "a" * 255,
    "\u00e9\u4e2d" * 40,
    "|" * 255,
]


@pytest.fixture(autouse=True)
def folders_that_the_bodies_ask_for():
    yield
    for path in Path("/tmp").glob("stackprobe-e2e-$*"):
        shutil.rmtree(path)


def memory_kb(daemon, what):
    return int(re.search(rf"{what}:\s+(\d+)", Path(f"/proc/{daemon.pid}/status").read_text())[1])


def send_all(daemon):
    """Each as it is and as plain JSON; an answer is 200, or a refusal with its sentence."""
    for number, text in enumerate(BODIES):
        for form in (body(text), body(text)[5:]):
            answer = daemon.put(form)
            assert answer.status in (200, 400, 503), (number, str(text)[:80], answer)
            assert answer.json()["result"] == ("success" if answer.status == 200 else "failed")


@pytest.mark.quick
def test_every_hostile_body_gets_an_answer_and_the_daemon_lives(daemon):
    daemon.put_ok(stopped())
    send_all(daemon)
    assert daemon.alive()
    assert "state" in daemon.config()


def test_hostile_bodies_before_any_configuration(daemon):
    send_all(daemon)
    assert daemon.alive()


def test_hostile_bodies_while_a_probe_runs_leave_it_running(profiler, start):
    profiler.profile("^spin$", svg_period=600)
    settings = profiler.settings()
    for text in BODIES:
        if b'"stop' not in body(text):
            profiler.put(body(text))
            profiler.put_ok(settings)
    until_sampled(profiler, start("spin", 600))


def test_memory_stays_bounded_however_often_they_come(daemon):
    if SAN:
        pytest.skip("a sanitizer keeps freed memory")
    send_all(daemon)
    before_kb = memory_kb(daemon, "VmRSS")
    for _ in range(4):
        send_all(daemon)
    assert memory_kb(daemon, "VmRSS") <= before_kb + 2048
    assert memory_kb(daemon, "VmHWM") <= 100 * 1024


def test_no_pattern_can_hurt(profiler, start):
    """Each meets all names, two of them made for backtracking, and that of a new process."""
    for name in ("aaaaaaaaaaaaaaa", "aaaaaaaaaaaaaab"):
        start("spin", 600, name)
    for pattern in PATTERNS:
        answer = profiler.put(profiler.wanting(pattern))
        assert answer.status in (200, 400), (pattern, answer.text)
        start("spin", 0, "aaaaaaaaaaaaaac").finish()
        assert profiler.alive(), pattern
    if not SAN:
        assert memory_kb(profiler, "VmHWM") <= 100 * 1024


def test_a_pattern_longer_than_255_bytes_is_refused(daemon):
    assert daemon.put(stopped("a" * 255)).status == 200
    for pattern in ("a" * 256, "(" * 30_000):
        assert daemon.put(stopped(pattern)).status == 400


def test_an_invalid_pattern_is_refused_with_a_sentence(daemon):
    for pattern in ("(", "[z-a]", "x{2,1}", "*", "\\"):
        answer = daemon.put(stopped(pattern))
        assert answer.status == 400, pattern
        assert answer.message


@pytest.mark.parametrize(
    "raw",
    [
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /flamegraph\r\n\r\n",
        b"GET /flamegraph HTTP/9.9\r\n\r\n",
        b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFF\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\xaa" * 100,
        b"GET /flamegraph/oncpu.svg?pid=%00&seconds=%ff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ids=lambda raw: repr(raw[:50]),
)
def test_what_is_hardly_http_does_no_harm(daemon, raw):
    with daemon.connect() as sock:
        sock.sendall(raw)
    with daemon.connect() as sock:
        sock.sendall(raw)
        sock.settimeout(0.2)
        try:
            sock.recv(4096)
        except (TimeoutError, ConnectionResetError):
            pass
    assert daemon.alive()


@pytest.mark.parametrize("query", ["pid=", "pid=-1", "pid=x", "pid=99999999999999", "pid=1;2"])
def test_a_pid_that_is_none_is_refused(daemon, query):
    daemon.put_ok(stopped())
    answer = daemon.get("/flamegraph/oncpu.folded?" + query)
    assert answer.status == 400
    assert json.loads(answer.body)["result"] == "failed"
