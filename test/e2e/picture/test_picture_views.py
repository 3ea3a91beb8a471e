"""The same stacks in other views: the root on top, recursion as one frame."""
import collections
import random
import re

import pytest

from drawing import FOLDED, assert_labels_fit, at
from picture import frames_of, stacks_of
from test_render import folded

DEEP = ";".join(f"f{i}" for i in range(100)) + " 5\n"
RECURSIVE = """\
[1]p;main;fib;fib;fib;add 30
[1]p;main;fib;fib;mul 20
[1]p;main;fib 10
[1]p;main;even;odd;even;odd;even;leaf 5
[1]p;main;even;odd;even;odd;leaf 20
[1]p;main;other;copy_[k] 15
"""
COLLAPSED = {
    "all": 100, "[1]p": 100, "main": 100, "fib": 60, "add": 30, "mul": 20, "even": 25, "odd": 25, "other": 15,
    "copy_[k]": 15,
}  # fmt: skip


def is_pressed(picture, control):
    return picture.page.run(f"document.querySelector('#{control}').getAttribute('aria-pressed')") == "true"


def weights(picture):
    return collections.Counter((f.name, f.value) for f in picture.frames)


# The root on top


@pytest.mark.quick
@pytest.mark.parametrize("way", ["key", "control"])
def test_the_root_comes_on_top_and_back(picture, way):
    def turn():
        picture.page.key("i") if way == "key" else picture.press("icicle")
        picture.leave()

    first = picture.frames
    turn()
    turned = picture.frames
    assert picture.frame("all").y < picture.frame("main").y < picture.frame("json_key").y
    assert {(f.title, f.left, f.right) for f in turned} == {(f.title, f.left, f.right) for f in first}
    assert sorted({f.y for f in turned}) == sorted({f.y for f in first})
    assert all(f.is_shown for f in turned) and is_pressed(picture, "icicle")
    assert_labels_fit(picture)
    assert picture.page.run("location.hash") == "#icicle=1"
    for key in ("ArrowDown",) * 5:
        picture.page.key(key)
    assert at(picture) == "serve"
    picture.click("serve")
    assert picture.frame("main").opacity < 1 and "log_json" not in picture.shown
    picture.page.key("Escape")
    turn()
    assert picture.frames == first and not is_pressed(picture, "icicle")
    assert picture.page.run("location.hash") == ""


def test_a_link_has_the_root_where_it_was(draw):
    with draw(at="#icicle=1") as picture:
        assert picture.frame("all").y < picture.frame("main").y
    with draw(FOLDED, "--icicle", at="#icicle=0") as picture:
        assert picture.frame("all").y > picture.frame("main").y
        picture.page.key("i")
        assert picture.page.run("location.hash") == ""
        assert picture.frame("all").y < picture.frame("main").y


def test_the_root_of_a_tall_picture_is_in_sight_at_either_end(draw):
    with draw(DEEP, height=500) as picture:
        for scrolled in (False, True, False):
            picture.page.key("i")
            picture.settle()
            assert (picture.page.run("scrollY") > 1000) == scrolled
            assert picture.frame("all").is_shown
        for _ in range(60):
            picture.page.key("ArrowDown")
        picture.settle()
        assert at(picture) == "f58" and picture.frame("f58").is_shown


# Recursion


@pytest.mark.quick
@pytest.mark.parametrize("way", ["key", "control"])
def test_recursion_becomes_one_frame_and_comes_back(draw, way):
    def turn():
        picture.page.key("r") if way == "key" else picture.press("collapse")
        picture.leave()

    with draw(RECURSIVE) as picture:
        first = picture.frames
        turn()
        found = weights(picture)
        leaves = found.pop(("leaf", 5)), found.pop(("leaf", 20))
        inner = found.pop(("even", 5))
        assert found == collections.Counter(COLLAPSED.items()) and leaves == (1, 1) and inner == 1
        assert "fib (60 samples, 60.00%)" in [f.title for f in picture.frames]
        assert all(f.is_shown for f in picture.frames) and is_pressed(picture, "collapse")
        assert picture.page.run("location.hash") == "#collapse=1"
        assert_labels_fit(picture)
        picture.search("fib")
        assert picture.text("matched") == "Matched: 60.00%"
        picture.page.key("Escape")
        turn()
        assert sorted(picture.frames) == sorted(first) and picture.page.run("location.hash") == ""


def recursive(seed):
    """Few names, so that they recur; light enough that each frame is drawn."""
    rng, stacks = random.Random(seed), collections.Counter()
    for _ in range(70):
        stacks[tuple(rng.choice("abc") for _ in range(rng.randint(1, 9)))] += rng.randint(1, 20)
    return stacks


def without_recursion(stack):
    """The stack without names that repeat those before them, up to four at a time."""
    made = []
    for name in stack:
        made.append(name)
        for length in range(1, 5):
            if made[-length:] == made[-2 * length : -length]:
                del made[-length:]
                break
    return tuple(made)


@pytest.mark.parametrize("seed", range(6))
def test_the_frames_are_those_of_stacks_without_repeats(draw, seed):
    stacks, wanted = recursive(seed), collections.Counter()
    for stack, value in stacks.items():
        wanted[without_recursion(stack)] += value
    with draw(folded(stacks)) as picture:
        first = picture.frames
        picture.page.key("r")
        picture.leave()
        rows = sorted({f.y for f in picture.frames}, reverse=True)
        shown = collections.Counter((rows.index(f.y), f.name, f.value) for f in picture.frames)
        assert shown == collections.Counter(dict(frames_of(wanted)))
        of_row = collections.defaultdict(list)
        for f in picture.frames:
            assert f.width == pytest.approx(1180 * f.value / sum(stacks.values()), abs=0.1)
            of_row[f.y].append((f.left, f.right))
        for spans in of_row.values():
            spans.sort()
            assert all(end <= begin + 0.05 for (_, end), (begin, _) in zip(spans, spans[1:]))
        picture.page.key("r")
        picture.leave()
        assert sorted(picture.frames) == sorted(first)
        assert frames_of(stacks_of(folded(stacks))) == frames_of(stacks)


def test_a_zoom_stays_where_it_was_and_a_link_opens_it(draw):
    with draw(RECURSIVE) as picture:
        narrow = min((f for f in picture.frames if f.name == "fib"), key=lambda f: f.width)
        picture.page.click(narrow.x, narrow.y)
        picture.page.key("r")
        picture.leave()
        assert picture.frame("fib").opacity == 1 and picture.frame("main").opacity < 1
        assert set(picture.shown) == {"all", "[1]p", "main", "fib", "add", "mul"}
        assert picture.frame("fib").width == pytest.approx(1180, abs=0.5)
        address = picture.page.run("location.hash")
        first = picture.frames
    assert re.fullmatch("#zoom=[0-9a-f]+&collapse=1", address)
    with draw(RECURSIVE, at=address) as picture:
        assert picture.frames == first
        picture.page.key("r")
        picture.leave()
        assert picture.frame("main").opacity < 1
        picture.page.key("Escape")
        assert len(picture.shown) == len(picture.frames)


@pytest.mark.parametrize("from_zoom", [True, False], ids=["zoom", "cursor"])
def test_a_frame_that_only_leads_back_gives_way_to_what_is_below_it(draw, from_zoom):
    """The second A's children are the first B's; the zoom and the cursor are at what the A stood on."""
    with draw("top;A;B;A;B;C 60\ntop;other 40\n") as picture:
        second = min((f for f in picture.frames if f.name == "A"), key=lambda f: f.y)
        if from_zoom:
            picture.page.click(second.x, second.y)
        else:
            for _ in range(5):
                picture.page.key("ArrowUp")
            assert at(picture) == "A"
        picture.page.key("r")
        picture.leave()
        shown = {"all", "top", "A", "B", "C"}
        assert set(picture.shown) == (shown if from_zoom else {*shown, "other"})
        assert picture.frame("B").width == pytest.approx(1180 if from_zoom else 708, abs=0.5)
        for key in ("ArrowLeft", "ArrowRight", "ArrowUp"):
            picture.page.key(key)
        assert at(picture) == "C"


def test_a_link_leads_into_very_many_rows(draw):
    deep = ";".join(f"f{i}" for i in range(20000)) + " 5\n"
    with draw(deep) as picture:
        picture.page.run("[...document.querySelectorAll('#frames path')].pop()"
                         ".dispatchEvent(new Event('click', {bubbles: true}))")
        address = picture.page.run("location.hash")
    assert re.fullmatch("#zoom=[0-9a-f]+", address)
    with draw(deep, at=address) as picture:
        assert picture.text("unzoom") and picture.page.run("location.hash") == address


def test_frames_too_narrow_to_be_drawn_keep_their_weight(draw):
    narrow = "".join(f"r;f;f;n{i} 1\n" for i in range(1000))
    with draw(f"{narrow}r;f;f;wide 9000\nr;f 20000\nr;rest 1000000\n") as picture:
        picture.page.key("r")
        picture.leave()
        assert weights(picture) == collections.Counter(
            {("all", 1030000): 1, ("r", 1030000): 1, ("f", 30000): 1, ("wide", 9000): 1, ("rest", 1000000): 1})


def test_a_difference_is_not_collapsed(draw, work):
    """The change that a frame shows is its own."""
    (work / "before").write_text("a;a 10\n")
    with draw("a;a 30\n", "--diff", str(work / "before")) as picture:
        first = picture.frames
        assert picture.text("collapse") == "" and picture.text("icicle") != ""
        picture.page.key("r")
        assert picture.frames == first


def test_views_are_kept_together_and_gone_back_from(draw):
    with draw(RECURSIVE) as picture:
        for key in "irt":
            picture.page.key(key)
        picture.click("main")
        assert picture.page.run("location.hash").endswith("&icicle=1&collapse=1&table=self")
        picture.page.run("history.back()")
        picture.settle()
        assert picture.frame("[1]p").opacity == 1
        assert [is_pressed(picture, one) for one in ("icicle", "collapse", "table")] == [True] * 3


@pytest.mark.parametrize("width", [260, 390, 600, 1200])
def test_controls_lie_side_by_side_below_or_behind_the_title(draw, width):
    with draw(FOLDED, "--title", "On-CPU Time Flame Graph of a host", width=width) as picture:
        picture.click("serve")
        picture.leave()
        boxes = picture.page.run("""['title', 'unzoom', 'icicle', 'collapse', 'table', 'search', 'facts']
            .map((id) => document.querySelector('#' + id).getBoundingClientRect())
            .map((b) => [b.left, b.right, b.top + 2, b.bottom - 2])""")
        for i, (left, right, top, bottom) in enumerate(boxes):
            assert 0 <= left < right <= width, i
            for other in boxes[i + 1 :]:
                assert right <= other[0] or other[1] <= left or bottom <= other[2] or other[3] <= top
