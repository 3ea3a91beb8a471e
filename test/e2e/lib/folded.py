"""A profile as folded text."""
import re
from typing import NamedTuple


class Stack(NamedTuple):
    frames: tuple  # from its process on
    value: int
    pod: str = None
    container: str = None

    def has(self, *wanted):
        """Whether these frames stand in it, one directly below the other."""
        width = len(wanted)
        return any(
            self.frames[i : i + width] == wanted for i in range(len(self.frames) - width + 1)
        )


class Profile:
    """Folded text. Reading it checks every line: `frame;frame;…;frame VALUE`, root first."""

    LINE = re.compile(r"([^\x00-\x1f\x7f]+) ([0-9]+)")
    PROCESS = re.compile(r"\[(\d+)\](.*)")

    def __init__(self, text):
        self.stacks = []
        for line in text.split("\n")[:-1] if text else []:
            match = self.LINE.fullmatch(line)
            assert match, f"not a folded line: {line!r}"
            frames = tuple(match[1].split(";"))
            assert all(frames), f"an empty frame: {line!r}"
            heads = {}
            for prefix, name in (("[Pod]", "pod"), ("[Con]", "container")):
                if frames[0].startswith(prefix):
                    heads[name] = frames[0].removeprefix(prefix)
                    frames = frames[1:]
            assert "container" in heads or not heads, f"a pod without a container: {line!r}"
            assert self.PROCESS.fullmatch(frames[0]), f"no process frame: {line!r}"
            self.stacks.append(Stack(frames, int(match[2]), **heads))
        assert not text or text.endswith("\n"), f"the last line isn't whole: {text[-100:]!r}"
        whole = {(s.pod, s.container, s.frames) for s in self.stacks}
        assert len(whole) == len(self.stacks), "a stack is there twice"

    def total(self, *frames, pid=None):
        """Weight of the stacks (of that process) that hold these frames one after the other."""
        return sum(s.value for s in self.of(pid) if s.has(*frames))

    def of(self, pid=None):
        return [s for s in self.stacks if pid is None or s.frames[0].startswith(f"[{pid}]")]

    def containers(self, pid=None):
        """{(pod, container)}, None where there is none."""
        return {(s.pod, s.container) for s in self.of(pid)}

    @property
    def pids(self):
        return {int(self.PROCESS.fullmatch(s.frames[0])[1]) for s in self.stacks}

    @property
    def names(self):
        return {self.PROCESS.fullmatch(s.frames[0])[2] for s in self.stacks}

    def frames(self, pid=None):
        return {frame for s in self.of(pid) for frame in s.frames}


HEADER = re.compile(r"^# stackprobe unit=\S+ .*from=(\d+) until=(\d+)")


def blocks(text):
    """[(from, until, Profile)] of folded text, one profile after the other. Other lines of `#` are left out."""
    found = []
    for part in re.split(r"^(?=# stackprobe)", text, flags=re.M)[1:]:
        head, *lines = part.splitlines(keepends=True)
        stacks = "".join(line for line in lines if not line.startswith("# "))
        found.append((*map(int, HEADER.match(head).groups()), Profile(stacks)))
    return found
