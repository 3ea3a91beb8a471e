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
