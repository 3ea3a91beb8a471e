"""A flame graph read back, and what it must show, told by the simplest program that can."""
import collections
import re
import xml.etree.ElementTree as xml
from typing import NamedTuple

SVG = "{http://www.w3.org/2000/svg}"
MARGIN, ROW, TOP = 10, 16, 84


class Frame(NamedTuple):
    row: int  # 0: the root's
    name: str
    value: int


class Picture:
    """The frames of an SVG; reading it checks that they lie well."""

    RATES, WHY = "; [0-9.,]+/s → [0-9.,]+/s", "; [a-z ]+"  # of a difference by time
    PATH = re.compile(r"M(\d+(?:\.\d{1,3})?) (\d+)h(\d+(?:\.\d{1,2})?)")

    def __init__(self, text):
        self.root = xml.fromstring(text)
        self.unit = self.root.get("data-unit")
        self.is_icicle = self.root.get("data-icicle") == "1"
        self.is_diff = self.root.get("data-diff") == "1"
        self.titles, self.classes, self.changes = [], {}, {}
        self.boxes = []  # (row, x, width, frame)
        layer = self.root.find(f".//{SVG}g[@id='frames']")
        paths = layer.findall(f"{SVG}path")
        bottom = max(int(self.PATH.fullmatch(path.get("d"))[2]) for path in paths)
        for path in paths:
            self.read(path, bottom)
        self.frames = collections.Counter(box[3] for box in self.boxes)
        self.total = next(frame.value for _, _, _, frame in self.boxes if frame.row == 0)
        self.check_places()

    def read(self, path, bottom):
        x, y, width = self.PATH.fullmatch(path.get("d")).groups()
        title = path.find(f"{SVG}title").text
        match = re.fullmatch(
            rf"(.*) \(([\d,]+) {re.escape(self.unit)}, ([\d.]+)%(?:; ([-+]?[\d.]+)%({self.RATES})?({self.WHY})?)?\)",
            title,
            re.DOTALL,
        )
        assert match, title
        distance = int(y) - TOP if self.is_icicle else bottom - int(y)
        assert distance % ROW == 0
        frame = Frame(distance // ROW, match[1], int(match[2].replace(",", "")))
        self.boxes.append((frame.row, float(x), float(width), frame))
        self.titles.append(title)
        self.classes[frame] = path.get("class")
        self.changes[frame] = match[4]

    def coloured(self):
        """Names of the frames that a difference shows as changed."""
        return {frame.name for frame, kind in self.classes.items() if kind[0] in "gs"}

    def text(self, part):
        return "".join(self.root.find(f".//{SVG}*[@id='{part}']").itertext())

    def check_places(self):
        """Each frame lies on one of the row below, beside its neighbours, as wide as it weighs."""
        rows = collections.defaultdict(list)
        width = float(self.root.get("width")) - 2 * MARGIN
        for row, x, w, frame in sorted(self.boxes):
            share = frame.value / self.total if self.total else 1
            assert abs(w - share * width) < 0.006, frame
            rows[row].append((x, x + w))
        for row, spans in rows.items():
            for before, after in zip(spans, spans[1:]):
                assert before[1] <= after[0] + 0.012
            below, at = rows.get(row - 1, []), 0
            for x, end in spans if row else []:
                while below[at][1] < (x + end) / 2:
                    at += 1
                assert below[at][0] - 0.002 <= x, (row, x, end, below[at])
                assert end <= below[at][1] + 0.012, (row, x, end, below[at])


def stacks_of(text):
    """{stack: weight}, of well-formed folded text."""
    stacks = collections.Counter()
    for line in text.splitlines():
        stack, value = line.rsplit(" ", 1)
        stacks[tuple(stack.split(";"))] += int(value)
    return stacks


def frames_of(stacks, width=1200):
    """What a picture of these stacks shows: a Counter of Frame."""
    weights, total = collections.Counter(), sum(stacks.values())
    for stack, value in stacks.items():
        for end in range(1, len(stack) + 1):
            weights[stack[:end]] += value
    shown = collections.Counter({Frame(0, "all", total): 1})
    for path, value in weights.items():
        if value * (width - 2 * MARGIN) * 10 >= total:
            shown[Frame(len(path), path[-1], value)] += 1
    return shown
