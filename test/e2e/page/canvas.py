"""What is drawn on the page's picture, pixel by pixel; what its style sheets say of that; profiles that are made up."""
import json
import re

from helpers import ROOT, wait_for

KINDS = "root pod container process thread marker native kernel jit inlined interpreted python".split()
LETTERS = dict(zip(KINDS, "cccppmnkjity"))  # of their shades

# Of each frame of the picture that is a few pixels wide: what it is, where its middle is, and its colour beside its name.
BOXES = """(async () => {
    const {graph} = await import('/ui/panel.js'), {profile} = graph, pen = graph.canvas.getContext('2d');

    graph.element.scrollIntoView({block: 'center'});
    const area = graph.top.getBoundingClientRect();
    const colourAt = (...place) => '#' + [...pen.getImageData(...place, 1, 1).data].slice(0, 3).map((c) => c.toString(16).padStart(2, '0')).join('');

    return [...graph.boxes].filter(([, {width}]) => width > 5).map(([node, {left, width}]) => ({
        node, label: profile.label(node), kind: profile.of(node).kind, module: profile.of(node).module, path: profile.names(node),
        own: profile.self[node], total: profile.total[node], place: [area.x + left + width / 2, area.y + graph.y(node) + 9],
        colour: colourAt(Math.ceil(left) + 1, Math.round(graph.y(node)) + 1)}));
})()"""

# Which frame the page knows below the mouse, and what it says of that: {node, name, line}.
HOVERED = """(async () => {
    const {graph} = await import('/ui/panel.js'), line = document.querySelector('.line');

    return {node: graph.hovered, name: line.querySelector('bdi')?.textContent, line: line.textContent};
})()"""

SHOW = """(async (top, changes) => {
    const {Builder} = await import('/ui/builder.js'), {frameOf} = await import('/ui/profile.js');
    const {show} = await import('/ui/panel.js'), builder = new Builder();
    const add = (node, {name, kind, module, own, children}) => {
        const child = builder.child(node, builder.frames.add(frameOf(name, kind, '', 0, module)));

        builder.self[child] += own;
        children.forEach((one) => add(child, one));
    };

    top.forEach((one) => add(0, one));
    builder.frames.changes = new Map(Object.entries(changes));
    show(builder.finish({title: 'Made up', unit: 'samples', host: 'here', probe: 'oncpu', of: '', from: 0, until: 0, lost: 0,
        period_ns: 0, left_out: 0, truncated: 0}));
})"""


def made(name, kind, *children, own=0, module=""):
    """A frame of a profile that nobody collected."""
    return {"name": name, "kind": kind, "module": module, "own": own if children else own or 10, "children": list(children)}


def show(page, *top, changes=None):
    """Shows that profile: frames below its root, and {function: how much it changed, from -1 to 1}."""
    page.tab.run(f"{SHOW}({json.dumps(top)}, {json.dumps(changes or {})})")


def boxes(page):
    return page.tab.run(BOXES)


def labels(page):
    return [box["label"] for box in boxes(page)]


def place_of(page, label):
    """Where the middle of the frame is, the lowest of several."""
    return next(box["place"] for box in boxes(page) if box["label"] == label)


def point_at(page, frame):
    """The mouse, on a frame ({node} of boxes(), or a label: the lowest of several), until the page knows that it is there:
    a picture that changes is drawn a little later, and what comes above the picture moves it. Returns what the page says."""

    def is_there():
        box = next((box for box in boxes(page) if frame in (box["node"], box["label"])), None)
        if not box:
            return None
        page.tab.move(*box["place"])
        told = page.tab.run(HOVERED)
        return told["node"] == box["node"] and told

    return wait_for(is_there, why=lambda: f"the mouse is on {frame}: {page.tab.run(HOVERED)}")


def palette(scheme):
    """{letter: its shades} of light or dark."""
    parts = (ROOT / "probe/output/svg/palette.css").read_text().split("@media (prefers-color-scheme: dark)")
    shades = {}
    for letter, colour in re.findall(r"\.([a-z])\d{stroke:(#\w{6})}", parts[scheme == "dark"]):
        shades.setdefault(letter, []).append(colour)
    return shades


def ink(name, scheme):
    """A colour of page.css, --match or --link."""
    pair = re.search(rf"--{name}: light-dark\((#\w+), (#\w+)\)", (ROOT / "probe/page/page.css").read_text())
    return pair[1 + (scheme == "dark")]
