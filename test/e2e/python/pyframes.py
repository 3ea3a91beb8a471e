"""Python's frames in a profile, and the programs of test/programs/python with lines that are known."""
import re
from typing import NamedTuple

from helpers import ROOT

FOLDER = ROOT / "test/programs/python"
FRAME = re.compile(r"(.+) \(([^()]+):(\d+)\)_\[p\]")


class Frame(NamedTuple):
    """Of Python: `name (file:line)_[p]`."""

    name: str
    file: str
    line: int

    @property
    def function(self):
        """Its name alone: before 3.11 no version tells more."""
        return self.name.rpartition(".")[2]


def source(name):
    return FOLDER / name


def is_python(frame):
    return frame.endswith("_[p]")


def parsed(frame):
    """A frame of Python, or None where it has no name: `[python]_[p]`."""
    match = FRAME.fullmatch(frame)
    return Frame(match[1], match[2], int(match[3])) if match else None


def python_frames(stack):
    """Of a stack, root first."""
    return [parsed(frame) for frame in stack.frames if is_python(frame)]


def functions(stack):
    """Names of a stack's functions of Python, root first; None where one has no name."""
    return [frame and frame.function for frame in python_frames(stack)]


def line_at(name, at):
    """The line of `# AT at` in that program."""
    lines = source(name).read_text().split("\n")
    (found,) = [n for n, line in enumerate(lines, 1) if line.endswith(f"# AT {at}")]
    return found


def known(name, at, function=None):
    """The frame of that line, whose function has that name."""
    return Frame(function or at, name, line_at(name, at))


def shows(stack, frame):
    """Whether that frame is in it: function, file and line."""
    return any(f and (f.function, f.file, f.line) == frame for f in python_frames(stack))


def share(stacks, right):
    """The part of the weight of those that are right."""
    total = sum(s.value for s in stacks)
    return sum(s.value for s in stacks if right(s)) / total if total else 0


def wrong(stacks, right, count=3):
    """The heaviest that aren't: for the message of an assertion."""
    return sorted((s.value, s.frames) for s in stacks if not right(s))[-count:]


def of_thread(profile, pid, name):
    """The stacks of a thread, by its name (thread_frame is 1)."""
    return [s for s in profile.of(pid) if len(s.frames) > 1 and s.frames[1] == name]


def assert_share(stacks, right, least):
    assert share(stacks, right) >= least, (share(stacks, right), wrong(stacks, right))
