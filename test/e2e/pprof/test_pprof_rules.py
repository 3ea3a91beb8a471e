"""Each rule of a pprof with one that keeps it and one that breaks it, as the stand-in for Pyroscope has it."""

import gzip
import shutil
import subprocess
import time
from pathlib import Path

import pytest

import pprof
import pprof_rules
from pprof import Refused
from pprof_kinds import KINDS
from pprof_maker import Maker, S, cpu, filled
from pyroscope_asking import LABELS, Row, code_of, each, hold, pushed, pyroscope

MIB = 1 << 20


@pytest.fixture(scope="module")
def server():
    with pyroscope() as started:
        yield started


def fine():
    return pushed(cpu().zipped())


def made(change, stacks=("main;work",), **how):
    """A push of a profile after change(doc)."""

    def push():
        profile = cpu(*stacks, **how)
        change(profile.doc)
        return pushed(profile.bytes())

    return push


def put(table, number, **values):
    """put("sample", 0, value=[1, 2]): other values in that table's row."""
    return made(lambda doc: doc[table][number].update(values))


def raw(change):
    """change(bytes of a good profile)"""
    return lambda: pushed(change(cpu().bytes()))


def of_kind(name):
    def push():
        profile = Maker(name)
        profile.add("main;work", *[5 for _ in profile.doc["sample_type"]])
        return pushed(profile.zipped(), labels=(("__name__", name), *LABELS[1:]))

    return push


def labelled(count=1, **labels):
    return lambda: pushed(cpu(*[("main", 1, labels)] * count).zipped())


def aged(seconds):
    """Whose window began so long ago."""
    return lambda: pushed(cpu(time_ns=time.time_ns() - seconds * S).zipped())


def sized(size):
    """Exactly so many bytes with the labels of the series."""
    return lambda: pushed(filled(size - sum(len(name + value) for name, value in LABELS)).bytes())


def deep(frames):
    return lambda: pushed(cpu("f;" * (frames - 1) + "f").bytes())


def text_added(text):
    return made(lambda doc: doc["string_table"].append(text))


def padded(data):
    """The same with a first length of two bytes."""
    return data[:1] + bytes([data[1] | 0x80, 0]) + data[2:]


TIME = b"\x48"  # time_nanos, a varint
READING = (
    Row("gzip", "cut", fine, raw(lambda data: gzip.compress(data)[:-1]), 500),
    Row("gzip", "more behind it", fine, raw(lambda data: gzip.compress(data) + b"\0"), 500),
    Row("gzip", "another sum", fine, raw(lambda data: gzip.compress(data)[:-5] + b"12345"), 500),
    Row("parse", "cut", raw(bytes), raw(lambda data: data[:-1]), 500),
    Row("parse", "empty", raw(bytes), raw(lambda data: b""), 500),
    Row("parse", "an unknown field", raw(bytes), raw(lambda data: data + b"\x80\x01\0"), 500),
    Row("parse", "a field twice", raw(bytes), raw(lambda data: data + TIME + b"\1"), 500),
    Row("parse", "another type on the wire", raw(padded), raw(lambda data: data + b"\x7d1234"), 500),
    Row("parse", "a message that is a number", raw(padded), raw(lambda data: data + b"\x08\1"), 500),
    Row("parse", "more than 64 bits", raw(padded), raw(lambda data: data + b"\x70" + b"\xff" * 10), 500),
    Row("parse", "a bool of 2", put("location", 0, is_folded=1), put("location", 0, is_folded=2), 500),
    Row("utf8", "strings", text_added("é".encode()), text_added(b"\xe9")),
    Row("string-zero", "not empty", fine, made(lambda doc: doc["string_table"].__setitem__(0, b"x"))),
    Row("string-missing", "a name", fine, put("function", 0, name=99)),
    Row("string-missing", "below 0", fine, put("function", 0, filename=-1)),
    Row("string-long", "65,536 bytes", text_added(b"x" * 65_535), text_added(b"x" * 65_536)),
)  # fmt: skip

LABEL_KEY = 1  # "samples", a text that is there

SHAPE = (
    Row("type-none", "none", fine, made(lambda doc: doc.update(sample_type=[], sample=[]))),
    Row("type-name", "a dash", fine, made(lambda doc: doc["string_table"].__setitem__(1, b"sam-ples"))),
    Row("type-name", "a blank", fine, made(lambda doc: doc["string_table"].__setitem__(1, b"sam ples"))),
    Row("type-twice", "samples", fine, put("sample_type", 1, type=1, unit=2)),
    Row("type-unknown", "another unit", fine, put("sample_type", 1, unit=2)),
    Row("type-unknown", "the period's", of_kind("off_cpu"), made(lambda doc: doc.update(period_type={}))),
    Row("type-unknown", "of another name", of_kind("memory"),
        lambda: pushed(cpu().zipped(), labels=(("__name__", "memory"), *LABELS[1:]))),
    Row("type-unknown", "a name of nobody's", of_kind("block"),
        lambda: pushed(cpu().zipped(), labels=(("__name__", "oncpu"), *LABELS[1:]))),
    Row("period-missing", "none", of_kind("wall"), made(lambda doc: doc.pop("period_type"))),
    Row("period-crash", "none, and a zero", fine,
        made(lambda doc: (doc.pop("period_type"), doc["sample"][0].update(value=[0, 0]))), 500),
    Row("id-zero", "mapping", made(lambda doc: doc["mapping"].append({"id": 1})),
        made(lambda doc: doc["mapping"].append({"filename": 1}))),
    Row("id-zero", "location", fine,
        made(lambda doc: (doc["location"][0].pop("id"), doc["sample"][0].update(location_id=[0])))),
    Row("id-zero", "function", fine,
        made(lambda doc: (doc["function"][0].pop("id"), doc["location"][0].update(line=[{"line": 7}])))),
    Row("id-twice", "mapping", made(lambda doc: doc.update(mapping=[{"id": 1}, {"id": 2}])),
        made(lambda doc: doc.update(mapping=[{"id": 1}, {"id": 1}]))),
    Row("id-twice", "location", fine, put("location", 1, id=1)),
    Row("id-twice", "function", fine, put("function", 1, id=1)),
    Row("mapping-missing", "2 of 1",
        made(lambda doc: (doc["mapping"].append({"id": 1}), doc["location"][0].update(mapping_id=1))),
        made(lambda doc: (doc["mapping"].append({"id": 1}), doc["location"][0].update(mapping_id=2)))),
    Row("function-missing", "9", fine, put("location", 0, line=[{"function_id": 9}])),
    Row("location-missing", "9", fine, put("sample", 0, location_id=[1, 9])),
    Row("line-none", "an address alone", fine, put("location", 0, line=[])),
    Row("function-nameless", "the only one", fine, put("function", 0, name=0)),
    Row("function-nameless", "an inlined one",
        put("location", 0, line=[{"function_id": 1}, {"function_id": 2}]),
        made(lambda doc: (doc["location"][0]["line"].append({"function_id": 2}), doc["function"][1].pop("name")))),
    Row("line-negative", "of a place", put("location", 0, line=[{"function_id": 1, "line": 0}]),
        put("location", 0, line=[{"function_id": 1, "line": -1}])),
    Row("line-negative", "of a function", put("function", 0, start_line=0), put("function", 0, start_line=-1)),
    Row("duration-none", "0", made(lambda doc: doc.update(duration_nanos=1)),
        made(lambda doc: doc.pop("duration_nanos"))),
    Row("duration-none", "below 0", fine, made(lambda doc: doc.update(duration_nanos=-1))),
)  # fmt: skip

SAMPLES = (
    Row("stack-empty", "none", fine, put("sample", 0, location_id=[])),
    Row("value-count", "1 of 2", fine, put("sample", 0, value=[3])),
    Row("value-count", "3 of 2", fine, put("sample", 0, value=[3, 3, 3])),
    Row("value-negative", "one", put("sample", 0, value=[1, 0]), put("sample", 0, value=[1, -1])),
    Row("value-zero", "all", put("sample", 0, value=[0, 1]), put("sample", 0, value=[0, 0])),
    Row("identity-number", "pid", labelled(pid="7", turn=7), labelled(pid=7)),
    Row("sample-label-twice", "with one value", labelled(pid="7", comm="7"),
        put("sample", 0, label=[{"key": LABEL_KEY, "str": LABEL_KEY}] * 2)),
    Row("label-both", "text and number", fine,
        put("sample", 0, label=[{"key": LABEL_KEY, "str": LABEL_KEY, "num": 7}])),
    Row("sample-label-name", "a dot", labelled(a_b="x"), labelled(**{"a.b": "x"})),
    Row("sample-label-name", "empty", fine, put("sample", 0, label=[{"str": LABEL_KEY}])),
    Row("sample-label-name", "reserved", labelled(_x="x"), labelled(__x="x")),
    Row("sample-label-name", "1,025 bytes", labelled(**{"x" * 1024: "x"}), labelled(**{"x" * 1025: "x"})),
    Row("sample-label-value", "2,049 bytes", labelled(comm="é" * 1024), labelled(comm="é" * 1024 + "x")),
    Row("sample-label-value", "empty", fine, labelled(comm="")),
    Row("sample-label-hidden", "service_name", fine, labelled(service_name="other")),
    Row("labels-many", "31 with the series'", labelled(**{f"l{at}": "x" for at in range(28)}),
        labelled(**{f"l{at}": "x" for at in range(29)})),
)  # fmt: skip

LIMITS = (
    Row("size-2mib", "a byte more, with labels", sized(2 * MIB), sized(2 * MIB + 1), 429),
    Row("size-2mib", "4 MiB", fine, lambda: pushed(filled(4 * MIB).bytes()), 429),
    Row("size-4mib", "a byte more", fine, lambda: pushed(filled(4 * MIB + 1).zipped())),
    Row("samples-many", "16,001", labelled(16_000), labelled(16_001)),
    Row("depth", "1,001", deep(1000), deep(1001)),
    Row("window", "too old", aged(3590), aged(3610)),
    Row("window", "too new", aged(-590), aged(-610)),
    Row("window", "no time", fine, made(lambda doc: doc.pop("time_nanos"))),
    Row("window", "in microseconds", fine, made(lambda doc: doc.update(time_nanos=doc["time_nanos"] // 1000))),
)  # fmt: skip


@each(READING)
def test_what_can_be_read(server, row):
    answer = hold(server, row)
    assert code_of(answer) == ("invalid_argument" if row.status == 400 else "unknown")


@each(SHAPE)
def test_types_places_and_functions(server, row):
    hold(server, row)


@each(SAMPLES)
def test_samples_and_their_labels(server, row):
    hold(server, row)


@each(LIMITS)
def test_limits_of_a_push(server, row):
    answer = hold(server, row)
    assert code_of(answer) == ("resource_exhausted" if row.status == 429 else "invalid_argument")
    assert "Retry-After" not in answer.headers


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_profile_is_sound(name):
    profile = Maker(name)
    profile.add("main;work", *range(1, 1 + len(profile.doc["sample_type"])), pid="7")
    pprof_rules.check(pprof.read(profile.bytes()))


def test_limits_are_for_pushes_only():
    """What is served may be of any size and age."""
    read = pprof.read(cpu("f;" * 1000 + "f", time_ns=1).zipped())
    pprof_rules.check(read)
    with pytest.raises(Refused, match="depth"):
        pprof_rules.check(read, pprof_rules.Push("process_cpu", 0))


@pytest.mark.parametrize("pack", [True, False], ids=["packed", "unpacked"])
def test_a_profile_is_read_as_it_was_made(pack):
    profile = cpu(("main;work", 3, {"pid": "7"}), ("main;idle;work", 2, {"pid": "8", "turn": 5}))
    profile.doc["mapping"].append({"id": 1, "memory_start": 1 << 63, "build_id": profile.text("abc")})
    profile.strings()
    read = pprof.read(profile.bytes(pack))
    assert read.total("samples") == 5 and read.total("cpu") == 5 * 10_101_010
    assert (read.total("samples", pid="7"), read.total("samples", pid="9")) == (3, 0)
    assert read.folded("samples") == ["main;idle;work 2", "main;work 3"]
    assert read.folded("samples", pid="7") == ["main;work 3"]
    assert [read.labels(one) for one in read.samples] == [{"pid": "7"}, {"pid": "8", "turn": (5, "")}]
    assert (read.mappings[0].start, read.mappings[0].build_id) == (1 << 63, "abc")
    assert (read.duration_nanos, read.period, read.period_type) == (
        30 * S,
        10_101_010,
        ("cpu", "nanoseconds"),
    )


def test_inlined_functions_come_before_their_callers():
    profile = cpu()
    at = profile.location("inner", "outer", file="a.c", line=7)
    profile.doc["sample"][0]["location_id"].insert(0, at)
    profile.strings()
    read = pprof.read(profile.bytes())
    assert read.folded("samples") == ["main;work;outer;inner 3"]
    assert read.frames(read.samples[0])[0] == ("inner", "a.c", 7)


def test_names_in_folded_text_are_written_as_the_daemon_does():
    profile = cpu("main;work")
    profile.doc["string_table"][profile.numbers["work"]] = b"a;b\nc\x7f\xc3\xa9"
    assert pprof.read(profile.bytes()).folded("samples") == ["main;a:b c é 3"]


def test_a_profile_that_go_wrote():
    """The field numbers are those that others use. That one has stacks without a frame."""
    if not shutil.which("go"):
        pytest.skip("no go")
    root = subprocess.run(["go", "env", "GOROOT"], capture_output=True, text=True, check=True).stdout
    path = Path(root.strip(), "src/cmd/compile/default.pgo")
    if not path.exists():
        pytest.skip("this Go has no default.pgo")
    read = pprof.read(path.read_bytes())
    assert [tuple(one) for one in read.sample_types] == [("samples", "count"), ("cpu", "nanoseconds")]
    assert read.total("samples") * read.period == read.total("cpu") > 0
    assert "main.main" in {one.name for one in read.functions}
    with pytest.raises(Refused, match="stack-empty"):
        pprof_rules.check(read)
