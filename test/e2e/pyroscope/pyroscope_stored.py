"""What the stand-in for Pyroscope has stored, and questions to it."""

from collections import Counter, defaultdict
from itertools import pairwise
from typing import NamedTuple


class Sample(NamedTuple):
    labels: dict  # the series' own and the sample's
    frames: tuple  # functions, root first
    values: dict  # by type


class Stored(NamedTuple):
    """One pprof, or one body of /ingest."""

    api: str
    labels: dict  # of the series
    types: tuple  # as Pyroscope names them: name:type:unit:period type:period unit
    samples: tuple
    from_ns: int
    until_ns: object  # None where that wasn't told
    profile: object  # pprof.Profile, None from /ingest
    body: bytes  # the pprof as it came, or the folded text

    def folded(self, type):
        """Lines, root first, sorted."""
        return folded([self], type)


class Gap(NamedTuple):
    what: str  # "hole" or "overlap"
    type: str
    labels: tuple
    at_ns: int
    ns: int


def of_push(series, profile, body):
    labels = dict(series.labels)
    period = ":".join(profile.period_type)
    types = tuple(f"{labels['__name__']}:{one.type}:{one.unit}:{period}" for one in profile.sample_types)
    samples = [
        Sample(
            {**{one.key: one.text for one in sample.labels if one.text}, **labels},
            profile.stack(sample),
            dict(zip(types, sample.values, strict=True)),
        )
        for sample in profile.samples
    ]
    until = profile.time_nanos + profile.duration_nanos
    return Stored("push", labels, types, tuple(samples), profile.time_nanos, until, profile, body)


def of_ingest(ingest, body):
    samples = [Sample(ingest.labels, frames, {ingest.type: value}) for frames, value in ingest.stacks.items()]
    types = (ingest.type,)
    return Stored("ingest", ingest.labels, types, tuple(samples), ingest.from_ns, ingest.until_ns, None, body)


def samples(stored, type, **labels):
    """Those of a type (the end of its name may be missing) that have these labels."""
    for one in stored:
        for known in one.types:
            if not (known + ":").startswith(type + ":"):
                continue
            for sample in one.samples:
                if labels.items() <= sample.labels.items():
                    yield sample, sample.values[known]


def folded(stored, type, **labels):
    stacks = Counter()
    for sample, value in samples(stored, type, **labels):
        stacks[";".join(sample.frames)] += value
    return [f"{stack} {value}" for stack, value in sorted(stacks.items()) if value]


class ReadBack:
    """Questions to `self.stored`, a list of Stored."""

    def types(self):
        return sorted({type for one in self.stored for type in one.types})

    def label_values(self, name):
        """All values, in series and in samples."""
        found = {sample.labels.get(name) for one in self.stored for sample in one.samples}
        return sorted((found | {one.labels.get(name) for one in self.stored}) - {None})

    def total(self, type, **labels):
        """total("process_cpu:cpu", pid="7")"""
        return sum(value for _, value in samples(self.stored, type, **labels))

    def totals(self, type, label):
        """{value of that label: total}, of samples that have it."""
        found = Counter()
        for sample, value in samples(self.stored, type):
            if label in sample.labels:
                found[sample.labels[label]] += value
        return dict(found)

    def folded(self, type, **labels):
        return folded(self.stored, type, **labels)

    def windows(self):
        """{(type, labels of the series): [(from, until)…] in order, each once}. Parts of a window that
        was split are one."""
        found = defaultdict(set)
        for one in self.stored:
            for type in one.types:
                if one.until_ns is not None:
                    found[type, tuple(sorted(one.labels.items()))].add((one.from_ns, one.until_ns))
        return {series: sorted(windows) for series, windows in found.items()}

    def gaps(self):
        """Where a window doesn't begin at the end of the one before, in whichever order they came."""
        found = []
        for (type, labels), windows in self.windows().items():
            for (_, until), (begin, _) in pairwise(windows):
                if begin != until:
                    what = "hole" if begin > until else "overlap"
                    found.append(Gap(what, type, labels, until, abs(begin - until)))
        return found

    def doubled(self):
        """Stacks of a series that are in two bodies of the same window: {(type, from, labels, frames): value}
        of all but the first. A split window has none."""
        first, found = set(), Counter()
        for one in self.stored:
            here = Counter()
            for sample in one.samples:
                for type, value in sample.values.items():
                    key = (type, one.from_ns, tuple(sorted(sample.labels.items())), sample.frames)
                    here[key] += value
            for key, value in here.items():
                if key in first:
                    found[key] += value
            first |= here.keys()
        return dict(found)
