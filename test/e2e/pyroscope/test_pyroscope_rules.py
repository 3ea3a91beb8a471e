"""Each rule of push.v1 and of /ingest with a request that keeps it and one that breaks it, as the stand-in for
Pyroscope has it. Those of the pprof itself are in test_pprof_rules.py."""

import base64
import gzip
import json
import time

import pytest

from pprof_maker import cpu
from pyroscope_asking import LABELS, Request, Row, ask, code_of, each, hold, ingested, pushed, pyroscope
from pyroscope_ingest import TYPES
from pyroscope_push import JSON, PATH, PROTO

MIB = 1 << 20


@pytest.fixture(scope="module")
def server():
    with pyroscope() as started:
        yield started


def fine():
    return pushed(cpu().zipped())


def asked(**how):
    """A good push, but for these parts of the request."""
    return lambda: fine()._replace(**how)


def typed(text):
    return asked(headers=(("Content-Type", text),) if text else ())


def with_header(**header):
    return lambda: fine().but(**header)


def labels(*more, proto=False):
    """A push with these labels behind those that must be."""
    return lambda: pushed(cpu().zipped(), labels=(*LABELS, *more), proto=proto)


def only(*all_labels):
    return lambda: pushed(cpu().zipped(), labels=all_labels)


def document(change):
    """A push whose JSON is what change(it) leaves or returns."""

    def push():
        doc = json.loads(fine().body)
        changed = change(doc)
        return Request(json.dumps(doc if changed is None else changed).encode())

    return push


def body64(encode):
    return document(lambda doc: doc["series"][0]["samples"][0].update(rawProfile=encode(cpu().bytes())))


def bytes_of(change, proto=False):
    """A push whose body is change(its bytes)."""

    def push():
        request = pushed(cpu().zipped(), proto=proto)
        return request._replace(body=change(request.body))

    return push


def zipped(change=bytes):
    return lambda: fine()._replace(body=change(gzip.compress(fine().body))).but(Content_Encoding="gzip")


def proto():
    return pushed(cpu().zipped(), proto=True)


def many(count):
    return [(f"l{at}", "x") for at in range(count)]


HEADS = (
    Row("path", "a slash behind it", fine, asked(path=PATH + "/"), 404),
    Row("path", "another method", fine, asked(path="/push.v1.PusherService/Pull"), 404),
    Row("path", "a query", fine, asked(path=PATH + "?a=b"), 404),
    Row("double-slash", "two before it", fine, asked(path="/" + PATH), 301),
    Row("method", "GET", fine, asked(method="GET", body=None), 405),
    Row("method", "PUT", fine, asked(method="PUT"), 405),
    Row("content-type", "x-protobuf", proto, typed("application/x-protobuf"), 415),
    Row("content-type", "protobuf", proto, typed("application/protobuf"), 415),
    Row("content-type", "text", typed("Application/JSON; charset=utf-8"), typed("text/plain"), 415),
    Row("content-type", "none", fine, typed(None), 415),
    Row("connect-version", "2", with_header(Connect_Protocol_Version="1"),
        with_header(Connect_Protocol_Version="2")),
    Row("encoding", "zstd", zipped(), with_header(Content_Encoding="zstd"), 501),
    Row("body-gzip", "cut", zipped(), zipped(lambda data: data[:-1])),
    Row("body-gzip", "overwritten", fine, zipped(lambda data: data[:30] + bytes(30) + data[60:])),
    Row("body-gzip", "not gzip", fine, with_header(Content_Encoding="gzip")),
)  # fmt: skip

BODIES = (
    Row("json", "none", fine, bytes_of(lambda _: b"")),
    Row("json", "cut", fine, bytes_of(lambda data: data[:-1])),
    Row("json", "a list", fine, bytes_of(lambda data: b"[" + data + b"]")),
    Row("json", "a number for a text", fine,
        document(lambda doc: doc["series"][0]["labels"].append({"name": "a", "value": 1}))),
    Row("proto", "cut", proto, bytes_of(lambda data: data[:-1], proto=True)),
    Row("proto", "unknown field", proto, bytes_of(lambda data: data + b"\x12\0", proto=True)),
    Row("unknown-field", "a misspelled one",
        document(lambda doc: doc["series"][0]["samples"][0].update(id=doc["series"][0]["samples"][0].pop("ID"))),
        document(lambda doc: doc["series"][0]["samples"][0].update(raw="x"))),
    Row("base64", "a strange letter", body64(lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("=")),
        body64(lambda raw: "*" + base64.b64encode(raw).decode())),
    Row("utf8", "in JSON", labels(("a", "\U0001f525")), labels(("a", "\ud83d"))),
    Row("utf8", "in protobuf", labels(("a", "xy"), proto=True),
        lambda: Request(labels(("a", "xy"), proto=True)().body.replace(b"xy", b"\xff\xff"), headers=proto().headers)),
    Row("no-profiles", "nothing", fine, document(lambda doc: {})),
    Row("no-profiles", "no series", fine, document(lambda doc: {"series": []})),
    Row("no-profiles", "no samples", fine, document(lambda doc: doc["series"][0].update(samples=[]))),
)  # fmt: skip

SERIES = (
    Row("name-missing", "none", fine, only(LABELS[1])),
    Row("name", "a dash", fine, only(("__name__", "process-cpu"), LABELS[1])),
    Row("name", "a colon", fine, only(("__name__", "process:cpu"), LABELS[1])),
    Row("service-missing", "none", fine, only(LABELS[0])),
    Row("label-twice", "the name", fine, labels(LABELS[0])),
    Row("label-twice", "another", labels(("a", "x"), ("b", "x")), labels(("a", "x"), ("a", "x"))),
    Row("label-name", "empty", fine, labels(("", "x"))),
    Row("label-name", "a dot", labels(("a_b", "x")), labels(("a.b", "x"))),
    Row("label-name", "a dash", fine, labels(("a-b", "x"))),
    Row("label-name", "a digit first", labels(("a0", "x")), labels(("0a", "x"))),
    Row("label-name", "another letter", fine, labels(("é", "x"))),
    Row("label-name-long", "1,025 bytes", labels(("x" * 1024, "x")), labels(("x" * 1025, "x"))),
    Row("label-reserved", "__x", labels(("_x", "x")), labels(("__x", "x"))),
    Row("label-empty", "in JSON", labels(("a", "x")), labels(("a", ""))),
    Row("label-empty", "in protobuf", proto, labels(("a", ""), proto=True)),
    Row("label-value-long", "2,049 bytes", labels(("a", "é" * 1024)), labels(("a", "é" * 1024 + "x"))),
    Row("labels-many", "31", labels(*many(28)), labels(*many(29))),
)  # fmt: skip


def now():
    return int(time.time())


def app(name):
    return lambda: ingested(name=name)


def own(count, before=""):
    """That many labels, with the letters before them."""
    return app("demo.cpu{" + before + ",".join(f"l{at}=x" for at in range(count)) + "}")


def at(age):
    return lambda: ingested(**{"from": now() - age})


def until(seconds):
    return lambda: ingested(until=now() - 30 + seconds)


def rate(text):
    return lambda: ingested(sampleRate=text)


def text(body, **params):
    return lambda: ingested(body, **params)


def line(size):
    return "x" * (size - 2) + " 3\n"


def queried(more):
    return lambda: ingested()._replace(path=ingested().path + more)


OVER = (1 << 63) - 1

URLS = (
    Row("method", "GET", ingested, lambda: ingested()._replace(method="GET", body=None), 405),
    Row("ingest-encoding", "gzip", ingested,
        lambda: ingested(gzip.compress(b"main 3\n")).but(Content_Encoding="gzip")),
    Row("ingest-app", "no name", app("demo"), app(None)),
    Row("ingest-app", "braces alone", ingested, app("{}")),
    Row("ingest-app", "a blank", app("de-mo_/1.cpu{}"), app("de mo.cpu{}")),
    Row("ingest-app", "a type alone", ingested, app(".cpu{}")),
    Row("ingest-type", "a version", app("python3_11.wall{}"), app("python3.11{}")),
    Row("ingest-type", "a pid", app("x-oncpu.56789.cpu{}"), app("x-oncpu.56789")),
    Row("ingest-type", "off-CPU's", app("x.block_duration"), app("x.off_cpu")),
    Row("ingest-braces", "not closed", app("demo.cpu{a=b}"), app("demo.cpu{a=b")),
    Row("ingest-braces", "more behind", ingested, app("demo.cpu{a=b}x")),
    Row("ingest-braces", "a brace in a value", app("demo.cpu{a=b;c= d\"é}"), app("demo.cpu{a=b}c}")),
    Row("ingest-pair", "no value", app("demo.cpu{a==}"), app("demo.cpu{a}")),
    Row("ingest-pair", "a comma more", app("demo.cpu{a=b,c=d}"), app("demo.cpu{a=b,}")),
    Row("ingest-profile-id", "one", app("demo.cpu{span_id=1}"), app("demo.cpu{profile_id=1}")),
    Row("label-reserved", "__x", ingested, app("demo.cpu{__x=1}")),
    Row("label-reserved", "__name__", ingested, app("demo.cpu{__name__=x}")),
    Row("label-name", "a dot", ingested, app("demo.cpu{a.b=1}")),
    Row("label-twice", "a", app("demo.cpu{a=1,b=2}"), app("demo.cpu{a=1,a=2}")),
    Row("label-empty", "a", ingested, app("demo.cpu{a=}")),
    Row("label-value-long", "2,049 bytes", app(f"demo.cpu{{a={'x' * 2048}}}"), app(f"demo.cpu{{a={'x' * 2049}}}")),
    Row("labels-many", "27 of one's own", own(26), own(27)),
    Row("labels-many", "with the service's", own(25, "service_name=s,"), own(26, "service_name=s,")),
    Row("ingest-from", "none", ingested, lambda: ingested(**{"from": None})),
    Row("ingest-from", "parts of a second", ingested, lambda: ingested(**{"from": time.time()})),
    Row("ingest-from", "milliseconds", ingested, lambda: ingested(**{"from": now() * 1000})),
    Row("ingest-from", "words", ingested, lambda: ingested(**{"from": "now-1m"})),
    Row("ingest-from", "0", ingested, lambda: ingested(**{"from": 0})),
    Row("window", "too old", at(3590), at(3610)),
    Row("window", "too new", at(-590), at(-610)),
    Row("ingest-until", "before from", until(30), until(-1)),
    Row("ingest-until", "parts of a second", until(1), until(1.5)),
    Row("ingest-rate", "0", rate("1"), rate("0")),
    Row("ingest-rate", "above 1e9", rate("1000000000"), rate("1000000001")),
    Row("ingest-rate", "junk", rate(None), rate("99.0")),
    Row("ingest-params", "unknown", queried("&units=samples"), queried("&unit=samples")),
    Row("ingest-params", "twice", ingested, queried("&name=other")),
    Row("ingest-params", "no value", queried("&spyName=stackprobe"), queried("&spyName")),
    Row("ingest-format", "lines", queried("&format=folded"), queried("&format=lines")),
    Row("utf8", "a label", app("demo.cpu{a=é}"), queried("&spyName=%ff")),
)  # fmt: skip

FOLDED = (
    Row("utf8", "a line", text("mé 3\n"), text(b"m\xe9 3\n")),
    Row("ingest-line", "65,536 bytes", text(line(65_535)), text(line(65_536))),
    Row("ingest-blank", "none", text("a b;c d 3\n"), text("main;work\n")),
    Row("ingest-blank", "a tab", text("main 3\r\n\nmain 4"), text("main;work\t3\n")),
    Row("ingest-blank", "two", text("main 3\n"), text("main  3\n")),
    Row("ingest-blank", "no stack", text("main;;work 3\n"), text(" 3\n")),
    Row("ingest-count", "0", text("main 1\n"), text("main 0\n")),
    Row("ingest-count", "below 0", ingested, text("main -3\n")),
    Row("ingest-count", "a sign", ingested, text("main +3\n"), 422),
    Row("ingest-count", "a fraction", ingested, text("main 1.5\n"), 422),
    Row("ingest-count", "an exponent", ingested, text("main 1e3\n"), 422),
    Row("ingest-count", "a blank behind", ingested, text("main 3 \n"), 422),
    Row("ingest-count", "64 bits", text(f"main {OVER}\n", name="x.alloc_space"),
        text(f"main {OVER + 1}\n", name="x.alloc_space"), 422),
    Row("ingest-overflow", "with the period", text(f"main {OVER // 10_000_000}\n", sampleRate=None),
        text(f"main {OVER // 10_000_000 + 1}\n", sampleRate=None)),
    Row("depth", "1,001", text("f;" * 999 + "f 3\n"), text("f;" * 1000 + "f 3\n")),
    Row("samples-many", "16,001", text("".join(f"f{at % 16_000} 1\n" for at in range(16_001))),
        text("".join(f"f{at} 1\n" for at in range(16_001)))),
    Row("size-2mib", "of a pprof", text("".join(f"{at:_>60000} 1\n" for at in range(34))),
        text("".join(f"{at:_>60000} 1\n" for at in range(36))), 429),
    Row("size-4mib", "of a pprof", ingested, text("".join(f"{at:_>60000} 1\n" for at in range(71)))),
)  # fmt: skip


@each(HEADS)
def test_heads_of_pushes(server, row):
    answer = hold(server, row)
    if row.status == 415:
        assert answer.body == b""


@each(BODIES)
def test_bodies_of_pushes(server, row):
    assert code_of(hold(server, row)) == "invalid_argument"


@each(SERIES)
def test_labels_of_pushes(server, row):
    hold(server, row)


@each(URLS)
def test_urls_of_ingest(server, row):
    assert code_of(hold(server, row))


@each(FOLDED)
def test_text_of_ingest(server, row):
    hold(server, row)


@pytest.mark.parametrize("suffix", TYPES)
def test_types_of_ingest(server, suffix):
    """Time is counted in samples, all else is taken as it is."""
    assert ask(server, ingested(name=f"{suffix}.{suffix}{{a=1}}", spyName="me")).status == 200
    stored = server.stored[-1]
    factor = 10_101_010 if TYPES[suffix].endswith("cpu:nanoseconds") else 1
    assert stored.folded(TYPES[suffix]) == [f"main;work {3 * factor}"]
    assert stored.labels == {
        "__name__": TYPES[suffix].split(":")[0], "service_name": suffix, "a": "1", "pyroscope_spy": "me",
    }  # fmt: skip


def test_a_service_in_the_name_wins(server):
    assert ask(server, ingested(name="demo.cpu{service_name=other}")).status == 200
    assert (server.stored[-1].labels["service_name"], server.stored[-1].labels["app_name"]) == (
        "other",
        "demo",
    )


def test_json_and_protobuf_say_the_same(server):
    profile = cpu(("main;work", 3, {"pid": "7"})).zipped()
    for proto in (False, True):
        answer = ask(server, pushed(profile, proto=proto))
        assert (answer.status, answer.body) == (200, b"" if proto else b"{}")
        assert answer.headers["Content-Type"] in ((None,) if proto else (JSON,))
    one, other = server.stored[-2:]
    assert (one.samples, one.labels, one.body) == (other.samples, other.labels, other.body)
    assert PROTO in dict(pushed(profile, proto=True).headers).values()


def test_an_answer_is_zipped_where_the_request_was(server):
    answer = ask(server, zipped()())
    assert answer.headers["Content-Encoding"] == "gzip" and gzip.decompress(answer.body) == b"{}"
    answer = ask(server, bytes_of(lambda _: gzip.compress(b"{}"))().but(Content_Encoding="gzip"))
    assert answer.status == 400 and json.loads(gzip.decompress(answer.body))["code"] == "invalid_argument"
    assert "Content-Encoding" not in ask(server, fine()).headers
