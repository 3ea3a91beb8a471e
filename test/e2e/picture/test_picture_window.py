"""The flame graph in windows of all sizes, light and dark, and opened by its address."""
import re

import pytest

from drawing import FOLDED, assert_labels_fit, at, contrast
from helpers import wait_for

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
        picture.leave()  # somebody is there
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
            "process, thread", "marker", "native", "kernel",
            "JIT-compiled", "inlined", "interpreted", "Python", "unit unknown",
        }  # fmt: skip
    with draw("[1]a;main;read_[k] 3\n") as picture:
        assert set(picture.page.run(legend)) == {"process, thread", "native", "kernel", "unit unknown"}
    with draw("[1]a;main 30000\n", "--countname", "us") as picture:
        assert set(picture.page.run(legend)) == {"process, thread", "native"}
        assert "30,000 us (30 ms)" in picture.text("facts")
        frame = picture.frame("main")
        picture.page.move(frame.x, frame.y)
        assert picture.text("details") == "main (30,000 us, 100.00%) = 30 ms"


@pytest.mark.parametrize("part, told", [(0.01, "30% of a CPU"), (0.05, "1.5 CPUs")], ids=["part", "several"])
def test_samples_of_a_clock_tell_their_share_of_a_cpu(draw, part, told):
    with draw("[1]a;f 30\n") as picture:
        picture.page.run(f"document.documentElement.dataset.cpu = {part}")  # as in a recording's picture
        frame = picture.frame("f")
        picture.page.move(frame.x, frame.y)
        assert picture.text("details") == f"f (30 samples, 100.00%) = {told}"


def test_markers_are_explained_and_the_tab_has_the_title(draw):
    with draw("[1]a;[truncated];f 30\n", "--title", "What runs") as picture:
        frame = picture.frame("[truncated]")
        picture.page.move(frame.x, frame.y)
        assert picture.text("details") == "[truncated] (30 samples, 100.00%): stacks that are not followed to their root"
        assert picture.page.run("document.title") == "What runs"


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
