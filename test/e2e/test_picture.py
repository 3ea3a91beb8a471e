"""The flame graph in a browser: headless Chromium clicks, types and looks."""
import functools
import http.server
import re
import threading
import time
from contextlib import contextmanager

import pytest

from chromium import Chromium, missing
from folded import Profile
from helpers import wait_for
from screen import (
    ISOLATES, VISIBLE_TEXTS, Picture, open_picture, render, ten_thousand_stacks,
)  # fmt: skip

STACKS = {
    "[7]shop;front;main;serve;parse;read_json": 200,
    "[7]shop;front;main;serve;parse;read_json;json_key": 50,
    "[7]shop;front;main;serve;price;find_[i]": 100,
    "[7]shop;front;main;serve;ksys_read_[k];copy_user_[k]": 150,
    "[7]shop;front;main;log_json": 40,
    "[9]java;worker;Shop.run_[j];Cart.add_[0]": 160,
    "[9]java;worker;[truncated];lost_leaf": 20,
    "[11]python3;cook;<module> (app.py:1)_[p];handle (app.py:9)_[p]": 280,
}
FOLDED = "".join(f"{stack} {value}\n" for stack, value in STACKS.items())
HINT = "Click a frame to zoom, / to search, arrows to move, Esc to reset"


def matched(pattern, under=""):
    """Percent of the stacks that hold `under` which have a match, by the text alone."""
    of = {stack: value for stack, value in STACKS.items() if under in stack}
    hits = sum(v for s, v in of.items() if any(re.search(pattern, f, re.I) for f in s.split(";")))
    return f"{100 * hits / sum(of.values()):.2f}%"


@pytest.fixture(scope="module")
def chromium():
    reason = missing()
    if reason:
        pytest.skip(reason)
    browser = Chromium()
    yield browser
    browser.close()


@pytest.fixture
def draw(chromium, work):
    """draw(folded, options…): a context with that picture in a page of its own."""

    @contextmanager
    def draw(folded=FOLDED, *options, at="", **kwargs):
        path = work / "picture.svg"
        path.write_text(render(folded, *options))
        with open_picture(chromium, path.as_uri() + at, **kwargs) as picture:
            yield picture

    return draw


@pytest.fixture
def picture(draw):
    with draw() as picture:
        yield picture


@contextmanager
def served(folder, **headers):
    """A folder over HTTP, with these headers."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def end_headers(self):
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            super().end_headers()

        def log_message(self, *_):
            pass

    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


# Zoom


def test_a_click_zooms_and_ancestors_stay_as_faded_bars(picture):
    before = {f.name: f for f in picture.frames}
    picture.click("parse")
    after = {f.name: f for f in picture.frames}

    assert picture.shown == sorted(
        ["all", "[7]shop", "front", "main", "serve", "parse", "read_json", "json_key"]
    )
    for name in ("all", "[7]shop", "front", "main", "serve", "parse"):
        assert (after[name].left, after[name].right) == pytest.approx((10, 1190), abs=0.5)
        assert (after[name].opacity < 1) == (name != "parse")
    assert after["json_key"].width == pytest.approx(1180 * 50 / 250, abs=1)
    assert all(f.title == before[f.name].title for f in after.values())
    assert picture.page.run("document.documentElement.scrollWidth <= innerWidth")


def test_a_click_on_an_ancestor_and_on_all_goes_back(picture):
    picture.click("json_key")
    picture.click("main")
    assert "log_json" in picture.shown and "worker" not in picture.shown
    assert picture.frame("main").opacity == 1
    picture.click("all")
    assert len(picture.shown) == len(picture.frames)


@pytest.mark.parametrize("way", ["control", "escape", "back"])
def test_there_is_a_way_back(picture, way):
    first = picture.frames
    assert not picture.text("unzoom")
    picture.click("parse")
    picture.click("read_json")
    assert picture.text("unzoom") == "Reset Zoom"
    if way == "control":
        picture.press("unzoom")
    elif way == "escape":
        picture.page.key("Escape")
    else:
        picture.page.run("history.back()")
        wait_for(lambda: picture.frame("parse").opacity == 1, why="a step back")
        assert picture.frame("parse").width == pytest.approx(1180, abs=0.5)
        picture.page.run("history.back()")
        wait_for(lambda: len(picture.shown) == len(first), why="two steps back")
    assert picture.frames == first
    assert not picture.text("unzoom")


def test_a_zoom_into_the_narrowest_frame_is_exact(draw):
    """Paths are rounded to 0.01 px: 0.11 px as wide as the picture is a scale of 11,000."""
    with draw("r;a;wide 1000000\nr;b;narrow;whole 110\nr;c;wide too 180000\n") as picture:
        narrow = picture.frame("narrow")
        assert narrow.width == pytest.approx(0.11, abs=0.005)
        picture.page.run("""[...document.querySelectorAll('#frames path')]
            .find((p) => p.textContent.startsWith('narrow'))
            .dispatchEvent(new MouseEvent('click', {bubbles: true}))""")
        for name in ("narrow", "whole", "b", "all"):
            frame = picture.frame(name)
            assert (frame.left, frame.right) == pytest.approx((10, 1190), abs=2), name
            assert frame.is_shown
        assert not {"wide", "wide too", "a", "c"} & set(picture.shown)


# What is said


def test_a_frame_under_the_mouse_is_told_with_count_unit_and_percent(picture):
    assert picture.text("details") == HINT
    frame = picture.frame("find")
    picture.page.move(frame.x, frame.y)
    assert picture.text("details") == frame.title == "find_[i] (100 samples, 10.00%)"
    picture.click("serve")
    assert picture.text("details") == HINT
    frame = picture.frame("find")
    picture.page.move(frame.x, frame.y)
    assert picture.text("details") == "find_[i] (100 samples, 10.00%) · 20.00% of this view"
    picture.page.move(frame.x, 5)
    assert picture.text("details") == HINT


def test_another_unit_is_told_too(draw):
    with draw("a;b 1500000\nc 500000\n", "--countname", "µs, blocked") as picture:
        picture.click("b")
        assert picture.frame("b").width == pytest.approx(1180, abs=0.5)
        picture.page.move(600, picture.frame("b").y)
        assert picture.text("details").startswith("b (1,500,000 µs, blocked, 75.00%)")
        picture.search("^b$")
        assert picture.text("matched").startswith("Matched: 75.00% of all")


# Search


def test_a_search_highlights_and_counts_a_match_within_a_match_once(picture):
    before = {f.name: f.colour for f in picture.frames}
    picture.search("json")
    changed = {f.name for f in picture.frames if f.colour != before[f.name]}
    assert changed == {"read_json", "json_key", "log_json"}
    assert picture.text("matched") == f"Matched: {matched('json')}" == "Matched: 29.00%"


def test_a_search_survives_a_zoom_and_tells_the_view_and_the_whole(picture):
    picture.search("json|find")
    picture.click("serve")
    whole, view = matched("json|find"), matched("json|find", under=";serve")
    assert picture.text("matched") == f"Matched: {whole} of all, {view} of this view"
    picture.click("json_key")
    assert picture.text("matched") == f"Matched: {whole} of all, 100.00% of this view"
    picture.click("all")
    assert picture.text("matched") == f"Matched: {whole}"


def test_a_search_without_capitals_takes_both_cases(picture):
    for pattern, names in (("cart", 1), ("Cart", 1), ("CART", 0), (r"\Dhop\.", 1), (r"_\[k\]$", 2)):
        before = [f.colour for f in picture.frames]
        picture.search(pattern)
        after = [f.colour for f in picture.frames]
        assert sum(a != b for a, b in zip(before, after, strict=True)) == names, pattern
        picture.page.key("Escape")


@pytest.mark.parametrize("way", ["in the field", "outside", "control"])
def test_a_search_is_reset(picture, way):
    before = picture.frames
    picture.search("json")
    if way == "control":
        assert picture.text("search") == "Reset Search"
        picture.press("search")
    else:
        if way == "outside":
            picture.page.key("Enter")  # to the frames
        picture.page.key("Escape")
    assert picture.frames == before
    assert picture.text("matched") == ""
    assert picture.text("search") == "Search"
    assert picture.page.run("document.querySelector('input').getBoundingClientRect().width") == 0


@pytest.mark.parametrize("way", ["control", "control and f"])
def test_the_search_opens_and_what_is_typed_goes_there(picture, way):
    if way == "control":
        picture.press("search")
    else:
        picture.page.key("f", modifiers=2)
    picture.page.type("json/")
    assert picture.page.run("document.querySelector('input').value") == "json/"
    picture.settle()
    assert picture.text("matched") == "Matched: 0.00%"
    picture.page.key("Escape")
    assert len(picture.frames) == len(picture.shown)


def test_what_is_no_regular_expression_is_said_and_breaks_nothing(picture):
    before = picture.frames
    picture.page.type("/json(")
    picture.settle()
    assert picture.text("matched") == "Not a regular expression"
    assert picture.frames == before
    picture.page.type(")")
    picture.settle()
    assert picture.text("matched") == "Matched: 29.00%"


# Keys


def at(picture):
    return picture.text("details").split(" (")[0]


def test_arrows_move_between_parents_children_and_siblings(picture):
    steps = [("ArrowUp", "all"), ("ArrowUp", "[7]shop"), ("ArrowLeft", "[11]python3"),
             ("ArrowRight", "[7]shop"), ("ArrowRight", "[9]java"), ("ArrowRight", "[9]java"),
             ("ArrowUp", "worker"), ("ArrowLeft", "front"), ("ArrowUp", "main"),
             ("ArrowUp", "serve"), ("ArrowRight", "Cart.add_[0]"), ("ArrowLeft", "serve"),
             ("ArrowUp", "parse"),
             ("ArrowUp", "read_json"), ("ArrowUp", "json_key"), ("ArrowUp", "json_key"),
             ("ArrowDown", "read_json")]  # fmt: skip
    for key, name in steps:
        picture.page.key(key)
        assert at(picture) == name, (key, name)
    cursor = picture.page.run(
        "(({left, right, top, bottom}) => [left, right, top, bottom])"
        "(document.querySelector('#cursor').getBoundingClientRect())"
    )
    frame = picture.frame("read_json")
    assert cursor[:2] == pytest.approx((frame.left, frame.right), abs=2)
    assert cursor[2] < frame.y < cursor[3]


def test_a_picture_can_be_used_without_a_mouse(picture):
    picture.page.key("Tab")
    assert at(picture) == "all"
    for key in ("ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "Enter"):
        picture.page.key(key)
    assert picture.frame("serve").opacity == 1 and picture.frame("main").opacity < 1
    assert "log_json" not in picture.shown
    picture.page.key("ArrowDown")
    assert at(picture) == "main"
    picture.page.key("ArrowLeft")
    assert at(picture) == "main"  # what lies beside it isn't in this view
    picture.page.key("ArrowUp")
    assert at(picture) == "serve"
    picture.page.key("Escape")
    assert len(picture.shown) == len(picture.frames)
    assert picture.text("details") == HINT


def test_controls_are_reached_and_pressed_by_keys(picture):
    picture.click("serve")
    focused = "document.activeElement.id"
    for _ in range(6):
        picture.page.key("Tab")
        if picture.page.run(focused) == "unzoom":
            break
    assert picture.page.run(focused) == "unzoom"
    picture.page.key("Enter")
    assert len(picture.shown) == len(picture.frames)


# The window


def test_text_is_cut_to_fit_when_the_window_is_resized(picture):
    assert "read_json" in picture.labels
    picture.resize(600)
    assert picture.frame("all").width == pytest.approx(580, abs=0.5)
    assert picture.frame("read_json").width == pytest.approx(580 * 0.25, abs=0.5)
    narrow = picture.labels
    picture.resize(260)
    (cut,) = [label for label in picture.labels if label.startswith("read")]
    assert cut.endswith("…") and "read_json".startswith(cut[:-1])
    assert len(picture.labels) < len(narrow)
    assert_labels_fit(picture)
    picture.resize(1200)
    assert "read_json" in picture.labels and "json_key" in picture.labels


def assert_labels_fit(picture):
    boxes = picture.page.run(
        "[...document.querySelectorAll('#labels text')].map(e => [e.textContent,"
        " e.getBoundingClientRect().left, e.getBoundingClientRect().right,"
        " e.getBoundingClientRect().top + 7])"
    )
    frames = picture.frames
    for label, left, right, y in boxes:
        assert any(
            f.left - 0.5 <= left and right <= f.right + 0.5 and abs(f.y - y) < 8 for f in frames
        ), label


@pytest.mark.parametrize("width", [600, 1200])
def test_nothing_in_head_and_foot_overlaps(draw, width):
    title = "On-CPU Time of a program with quite a long name, as they happen to be"
    with draw(FOLDED, "--title", title, width=width) as picture:
        picture.click("serve")
        picture.search("json")
        frame = picture.frame("parse")
        picture.page.move(frame.x, frame.y)
        boxes = picture.page.run("""
            [...document.querySelectorAll('#head > text, #head tspan, #legend text, #foot > text,' +
                    'input')].map((e) => [e.textContent, e.getBoundingClientRect()])
                .map(([text, b]) => [text, b.left, b.right, b.top + 2, b.bottom - 2])
                .filter(([text, left, right]) => right > left)""")
        boxes = [b for b in boxes if b[0] or b[2] - b[1] > 100]
        legend = [b for b in boxes if b[0] in ("native", "kernel", "inlined", "Python")]
        assert len(legend) == 4
        for i, (text, left, right, top, bottom) in enumerate(boxes):
            assert 0 <= left and right <= width, text
            for other, *box in boxes[i + 1 :]:
                if text and other and (text in other or other in text):
                    continue  # a line of a text, and that text
                apart = right <= box[0] or box[1] <= left or bottom <= box[2] or box[3] <= top
                assert apart, (text, other)
        top = min(f.y for f in picture.frames) - 8
        assert max(b[4] for b in boxes if b[0] in ("native", "kernel", "Python")) < top


def test_head_and_foot_stay_in_sight_when_the_picture_is_tall(draw):
    deep = ";".join(f"f{i}" for i in range(100)) + " 5\n"
    with draw(deep, height=500) as picture:
        wait_for(lambda: picture.page.run("scrollY") > 1000, why="the root is in sight")
        picture.settle()
        assert picture.frame("all").is_shown
        for part in ("title", "details"):
            top = picture.page.run(f"document.querySelector('#{part}').getBoundingClientRect().top")
            assert 0 <= top <= 500
        for _ in range(60):
            picture.page.key("ArrowUp")
        assert at(picture) == "f58"
        picture.settle()
        assert picture.frame("f58").is_shown


def luminance(colour):
    def linear(part):
        return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(part) / 255) for part in re.findall(r"\d+", colour)[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_light_and_dark_have_colours_of_their_own_that_can_be_read(draw):
    """Every class of the style, as the browser resolves it, beside the text on it."""
    code = """[...document.styleSheets[0].cssRules].filter((r) => /^\\.[a-z]\\d$/.test(r.selectorText))
        .map((r) => r.selectorText.slice(1)).concat('match').map((name) => {
            const path = document.querySelector('#frames path');
            path.setAttribute('class', name);
            return [name, getComputedStyle(path).stroke]; })"""
    text = "getComputedStyle(document.querySelector('#labels text')).fill"
    page = "getComputedStyle(document.documentElement).backgroundColor"
    seen = {}
    for scheme in ("light", "dark"):
        with draw(scheme=scheme) as picture:
            colours = dict(picture.page.run(code))
            assert len(colours) >= 8 * 6 + 1
            on_frames, background = picture.page.run(text), picture.page.run(page)
            for name, colour in colours.items():
                assert contrast(colour, on_frames) >= 4.5, (scheme, name)
            for part in ("title", "facts", "details", "search"):
                colour = picture.page.run(
                    f"getComputedStyle(document.querySelector('#{part}')).fill"
                )
                assert contrast(colour, background) >= 4.5, (scheme, part)
            seen[scheme] = colours
    assert all(seen["light"][name] != seen["dark"][name] for name in seen["light"])


def test_the_legend_has_the_kinds_that_occur(draw):
    legend = "[...document.querySelectorAll('#legend text')].map((e) => e.textContent)"
    with draw() as picture:
        assert set(picture.page.run(legend)) == {
            "process, thread", "marker", "native", "kernel", "JIT-compiled", "inlined",
            "interpreted", "Python",
        }  # fmt: skip
    with draw("[1]a;main;read_[k] 3\n") as picture:
        assert set(picture.page.run(legend)) == {"process, thread", "native", "kernel"}


# The address


def test_a_link_opens_the_same_view_and_that_of_a_later_profile(draw):
    with draw() as picture:
        picture.click("serve")
        picture.search("json|cart")
        address, first = picture.page.run("location.hash"), picture.frames
        said = picture.text("matched")
    assert re.fullmatch(r"#zoom=[0-9a-f]+&search=json%7Ccart", address)
    with draw(at=address) as picture:
        assert picture.frames == first
        assert picture.text("matched") == said
        assert picture.page.run("document.querySelector('input').value") == "json|cart"
        picture.page.key("Escape")
        picture.page.key("Escape")
        assert picture.page.run("location.hash") == ""
        assert len(picture.shown) == len(picture.frames)
    later = FOLDED.replace("find_[i] 100", "find_[i] 900") + "[1]init;init;main 70\n"
    with draw(later, at=address) as picture:
        assert picture.frame("serve").opacity == 1
        assert picture.frame("serve").width == pytest.approx(1180, abs=0.5)


@pytest.mark.parametrize(
    "address", ["#zoom=12345678", "#zoom=nonsense&search=(", "#%E0%A4%A&&==", "#search=%00%0A"]
)
def test_an_address_that_fits_nothing_shows_the_whole(draw, address):
    with draw(at=address) as picture:
        assert len(picture.shown) == len(picture.frames)


# Where it stands


def test_with_scripts_blocked_the_picture_is_whole(chromium, work):
    """By a content security policy, which the browser reports; the policy is what is tested."""
    (work / "picture.svg").write_text(render(FOLDED))
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    with served(work, Content_Security_Policy=policy) as url, \
            chromium.page(f"{url}/picture.svg") as page:  # fmt: skip
        picture = Picture(page)
        frames = {f.name: f for f in picture.frames}
        assert all(f.is_shown for f in frames.values())
        assert len({f.colour for f in frames.values()}) > 8
        assert frames["parse"].title == "parse (250 samples, 25.00%)"
        texts = page.run(VISIBLE_TEXTS)
        assert {"Flame Graph", "1,000 samples", "native", "read_json", "find"} <= set(texts)
        assert not {"Search", "Reset Zoom"} & set(texts)
        reports = [e["entry"]["text"] for e in page.complaints]
        assert reports and all("script" in text for text in reports)


def test_with_style_blocked_too_the_frames_are_there(chromium, work):
    (work / "picture.svg").write_text(render(FOLDED))
    with served(work, Content_Security_Policy="default-src 'none'") as url, \
            chromium.page(f"{url}/picture.svg") as page:  # fmt: skip
        frames = Picture(page).frames
        assert {f.name for f in frames} > {"all", "parse", "find_[i]"}
        assert all(f.width > 20 for f in frames)
        assert all(contrast(f.colour, "rgb(0, 0, 0)") >= 4.5 for f in frames)


def test_as_an_image_of_a_page_it_keeps_its_layout(chromium, work):
    (work / "picture.svg").write_text(render(FOLDED))
    (work / "page.html").write_text("<!doctype html><img src='picture.svg' width='600'>")
    with chromium.page((work / "page.html").as_uri()) as page:
        sizes = page.run("(({naturalWidth, height, naturalHeight}) => [naturalWidth,"
                         " Math.round(naturalHeight / height)])(document.images[0])")  # fmt: skip
        assert sizes == [1200, 2]
        assert page.complaints == []


def test_two_in_one_page_work_each_by_itself_and_leave_the_page_alone(chromium, work):
    svg = render(FOLDED).split("?>", 1)[1]
    (work / "page.html").write_text(
        f"<!doctype html><meta charset='utf-8'><textarea></textarea>"
        f"<div id=one>{svg}</div><div id=two>{svg}</div>"
    )
    with chromium.page((work / "page.html").as_uri()) as page:
        width = """(id, name) => [...document.querySelectorAll('#' + id + ' #frames path')]
            .find((p) => p.textContent.startsWith(name)).getBoundingClientRect().width"""
        full = page.run(f"({width})('two', 'all')")
        page.run("""[...document.querySelectorAll('#two #frames path')]
            .find((p) => p.textContent.startsWith('serve')).dispatchEvent(
                new MouseEvent('click', {bubbles: true}))""")
        assert page.run(f"({width})('two', 'serve')") == pytest.approx(full, abs=0.5)
        assert page.run(f"({width})('one', 'serve')") == pytest.approx(full / 2, abs=0.5)
        assert page.run("location.hash") == ""
        page.run("document.querySelector('textarea').focus()")
        page.type("a/b")
        assert page.run("document.querySelector('textarea').value") == "a/b"
        assert page.complaints == []


HOSTILE = [
    "</title><script>alert(1)</script>", "</script><script>alert(2)//", "]]><svg onload=alert(3)>",
    "\"'><img src=x onerror=alert(4)>", "&lt;b&gt;&amp;&#x41;", "${alert(5)}`", "a (1 samples, 2%)",
    "(", "שלום_עולם", "\u202eevil\u2066", "🔥🧑‍🚒fire", "日本語の関数名がここに", "x" * 5000, "constructor",
    "__proto__", "name with  blanks", "#frames", "\\u0041\\n",
]  # fmt: skip


def test_hostile_names_are_text_and_nothing_else(draw):
    folded = "".join(f"[1]p;{name.replace(';', ':')} 10\n" for name in HOSTILE)
    wanted = {name.replace(";", ":") for name in HOSTILE}
    with draw(folded, "--title", "</text><script>alert(6)</script>") as picture:
        frames = {f.name: f for f in picture.frames if f.name not in ("all", "[1]p")}
        assert set(frames) == wanted
        assert picture.page.run("document.querySelectorAll('script, img, b').length") == 1
        for name in wanted:
            picture.click("[1]p")
            picture.page.click(frames[name].x, frames[name].y)
            said = picture.text("details")
            assert said.endswith("(10 samples, 5.56%) · 100.00% of this view"), name
            shown = said.split(" (10 samples")[0].rstrip("…")
            assert name.startswith(shown) and shown, name
            picture.page.key("Escape")
            picture.search(re.escape(name)[:900])
            assert picture.text("matched") != "Matched: 0.00%", name
            picture.page.key("Escape")
        assert_labels_fit(picture)
        assert picture.page.named("Page.javascriptDialogOpening") == []


def test_a_name_cannot_turn_the_direction_of_its_numbers(draw):
    with draw("[1]p;\u202eevil 1\n") as picture:
        frame = next(f for f in picture.frames if "evil" in f.name)
        picture.page.move(frame.x, frame.y)
        raw = picture.page.run("document.querySelector('#details').textContent")
        assert raw == "\u2068\u202eevil\u2069 (1 samples, 100.00%)"
        assert raw.translate(ISOLATES) == frame.title


# Other pictures


def test_an_icicle_has_its_root_on_top_and_its_arrows_turned(draw):
    with draw(FOLDED, "--icicle") as picture:
        assert picture.frame("all").y < picture.frame("main").y < picture.frame("json_key").y
        for key in ("ArrowDown",) * 5:
            picture.page.key(key)
        assert at(picture) == "serve"
        picture.page.key("ArrowUp")
        assert at(picture) == "main"
        picture.click("serve")
        assert "log_json" not in picture.shown and "json_key" in picture.shown
        assert picture.frame("main").opacity < 1
        picture.search("json")
        assert picture.text("matched").startswith("Matched: 29.00% of all")


def test_a_difference_is_coloured_told_and_zooms(draw, work):
    (work / "before").write_text("a;b 10\na;c 30\na;d 20\n")
    with draw("a;b 30\na;c 10\na;d 20\n", "--diff", str(work / "before")) as picture:
        colours = {name: luminance_parts(picture.frame(name).colour) for name in "bcd"}
        assert colours["b"][0] > colours["b"][2]  # red
        assert colours["c"][2] > colours["c"][0]  # blue
        assert abs(colours["d"][0] - colours["d"][2]) < 12
        frame = picture.frame("b")
        assert frame.title == "b (30 samples, 50.00%; +33.33%)"
        picture.page.move(frame.x, frame.y)
        assert picture.text("details") == frame.title
        picture.click("c")
        frame = picture.frame("c")
        assert frame.width == pytest.approx(1180, abs=0.5)
        picture.page.move(frame.x, frame.y)
        assert picture.text("details").startswith("c (10 samples, 16.67%; -33.33%)")
        picture.search("c")
        assert picture.text("matched") == "Matched: 16.67% of all, 100.00% of this view"


def luminance_parts(colour):
    return [int(part) for part in re.findall(r"\d+", colour)[:3]]


def test_a_picture_without_samples_is_no_error(draw):
    with draw("") as picture:
        assert "no samples" in picture.page.run(VISIBLE_TEXTS)
        picture.page.key("ArrowUp")
        picture.search("a")
        picture.page.key("Escape")


def test_the_daemons_picture_says_what_its_text_says(profiler, start, chromium):
    demo = start("demo", 60)
    profiler.profile("^demo$")
    wait_for(lambda: profiler.folded().total() > 300, 60, why="300 samples")
    profiler.put_ok({"state": "stopped"})
    svg = wait_for(lambda: profiler.files(profiler.svg_dir, "svg"), why="a picture")[0]
    text = wait_for(lambda: profiler.files(profiler.flame_dir, "folded"), why="its text")[0]
    demo.kill()
    profile = Profile(text.read_text())
    total = profile.total()
    with open_picture(chromium, svg) as picture:
        assert picture.frame("all").value == total
        picture.search("^(price_order|find_price|compress)$")
        hits = sum(
            s.value for s in profile.stacks
            if {"price_order", "find_price", "compress"} & set(s.frames)
        )  # fmt: skip
        assert picture.text("matched") == f"Matched: {100 * hits / total:.2f}%"
        picture.click("pack_order")
        of = profile.total("pack_order")
        assert picture.frame("pack_order").value == of
        view = 100 * profile.total("compress") / of
        assert picture.text("matched").endswith(f"{view:.2f}% of this view")
        assert "parse_order" not in picture.shown


# Size


def test_a_picture_of_ten_thousand_stacks_is_small_and_usable(draw, work):
    """In seconds only what a reader would wait for; `make bench` has the figures."""
    with draw(ten_thousand_stacks()) as picture:
        assert (work / "picture.svg").stat().st_size < 1_000_000
        frames = picture.frames
        assert len(frames) > 5000
        widest = max((f for f in frames if f.name == "main"), key=lambda f: f.width)
        begin = time.monotonic()
        picture.page.click(widest.x, widest.y)
        picture.settle()
        picture.search("hash_")
        assert re.match(r"Matched: [0-9.]+% of all", picture.text("matched"))
        assert time.monotonic() - begin < 10
        assert sum(f.is_shown for f in picture.frames) < len(frames) / 2
