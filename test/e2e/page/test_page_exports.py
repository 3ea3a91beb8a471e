"""What leaves the page: its SVG, pprof and speedscope files have the folded text's numbers; a stack goes to the clipboard."""
import json
import re
from collections import Counter
from xml.etree import ElementTree

import pytest

import pprof
from browsing import of, opened  # noqa: F401
from canvas import place_of, point_at
from folded import Profile
from helpers import wait_for
from lasting import lasting  # noqa: F401

SVG = "{http://www.w3.org/2000/svg}"
WIDTH = 1200
NARROW = 0.1  # of that: exports.js draws what is half a pixel wide in a picture of five times the width
# What was in the clipboard before, for a page that finds none.
WITHOUT_CLIPBOARD = """window.kept = navigator.clipboard;
    Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true})"""


@pytest.fixture(scope="module")
def threads(lasting):
    """(daemon, pid, folded text) of three threads, each in a function of its own, that have ended."""
    target = lasting.start("threads", 600)
    lasting.profile(target)
    profile = lasting.ended(target, "red_work", "green_work", "blue_work")
    return lasting.daemon, target.pid, profile


def weights(stacks, top=()):
    """Counter of (row, label, weight) of all frames at or below `top`, and of those that lead there."""
    nodes = Counter()
    for frames, weight in stacks.items():
        if frames[: len(top)] == top:
            nodes.update({frames[:end]: weight for end in range(len(top), len(frames) + 1)})
    return Counter((len(path) - len(top), path[-1] if path else "all", weight) for path, weight in nodes.items())


def boxes_of(path):
    """[(row, label, weight, x, width)] of the page's picture, the root's first."""
    found = []
    for group in ElementTree.parse(path).iter(f"{SVG}g"):
        title, rect = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        if title is None or title.text == "several":  # frames that are too narrow to be drawn
            continue
        name, weight = re.fullmatch(r"(.*) \(([\d,]+) samples, [\d.]+ %\)", title.text, re.S).groups()
        found.append((float(rect.get("y")), name, int(weight.replace(",", "")), float(rect.get("x")), float(rect.get("width"))))
    lowest = found[0][0]
    return [(round(abs(y - lowest) / 18), *rest) for y, *rest in found]


def check_picture(path, stacks, top=()):
    found = boxes_of(path)
    whole = found[0][2]
    wide = {one: n for one, n in weights(stacks, top).items() if one[2] * WIDTH >= NARROW * whole}
    assert Counter(box[:3] for box in found) == wide and wide
    assert all(width == pytest.approx(WIDTH * weight / whole, abs=0.011) for _, _, weight, _, width in found)
    for row in {box[0] for box in found}:
        spans = sorted(box[3:] for box in found if box[0] == row)
        assert all(x + width <= after + 0.02 for (x, width), (after, _) in zip(spans, spans[1:])), "they lie side by side"


def stacks_of(path):
    return Counter({stack.frames: stack.value for stack in Profile(path.read_text()).stacks})


def of_pprof(path):
    found = pprof.read(path.read_bytes())
    assert [(one.type, one.unit) for one in found.sample_types] == [("samples", "count")]
    return Counter({found.stack(sample): sample.values[0] for sample in found.samples})


def of_speedscope(path):
    data = json.loads(path.read_text())
    (one,), frames = data["profiles"], data["shared"]["frames"]
    assert one["endValue"] == sum(one["weights"])
    return Counter({tuple(frames[n]["name"] for n in stack): weight for stack, weight in zip(one["samples"], one["weights"])})


@pytest.mark.parametrize("step", ["", "without:blue_work", "collapse:run"])
def test_all_files_have_the_same_numbers(threads, opened, work, step):
    daemon, pid, _ = threads
    with opened(daemon, of(pid, steps=step)) as page:
        page.wait(".facts", "samples")
        profile = daemon.folded(pid=pid)  # names may have come since it has ended
        stacks = stacks_of(page.save("folded", work))
        assert of_pprof(page.save("pb.gz", work)) == of_speedscope(page.save("speedscope.json", work)) == stacks
        check_picture(page.save("svg", work), stacks)
    whole = Counter({stack.frames: stack.value for stack in profile.stacks})
    names = {name for frames in stacks for name in frames}
    if step.startswith("without"):
        assert stacks == Counter({frames: n for frames, n in whole.items() if "blue_work" not in frames}) != whole
    elif step:
        assert sum(stacks.values()) == profile.total() and "run" in names and "red_work" not in names
    else:
        assert stacks == whole


@pytest.mark.parametrize("icicle", ["", "1"])
def test_a_picture_of_what_is_zoomed(threads, opened, work, icicle):
    daemon, pid, profile = threads
    whole = Counter({stack.frames: stack.value for stack in profile.stacks})
    top = next(frames[: frames.index("red_work")] for frames in whole if "red_work" in frames)
    with opened(daemon, of(pid, icicle=icicle) + "&zoom=" + ";".join(top)) as page:
        page.wait(".facts", "samples")
        assert "zoom=" in page.fragment
        path = page.save("svg", work)
    check_picture(path, whole, top)
    ys = [float(rect.get("y")) for rect in ElementTree.parse(path).iter(f"{SVG}rect") if rect.get("height") == "17"]
    assert ys[0] == (min(ys) if icicle else max(ys))  # where the root is


def clipboard(page, where="navigator.clipboard"):
    """What is in it."""
    return page.tab.run(f"{where}.readText()")


def allow_reading(page):
    """Of the clipboard, to the test: the page only writes."""
    page.tab.call("Browser.grantPermissions", permissions=["clipboardReadWrite"], browserContextId=page.tab.context)
    page.tab.call("Emulation.setFocusEmulationEnabled", enabled=True)


def text_of(profile, *names):
    """The stack from the last of these frames on, leaf first, as people paste it."""
    value = profile.total(*names)
    frames = next(s.frames[: s.frames.index(names[-1]) + 1] for s in profile.stacks if s.has(*names))
    return "\n".join((*reversed(frames), f"{value} samples, {100 * value / profile.total():.2f} % of "))


@pytest.mark.parametrize("has_clipboard", [True, False])
def test_a_stack_is_copied(threads, opened, has_clipboard):
    daemon, pid, profile = threads
    with opened(daemon, of(pid)) as page:
        page.wait(".facts", "samples")
        allow_reading(page)
        page.tab.run("navigator.clipboard.writeText('before')")
        page.tab.run(WITHOUT_CLIPBOARD)
        if has_clipboard:
            page.tab.run("Object.defineProperty(navigator, 'clipboard', {value: window.kept, configurable: true})")
        point_at(page, "red_work")
        page.key("y")
        page.wait("#status", "The stack is in the clipboard")
        copied = wait_for(lambda: (text := clipboard(page, "window.kept")) != "before" and text, why="another text in the clipboard")
        assert copied.startswith(text_of(profile, "run", "red_work")) and copied.endswith("\n")
        assert not page.tab.run("document.querySelectorAll('textarea').length")  # nothing is left of the other way


def test_the_menu_copies_the_stack_of_its_frame(threads, opened):
    daemon, pid, profile = threads
    with opened(daemon, of(pid)) as page:
        page.wait(".facts", "samples")
        allow_reading(page)
        page.tab.run("navigator.clipboard.writeText('before')")
        page.right_click(*place_of(page, "green_work"))
        page.click(".menu [data-do=copy]")
        copied = wait_for(lambda: (text := clipboard(page)) != "before" and text, why="another text in the clipboard")
        assert copied.startswith(text_of(profile, "run", "green_work"))
