"""What a program sees that captures a picture from the top of its page, and that people lose nothing by it."""
import pytest

from chromium import capture, rows_of_image
from drawing import served
from helpers import wait_for
from screen import render

DEEP = ";".join(["[1]deep", *(f"f{i}" for i in range(150))]) + " 5\n"
ROOT = {"#cac5ba", "#dbd7cc", "#d2cec3", "#e0ddd1", "#d5d3c7", "#e5e3d7"}  # .p0 to .p5


@pytest.mark.parametrize("ending", ["svg", "html"])
@pytest.mark.parametrize("size", [(800, 600), (1280, 720)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_capture_of_a_tall_picture_shows_its_title_and_its_graph(chromium, work, size, ending):
    path = work / f"tall.{ending}"
    path.write_text(render(DEEP, *["--html"] * (ending == "html")))
    with served(work) as url:
        images = [capture(work, path.as_uri(), *size), capture(work, f"{url}/{path.name}", *size)]
    for image in images:
        rows = rows_of_image(chromium, image)
        assert len(rows) == size[1]
        assert any(share > 0.02 for share, _ in rows[10:28]), "the title is on top"
        graph = [i for i, (share, _) in enumerate(rows) if share > 0.9]
        assert graph[0] < 120 and len(graph) > 0.6 * size[1], "the frames begin below the head"
        assert len(graph) > 0.9 * (graph[-1] - graph[0])
        assert rows[graph[-1] - 7][1] in ROOT


@pytest.mark.parametrize("width", [1200, 390])
def test_the_first_movement_brings_the_rest_and_moves_nothing(draw, width):
    with draw(DEEP, width=width, height=500) as picture:
        assert picture.page.run("[scrollY, document.documentElement.scrollHeight <= 500]") == [0, True]
        before = [(f.name, f.y, f.is_shown) for f in picture.frames]
        assert picture.frame("all").is_shown and picture.frame("f3").is_shown
        texts = {part: picture.page.run(f"document.querySelector('#{part}').getBoundingClientRect().top")
                 for part in ("title", "facts", "search", "details")}  # fmt: skip
        picture.leave()
        wait_for(lambda: picture.page.run("scrollY") > 1000, why="the rest is above")
        picture.settle()
        assert [(f.name, f.y, f.is_shown) for f in picture.frames] == before
        for part, top in texts.items():
            assert picture.page.run(f"document.querySelector('#{part}').getBoundingClientRect().top") == top
        picture.page.run("scrollTo(0, 0)")
        picture.settle()
        assert picture.frame("f149").is_shown


@pytest.mark.parametrize("way", ["key", "wheel", "touch", "print"])
def test_who_begins_otherwise_has_the_whole_picture_too(draw, way):
    with draw(DEEP, height=500) as picture:
        if way == "key":
            picture.page.key("x")
        elif way == "wheel":
            picture.page.call("Input.dispatchMouseEvent", type="mouseWheel", x=300, y=300, deltaX=0, deltaY=-100)
        elif way == "touch":
            picture.page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": 300, "y": 300}])
        else:
            picture.page.call("Page.printToPDF")
        wait_for(lambda: picture.page.run("document.documentElement.scrollHeight") > 2000, why="its height")


def test_the_first_movement_tells_the_frame_below_it(draw):
    with draw(DEEP, height=500) as picture:
        frame = picture.frame("f3")
        picture.page.move(frame.x, frame.y)
        wait_for(lambda: picture.page.run("scrollY") > 1000, why="the rest is above")
        assert picture.text("details") == frame.title


def test_a_window_that_grows_before_anybody_is_there_shows_more(draw):
    with draw(DEEP, height=500) as picture:
        shown = len(picture.shown)
        picture.resize(1200, 900)
        assert len(picture.shown) == shown + 25
        assert picture.frame("all").is_shown
