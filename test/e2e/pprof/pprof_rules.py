"""What a pprof must be so that nothing of it is refused, or lost without a word.

A rule yields what is wrong. Its name is what Refused.rule says, with - for _.
"""

import re
from collections import Counter
from typing import NamedTuple

from pprof import Refused
from pprof_kinds import KINDS, OWN, kind_of_name

MIB = 1 << 20
SAMPLES_MAX = 16_000
DEPTH_MAX = 1_000
STRING_MAX = 65_535
SIZE_MAX = 4 * MIB
OLDEST_S, NEWEST_S = 3600, 600
LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
LABEL_NAME_MAX, LABEL_VALUE_MAX = 1024, 2048
IDENTITIES = {"pid", "tid", "ppid", "comm", "thread", "container", "pod", "host", "probe", "service_name"}


class Push(NamedTuple):
    """How it is sent: in a series of that name, at that time, beside that many bytes of labels."""

    name: str
    now: float
    label_bytes: int = 0
    burst: int = 2 * MIB


def twice(values):
    return [value for value, count in Counter(values).items() if count > 1]


def numbered(profile):
    return enumerate(profile.samples)


def string_zero(profile):
    if not profile.strings or profile.strings[0]:
        yield f"string 0 is {profile.strings[:1]}"


def string_long(profile, _push):
    for text in profile.strings:
        if len(text.encode()) > STRING_MAX:
            yield f"a string of {len(text.encode())} bytes: {text[:60]}…"


def type_none(profile):
    if not profile.sample_types:
        yield "no sample type"


def type_name(profile):
    for one in (*profile.sample_types, *filter(None, [profile.period_type])):
        if set("- ") & set(one.type + one.unit):
            yield f"- or a blank in {tuple(one)}"


def type_twice(profile):
    for one in twice(profile.sample_types):
        yield f"{tuple(one)} is there twice"


def period_crash(profile):
    """The handler's end, where it is asked for the period's type of a sample without a value."""
    if profile.period_type is None and any(not any(one.values) for one in profile.samples):
        yield "no period_type, and a sample without a value"


def period_missing(profile):
    if profile.period_type is None:
        yield "no period_type"


def type_unknown(profile, name=None):
    types, period = set(map(tuple, profile.sample_types)), tuple(profile.period_type)
    kinds = [*KINDS.values(), *OWN.values()] if name is None else [kind_of_name(name)]
    if not any(kind and types <= kind.types and period == kind.period for kind in kinds):
        yield f"{sorted(types)} of period {period} is nothing that {name or 'any name'} has"


def id_zero(profile):
    for table in (profile.mappings, profile.locations, profile.functions):
        if any(one.id == 0 for one in table):
            yield f"a {type(table[0]).__name__} has id 0"


def id_twice(profile):
    for table in (profile.mappings, profile.locations, profile.functions):
        for number in twice(one.id for one in table):
            yield f"{type(table[0]).__name__} {number} is there twice"


def mapping_missing(profile):
    for one in profile.locations:
        if one.mapping and one.mapping not in profile.mapping:
            yield f"location {one.id}: no mapping {one.mapping}"


def function_missing(profile):
    for one in profile.locations:
        for line in one.lines:
            if line.function not in profile.function:
                yield f"location {one.id}: no function {line.function}"


def location_missing(profile):
    for at, sample in numbered(profile):
        for location in sample.locations:
            if location not in profile.location:
                yield f"sample {at}: no location {location}"


def line_none(profile):
    for one in profile.locations:
        if not one.lines:
            yield f"location {one.id} at {one.address:#x} has no line"


def function_nameless(profile):
    for one in profile.locations:
        for line in one.lines:
            if not profile.function[line.function].name:
                yield f"location {one.id} at {one.address:#x}: function {line.function} has no name"


def line_negative(profile):
    for one in profile.locations:
        if any(line.line < 0 for line in one.lines):
            yield f"location {one.id} is at line {one.lines}"
    for one in profile.functions:
        if one.start_line < 0:
            yield f"function {one.name} begins at line {one.start_line}"


def stack_empty(profile):
    for at, sample in numbered(profile):
        if not sample.locations:
            yield f"sample {at}"


def value_count(profile):
    for at, sample in numbered(profile):
        if len(sample.values) != len(profile.sample_types):
            yield f"sample {at}: {len(sample.values)} values of {len(profile.sample_types)} types"


def value_negative(profile):
    for at, sample in numbered(profile):
        if min(sample.values) < 0:
            yield f"sample {at}: {sample.values}"


def value_zero(profile):
    """Where there are several types some may be zero: a stack's objects may all be freed again."""
    for at, sample in numbered(profile):
        if not any(sample.values):
            yield f"sample {at}: {sample.values}"


def identity_number(profile):
    for at, sample in numbered(profile):
        for label in sample.labels:
            if label.key in IDENTITIES and not label.text and label.number:
                yield f"sample {at}: {label.key} is the number {label.number}"


def sample_label_twice(profile):
    for at, sample in numbered(profile):
        for key in twice(label.key for label in sample.labels):
            yield f"sample {at}: {key}"


def duration_none(profile):
    if profile.duration_nanos <= 0:
        yield f"{profile.duration_nanos} ns"


SOUND = (string_zero, type_none, type_name, type_twice, period_crash, period_missing, type_unknown, id_zero, id_twice,
         mapping_missing, function_missing, location_missing, line_none, function_nameless, line_negative,
         stack_empty, value_count, value_negative, value_zero, identity_number, sample_label_twice,
         duration_none)  # fmt: skip


def samples_many(profile, _push):
    if len(profile.samples) > SAMPLES_MAX:
        yield f"{len(profile.samples)} samples, {SAMPLES_MAX} is the most"


def depth(profile, _push):
    for at, sample in numbered(profile):
        if len(sample.locations) > DEPTH_MAX:
            yield f"sample {at} has {len(sample.locations)} locations, {DEPTH_MAX} is the most"


def window(profile, push):
    age = push.now - profile.time_nanos / 1e9
    if not -NEWEST_S < age < OLDEST_S:
        yield outside(age)


def outside(age):
    return f"outside of ingestion window: {age:.0f} s old, must be between {-NEWEST_S} and {OLDEST_S}"


def type_of_name(profile, push):
    yield from type_unknown(profile, push.name)


def sample_label_name(profile, _push):
    for at, sample in numbered(profile):
        for label in sample.labels:
            if not LABEL_NAME.fullmatch(label.key) or label.key.startswith("__"):
                yield f"sample {at}: {label.key!r}"
            elif len(label.key) > LABEL_NAME_MAX:
                yield f"sample {at}: a label's name has {len(label.key)} bytes"


def sample_label_value(profile, _push):
    for at, sample in numbered(profile):
        for label in sample.labels:
            size = len(label.text.encode())
            if size > LABEL_VALUE_MAX or not (size or label.number):
                yield f"sample {at}: {label.key} has {size} bytes"


PUSHED = (string_long, type_of_name, samples_many, depth, window, sample_label_name, sample_label_value)
STATUS = {period_crash: 500}


def apply(rules, *args):
    for rule in rules:
        for text in rule(*args):
            name = "type-unknown" if rule is type_of_name else rule.__name__.replace("_", "-")
            raise Refused(name, text, STATUS.get(rule, 400))


def check_size(size, label_bytes=0, burst=2 * MIB):
    """More than the burst is refused as a matter of rate, however often it is sent."""
    if size > SIZE_MAX:
        raise Refused("size-4mib", f"{size} bytes")
    if size + label_bytes > burst:
        raise Refused("size-2mib", f"{size} bytes and {label_bytes} of labels, {burst} is the most", 429)


def check(profile, push=None):
    """Refused where a rule is broken; those about a push only with one."""
    if push:
        check_size(profile.size, push.label_bytes, push.burst)
    apply(SOUND, profile)
    if push:
        apply(PUSHED, profile, push)
