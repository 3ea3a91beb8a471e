"""What a screen reader gets: each row of each list that is shown, each frame that is open in the tree, what is said."""
import pytest

from asking import burning
from browsing import of, opened  # noqa: F401
from helpers import wait_for
from lasting import compared, lasting  # noqa: F401
from reading import Reader, cells, plain

# Nothing comes while the tab is hidden: so the list stands still.
HIDE = "Object.defineProperty(document, 'hidden', {value: true, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))"


def told_rows(page, part, rows):
    """The rows of a table, as the document and as a reader has them."""
    tree = Reader(page.tab)
    return cells(page, rows), tree.rows(tree.part("region", part))


def test_each_process(compared, start, opened):
    target = burning(start)
    with opened(compared.daemon) as page:
        wait_for(lambda: any(row[0] == str(target.pid) for row in cells(page, "#processes tbody tr")), why="a row of it")
        page.tab.run(HIDE)
        shown, told = told_rows(page, "Processes", "#processes tbody tr")
        assert told == shown and len(shown) > 5
        (row,) = [row for row in told if row[0] == str(target.pid)]
        assert row[1] == "spin" and row[-1] == "next 10 s"
        tree = Reader(page.tab)
        heads = [tree.name(head) for head in tree.all("columnheader", tree.part("region", "Processes"))]
        assert [head.rstrip(" ▲▼") for head in heads] == page.texts("#processes thead th")


def test_each_probe_with_its_switch(compared, opened):
    with opened(compared.daemon) as page:
        page.wait("#probes tbody", "oncpu")
        page.tab.run(HIDE)
        shown, told = told_rows(page, "All the time", "#probes tbody tr")
        assert told == shown and any("running" in " ".join(row) for row in told)
        tree = Reader(page.tab)
        boxes = [tree.name(box) for box in tree.all("checkbox", tree.part("region", "All the time"))]
        assert boxes == page.attributes("#probes input[type=checkbox]", "data-probe")


def test_each_function(compared, opened):
    with opened(compared.daemon, of(compared.large, tab="functions")) as page:
        page.wait("#functions caption")
        shown, told = told_rows(page, "Profile", "#functions tbody tr")
        assert told == shown and {"main", "inner_spin"} <= {row[2] for row in told}
        tree = Reader(page.tab)
        sorted_by = [tree.name(head) for head in tree.all("columnheader") if tree.value(head, "sort") == "descending"]
        assert not sorted_by or "Self" in sorted_by[0]


def test_each_frame_that_is_open(compared, opened):
    with opened(compared.daemon, of(compared.large, tab="tree")) as page:
        page.wait("#tree [role=treeitem]")
        for opens in (False, True):
            if opens:
                while page.tab.run("Boolean(document.querySelector('#tree [aria-expanded=false]'))"):
                    page.focus("#tree [aria-expanded=false]")
                    page.key("ArrowRight")
            shown = page.tab.run("""[...document.querySelectorAll('#tree [role=treeitem]')].map((e) =>
                [e.querySelector('.row').textContent, Number(e.ariaLevel), e.ariaExpanded && e.ariaExpanded === 'true'])""")
            tree = Reader(page.tab)
            items = tree.all("treeitem", tree.all("tree")[0])
            told = [[tree.text(item, stop=("group",)).lstrip("▸▾ "), tree.value(item, "level"), tree.value(item, "expanded")] for item in items]
            assert told == [[plain(text), level, is_open] for text, level, is_open in shown]
        functions = {frame for s in compared.daemon.folded(pid=compared.large).stacks for frame in s.frames}
        assert len(shown) > len(functions) - 1 and all(any(f" {name} " in text for text, *_ in told) for name in functions)


@pytest.mark.alone("what others burn is noise, in which no function may have changed")
def test_what_changed_and_what_happened(compared, opened):
    with opened(compared.daemon, compared.view) as page:
        page.wait(".facts", "samples")
        page.key("b")
        page.wait("#history caption", r"^\d+ of \d+ functions changed")
        tree = Reader(page.tab)
        changes = cells(page, "#history tbody tr")
        told = tree.rows(tree.root)
        assert changes and all(row in told for row in changes)
        assert not tree.all("listitem")  # what happened is closed
        page.click("#history .events summary")
        tree = Reader(page.tab)
        shown = [plain(text) for text in page.texts(".events li")]
        assert shown and [tree.text(item) for item in tree.all("listitem")] == shown


def said(tree, text):
    """Whether one of the places that are read out when they change has that."""
    return any(text in tree.text(node) for node in tree.all("status"))


def test_what_is_said(compared, opened):
    with opened(compared.daemon, compared.view) as page:
        page.wait("#status", "functions changed beyond noise")
        assert said(Reader(page.tab), "functions changed beyond noise")
        page.write("[name=search]", "main")
        page.wait(".matched", "matched")
        assert said(Reader(page.tab), page.text(".matched"))


@pytest.mark.parametrize("key, name", [("?", "Keys"), ("token", "Token")])
def test_a_dialog_is_one_and_has_its_name(compared, opened, key, name):
    with opened(compared.daemon) as page:
        page.wait("#host")
        page.key("?") if key == "?" else page.do("main=token")
        tree = Reader(page.tab)
        (dialog,) = tree.all("dialog")
        assert tree.name(dialog) == name
        if key == "?":
            assert all(plain(text) in tree.text(dialog) for text in page.texts("#keys p"))
