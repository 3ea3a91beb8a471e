"""/ingest: its URL and its folded text, and what they must be so that nothing is lost."""

import re
import urllib.parse
from collections import Counter
from typing import NamedTuple

from pprof import Refused
from pprof_maker import Maker
from pprof_rules import DEPTH_MAX, NEWEST_S, OLDEST_S, SAMPLES_MAX, outside
from pyroscope_push import check_labels

PATHS = ("/ingest", "/pyroscope/ingest")
PARAMS = {"name", "from", "until", "sampleRate", "spyName", "units", "aggregationType", "format"}
FORMATS = {"folded", "groups", "collapsed"}
LINE_MAX = 65_535
INT_MAX = (1 << 63) - 1
OWN = ("__name__", "__delta__", "pyroscope_spy", "service_name")
APP = re.compile(r"[a-zA-Z0-9_.\-/]+")
COUNT = re.compile(r"[1-9][0-9]*")

CPU, WALL = "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "wall:wall:nanoseconds:cpu:nanoseconds"
TYPES = {
    **dict.fromkeys(["cpu", "itimer"], CPU),
    **dict.fromkeys(["wall", "seconds", "nanoseconds", "microseconds", "milliseconds"], WALL),
    **{f"{what}_objects": f"memory:{what}_objects:count::" for what in ("inuse", "alloc")},
    **{f"{what}_space": f"memory:{what}_space:bytes::" for what in ("inuse", "alloc")},
    **dict.fromkeys(["block_duration", "lock_duration"], "block:delay:nanoseconds::"),
    **dict.fromkeys(["block_count", "lock_count"], "block:contentions:count::"),
    "mutex_duration": "mutex:delay:nanoseconds::",
    "mutex_count": "mutex:contentions:count::",
    "goroutines": "goroutine:goroutines:count::",
    "bytes": "memory:samples:bytes::",
}


class Ingest(NamedTuple):
    labels: dict
    type: str
    from_ns: int
    until_ns: object  # None where it isn't told
    period: int  # what the server multiplies by
    stacks: Counter  # of tuples, root first, values as they come out
    size: int  # as a pprof, which is what the limits are about


def named(text):
    """(app, [(label, value)]) of app{label=value,…}, of which the server takes much that isn't one."""
    app, brace, rest = text.partition("{")
    if not app or not APP.fullmatch(app):
        raise Refused("ingest-app", f"{app!r}")
    if brace and not rest.endswith("}"):
        raise Refused("ingest-braces", f"{text!r} has no end, or more behind it")
    inner = rest[:-1] if brace else ""
    if "}" in inner:
        raise Refused("ingest-braces", f"{text!r} has more behind its end")
    pairs = [pair.partition("=") for pair in inner.split(",")] if inner else []
    for name, equals, _ in pairs:
        if not equals:
            raise Refused("ingest-pair", f"{name!r} has no value")
        if name == "profile_id":
            raise Refused("ingest-profile-id", text)
        if name == "__name__":
            raise Refused("label-reserved", name)
    return app, [(name, value) for name, _, value in pairs]


def type_of(app):
    """(service, type)"""
    service, dot, suffix = app.rpartition(".")
    if not dot:
        return app, CPU
    if suffix not in TYPES:
        raise Refused("ingest-type", f"unknown profile type: {suffix}")
    if not service:
        raise Refused("ingest-app", f"{app!r} is a type alone")
    return service, TYPES[suffix]


def seconds(params, key):
    text = params.get(key)
    if text is None or not re.fullmatch(r"[1-9][0-9]{9}", text):
        raise Refused(f"ingest-{key}", f"{key}={text} is no time in whole seconds")
    return int(text)


def rate_of(params):
    text = params.get("sampleRate", "100")
    if not COUNT.fullmatch(text) or int(text) > 1_000_000_000:
        raise Refused("ingest-rate", f"sampleRate={text}")
    return int(text)


def params_of(query):
    """Each is known and there once."""
    try:
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="strict")
    except UnicodeDecodeError as error:
        raise Refused("utf8", f"{error.object!r} is no UTF-8") from None
    except ValueError as error:
        raise Refused("ingest-params", str(error)) from None
    params = dict(pairs)
    if len(params) < len(pairs):
        raise Refused("ingest-params", f"one is there twice in {query}")
    for name in params.keys() - PARAMS:
        raise Refused("ingest-params", f"{name} is unknown")
    if params.get("format", "folded") not in FORMATS:
        raise Refused("ingest-format", params["format"])
    return params


def stack_of(line, period):
    """(frames, value)"""
    if len(line) > LINE_MAX:
        raise Refused("ingest-line", f"{len(line)} bytes, {LINE_MAX} is the most: {line[:60]}…")
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise Refused("utf8", f"{line[:200]!r} is no UTF-8") from None
    stack, blank, count = text.rpartition(" ")
    if not blank or not stack or stack.endswith((" ", "\t")):
        raise Refused("ingest-blank", f"no stack, one blank, count: {text[-200:]!r}")
    if not COUNT.fullmatch(count):
        silent = re.fullmatch(r"-?[0-9]+|.*\t.*", count)
        raise Refused("ingest-count", f"{count!r} in {text[-200:]!r}", 400 if silent else 422)
    if int(count) > INT_MAX:
        raise Refused("ingest-count", f"{count} is out of range", 422)
    if int(count) * period > INT_MAX:
        raise Refused("ingest-overflow", f"{count} times {period}")
    frames = tuple(stack.split(";"))
    if len(frames) > DEPTH_MAX:
        raise Refused("depth", f"{len(frames)} frames, {DEPTH_MAX} is the most")
    return frames, int(count) * period


def as_pprof_size(stacks):
    made = Maker(types=[("cpu", "nanoseconds")])
    for frames, value in stacks.items():
        made.add(";".join(frames), value)
    return len(made.bytes())


def read(query, body, now):
    """The Ingest of a request. Refused where any of it would be lost."""
    params = params_of(query)
    app, pairs = named(params.get("name", ""))
    service, type_id = type_of(app)
    check_labels(pairs, [*OWN, *(["app_name"] if "service_name" in dict(pairs) else [])])
    begin = seconds(params, "from")
    until = seconds(params, "until") if "until" in params else None
    if until is not None and until <= begin:
        raise Refused("ingest-until", f"from {begin} until {until}")
    if not -NEWEST_S < now - begin < OLDEST_S:
        raise Refused("window", outside(now - begin))
    rate = rate_of(params)
    period = 1_000_000_000 // rate if type_id in (CPU, WALL) else 1
    stacks = Counter()
    for line in body.split(b"\n"):
        line = line.removesuffix(b"\r")
        if line:
            frames, value = stack_of(line, period)
            stacks[frames] += value
    if len(stacks) > SAMPLES_MAX:
        raise Refused("samples-many", f"{len(stacks)} stacks, {SAMPLES_MAX} is the most")
    labels = {"__name__": type_id.split(":")[0], "service_name": service, **dict(pairs)}
    if "service_name" in dict(pairs):
        labels["app_name"] = service
    labels["pyroscope_spy"] = params.get("spyName") or "unknown"
    until_ns = until and until * 1_000_000_000
    return Ingest(labels, type_id, begin * 1_000_000_000, until_ns, period, stacks, as_pprof_size(stacks))
