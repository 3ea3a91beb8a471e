"""The picture's table of functions."""
import collections

import pytest

from drawing import FOLDED, STACKS, served
from screen import Picture, render
from test_picture_places import HOSTILE

ROWS = """[...document.querySelectorAll('.functions tbody tr')]
    .map((row) => [...row.cells].map((cell) => cell.textContent))"""
POLICY = ("default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'")  # as the daemon has it


def weighed(stacks, under=""):
    """{function: (self, total)} of the stacks, a stack counted once; below a frame, where one is named."""
    own, total = collections.Counter(), collections.Counter()
    for stack, value in stacks.items():
        names = stack.split(";")
        if under and under not in names:
            continue
        names = names[names.index(under):] if under else names
        own[names[-1]] += value
        for name in {*names}:
            total[name] += value
    return {name: (own[name], total[name]) for name in total if not name.startswith("[") or name == "[truncated]"}


def rows_of_table(picture):
    return {row[4]: tuple(int(cell.replace(",", "")) for cell in (row[0], row[2])) for row in picture.page.run(ROWS)}


def note(picture):
    return picture.page.run("document.querySelector('.functions p').textContent")


def press_head(picture, text):
    box = picture.page.run(f"""(({{x, y, width, height}}) => [x + width / 2, y + height / 2])(
        [...document.querySelectorAll('.functions th button')].find((b) => b.textContent === '{text}')
            .getBoundingClientRect())""")
    picture.page.click(*box)


def press_function(picture, name):
    picture.page.run(f"""[...document.querySelectorAll('.functions td button')]
        .find((b) => b.textContent === {name!r}).click()""")


@pytest.mark.quick
@pytest.mark.parametrize("way", ["key", "control"])
def test_it_has_each_functions_own_and_whole_weight(picture, way):
    picture.page.key("t") if way == "key" else picture.press("table")
    assert rows_of_table(picture) == weighed(STACKS)
    rows = picture.page.run(ROWS)
    assert rows[0] == ["280", "28.00%", "280", "28.00%", "handle (app.py:9)_[p]"]
    assert [int(row[0]) for row in rows] == sorted((int(row[0]) for row in rows), reverse=True)
    assert note(picture) == f"{len(rows)} of {len(rows)} functions"
    frames = [f for f in picture.frames if f.is_shown]
    left = picture.page.run("document.querySelector('.functions').getBoundingClientRect().left")
    assert len(frames) == len(picture.frames) and max(f.right for f in frames) < left
    assert picture.page.run("location.hash") == "#table=self"
    picture.page.key("t") if way == "key" else picture.press("table")
    assert picture.page.run("document.querySelector('.functions').getBoundingClientRect().width") == 0
    assert picture.frame("all").width == pytest.approx(1180, abs=0.5)
    assert picture.page.run("location.hash") == ""


def test_it_is_sorted_by_either_weight(picture):
    picture.page.key("t")
    press_head(picture, "Total")
    totals = [int(row[2]) for row in picture.page.run(ROWS)]
    assert totals == sorted(totals, reverse=True) and totals[0] == 540
    assert picture.page.run("document.querySelector('[aria-sort=descending]').textContent") == "Total"
    assert picture.page.run("location.hash") == "#table=total"
    press_head(picture, "Self")
    assert picture.page.run(ROWS)[0][0] == "280"


def test_recursion_is_counted_once_and_collapsed_the_same(draw):
    stacks = {"[1]p;main;fib;fib;fib": 30, "[1]p;main;fib;other;fib": 20, "[1]p;main;fib;fib;leaf": 50}
    text = "".join(f"{stack} {value}\n" for stack, value in stacks.items())
    with draw(text, at="#table=total") as picture:
        assert rows_of_table(picture) == weighed(stacks)
        assert rows_of_table(picture)["fib"] == (50, 100)
        picture.page.key("r")
        assert rows_of_table(picture) == weighed(stacks)


def test_it_is_of_what_is_zoomed_to(picture):
    picture.page.key("t")
    picture.click("serve")
    assert rows_of_table(picture) == weighed(STACKS, under="serve")
    (serve,) = [row for row in picture.page.run(ROWS) if row[4] == "serve"]
    assert serve[:4] == ["0", "0.00%", "500", "100.00%"]
    picture.page.key("Escape")
    assert rows_of_table(picture) == weighed(STACKS)


def test_a_click_marks_the_function_and_a_search_marks_the_rows(picture):
    picture.page.key("t")
    before = {f.name: f.colour for f in picture.frames}
    press_function(picture, "json_key")
    picture.leave()
    assert {f.name for f in picture.frames if f.colour != before[f.name]} == {"json_key"}
    assert picture.text("matched") == "Matched: 5.00%"
    assert picture.page.run("location.hash") == "#search=%5Ejson_key%24&table=self"
    marked = "[...document.querySelectorAll('.functions .match')].map((row) => row.title).sort()"
    assert picture.page.run(marked) == ["json_key"]
    picture.search("json")
    assert picture.page.run(marked) == ["json_key", "log_json", "read_json"]


def test_it_is_bounded_and_says_of_how_many(draw):
    text = "".join(f"[1]p;main;function_{i} {i}\n" for i in range(1001, 1301))
    with draw(text, at="#table=self") as picture:
        rows = picture.page.run(ROWS)
        assert [row[0] for row in rows] == [f"{i:,}" for i in range(1300, 1100, -1)]
        assert note(picture) == "200 of 301 functions"


def test_what_is_too_narrow_to_be_drawn_is_nobody_elses(draw):
    narrow = "".join(f"r;a;n{i} 1\n" for i in range(3000))
    narrow += "".join(f"process{i};f 1\n" for i in range(1000))
    with draw(f"{narrow}r;a 10\nr;b 1000000\n", at="#table=self") as picture:
        assert rows_of_table(picture) == {"r": (0, 1003010), "a": (10, 3010), "b": (1000000, 1000000)}
        assert note(picture) == "3 of 3 functions; 0.40% are in frames too narrow to be drawn"


def test_stacks_without_frames_are_not_told_as_narrow(draw):
    with draw(" 500\nr;a 500\n", at="#table=self") as picture:
        assert rows_of_table(picture) == {"r": (0, 500), "a": (500, 500)}
        assert note(picture) == "2 of 2 functions"


def test_that_of_a_difference_has_functions_alone(draw, work):
    before = "[Con]c;[7]shop;main;read 40\n[9]java;run_[j] 60\n"
    (work / "before").write_text(before)
    with draw(before.replace("40", "90"), "--diff", str(work / "before"), at="#table=total") as picture:
        assert rows_of_table(picture) == {"main": (0, 90), "read": (90, 90), "run_[j]": (60, 60)}
    (work / "before").write_text("main;read 40\n")
    with draw("main;read 90\n", "--diff", str(work / "before"), at="#table=total") as picture:
        assert rows_of_table(picture) == {"main": (0, 90), "read": (90, 90)}, "a text without processes"


def test_a_click_means_that_case_alone(draw):
    with draw("[1]p;read 30\n[1]p;READ 50\n[1]p;read.x 20\n", at="#table=self") as picture:
        for name, share in (("read", "30.00%"), ("READ", "50.00%"), ("read.x", "20.00%")):
            press_function(picture, name)
            assert picture.text("matched") == f"Matched: {share}"
        picture.search("^rea[d]$")
        assert picture.text("matched") == "Matched: 80.00%"


def test_its_names_fit_after_the_window_changed(draw):
    name = "org.example.package.IndexWriter.processDocument_[j]"
    with draw(f"[1]p;main;{name} 10\n", at="#table=self", width=2000) as picture:
        assert picture.page.run(ROWS)[0][4] == name
        picture.resize(750)
        assert picture.page.run(ROWS)[0][4] == "processDocument_[j]"
        picture.resize(2000)
        assert picture.page.run(ROWS)[0][4] == name


def test_times_are_as_people_read_them(draw):
    with draw("[1]a;main;wait 48754908\n[1]a;main;run 9000\n", "--countname", "us", at="#table=self") as picture:
        assert [row[:2] for row in picture.page.run(ROWS)] == [["48.8 s", "99.98%"], ["9,000", "0.02%"],
                                                               ["0", "0.00%"]]  # fmt: skip


def test_names_in_it_are_text_and_each_is_found(draw):
    names = [name.replace(";", ":") for name in HOSTILE]
    with draw("".join(f"[1]p;{name} 10\n" for name in names), at="#table=self") as picture:
        assert {row[4] for row in picture.page.run(ROWS)} == {*names}
        assert picture.page.run("document.querySelectorAll('script, img, b').length") == 1
        for name in names:
            press_function(picture, name)
            assert picture.text("matched") == "Matched: 5.56%", name
        assert picture.page.named("Page.javascriptDialogOpening") == []


def test_keys_reach_it_and_leave_it(picture):
    picture.page.key("t")
    active = "document.activeElement.textContent"
    for _ in range(12):
        picture.page.key("Tab")
        if picture.page.run(active) == "handle (app.py:9)_[p]":
            break
    assert picture.page.run(active) == "handle (app.py:9)_[p]"
    picture.page.key("Enter")
    assert picture.text("matched") == "Matched: 28.00%"
    assert len(picture.shown) == len(picture.frames), "Enter meant the row, not a frame"
    picture.page.key("Escape")
    assert "table" not in picture.page.run("location.hash")
    assert picture.text("matched") == "Matched: 28.00%"


def test_it_covers_a_small_window_alone(draw):
    with draw(width=390, at="#table=self") as picture:
        box = picture.page.run("(({left, right}) => [left, right])"
                               "(document.querySelector('.functions').getBoundingClientRect())")  # fmt: skip
        assert box == pytest.approx([10, 380], abs=0.5)
        assert picture.frame("all").width == pytest.approx(370, abs=0.5)


def test_it_works_under_the_daemons_policy(chromium, work):
    (work / "policy.svg").write_text(render(FOLDED))
    with served(work, Content_Security_Policy=POLICY) as url, \
            chromium.page(f"{url}/policy.svg#table=self") as page:  # fmt: skip
        picture = Picture(page)
        assert rows_of_table(picture) == weighed(STACKS)
        press_function(picture, "json_key")
        assert picture.text("matched") == "Matched: 5.00%"
        assert page.complaints == []
        assert {request.split("#")[0] for request in page.requests} == {f"{url}/policy.svg"}


def test_it_stays_in_sight_when_the_picture_is_scrolled(draw):
    deep = ";".join(f"f{i}" for i in range(100)) + " 5\n"
    with draw(deep, height=500, at="#table=self") as picture:
        picture.leave()
        box = "(({top, bottom}) => [top, bottom])(document.querySelector('.functions').getBoundingClientRect())"
        before = picture.page.run(box)
        assert 60 <= before[0] < before[1] <= 500
        picture.page.run("scrollTo(0, 300)")
        picture.settle()
        assert picture.page.run(box) == pytest.approx(before, abs=1)


def test_a_name_that_has_no_room_is_shortened_and_still_means_all_of_it(draw):
    name = "org.apache.lucene.index.verylongpackagename.IndexWriter.processDocument (IndexWriter.java:1234)_[j]"
    with draw(f"[1]p;main;{name} 10\n[1]p;main;IndexWriter.processDocument_[j] 30\n", at="#table=self") as picture:
        assert [row[4] for row in picture.page.run(ROWS)][:2] == ["IndexWriter.processDocument_[j]"] * 2
        assert name in picture.page.run("[...document.querySelectorAll('.functions tr')].map((row) => row.title)")
        picture.page.run("[...document.querySelectorAll('.functions td button')][1].click()")
        assert picture.text("matched") == "Matched: 25.00%"
