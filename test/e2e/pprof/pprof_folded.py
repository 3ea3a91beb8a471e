"""The stacks of a pprof beside those of folded text."""
import re

import pprof
from folded import Profile

SUFFIX = re.compile(r"_\[[kji0p]\]$")
SOURCE = re.compile(r" \([^()]*\)$")  # of Python's and Java's frames, which pprof has as fields


def plain(frame):
    return SOURCE.sub("", SUFFIX.sub("", frame))


def without_inlined(profile, sample):
    """Functions, root first: those that inlined ones are in."""
    return [profile.frames_at[at][-1].name for at in reversed(sample.locations)]


def as_folded(profile, type):
    """{(pid, stack of functions): value}, as folded text has them."""
    column, found = profile.column(type), {}
    for sample in profile.samples:
        names = [name.translate(pprof.FOLDED) for name in without_inlined(profile, sample)]
        key = int(profile.labels(sample)["pid"]), tuple(names)
        found[key] = found.get(key, 0) + sample.values[column]
    return found


def folded_as_pprof(text):
    found = {}
    for stack in Profile(text).stacks:
        pid = int(re.match(r"\[(\d+)\]", stack.frames[0])[1])
        key = pid, tuple(map(plain, stack.frames[1:]))
        found[key] = found.get(key, 0) + stack.value
    return found
