"""Pictures as a reader sees them in the browser: what is drawn where, what is said."""
import random
import re
import subprocess
from contextlib import contextmanager
from typing import NamedTuple

from helpers import BIN, wait_for

FRAMES = """
[...document.querySelectorAll('#frames path')].map((path) => {
	const {left, right, top, bottom} = path.getBoundingClientRect();
	const from = Math.max(left, 10), until = Math.min(right, innerWidth - 10);
	const x = (from + until) / 2, y = (top + bottom) / 2;
	const style = getComputedStyle(path);

	return [path.querySelector('title').textContent, left, right, x, y,
		from < until - .01 && document.elementFromPoint(x, y) === path,
		style.stroke, Number(style.strokeOpacity)];
})"""
TITLE = re.compile(r"(.*) \(([0-9,]+) (.+?), ([0-9.]+)%(?:; ([+-]?[0-9.]+)%)?\)")
VISIBLE_TEXTS = """
[...document.querySelectorAll('text')].filter((text) => text.getBoundingClientRect().width > 0)
	.map((text) => text.textContent)"""
ISOLATES = str.maketrans("", "", "\u2068\u2069")


class Frame(NamedTuple):
    title: str
    left: float
    right: float
    x: float  # the middle of what lies in the window
    y: float
    is_shown: bool  # a click at (x, y) would meet it
    colour: str
    opacity: float

    @property
    def name(self):
        return TITLE.fullmatch(self.title)[1]

    @property
    def value(self):
        return int(TITLE.fullmatch(self.title)[2].replace(",", ""))

    @property
    def width(self):
        return self.right - self.left


def render(folded, *options):
    """What `stackprobe render` makes of it."""
    argv = [BIN, "render", *options]
    done = subprocess.run(argv, input=folded.encode(), stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


def ten_thousand_stacks():
    """Samples of a walk through a random program until 10,000 stacks are distinct."""
    rng = random.Random(7)
    words = "read write parse find update insert flush lock copy hash encode scan visit".split()
    calls = [[rng.randrange(2000) for _ in range(rng.randint(1, 5))] for _ in range(2000)]
    names = [f"{rng.choice(words)}_{rng.choice(words)}_{i}" for i in range(2000)]
    stacks = {}
    while len(stacks) < 10_000:
        stack, function = ["[1]server", f"worker-{rng.randrange(8)}", "_start", "main"], 0
        while len(stack) < 9 or rng.random() > 0.15:
            stack.append(names[function])
            ways = calls[function]
            function = ways[min(len(ways) - 1, int(rng.expovariate(1)))]
        stacks[";".join(stack)] = stacks.get(";".join(stack), 0) + 1
    return "".join(f"{stack} {value}\n" for stack, value in stacks.items())


class Picture:
    """A picture in a page."""

    def __init__(self, page):
        self.page = page

    @property
    def frames(self):
        return [Frame(*values) for values in self.page.run(FRAMES)]

    def leave(self):
        """Moves the mouse away from the frames: the one below it looks different."""
        self.page.move(2, 2)

    @property
    def shown(self):
        """Names of the frames in sight."""
        return sorted(f.name for f in self.frames if f.is_shown)

    def frame(self, name):
        """The one frame of that name, without its suffix."""
        found = [f for f in self.frames if re.sub(r"_\[\w\]$", "", f.name) == name]
        assert len(found) == 1, (name, found)
        return found[0]

    def text(self, part):
        """A control's or a line's text; "" where it isn't shown."""
        return self.page.run(
            f"((e) => e.getBoundingClientRect().width ? e.textContent : '')"
            f"(document.querySelector('#{part}'))"
        ).translate(ISOLATES)

    @property
    def labels(self):
        return self.page.run("[...document.querySelectorAll('#labels text')].map(e => e.textContent)")

    def click(self, name):
        frame = self.frame(name)
        assert frame.is_shown, f"{name} can't be clicked"
        self.page.click(frame.x, frame.y)
        self.leave()

    def press(self, part):
        """Clicks on a control."""
        box = self.page.run(
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])"
            f"(document.querySelector('#{part}').getBoundingClientRect())"
        )
        self.page.click(*box)

    def search(self, term):
        self.page.key("/")
        self.page.call("Input.insertText", text=term)
        self.settle()

    def settle(self):
        """Waits for what is done with the next picture on the screen."""
        self.page.run("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")

    def resize(self, width, height=2000):
        self.page.size(width, height)
        wait_for(lambda: self.page.run("innerWidth") == width, why=f"a window of {width} px")
        self.settle()
        self.settle()


@contextmanager
def open_picture(chromium, path, **kwargs):
    """A file in a page of its own; at the end nothing may have been complained of or asked for."""
    url = path if isinstance(path, str) else path.as_uri()
    with chromium.page(url, **kwargs) as page:
        yield Picture(page)
        assert page.complaints == []
        assert {request.split("#")[0] for request in page.requests} == {url.split("#")[0]}
