# SPDX-License-Identifier: GPL-2.0-or-later
"""A quantity of a subject as a picture: a line over a number, or bars in groups. Without scripts, in colours that
light and dark pages both have."""
import math
from html import escape

from rows import OURS, PEER, REFERENCE, middle

WIDTH = 720
STYLE = """
.ground{fill:#ffffff}text{font:13px system-ui,sans-serif;fill:#24292f}.small{font-size:11.5px}.title{font-size:15px;font-weight:600}
.grid{stroke:#d0d7de;stroke-width:1}.axis{stroke:#57606a;stroke-width:1}
.o0{color:#0969da}.o1{color:#54aeff}.o2{color:#0a3069}.p0{color:#bc4c00}.p1{color:#8250df}.p2{color:#1a7f37}.p3{color:#bf3989}.p4{color:#9a6700}
.r0{color:#8c959f}.r1{color:#afb8c1}.r2{color:#6e7781}
.line{fill:none;stroke:currentColor;stroke-width:2}.fill{fill:currentColor}.range{stroke:#24292f;stroke-width:1.2;opacity:.75}
@media(prefers-color-scheme:dark){.ground{fill:#0d1117}text{fill:#e6edf3}.grid{stroke:#30363d}.axis{stroke:#8b949e}
.range{stroke:#e6edf3}.o0{color:#58a6ff}.o1{color:#a5d6ff}.o2{color:#1f6feb}.p0{color:#f0883e}.p1{color:#bc8cff}.p2{color:#3fb950}
.p3{color:#f778ba}.p4{color:#d29922}}
"""
SHAPES = ("circle", "square", "triangle", "diamond")
DASHES = ("", "6 3", "2 3", "8 3 2 3")


def number(value):
    """Three digits that count."""
    if value == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(digits, 4)}f}"


def short(value):
    """On an axis."""
    return f"{value:,.10g}"


def step_for(top, count=5):
    """1, 2 or 5 times a power of ten."""
    rough = top / count
    power = 10 ** math.floor(math.log10(rough))
    return next(one * power for one in (1, 2, 5, 10) if one * power >= rough * 0.999)


class Svg:
    def __init__(self, title, height):
        self.height, self.parts = height, []
        self.head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
                     f'height="{height}" role="img"><title>{escape(title)}</title><style>{STYLE.strip()}</style>'
                     f'<rect class="ground" width="100%" height="100%"/>')
        self.text(12, 22, title, "title")

    def text(self, x, y, words, kind="", anchor="start", turned=False):
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        name = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{name}{turn}>{escape(words)}</text>')

    def line(self, x1, y1, x2, y2, kind):
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def rect(self, x, y, width, height, kind):
        self.parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height:.1f}"/>')

    def path(self, points, kind, dashes=""):
        dash = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.parts.append(f'<polyline class="{kind}"{dash} points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')

    def mark(self, shape, x, y, kind):
        if shape == "circle":
            self.parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>')
            return
        corners = {"square": ((-4, -4), (4, -4), (4, 4), (-4, 4)), "triangle": ((0, -5), (5, 4), (-5, 4)),
                   "diamond": ((0, -6), (5, 0), (0, 6), (-5, 0))}[shape]  # fmt: skip
        points = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
        self.parts.append(f'<polygon class="{kind}" points="{points}"/>')

    def done(self):
        return self.head + "\n".join(self.parts) + "</svg>\n"


def colours(subject):
    """{who: class}, ours blue, the references grey."""
    letters, counts = {OURS: ("o", 3), PEER: ("p", 5), REFERENCE: ("r", 3)}, {}
    found = {}
    for who, way in subject["ways"].items():
        letter, many = letters[way["kind"]]
        found[who] = f"{letter}{counts.get(letter, 0) % many}"
        counts[letter] = counts.get(letter, 0) + 1
    return found


def figures_of(subject, key):
    """In the order of the ways."""
    order = list(subject["ways"])
    mine = [figure for figure in subject["figures"] if figure["quantity"] == key and figure["values"]]
    return sorted(mine, key=lambda figure: order.index(figure["who"]))


def draw(subject, key):
    """The picture of that quantity, or None if there is nothing to show."""
    quantity, figures = subject["quantities"][key], figures_of(subject, key)
    if not figures or not quantity["plot"]:
        return None
    return (lines if quantity["across"] else bars)(subject, quantity, figures)


def heading(quantity):
    return f"{quantity['title']} ({quantity['unit']})"


class Axis:
    """Of numbers: by their logarithm if they lie far apart."""

    def __init__(self, values, low, high):
        self.values, self.low, self.high = sorted(set(values)), low, high
        self.far = self.values[0] > 0 and self.values[-1] / self.values[0] >= 8
        self.first, self.last = self.scaled(self.values[0]), self.scaled(self.values[-1])

    def scaled(self, value):
        return math.log(value) if self.far else value

    def at(self, value):
        if self.first == self.last:
            return (self.low + self.high) / 2
        part = (self.scaled(value) - self.first) / (self.last - self.first)
        return self.low + part * (self.high - self.low)


def lines(subject, quantity, figures):
    whos = list(dict.fromkeys(figure["who"] for figure in figures))
    legend_rows = (len(whos) + 1) // 2
    left, right, top, bottom = 64, WIDTH - 24, 40 + 20 * legend_rows, 40 + 20 * legend_rows + 250
    svg = Svg(heading(quantity), bottom + 48)
    x_axis = Axis([figure["where"] for figure in figures], left + 24, right - 24)
    most = max(max(figure["values"]) for figure in figures) or 1
    step = step_for(most)
    steps = math.ceil(most / step - 1e-9)
    for i in range(steps + 1):
        y = bottom - (bottom - top) * i / steps
        svg.line(left, y, right, y, "grid" if i else "axis")
        svg.text(left - 8, y + 4, short(round(i * step, 10)), "small", "end")
    for value in x_axis.values:
        svg.text(x_axis.at(value), bottom + 18, short(value), "small", "middle")
    svg.text((left + right) / 2, bottom + 38, quantity["across"], "small", "middle")
    svg.text(16, (top + bottom) / 2, quantity["unit"], "small", "middle", turned=True)
    colour = colours(subject)
    for i, who in enumerate(whos):
        own = sorted((figure for figure in figures if figure["who"] == who), key=lambda figure: figure["where"])
        dashes, shape = DASHES[i % len(DASHES)], SHAPES[i % len(SHAPES)]
        svg.parts.append(f'<g class="{colour[who]}">')

        def height(value):
            return bottom - (bottom - top) * value / (steps * step)

        svg.path([(x_axis.at(figure["where"]), height(middle(figure))) for figure in own], "line", dashes)
        for figure in own:
            x = x_axis.at(figure["where"])
            svg.line(x, height(min(figure["values"])), x, height(max(figure["values"])), "range")
            svg.mark(shape, x, height(middle(figure)), "fill")
        x, y = 20 + (i % 2) * 350, 44 + 20 * (i // 2)
        svg.path([(x, y - 4), (x + 30, y - 4)], "line", dashes)
        svg.mark(shape, x + 15, y - 4, "fill")
        svg.text(x + 38, y, who)
        svg.parts.append("</g>")
    return svg.done()


def bars(subject, quantity, figures):
    """A panel for each group; as they may be far apart, each group has its own scale."""
    groups = list(dict.fromkeys(figure["where"] for figure in figures))
    widest = max(len(figure["who"]) for figure in figures)
    left, right = min(24 + 6.9 * widest, 320), WIDTH - 150
    svg = Svg(heading(quantity), 40 + sum(50 + 24 * sum(f["where"] == g for f in figures) for g in groups))
    colour, y = colours(subject), 52
    for group in groups:
        own = [figure for figure in figures if figure["where"] == group]
        most = max(max(figure["values"]) for figure in own) or 1
        if len(groups) > 1 or group:
            svg.text(12, y, str(group), "small")
        y += 8

        def across(value):
            return left + (right - left) * max(value, 0) / most

        step = step_for(most, 4)
        for i in range(math.floor(most / step + 1e-9) + 1):
            x = across(i * step)
            svg.line(x, y, x, y + 24 * len(own), "grid" if i else "axis")
            svg.text(x, y + 24 * len(own) + 13, short(round(i * step, 10)), "small", "middle")
        svg.text(right + 30, y + 24 * len(own) + 13, quantity["unit"], "small")
        for figure in own:
            value = middle(figure)
            svg.text(left - 8, y + 14, figure["who"], "small", "end")
            svg.parts.append(f'<g class="{colour[figure["who"]]}">')
            svg.rect(left, y + 2, across(value) - left, 16, "fill")
            svg.parts.append("</g>")
            low, high = min(figure["values"]), max(figure["values"])
            if across(high) - across(low) > 1:
                svg.line(across(low), y + 10, across(high), y + 10, "range")
            svg.text(across(max(value, high)) + 6, y + 14, number(value), "small")
            y += 24
        y += 42
    return svg.done()
