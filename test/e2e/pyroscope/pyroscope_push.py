"""push.v1 as bytes: what a request must be, and the series in it."""

import base64
import binascii
import json
import re
from typing import NamedTuple

from pprof import Refused
from pprof_rules import LABEL_NAME, LABEL_NAME_MAX, LABEL_VALUE_MAX, twice
from protobuf import BYTES, Broken, Field, decode, encode

PATH = "/push.v1.PusherService/Push"
JSON, PROTO = "application/json", "application/proto"
LABELS_MAX = 30

LABEL = {1: Field("name", BYTES), 2: Field("value", BYTES)}
RAW = {1: Field("rawProfile", BYTES), 2: Field("ID", BYTES)}
SERIES = {1: Field("labels", LABEL, True), 2: Field("samples", RAW, True)}
REQUEST = {1: Field("series", SERIES, True)}
SPELLINGS = {"raw_profile": "rawProfile", "id": "ID"}


class Series(NamedTuple):
    labels: list  # (name, value)
    bodies: list  # pprofs

    @property
    def label_bytes(self):
        return sum(len(name.encode()) + len(value.encode()) for name, value in self.labels)


def unbase64(text):
    """Of either alphabet, padded or not."""
    text = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Refused("base64", str(error)) from None


def member(value, names, many=()):
    """An object with no other members than these; an object's list is there, though it be empty."""
    if not isinstance(value, dict):
        raise Refused("json", f"{value!r} is no object")
    value = {SPELLINGS.get(name, name): of for name, of in value.items()}
    unknown = set(value) - set(names)
    if unknown:
        raise Refused("unknown-field", f"{sorted(unknown)}")
    for name, of in value.items():
        if not isinstance(of, list if name in many else str):
            raise Refused("json", f"{name} is {of!r:.60}")
        if isinstance(of, str) and re.search("[\ud800-\udfff]", of):
            raise Refused("utf8", f"half a character in {name}")
    return {name: value.get(name, [] if name in many else "") for name in names}


def from_json(body):
    try:
        request = json.loads(body)
    except ValueError as error:
        raise Refused("json", str(error)) from None
    found = []
    for one in member(request, ["series"], ["series"])["series"]:
        series = member(one, ["labels", "samples"], ["labels", "samples"])
        labels = [member(label, ["name", "value"]) for label in series["labels"]]
        raw = [member(sample, ["rawProfile", "ID"]) for sample in series["samples"]]
        pairs = [(label["name"], label["value"]) for label in labels]
        found.append(Series(pairs, [unbase64(sample["rawProfile"]) for sample in raw]))
    return found


def from_proto(body):
    try:
        request = decode(body, REQUEST)
    except Broken as error:
        raise Refused("proto", str(error)) from None
    try:
        return [
            Series(
                [(label["name"].decode(), label["value"].decode()) for label in one["labels"]],
                [sample["rawProfile"] for sample in one["samples"]],
            )
            for one in request["series"]
        ]
    except UnicodeDecodeError as error:
        raise Refused("utf8", f"{error.object!r} is no UTF-8") from None


def content_type(text):
    """Without what stands behind it, in small letters."""
    return (text or "").split(";", maxsplit=1)[0].strip().lower()


def series_of(body, type_text):
    """What is in a request. Refused as a whole where it can't be read."""
    found = from_json(body) if content_type(type_text) == JSON else from_proto(body)
    if not any(one.bodies for one in found):
        raise Refused("no-profiles", "no profiles received")
    return found


def check_labels(pairs, own=()):
    """The labels of one series; `own` are those that the server adds."""
    for name, value in pairs:
        if not LABEL_NAME.fullmatch(name):
            raise Refused("label-name", f"{name!r}")
        if len(name) > LABEL_NAME_MAX:
            raise Refused("label-name-long", f"{len(name)} bytes")
        if name.startswith("__") and name != "__name__":
            raise Refused("label-reserved", name)
        if not value:
            raise Refused("label-empty", name)
        if len(value.encode()) > LABEL_VALUE_MAX:
            raise Refused("label-value-long", f"{name} has {len(value.encode())} bytes")
    names = [name for name, _ in pairs]
    if twice(names):
        raise Refused("label-twice", f"duplicate label name {twice(names)[0]}")
    check_count({*names, *own})


def check_count(names):
    if len(names) > LABELS_MAX:
        raise Refused("labels-many", f"{len(names)} labels, {LABELS_MAX} is the most: {sorted(names)}")


def check_series(series):
    labels = dict(series.labels)
    if "__name__" not in labels:
        raise Refused("name-missing", "invalid metric name: there is none")
    check_labels(series.labels)
    if not LABEL_NAME.fullmatch(labels["__name__"]):
        raise Refused("name", f"invalid metric name {labels['__name__']!r}")
    if "service_name" not in labels:
        raise Refused("service-missing", "would be stored under unknown_service")
    if not series.bodies:
        raise Refused("no-profiles", "a series without a profile")


def check_sample_labels(series, profile):
    """Labels of samples become the series' own, beside those."""
    names = set(dict(series.labels))
    for sample in profile.samples:
        keys = {label.key for label in sample.labels}
        for name in names & keys:
            raise Refused("sample-label-hidden", f"{name} is a label of the series as well")
        check_count(names | keys)


def json_body(labels, *bodies):
    """A request of one series."""
    pairs = [{"name": name, "value": value} for name, value in labels]
    samples = [
        {"ID": f"id-{at}", "rawProfile": base64.b64encode(of).decode()} for at, of in enumerate(bodies)
    ]
    return json.dumps({"series": [{"labels": pairs, "samples": samples}]}).encode()


def proto_body(labels, *bodies):
    pairs = [{"name": name.encode(), "value": value.encode()} for name, value in labels]
    samples = [{"rawProfile": of, "ID": b"id-%d" % at} for at, of in enumerate(bodies)]
    return encode({"series": [{"labels": pairs, "samples": samples}]}, REQUEST)
