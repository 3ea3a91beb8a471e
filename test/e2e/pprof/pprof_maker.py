"""Makes pprofs: good ones, and after a change of `doc`, which is profile.proto as dictionaries, others."""

import gzip
import itertools
import time

from pprof_fields import PROFILE
from pprof_kinds import KINDS
from protobuf import encode

S = 1_000_000_000
ORDER = ("samples", "cpu", "off_cpu", "waits", "alloc_objects", "alloc_space", "inuse_objects", "inuse_space",
         "contentions", "delay", "wall")  # fmt: skip


class Maker:
    def __init__(self, name="process_cpu", types=None, time_ns=None, duration_ns=30 * S, period=10_101_010):
        """A profile of that kind, of the 30 s until now unless told otherwise, without a sample."""
        kind = KINDS[name]
        types = types or sorted(kind.types, key=lambda one: ORDER.index(one[0]))
        self.numbers = {"": 0}
        self.places = {}
        self.doc = {
            "sample_type": [self.type(*one) for one in types],
            "sample": [],
            "mapping": [],
            "location": [],
            "function": [],
            "string_table": [b""],
            "time_nanos": time.time_ns() - duration_ns if time_ns is None else time_ns,
            "duration_nanos": duration_ns,
            "period_type": self.type(*kind.period),
            "period": period,
        }
        self.strings()

    def type(self, name, unit):
        return {"type": self.text(name), "unit": self.text(unit)}

    def text(self, text):
        """Its number in the table."""
        return self.numbers.setdefault(text, len(self.numbers))

    def strings(self):
        """The table with all that text() was given. What a test put into it stays."""
        table = self.doc["string_table"]
        table += [text.encode() for text in itertools.islice(self.numbers, len(table), None)]

    def location(self, *functions, file="", line=0):
        """A location of that function, and of those into which it was inlined."""
        key = (functions, file, line)
        if key not in self.places:
            lines = []
            for name in functions:
                number = len(self.doc["function"]) + 1
                of = {"id": number, "name": self.text(name), "filename": self.text(file)}
                self.doc["function"].append(of)
                lines.append({"function_id": number, "line": line})
            number = len(self.doc["location"]) + 1
            self.doc["location"].append({"id": number, "address": 4096 * number, "line": lines})
            self.places[key] = number
        return self.places[key]

    def add(self, stack, *values, **labels):
        """A sample: "main;work" or the like, a value of each type, labels that are text or numbers."""
        self.doc["sample"].append(
            {
                "location_id": [self.location(name) for name in reversed(stack.split(";"))],
                "value": list(values),
                "label": [
                    {
                        "key": self.text(key),
                        **({"num": of} if isinstance(of, int) else {"str": self.text(of)}),
                    }
                    for key, of in labels.items()
                ],
            }
        )
        self.strings()
        return self

    def bytes(self, pack=True):
        """As it stands on the wire, not zipped."""
        return encode(self.doc, PROFILE, pack)

    def zipped(self):
        return gzip.compress(self.bytes(), 1, mtime=0)


def cpu(*stacks, **how):
    """A profile of CPU time of `stack` or (stack, samples, {labels})."""
    made = Maker(**how)
    for one in stacks or ["main;work"]:
        stack, count, labels = (one, 3, {}) if isinstance(one, str) else (*one, {})[:3]
        made.add(stack, count, count * made.doc["period"], **labels)
    return made


def filled(size):
    """A good profile of exactly that many bytes, not zipped: its string table has them."""
    made = cpu()
    table = made.doc["string_table"]
    while (missing := size - len(made.bytes())) > 60_000:
        table.append(b"x" * min(missing - 10_000, 60_000))
    table.append(b"x" * missing)
    table[-1] = table[-1][len(made.bytes()) - size :]
    assert len(made.bytes()) == size
    return made
