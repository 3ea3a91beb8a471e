"""The flame graph in a browser: headless Chromium clicks, types and looks."""
import re
import time
from decimal import ROUND_HALF_UP, Decimal

import pytest

from drawing import FOLDED, HINT, at, matched
from folded import Profile
from helpers import wait_for
from screen import VISIBLE_TEXTS, open_picture, ten_thousand_stacks

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


@pytest.mark.quick
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


def shown(part, whole):
    """The percentage as the picture shows it: a half goes up."""
    return Decimal(100 * part / whole).quantize(Decimal("0.01"), ROUND_HALF_UP)


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
        assert picture.text("matched") == f"Matched: {shown(hits, total)}%"
        picture.click("pack_order")
        of = profile.total("pack_order")
        assert picture.frame("pack_order").value == of
        view = shown(profile.total("compress"), of)
        assert picture.text("matched").endswith(f"{view}% of this view")
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
