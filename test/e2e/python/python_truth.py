"""A sampled stack of Python frames against what the program wrote down (test/programs/python/truth.py)."""
import re
from collections import Counter
from typing import NamedTuple

FRAME = re.compile(r"(.*) \((.*?)(?::(\d+))?\)_\[p\]")
PACKAGES = re.compile(r".*/(?:site|dist)-packages/")


class Frame(NamedTuple):
    name: str
    file: str
    line: int  # 0: it has none


def python_frames(stack):
    """Root first. What has no name or no line is in it as it is."""
    texts = [text for text in stack.frames if text.endswith("_[p]")]
    matches = [(FRAME.fullmatch(text), text) for text in texts]
    return [Frame(m[1], m[2], int(m[3] or 0)) if m else Frame(text, "", 0) for m, text in matches]


def shifted(line, blank):
    """A line of made code as if it had no blank lines before it. A module begins in line 0 or 1 always."""
    return line - blank if line > 1 else line


class Truth:
    """The stacks that there can be. judge() says what is wrong with one, or ''."""

    def __init__(self, told, qualified=True):
        """Not `qualified`: for profilers that know a function's name only."""
        self.qualified = qualified
        self.path0, self.stdlib = told["path0"] + "/", told["stdlib"] + "/"
        self.serial, self.walk = told.get("serial"), told.get("walk")
        self.codes = [(self.plain(self.name(name)), self.plain(self.short(file)), set(lines), born)
                      for name, file, lines, born, _ in told["codes"]]  # fmt: skip
        self.alone = [self.plain(self.name(alone)) for *_, alone in told["codes"]]
        self.born = {code[:2]: code[2] for code in self.codes if code[3]}
        self.children = {}  # node: {(line in it, name, file): [node]}
        self.lines = {}
        for number, (caller, line, code) in enumerate(told["nodes"]):
            name, file, self.lines[number], _ = self.codes[code]
            if self.serial and "<made_" in told["codes"][code][1]:
                blank = int(re.search(r"\d+", told["codes"][code][1])[0]) % self.serial
                self.lines[number] = {shifted(at, blank) for at in self.lines[number]}
            if self.serial and caller >= 0 and "<made_" in self.file_of(told, caller):
                number_of_it = int(re.search(r"\d+", self.file_of(told, caller))[0])
                line = shifted(line, number_of_it % self.serial)
            for either in {name, self.alone[code]}:
                self.children.setdefault(caller, {}).setdefault((line, either, file), []).append(number)

    @staticmethod
    def file_of(told, node):
        return told["codes"][told["nodes"][node][2]][1]

    def name(self, name):
        """As a profiler tells it that is not `qualified`."""
        return name if self.qualified else name.rsplit(".", 1)[-1]

    def plain(self, text):
        """Without the number of code that is made in a loop."""
        return re.sub(r"_\d+", "_N", text) if self.serial else text

    def short(self, file):
        packages = PACKAGES.match(file)
        if packages:
            return file[packages.end() :]
        for prefix in (self.stdlib, self.path0):
            if file.startswith(prefix):
                return file[len(prefix) :]
        return file

    def unnumbered(self, frames):
        """(frames without their number, what is wrong). All of a stack have the same one."""
        numbers = {n for f in frames for n in re.findall(r"_(\d+)", f.name + f.file)}
        if len(numbers) > 1:
            return frames, "two pieces of made code in one stack"
        blank = int(numbers.pop()) % self.serial if numbers else 0
        return [Frame(self.plain(f.name), self.plain(f.file),
                      shifted(f.line, blank) if "<made_" in f.file else f.line) for f in frames], ""

    def judge(self, frames):
        why = self.placed(frames)
        # A generator that is just made: it is in its first line, or in none. Its caller may be another
        # one than that of its later turns.
        if why and frames and frames[-1].line in (self.born.get(frames[-1][:2]) or ()):
            first = min(self.born[frames[-1][:2]] - {0})
            if frames[-1].line in (0, first) and not self.placed(frames[:-1]):
                return ""
        return why

    def placed(self, frames):
        if not frames:
            return "no Python frame"
        if self.walk:
            frames, wrong = self.walked(frames)
            if wrong:
                return wrong
        if self.serial:
            frames, wrong = self.unnumbered(frames)
            if wrong:
                return wrong
        nodes, line = [-1], 0
        for depth, frame in enumerate(frames):
            below = [self.children.get(node, {}) for node in nodes]
            nodes = [n for b in below for n in b.get((line, frame.name, frame.file), ())]
            if not nodes:
                named = any(key[1:] == frame[:2] for b in below for key in b)
                return ("no such caller's line" if named else "no such function here") + (
                    f" at {depth} of {len(frames)}: {frames[max(depth - 1, 0) : depth + 1]}")
            line = frame.line
        if not any(line in self.lines[node] for node in nodes):
            return f"the leaf hasn't that line: {frames[-1]}"
        return ""

    def walked(self, frames):
        """(those outside of the tree of test/programs/python/walk.py, what is wrong inside)"""
        begin = next((i for i, f in enumerate(frames) if f.name.startswith("n_")), len(frames))
        lines, width = self.walk["lines"], self.walk["width"]
        for frame, leaf in zip(frames[begin:], [*frames[begin + 1 :], None]):
            digits = frame.name[2:]
            first = sum(width**n for n in range(len(digits))) + int(digits or "0", width)
            first = first * lines + 1
            if frame.file != "<walk>" or not first <= frame.line < first + lines:
                return [], f"not a line of it: {frame}"
            if leaf and (leaf.name[:-1] != frame.name or frame.line != first + 4 + 2 * int(leaf.name[-1])):
                return [], f"{frame} did not call {leaf}"
        if begin < len(frames) and len(frames[begin].name) != 3:
            return [], f"not the first level: {frames[begin]}"
        if begin < len(frames) and frames[begin - 1].name != "turn":
            return [], "not called by turn()"
        return frames[:begin], ""


NAMELESS = "a frame's name could not be read"


class Judged(NamedTuple):
    right: int
    total: int
    wrong: Counter

    @property
    def nameless(self):
        """Part of them that isn't wrong, but has a frame without its name."""
        return self.wrong[NAMELESS] / max(self.total, 1)

    @property
    def share(self):
        return self.right / max(self.total, 1)

    def text(self):
        worst = "".join(f"\n  {n} {why}" for why, n in self.wrong.most_common(6))
        return f"{self.share:.2%} of {self.total} right{worst}"

    def __add__(self, other):
        return Judged(self.right + other.right, self.total + other.total, self.wrong + other.wrong)


def judged(truth, stacks):
    wrong = Counter()
    for stack in stacks:
        frames = python_frames(stack)
        why = truth.judge(frames)
        if why and any(frame.name == "[python]_[p]" for frame in frames):
            why = NAMELESS
        if why:
            wrong[why] += stack.value
    total = sum(stack.value for stack in stacks)
    return Judged(total - sum(wrong.values()), total, wrong)
