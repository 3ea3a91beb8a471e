"""A profile as pprof (profile.proto), read by itself. What a server may refuse is in pprof_rules.py."""

import zlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from pprof_fields import PROFILE
from protobuf import Broken, decode

CODES = {
    400: "invalid_argument",
    401: "unauthenticated",
    404: "not_found",
    429: "resource_exhausted",
    501: "unimplemented",
}
FOLDED = str.maketrans({";": ":", **{chr(byte): " " for byte in (*range(32), 127)}})


class Refused(Exception):
    """The rule that was broken, how, and what a server answers to that."""

    def __init__(self, rule, text, status=400):
        super().__init__(f"{rule}: {text}")
        self.rule, self.text, self.status = rule, text, status
        self.code = CODES.get(status, "unknown")


class ValueType(NamedTuple):
    type: str
    unit: str


class Label(NamedTuple):
    key: str
    text: str
    number: int
    unit: str


class Sample(NamedTuple):
    locations: tuple  # ids, leaf first
    values: tuple
    labels: tuple


class Mapping(NamedTuple):
    id: int
    start: int
    limit: int
    offset: int
    file: str
    build_id: str
    functions: bool
    files: bool
    lines: bool
    inlined: bool


class Line(NamedTuple):
    function: int
    line: int


class Location(NamedTuple):
    id: int
    mapping: int
    address: int
    lines: tuple  # the innermost inlined first


class Function(NamedTuple):
    id: int
    name: str
    system_name: str
    file: str
    start_line: int


class Frame(NamedTuple):
    name: str
    file: str
    line: int


@dataclass
class Profile:
    sample_types: tuple
    samples: tuple
    mappings: tuple
    locations: tuple
    functions: tuple
    strings: tuple
    time_nanos: int
    duration_nanos: int
    period_type: object  # None where there is none
    period: int
    comments: tuple
    default_type: str
    size: int  # uncompressed

    @cached_property
    def location(self):
        return {one.id: one for one in self.locations}

    @cached_property
    def function(self):
        return {one.id: one for one in self.functions}

    @cached_property
    def mapping(self):
        return {one.id: one for one in self.mappings}

    @cached_property
    def frames_at(self):
        """{location: its frames}"""
        return {
            one.id: [Frame(self.function[at].name, self.function[at].file, line) for at, line in one.lines]
            for one in self.locations
        }

    def frames(self, sample):
        """Its frames, leaf first, inlined ones as well."""
        return [frame for location in sample.locations for frame in self.frames_at[location]]

    def stack(self, sample):
        """Its functions, root first."""
        return tuple(frame.name for frame in reversed(self.frames(sample)))

    def labels(self, sample):
        """{key: text, or (number, unit)}"""
        return {one.key: one.text or (one.number, one.unit) for one in sample.labels}

    def column(self, type=None):
        """Where that type's value stands. Without a name: of the only one."""
        names = [one.type for one in self.sample_types]
        if type is None:
            assert len(names) == 1, f"which of {names}?"
            return 0
        return names.index(type)

    def of(self, **labels):
        """The samples that have these labels."""
        return [one for one in self.samples if labels.items() <= self.labels(one).items()]

    def total(self, type=None, **labels):
        column = self.column(type)
        return sum(sample.values[column] for sample in self.of(**labels))

    def folded(self, type=None, **labels):
        """Lines of folded text, sorted, written as the daemon writes names there."""
        column, stacks = self.column(type), Counter()
        for sample in self.of(**labels):
            stacks[";".join(name.translate(FOLDED) for name in self.stack(sample))] += sample.values[column]
        return [f"{stack} {value}" for stack, value in sorted(stacks.items()) if value]


def unzipped(data):
    """The bytes themselves, of a gzip stream that ends where they end, or of what was never one."""
    if data[:2] != b"\x1f\x8b":
        return data
    stream = zlib.decompressobj(wbits=31)
    try:
        text = stream.decompress(data)
    except zlib.error as error:
        raise Refused("gzip", str(error), 500) from None
    if not stream.eof:
        raise Refused("gzip", "the end of the stream is missing", 500)
    if stream.unused_data:
        raise Refused("gzip", f"{len(stream.unused_data)} bytes behind the stream", 500)
    return text


def texts(table):
    """The strings, and a function that finds one by its number."""
    try:
        strings = tuple(text.decode() for text in table)
    except UnicodeDecodeError as error:
        raise Refused("utf8", f"{error.object!r} is no UTF-8") from None

    def text(number):
        if 0 <= number < len(strings) or number == 0:
            return strings[number] if strings else ""
        raise Refused("string-missing", f"no string {number}, there are {len(strings)}")

    return strings, text


def read(data):
    """The Profile of these bytes. Refused where there is none in them."""
    data = unzipped(data)
    if not data:
        raise Refused("parse", "nothing at all", 500)
    try:
        raw = decode(data, PROFILE)
    except Broken as error:
        raise Refused("parse", str(error), 500) from None
    strings, text = texts(raw["string_table"])

    def type_of(one):
        return ValueType(text(one["type"]), text(one["unit"]))

    def label_of(one):
        if one["str"] and (one["num"] or one["num_unit"]):
            raise Refused("label-both", f"{text(one['key'])} is a text and a number")
        return Label(text(one["key"]), text(one["str"]), one["num"], text(one["num_unit"]))

    def sample_of(one):
        return Sample(tuple(one["location_id"]), tuple(one["value"]), tuple(map(label_of, one["label"])))

    def mapping_of(one):
        place = (one["id"], one["memory_start"], one["memory_limit"], one["file_offset"])
        has = [
            bool(one[f"has_{what}"]) for what in ("functions", "filenames", "line_numbers", "inline_frames")
        ]
        return Mapping(*place, text(one["filename"]), text(one["build_id"]), *has)

    def location_of(one):
        lines = tuple(Line(line["function_id"], line["line"]) for line in one["line"])
        return Location(one["id"], one["mapping_id"], one["address"], lines)

    def function_of(one):
        names = (text(one["name"]), text(one["system_name"]), text(one["filename"]))
        return Function(one["id"], *names, one["start_line"])

    for unused in ("drop_frames", "keep_frames", "doc_url"):
        text(raw[unused])
    return Profile(
        sample_types=tuple(map(type_of, raw["sample_type"])),
        samples=tuple(map(sample_of, raw["sample"])),
        mappings=tuple(map(mapping_of, raw["mapping"])),
        locations=tuple(map(location_of, raw["location"])),
        functions=tuple(map(function_of, raw["function"])),
        strings=strings,
        time_nanos=raw["time_nanos"],
        duration_nanos=raw["duration_nanos"],
        period_type=raw["period_type"] and type_of(raw["period_type"]),
        period=raw["period"],
        comments=tuple(map(text, raw["comment"])),
        default_type=text(raw["default_sample_type"]),
        size=len(data),
    )
