"""The flame graph where scripts are blocked and in other pages; names that are none of its own."""
import re

import pytest

from drawing import FOLDED, assert_labels_fit, served, contrast
from screen import ISOLATES, VISIBLE_TEXTS, Picture, render

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
