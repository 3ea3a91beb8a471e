"""The picture as an HTML page: from `render`, `record` and GET."""
import re
import xml.etree.ElementTree as xml

import pytest

from drawing import FOLDED, HINT, assert_labels_fit
from helpers import program, wait_for
from recorder import out, run  # noqa: F401
from screen import Picture, open_picture, render
from test_picture_places import HOSTILE

HEADERS = ("Content-Security-Policy", "Cross-Origin-Resource-Policy", "X-Content-Type-Options", "Cache-Control")


@pytest.fixture
def draw_page(chromium, work):
    """draw_page(folded, options…): the page in the browser."""

    def begin(folded=FOLDED, *options, at="", **kwargs):
        path = work / "picture.html"
        path.write_text(render(folded, "--html", *options))
        return open_picture(chromium, path.as_uri() + at, **kwargs)

    return begin


def inner_svg(page):
    return re.search(r"<svg.*</svg>", page, re.DOTALL)[0]


@pytest.mark.quick
def test_the_page_does_what_the_svg_does(draw_page, draw):
    with draw() as picture:
        frames, labels = picture.frames, picture.labels
    with draw_page(FOLDED, "--title", "What <runs> & waits") as picture:
        assert picture.page.run("[document.contentType, document.compatMode, document.title]") == [
            "text/html", "CSS1Compat", "What <runs> & waits"]  # fmt: skip
        assert picture.frames == frames and picture.labels == labels
        assert picture.text("details") == HINT
        picture.page.key("ArrowUp")
        assert picture.text("details").startswith("all (1,000 samples")
        picture.click("serve")
        picture.search("json|find")
        assert picture.text("matched").endswith("of this view")
        picture.page.key("Enter")
        for key in "irt":
            picture.page.key(key)
        address = picture.page.run("location.hash")
        assert re.fullmatch(
            r"#zoom=[0-9a-f]+&search=json%7Cfind&icicle=1&collapse=1&table=self", address)
        shown = [f.title for f in picture.frames if f.is_shown]
    with draw_page(at=address) as picture:
        assert [f.title for f in picture.frames if f.is_shown] == shown


def test_a_phone_shows_it_in_readable_letters(chromium, work):
    """An SVG is laid out for 980 px there, and shrunk."""
    path = work / "phone.html"
    path.write_text(render(FOLDED, "--html", "--title", "On-CPU Time Flame Graph of a host"))
    with chromium.page("data:text/html,<title>empty</title>") as page:
        page.call("Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True)
        page.open(path.as_uri())
        picture = Picture(page)
        assert page.run("[innerWidth, document.documentElement.scrollWidth]") == [390, 390]
        assert page.run("visualViewport.scale") == 1
        sizes = page.run("""[...document.querySelectorAll('#labels text, #facts, #details, .control')]
            .map((text) => parseFloat(getComputedStyle(text).fontSize))""")
        assert min(sizes) >= 12
        rows = sorted({f.y for f in picture.frames})
        assert all(b - a == pytest.approx(20, abs=0.1) for a, b in zip(rows, rows[1:]))
        assert picture.frame("all").width == pytest.approx(370, abs=0.5)
        assert {"all", "front", "main", "serve"} <= {*picture.labels}
        assert_labels_fit(picture)
        picture.click("serve")
        assert picture.frame("serve").width == pytest.approx(370, abs=0.5)
        assert page.complaints == []


def test_hostile_names_stay_in_their_titles(draw_page):
    names = [*(name.replace(";", ":") for name in HOSTILE), "<!--<script>", "--!>", "<![CDATA[", "</svg></body>",
             "</style>", "<plaintext>", "&notit: &lt &copy", "<p>", "</p>", "<table>"]  # fmt: skip
    text = "".join(f"[1]p;{name} 10\n" for name in names)
    title = "</title></text><script>alert(6)</script><!--"
    with draw_page(text, "--title", title, "--countname", '"><b>') as picture:
        wanted = sorted(["all", "[1]p", *names])
        found = picture.page.run(
            "[...document.querySelectorAll('#frames title')].map((e) => e.textContent)")
        assert sorted(one.rsplit(" (", 1)[0] for one in found) == wanted
        assert picture.page.run("document.title") == title
        assert picture.page.run("document.querySelectorAll('script, img, b, p, table, plaintext').length") == 3
        assert picture.page.run("[document.body.children.length, document.querySelectorAll('svg').length]") == [1, 1]
        assert picture.page.named("Page.javascriptDialogOpening") == []


def test_the_page_and_the_svg_have_the_same_frames():
    page, svg = render(FOLDED, "--html"), render(FOLDED)
    inner = xml.fromstring(inner_svg(page))
    assert inner.attrib.pop("data-alone") == "1"
    assert xml.tostring(inner) == xml.tostring(xml.fromstring(svg))
    assert page.startswith("<!DOCTYPE html>\n") and page.endswith("</html>\n")
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page


def test_it_loads_nothing_even_without_a_server(chromium, work):
    """Its own policy: a page that somebody changed can't tell anybody what is in it."""
    path = work / "changed.html"
    path.write_text(render(FOLDED, "--html").replace("</body>", "<img src='http://127.0.0.1:9/x'></body>"))
    with chromium.page(path.as_uri()) as page:
        assert "Content Security Policy" in str(page.complaints)


def test_a_difference_is_a_page_too(draw_page, work):
    (work / "before").write_text("a;b 10\n")
    with draw_page("a;b 30\n", "--diff", str(work / "before")) as picture:
        assert picture.frame("b").title == "b (30 samples, 100.00%; +66.67%)"


def test_record_writes_one(out, work):  # noqa: F811
    path, before = work / "spun.html", work / "before.folded"
    assert run("-q", "-F", 499, "-o", before, "--", program("spin"), 0.5).returncode == 0
    ended = run("-F", 499, "-o", path, "--", program("spin"), 0.5)
    assert ended.returncode == 0, ended.stderr
    page = path.read_text()
    assert page.startswith("<!DOCTYPE html>") and "inner_spin (" in page and "data-diff" not in inner_svg(page)[:600]
    assert run("-F", 499, "--compare", before, "-o", path, "--", program("spin"), 0.5).returncode == 0
    page = path.read_text()
    assert page.startswith("<!DOCTYPE html>") and 'data-diff="1"' in inner_svg(page)[:600]
    assert ".html" in run("-o", "x.png", "true").stderr
    assert ".html" in run("--compare", before, "-o", "x.folded", "true").stderr


def test_get_answers_it_as_it_answers_the_svg(chromium, profiler, start):
    target = start("spin", 60)
    profiler.profile("^spin$", frequency=500)
    wait_for(lambda: profiler.folded().total("inner_spin") > 100, why="samples")
    svg = profiler.get("/flamegraph/oncpu.svg")
    page = profiler.get("/flamegraph/oncpu.html")
    assert page.status == 200 and page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert {name: page.headers[name] for name in HEADERS} == {name: svg.headers[name] for name in HEADERS}
    assert page.text.startswith("<!DOCTYPE html>")
    assert 'data-icicle="1"' in profiler.get(f"/flamegraph/oncpu.html?icicle=1&pid={target.pid}").text
    assert "inner_spin" in profiler.get(f"/flamegraph/oncpu.html?seconds=1&pid={target.pid}").text
    for query in ("seconds=0", "pid=x", "icicle=2", "value=count"):
        refused = [profiler.get(f"/flamegraph/oncpu.{ending}?{query}") for ending in ("svg", "html")]
        assert refused[0].status == refused[1].status == 400 and refused[0].text == refused[1].text
    with open_picture(chromium, f"http://127.0.0.1:{profiler.port}/flamegraph/oncpu.html") as picture:
        picture.click("middle")
        assert picture.text("unzoom") == "Reset Zoom"
        picture.page.key("t")
        assert "inner_spin" in picture.page.run("document.querySelector('.functions').textContent")
