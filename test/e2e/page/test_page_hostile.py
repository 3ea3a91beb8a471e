"""Names that are hostile, everywhere in the page: they are text, whole, in their place, and break nothing."""
import json
import re
import subprocess
from collections import Counter
from types import SimpleNamespace
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

import pprof
from browsing import of, opened  # noqa: F401
from canvas import boxes, labels, made, place_of, point_at, show
from folded import Profile
from helpers import program, wait_for
from lasting import lasting  # noqa: F401
from past import profile_of, wait_windows

MARKUP = "<b>x</b><img src=/x onerror=alert(1)>&lt'\"]]>"
TURNED = "\u202egnp.exe\u2066"  # letters that turn the direction of writing
LONG = "n" * 4000
CONTROL = "a;b:\x1b[31m\x07c\td"
FUNCTIONS = {"run": CONTROL, "red_work": MARKUP, "green_work": TURNED, "blue_work": LONG}
THREADS = {"red": "<b>", "green": "\u202eab", "blue": "a;\x1b\n"}  # as many bytes as before
COMM = "<i>\u202e;\x1b\n"
WIDTHS = (1200, 360)
ZOOMED = "(async () => (await import('/ui/panel.js')).zoomed > 0)()"


def seen(name):
    """As the page shows what comes with control bytes: as pictures."""
    return re.sub(r"[\x00-\x1f\x7f]", lambda found: chr(0x2400 + min(ord(found[0]), 0x21)), name)


def in_folded(name):
    """So names come to the page, in a profile."""
    return re.sub(r"[\x00-\x1f\x7f]", " ", name).replace(";", ":")


def encoded(name):
    """As encodeURIComponent() writes it."""
    return quote(name, safe="!'()*")


def hostile_program(folder):
    """threads, whose functions and threads are called so."""
    path = folder / COMM
    renamed = [f"--redefine-sym={old}={new}" for old, new in FUNCTIONS.items()]
    subprocess.run(["objcopy", *renamed, program("threads"), path], check=True)
    code = path.read_bytes()
    for old, new in THREADS.items():
        before, after = (b"\0" + text.encode() + b"\0" for text in (old, new))
        assert len(before) == len(after) and code.count(before) == 1, old
        code = code.replace(before, after)
    path.write_bytes(code)
    return path


@pytest.fixture(scope="module")
def hostile(lasting):
    """A process whose names are all hostile, that has ended: what the daemon tells of it."""
    target = lasting.start(hostile_program(lasting.work), 600)
    lasting.profile(target)
    windows = wait_windows(lasting.daemon, 2)
    lasting.ended(target, *(in_folded(name) for name in (MARKUP, TURNED)))
    tree = lasting.daemon.get(f"/flamegraph/oncpu.json?pid={target.pid}").json()
    kinds = {}
    todo = [tree]
    while todo:
        node = todo.pop()
        kinds.setdefault(node["kind"], set()).add(node["name"])
        todo += node["children"]
    assert {in_folded(name) for name in (CONTROL, MARKUP, TURNED)} <= set(map(in_folded, kinds["native"]))
    assert set(map(in_folded, THREADS.values())) <= set(map(in_folded, kinds["thread"]))
    long_ones = [name for name in kinds["native"] if name.startswith("nnn")]
    assert len(long_ones) == 1 and len(long_ones[0]) > 1000
    functions, process = {in_folded(CONTROL), MARKUP, TURNED, *long_ones}, in_folded(f"[{target.pid}]{COMM}")
    assert {in_folded(name) for name in kinds["process"]} == {process}
    return SimpleNamespace(
        daemon=lasting.daemon, pid=target.pid, functions=functions, long=long_ones[0], process=process,
        names={*functions, *map(in_folded, THREADS.values()), process},
        span={"from": windows[0]["from"], "until": windows[-1]["until"]},
    )  # fmt: skip


def check(page):
    """What a name may have become or moved."""
    found = page.tab.run("""({
        elements: document.querySelectorAll('b, i, img, iframe, script:not([src]), [onerror]').length,
        overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
        unisolated: [...document.querySelectorAll('bdi')].filter((e) => getComputedStyle(e).unicodeBidi !== 'isolate').length,
    })""")
    assert found == {"elements": 0, "overflow": 0, "unisolated": 0}


@pytest.fixture(params=WIDTHS)
def page(request, hostile, opened):
    with opened(hostile.daemon, of(hostile.pid), width=request.param) as page:
        page.wait(".facts", "samples")
        page.wait(".foot", "rows")  # in a narrow window what it says takes two lines: the picture is lower from then on
        yield page
        check(page)


def test_in_the_picture(hostile, page):
    found = boxes(page)
    assert {box["label"] for box in found} >= hostile.names
    for box in found:
        told = point_at(page, box["node"])
        assert told["name"] == box["label"] and told["line"].startswith(f"{box['label']} · ")
        check(page)


def test_in_the_table_and_among_callers(hostile, page):
    assert set(page.table()) >= hostile.functions
    check(page)
    for name in sorted(hostile.functions):
        page.do("tab=functions")
        index = page.texts("#functions tbody button.name").index(name)
        page.click(f"#functions tbody tr:nth-child({index + 1}) button.name")
        assert page.text("#function-name bdi") == name and f"function={encoded(name)}" in page.fragment
        check(page)


def test_in_the_tree(hostile, page):
    page.do("tab=tree")
    while page.tab.run("Boolean(document.querySelector('#tree [aria-expanded=false]'))"):
        page.tab.run("document.querySelector('#tree [aria-expanded=false]').focus()")
        page.key("ArrowRight")
        check(page)
    assert set(page.texts("#tree bdi")) >= hostile.names


def escaped(name):
    """A regular expression that finds that name."""
    return "^" + re.sub(r"[^n\u202e\u2066]", lambda found: f"\\x{ord(found[0]):02x}", name) + "$"


def test_in_a_search(hostile, page):
    profile = hostile.daemon.folded(pid=hostile.pid)
    for name in sorted(hostile.functions):
        page.tab.run("document.querySelector('[name=search]').value = ''")
        page.focus("[name=search]")
        page.tab.call("Input.insertText", text=escaped(name))
        weight = sum(s.value for s in profile.stacks if name in s.frames)
        page.wait(".matched", rf"^matched {100 * weight / profile.total():.2f} %")
        check(page)
    page.tab.run("document.querySelector('[name=search]').value = ''")
    page.focus("[name=search]")
    page.tab.call("Input.insertText", text="(<b>" + LONG)  # no expression: it is told, with the expression
    page.wait(".matched", "(?i)invalid regular expression.*<b>")


def test_in_steps_and_a_link(hostile, page):
    names = [in_folded(CONTROL), MARKUP, TURNED, hostile.long]
    for name in names:
        point_at(page, name)
        page.key("x" if name != names[0] else "h")
        check(page)
    assert page.texts(".steps bdi") == names and not {*labels(page)} & {*names}
    fragment = page.fragment
    with_all = page.texts(".steps button")
    page.tab.open("about:blank")
    page.tab.open(f"http://127.0.0.1:{hostile.daemon.port}/{fragment}")
    page.wait(".facts", "samples")
    assert page.texts(".steps button") == with_all and page.fragment == fragment
    for _ in with_all:
        page.click(".steps button")
        check(page)
    assert not page.text(".steps") and page.text(".facts").startswith(f"{hostile.daemon.folded(pid=hostile.pid).total():,} ")


def test_in_a_link_to_a_frame(hostile, page):
    for name in (MARKUP, TURNED, hostile.long):
        page.tab.click(*place_of(page, name))
        assert f";{encoded(in_folded(CONTROL))};{encoded(name)}" in page.fragment
        fragment = page.fragment
        page.tab.run("location.hash = ''")
        wait_for(lambda: not page.tab.run(ZOOMED), why="the whole")
        page.tab.run(f"location.hash = {json.dumps(fragment)}")
        wait_for(lambda: page.tab.run(ZOOMED), why="the frame of the link")
        assert page.fragment == fragment and name in labels(page)
        check(page)
        page.key("Escape")


def test_in_files(hostile, page, work):
    wanted = hostile.daemon.folded(pid=hostile.pid)
    text, packed, saved, picture = (page.save(name, work) for name in ("folded", "pb.gz", "speedscope.json", "svg"))
    stacks = Counter({s.frames: s.value for s in wanted.stacks})
    assert Counter({s.frames: s.value for s in Profile(text.read_text()).stacks}) == stacks
    found = pprof.read(packed.read_bytes())
    assert Counter({found.stack(s): s.values[0] for s in found.samples}) == stacks
    frames = json.loads(saved.read_text())["shared"]["frames"]
    assert {frame["name"] for frame in frames} >= hostile.names
    root = ElementTree.parse(picture).getroot()
    assert {element.tag.rpartition("}")[2] for element in root.iter()} == {"svg", "g", "title", "rect", "text"}
    titles = {element.text.rpartition(" (")[0] for element in root.iter("{http://www.w3.org/2000/svg}title")}
    assert titles >= hostile.names


def test_in_the_clipboard(hostile, page):
    page.tab.call("Browser.grantPermissions", permissions=["clipboardReadWrite"], browserContextId=page.tab.context)
    page.tab.call("Emulation.setFocusEmulationEnabled", enabled=True)
    for name in (MARKUP, TURNED, hostile.long):
        point_at(page, name)
        page.key("y")
        copied = wait_for(lambda: (text := page.tab.run("navigator.clipboard.readText()")).startswith(name + "\n") and text, why="the stack")
        assert {in_folded(CONTROL), hostile.process} <= {*copied.split("\n")}


def test_of_a_thread_on_the_time_line(hostile, page):
    fragment = f"source=range&probe=oncpu&pids={hostile.pid}&of={quote(COMM)}&from={hostile.span['from']}&until={hostile.span['until']}"
    page.tab.run(f"location.hash = {json.dumps(fragment)}")
    whole = profile_of(hostile.daemon, pid=hostile.pid, **hostile.span)
    page.wait(".facts", f"^{whole.total():,} samples")
    page.key("b")
    for name in map(in_folded, THREADS.values()):
        weight = profile_of(hostile.daemon, pid=hostile.pid, thread=name, **hostile.span).total()
        assert 0 < weight < whole.total()
        point_at(page, name)
        page.key("w")
        page.wait(".facts", f"^{weight:,} samples")
        assert page.text("#profile h2").endswith(f"thread {name} of {hostile.process}")
        page.wait("#history .range", re.escape(f"thread {name} of {hostile.process}"))
        check(page)
        page.do("tab=functions")
        page.key("w", "1")  # all threads again
        page.wait(".facts", f"^{whole.total():,} samples")


def test_in_a_link_that_waits_for_a_click(hostile, page):
    for name in (MARKUP, TURNED, LONG, CONTROL):
        page.tab.run(f"location.hash = {json.dumps('source=take&pids=1&probe=' + encoded(name) + '&of=' + encoded(name))}")
        page.wait("#offer", re.escape(f"This link profiles {seen(name)} (pid 1) with {seen(name)}, 10 s"))
        check(page)


def test_among_what_happened(hostile, page):
    page.key("b")
    page.wait("#history .range")
    page.click("#history .events summary")
    shown = page.texts(".events bdi")
    told = [event["text"] for event in hostile.daemon.get("/events").json()["events"]]
    assert shown == [seen(text) for text in reversed(told)] and any("<i>" in text for text in shown)
    check(page)


def test_of_containers_and_pods(daemon, opened):
    """The daemon has none that are so hostile: of runtimes it takes no such names."""
    names = [MARKUP, TURNED, LONG, CONTROL]
    top = [made(f"[Pod]{name}", "pod", made(f"[Con]{name}", "container", made(f"[1]{name}", "process", made(name, "thread",
           made(name, "native", module=name), made(name, "python"))))) for name in names]  # fmt: skip
    with opened(daemon) as page:
        page.wait("#host")
        for width in WIDTHS:
            page.tab.size(width, 900)
            show(page, *top)
            for box in boxes(page):
                assert point_at(page, box["node"])["name"] == seen(box["label"])
                check(page)
            for key in "k2k3k4k1k":
                page.key(key)
                check(page)
