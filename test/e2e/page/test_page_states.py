"""Each state of the page, light and dark, wide and 360 px: nothing is wider than the window, texts can be read, pictures have
the scheme's colours. What was seen lies in build/page-states, to be looked at."""
import base64
import re

import pytest

from browsing import of, opened  # noqa: F401
from canvas import boxes, ink, palette, place_of, point_at
from helpers import ROOT
from lasting import compared, lasting  # noqa: F401

SEEN = ROOT / "build/page-states"
LOOKS = [("light", 1200), ("dark", 1200), ("light", 360), ("dark", 360)]
CONTRAST = 4.5  # WCAG 2.2, 1.4.3

SETTLED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
WIDER = """(() => {
    const {scrollWidth, clientWidth} = document.documentElement;

    return scrollWidth <= clientWidth ? [] : [`${scrollWidth} px in ${clientWidth}`, ...[...document.querySelectorAll('body *')]
        .filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > clientWidth + 0.5 && !e.closest('.list, pre'))
        .map((e) => `${e.tagName} ${e.id} ${e.className} ${e.textContent.slice(0, 40)}`).slice(0, 5)];
})()"""
# [text, contrast, its colour, its ground] of all texts that are seen; controls that are off needn't be read.
READABLE = """(() => {
    const pen = Object.assign(document.createElement('canvas'), {width: 1, height: 1}).getContext('2d', {willReadFrequently: true});
    const known = new Map(), found = new Map();
    const rgba = (colour) => {
        if (!known.has(colour)) {
            pen.clearRect(0, 0, 1, 1);
            pen.fillStyle = colour;
            pen.fillRect(0, 0, 1, 1);
            known.set(colour, [...pen.getImageData(0, 0, 1, 1).data]);
        }
        return known.get(colour);
    };
    const linear = (c) => c <= 0.04045 * 255 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4;
    const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const groundOf = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const ground = rgba(getComputedStyle(at).backgroundColor);

            if (ground[3])
                return ground;
        }
        return null;
    };
    const look = (element, colour, text) => {
        const ink = rgba(colour), ground = groundOf(element), key = `${ink} ${ground}`;

        if (!ground || ink[3] < 255 || ground[3] < 255)
            found.set(key, [text, 0, ink, ground]);
        const [more, less] = [ink, ground].map(luminance).sort((a, b) => b - a);

        if (!found.has(key))
            found.set(key, [text, (more + 0.05) / (less + 0.05), ink, ground]);
    };

    for (const element of document.querySelectorAll('body, body *')) {
        if (!element.checkVisibility({visibilityProperty: true}) || element.closest(':disabled, option, script, noscript'))
            continue;
        const {color} = getComputedStyle(element);

        for (const node of element.childNodes) {
            if (node.nodeType === 3 && node.data.trim())
                look(element, color, node.data.trim().slice(0, 40));
        }
        if (element.value && element.matches('input, select'))
            look(element, color, element.value);
        if (element.placeholder)
            look(element, getComputedStyle(element, '::placeholder').color, element.placeholder);
    }
    return [...found.values()];
})()"""
TIME_LINE = """(() => {
    const canvas = document.querySelector('#history canvas'), {width, height} = canvas, colours = new Set();
    const pen = Object.assign(document.createElement('canvas'), {width, height}).getContext('2d', {willReadFrequently: true});

    pen.drawImage(canvas, 0, 0);
    const {data} = pen.getImageData(0, 0, width, height);

    for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] === 255)
            colours.add('#' + [...data.subarray(i, i + 3)].map((c) => c.toString(16).padStart(2, '0')).join(''));
    }
    return [...colours];
})()"""


class Looked:
    """What was wrong, state by state."""

    def __init__(self, page):
        self.page = page
        self.wrong = []
        SEEN.mkdir(parents=True, exist_ok=True)

    def at(self, state, *drawn):
        """Looks at a state; `drawn`: "graph", "time line", what is to be in the scheme's colours."""
        tab = self.page.tab
        for scheme, width in LOOKS:
            tab.scheme(scheme)
            tab.size(width, 900)
            tab.run(SETTLED)
            tab.run("scrollTo(0, 0)")
            what = f"{state}, {scheme}, {width} px"
            png = tab.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
            (SEEN / f"{state.replace(' ', '-')}-{scheme}-{width}.png").write_bytes(base64.b64decode(png))
            if wide := tab.run(WIDER):
                self.wrong.append(f"{what}: {wide}")
            texts = tab.run(READABLE)
            assert len(texts) > 1, what
            self.wrong += [f"{what}: {text}" for text in texts if text[1] < CONTRAST]
            if "graph" in drawn:
                shades = {shade for shades in palette(scheme).values() for shade in shades}
                found = {box["colour"] for box in boxes(self.page)}
                assert found, what
                self.wrong += [f"{what}: {colour} in the picture" for colour in found - shades]
            if "time line" in drawn and ink("narrow", scheme) not in (found := tab.run(TIME_LINE)):
                self.wrong.append(f"{what}: {found} on the time line")
        tab.size(*LOOKS[0][1:], 900)
        tab.run(SETTLED)


@pytest.fixture
def looked(compared, opened):
    """Of the page with large's profile."""
    with opened(compared.daemon, of(compared.large)) as page:
        page.wait(".facts", "samples")
        found = Looked(page)
        yield found
        assert not found.wrong, "\n".join(map(str, found.wrong))


def test_the_list(compared, opened):
    with opened(compared.daemon) as page:
        looked = Looked(page)
        looked.at("start")
        page.wait("#processes tbody", r"\d")
        page.wait("#probes tbody", "oncpu")
        looked.at("list")
        page.hover("#processes tbody tr")  # a row below the mouse has another ground
        looked.at("list below the mouse")
        page.key("?")
        looked.at("help")
        page.click("#help button")
        page.do("main=token")
        looked.at("token")
        page.click("#token [value=cancel]")
    assert not looked.wrong, "\n".join(map(str, looked.wrong))


def test_the_profile(looked):
    page = looked.page
    looked.at("picture", "graph")
    page.key("k", "k", "k")
    looked.at("picture by own weight", "graph")
    page.key("k", "k")
    point_at(page, "middle")
    looked.at("picture below the mouse", "graph")
    page.tab.click(*place_of(page, "outer"))
    page.write("[name=search]", "spin")
    page.wait(".matched", "matched")
    looked.at("picture zoomed and searched")
    page.key("Escape", "0")
    page.right_click(60, place_of(page, "outer")[1])  # also in a narrow window it is seen there
    assert page.shows(".menu")
    looked.at("menu")


def test_the_tables(looked):
    page = looked.page
    page.key("2")
    looked.at("functions")
    page.key("3")
    looked.at("callers")
    page.key("4")
    looked.at("tree")
    page.focus("#tree [tabindex='0']")
    page.key("ArrowDown", "h")
    looked.at("tree with a step")


def test_an_error(looked):
    page = looked.page
    page.do("main=token")
    page.focus("#token input")
    page.tab.call("Input.insertText", text="ä")
    page.key("Enter")
    page.wait("#status.error", "ASCII")
    page.write("[name=search]", "(")
    page.wait(".matched", "nvalid")
    looked.at("error")


def test_back_in_time(compared, opened):
    with opened(compared.daemon, compared.view) as page:
        page.wait(".facts", "samples")
        page.key("b")
        page.wait("#history caption", "functions changed beyond noise")
        page.click("#history .events summary")
        page.wait("#history .range", "CPUs")
        page.wait(".events ul", "added for oncpu")
        looked = Looked(page)
        looked.at("compared", "time line")
        page.click("[data-do=unusual]")
        page.wait("#history caption", "processes are unlike|Too few windows")
        looked.at("unusual", "time line")
    assert not looked.wrong, "\n".join(map(str, looked.wrong))


def test_the_scheduler_and_a_link_that_waits(compared, opened):
    with opened(compared.daemon, f"source=take&pids={compared.large}&of=a%20program&probe=oncpu") as page:
        page.wait("#offer", "This link profiles")
        page.wait("#scheduler select", "runqlat")
        looked = Looked(page)
        looked.at("offer")
        page.click("#scheduler button")
        page.wait("#scheduler pre", r"usecs +: count +distribution", 60)
        looked.at("scheduler")
    assert not looked.wrong, "\n".join(map(str, looked.wrong))


def test_without_scripts(compared, opened):
    with opened(compared.daemon, scripts=False) as page:
        for scheme, width in LOOKS:
            page.tab.scheme(scheme)
            page.tab.size(width, 900)
            png = page.tab.call("Page.captureScreenshot")["data"]
            (SEEN / f"without-scripts-{scheme}-{width}.png").write_bytes(base64.b64decode(png))
            assert page.tab.run(WIDER) == []
            assert [text for text in page.tab.run(READABLE) if text[1] < CONTRAST] == []
        assert re.search("Without scripts", page.tab.run("document.body.innerText"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_can_be_read_on_each_shade(compared, opened, scheme):
    """Of the pictures, too: they have the same."""
    with opened(compared.daemon, of(compared.large), scheme=scheme) as page:
        page.wait(".facts", "samples")
        text = page.tab.run("(async () => (await import('/ui/colours.js')).inks.text)()")
    rgb = [int(part) for part in re.findall(r"\d+", text)[:3]]
    grounds = [shade for shades in palette(scheme).values() for shade in shades] + [ink("match", scheme)]
    poor = {ground: round(found, 2) for ground in grounds if (found := contrast(rgb, ground)) < CONTRAST}
    assert not poor


def contrast(rgb, ground):
    lights = sorted(map(luminance, (rgb, [int(ground[i : i + 2], 16) for i in (1, 3, 5)])))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(rgb):
    linear = [c / 255 / 12.92 if c <= 0.04045 * 255 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb]
    return sum(part * value for part, value in zip((0.2126, 0.7152, 0.0722), linear))
