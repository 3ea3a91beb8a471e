"""Kinds of profiles that Pyroscope tells apart, and that its UI knows or at least shows."""

from typing import NamedTuple


class Kind(NamedTuple):
    """What profiles of one __name__ hold: (type, unit)…, and their period's."""

    types: set
    period: tuple


KINDS = {
    "process_cpu": Kind({("samples", "count"), ("cpu", "nanoseconds")}, ("cpu", "nanoseconds")),
    "off_cpu": Kind({("off_cpu", "nanoseconds"), ("waits", "count")}, ("", "")),
    "memory": Kind(
        {
            ("alloc_objects", "count"),
            ("alloc_space", "bytes"),
            ("inuse_objects", "count"),
            ("inuse_space", "bytes"),
        },
        ("space", "bytes"),
    ),
    "block": Kind({("contentions", "count"), ("delay", "nanoseconds")}, ("contentions", "count")),
    "wall": Kind({("wall", "nanoseconds")}, ("cpu", "nanoseconds")),
}

NONE = ("", "")
# Groups of stackprobe's own: a server takes any name.
OWN = {
    "io": Kind({("io", "bytes"), ("calls", "count")}, NONE),
    "io_time": Kind({("io_time", "nanoseconds"), ("calls", "count")}, NONE),
    "blkio": Kind({("blkio", "bytes"), ("requests", "count")}, NONE),
    "blkio_time": Kind({("blkio_time", "nanoseconds"), ("requests", "count")}, NONE),
    "readahead": Kind({("pages", "count")}, NONE),
    "readahead_unused": Kind({("unused_pages", "count")}, NONE),
    "writeback": Kind({("dirty", "bytes"), ("folios", "count")}, NONE),
    "writeback_wait": Kind({("wait", "nanoseconds"), ("waits", "count")}, NONE),
    "net": Kind({("net", "bytes"), ("messages", "count")}, NONE),
    "net_wait": Kind({("net_wait", "nanoseconds"), ("waits", "count")}, NONE),
    "llc": Kind({("llc_misses", "count"), ("references", "count")}, NONE),
    "event": Kind({("events", "count")}, NONE),
    "event_time": Kind({("event_time", "nanoseconds"), ("calls", "count")}, NONE),
}


def kind_of_name(name):
    """The kind of a series; of an event's the name has that of the event within."""
    if name.startswith("event_"):
        name = "event_time" if name.endswith("_time") else "event"
    return KINDS.get(name) or OWN.get(name)
