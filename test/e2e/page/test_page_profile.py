"""The page's profile: its numbers are those of .folded, and what is done to it does what it says."""
import gzip
import json
import math
import random
import time
from collections import Counter
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from asking import burning, sessions
from browsing import of, opened  # noqa: F401
from folded import Profile
from helpers import HZ, stopped, wait_burned, wait_for


@pytest.fixture
def ended(profiler, start):
    """(daemon, pid, its folded text) of a process that has ended, so that its profile stays as it is."""
    target = burning(start)
    profiler.profile("^spin$")
    wait_for(lambda: profiler.folded(pid=target.pid).total() >= 50, why="samples")
    target.kill()
    wait_for(lambda: target.pid not in profiler.processes(), why="its end")
    return profiler, target.pid, profiler.folded(pid=target.pid)


def functions(stacks):
    """{function: [own weight, whole weight]} of [(frames, weight)]: a stack counts once for each function."""
    table = {}
    for frames, weight in stacks:
        for name in set(frames):
            table.setdefault(name, [0, 0])[1] += weight
        table[frames[-1]][0] += weight
    return table


@pytest.mark.quick
def test_the_tables_numbers_are_those_of_the_folded_text(ended, opened):
    daemon, pid, profile = ended
    with opened(daemon, of(pid)) as page:
        page.wait(".facts", "samples")
        found = page.table()
        told = page.text(".facts")
    wanted = functions([(stack.frames[2:], stack.value) for stack in profile.stacks])
    assert found == {name: tuple(values) for name, values in wanted.items()}
    assert told.startswith(f"{profile.total():,} samples")


@pytest.mark.quick
def test_clicks_zoom_and_keys_do_what_they_say(ended, opened):
    daemon, pid, profile = ended
    with opened(daemon, of(pid)) as page:
        page.wait(".facts", "samples")
        place = page.frame("main")
        assert place, "main is drawn"
        page.tab.click(*place)
        assert "zoom=" in page.fragment and "main" in page.fragment
        page.key("Escape")
        assert "zoom=" not in page.fragment
        page.point_at("main")
        page.key("h")  # hide
        assert "main" in page.text(".steps") and "main" not in page.table()
        page.key("u")
        assert not page.text(".steps") and "main" in page.table()
        page.key("1", "/")
        page.tab.type("^(main|x)$")
        matched = sum(s.value for s in profile.stacks if "main" in s.frames)
        page.wait(".matched", f"matched {100 * matched / profile.total():.2f} % \\({matched:,} samples\\)")
        page.key("Escape", "i")
        assert "icicle=1" in page.fragment
        page.point_at("main")
        page.key("s")
        assert page.text("#function-name").startswith("main")
        page.key("?")
        assert page.shows("#help") and "take the last step back" in page.text("#keys")


def test_keys_are_about_what_is_seen(ended, opened):
    daemon, pid, _ = ended
    with opened(daemon, of(pid, tab="callers", function="inner_spin")) as page:
        page.wait("#function-name", "inner_spin")
        assert page.frame("main", "#callers"), "the callers are drawn"
        page.key("s")
        assert page.text("#function-name").startswith("main")
        assert page.frame("outer", "#callees")
        page.key("2")
        page.focus("#functions button.name")
        page.key("h")
        assert "inner_spin" in page.text(".steps")  # the first row's
        page.key("u", "4")
        page.focus("#tree [tabindex='0']")
        page.key("ArrowDown", "o")
        assert f"only [{pid}]" in page.text(".steps")
        page.key("u")
        page.key(*["ArrowDown"] * 7, "x")  # outer: nothing is left of it
        assert "without outer" in page.text(".steps") and "outer" not in page.text("#tree")


def test_the_menu_is_about_its_frame(ended, opened):
    daemon, pid, _ = ended
    with opened(daemon, of(pid)) as page:
        page.wait(".facts", "samples")
        page.right_click(*page.frame("outer"))
        assert page.shows(".menu")
        page.click(".menu [data-do=collapse]")
        assert "collapse outer" in page.text(".steps") and not page.shows(".menu")
        assert "middle" not in page.table() and "outer" in page.table()


def test_what_is_saved_has_the_same_numbers(ended, opened, work):
    daemon, pid, profile = ended
    with opened(daemon, of(pid)) as page:
        page.wait(".facts", "samples")
        picture, text, packed, saved = (page.save(name, work) for name in ("svg", "folded", "pb.gz", "speedscope.json"))
    assert Counter({s.frames: s.value for s in Profile(text.read_text()).stacks}) == Counter({s.frames: s.value for s in profile.stacks})
    data = json.loads(saved.read_text())
    assert sum(data["profiles"][0]["weights"]) == profile.total() == data["profiles"][0]["endValue"]
    assert b"inner_spin" in gzip.decompress(packed.read_bytes())
    assert "inner_spin" in picture.read_text() and ElementTree.parse(picture)


def test_a_link_shows_the_same_view_again(ended, opened):
    daemon, pid, _ = ended
    view = of(pid, zoom="", q="^ma.n$", colour="self", tab="functions", icicle="1", steps="collapse:main")
    with opened(daemon, view) as page:
        page.wait(".matched", "matched")
        assert list(page.table()) == ["main"]  # the others don't match
        assert page.tab.run("document.querySelector('[name=colour]').value") == "self"
        assert page.text(".steps").startswith("collapse main")


def test_the_tree_has_the_frames_for_a_screen_reader(ended, opened):
    daemon, pid, profile = ended
    with opened(daemon, of(pid, tab="tree")) as page:
        page.wait(".facts", "samples")
        page.focus("#tree [tabindex='0']")
        nodes = page.tab.call("Accessibility.getFullAXTree")["nodes"]
        items = [n["name"]["value"] for n in nodes if n.get("role", {}).get("value") == "treeitem"]
        assert any("main" in item for item in items) and any(f"[{pid}]" in item for item in items)
        assert items[0].startswith(" 100.00 %") or "100.00 %" in items[0]
        page.key("ArrowDown", "ArrowDown", "Enter")
        assert "zoom=" in page.fragment
    with opened(daemon, of(pid, tab="functions")) as page:
        page.wait("#functions caption")
        nodes = page.tab.call("Accessibility.getFullAXTree")["nodes"]
        cells = [n["name"]["value"] for n in nodes if n.get("role", {}).get("value") in ("cell", "gridcell")]
        assert any("main" in cell for cell in cells)
    assert profile.total()


def test_live_adds_up_and_keeps_the_view(profiler, start, opened):
    target = burning(start)
    with opened(profiler, f"source=live&pids={target.pid}&q=main") as page:
        page.wait("#offer", "oncpu")
        assert sessions(profiler) == 0  # a link alone begins nothing
        page.click("#offer button")
        page.wait(".facts", "samples")
        first = int(page.text(".facts").split()[0].replace(",", ""))
        page.tab.click(*page.frame("main"))
        page.key("ArrowUp")
        zoomed, line = page.fragment, page.text(".line bdi")
        assert line == "outer"
        page.tab.move(5, 5)
        wait_for(lambda: int(page.text(".facts").split()[0].replace(",", "")) > first, why="more samples")
        assert page.fragment == zoomed and "main" in zoomed
        assert page.text(".line bdi") == line  # the cursor stays where it was
        assert page.text(".matched").startswith("matched")
        hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))"
        page.tab.run(hide % "true")
        wait_for(lambda: sessions(profiler) == 0, why="a hidden tab asks for nothing")
        page.tab.run(hide % "false")
        wait_for(lambda: sessions(profiler) == 1, why="it goes on")
        page.key("l")
        wait_for(lambda: sessions(profiler) == 0, why="it is over")


@pytest.mark.alone("the two sessions begin and end late, where others want the CPU as well")
def test_time_on_and_off_cpus_adds_up_to_the_clocks(profiler, start, opened, work):
    threads, samples, began = 3, 10_000, time.monotonic()
    target = start("turns", threads - 1, 1_000_000, 3000, 2000)  # the main thread waits for the others all the time
    wait_burned(target.pid, seconds=2)
    slowness = (time.monotonic() - began) / 2  # s for each of CPU time: a busy host gives it less
    seconds = math.ceil(max(20, 1.5 * slowness * samples / HZ))
    profiler.put_ok(stopped(frequency=HZ, minblock=0, offcpu_state="all"))
    with opened(profiler, f"source=take&probe={quote('oncpu+offcpu')}&pids={target.pid}&seconds={seconds}") as page:
        page.wait("#offer", f"{seconds} s")
        page.click("#offer button")
        page.wait(".facts", r"\d", seconds=seconds + 40)
        assert "on and off CPUs" in page.text("#profile h2") and "left out" not in page.text(".facts")
        saved = page.save("folded", work)
        page.point_at("main")
        assert page.text(".line").startswith("main")
    stacks = Profile(saved.read_text()).stacks
    assert {stack.frames[-1] for stack in stacks} == {"[on CPU]", "[off CPU]"}
    on, off = (sum(s.value for s in stacks if s.frames[-1] == leaf) for leaf in ("[on CPU]", "[off CPU]"))
    assert on + off == pytest.approx(threads * seconds * 1e6, rel=0.02)
    assert on >= samples * 1e6 / HZ  # us
    joined = sum(s.value for s in stacks if "main" in s.frames and s.frames[-1] == "[off CPU]")
    assert joined == pytest.approx(seconds * 1e6, rel=0.02)


# Random trees, computed twice


def random_stacks(rng):
    """{frames: weight}, with recursion."""
    names = [f"f{i}" for i in range(rng.randint(1, 6))]
    return Counter({tuple(rng.choice(names) for _ in range(rng.randint(1, 7))): rng.randint(1, 99) for _ in range(30)})


def tree_of(stacks):
    """What .json would have."""
    top = {"name": "all", "kind": "root", "self": 0, "children": []}
    for frames, weight in stacks.items():
        node = top
        for name in frames:
            found = [child for child in node["children"] if child["name"] == name]
            if not found:
                found = [{"name": name, "kind": "native", "self": 0, "children": []}]
                node["children"] += found
            node = found[0]
        node["self"] += weight
    return top


COMPUTED = """
(async () => {
    const {fromJson, applySteps, sandwich} = await import('/ui/builder.js'), {folded} = await import('/ui/exports.js');
    const profile = fromJson(%s, {unit: 'samples'}), f = profile.frames.find('f0');
    const step = (op) => folded(applySteps(profile, [{op, label: op === 'recursion' ? '' : 'f0'}])).join('');
    const {callers, callees} = sandwich(profile, Math.max(f, 0));
    const matches = Uint8Array.from({length: profile.frames.functions.first.length}, (_, i) => i === f);

    return {
        table: profile.table().map((row) => [profile.frames.functions.labels[row.function], row.self, row.total]),
        folded: folded(profile).join(''), hide: step('hide'), only: step('only'), without: step('without'), collapse: step('collapse'),
        recursion: step('recursion'), callers: folded(callers).join(''), callees: folded(callees).join(''), matched: profile.matched(matches),
    };
})()"""


def read(text):
    return Counter({tuple(line.rsplit(" ", 1)[0].split(";")): int(line.rsplit(" ", 1)[1]) for line in text.splitlines()})


def mapped(stacks, change):
    out = Counter()
    for frames, weight in stacks.items():
        if (frames := change(frames)) is not None:
            out[frames] += weight
    return +Counter({frames: weight for frames, weight in out.items() if frames})


def without_repeats(frames):
    return tuple(name for i, name in enumerate(frames) if not i or name != frames[i - 1])


def check_computed(found, stacks):
    has = [frames for frames in stacks if "f0" in frames]
    assert {name: [own, whole] for name, own, whole in found["table"]} == functions(stacks.items())
    assert read(found["folded"]) == stacks
    assert read(found["hide"]) == mapped(stacks, lambda f: tuple(name for name in f if name != "f0"))
    assert read(found["only"]) == mapped(stacks, lambda f: f if "f0" in f or not has else None)
    assert read(found["without"]) == mapped(stacks, lambda f: None if "f0" in f else f)
    assert read(found["collapse"]) == mapped(stacks, lambda f: f[: f.index("f0") + 1] if "f0" in f else f)
    assert read(found["recursion"]) == mapped(stacks, without_repeats)
    if has:
        assert read(found["callers"]) == mapped(stacks, lambda f: f[f.index("f0")::-1] if "f0" in f else None)
        assert read(found["callees"]) == mapped(stacks, lambda f: f[f.index("f0"):] if "f0" in f else None)
    assert found["matched"] == sum(stacks[frames] for frames in has)


def test_what_is_computed_in_the_page_is_right(daemon, opened):
    with opened(daemon) as page:
        for seed in range(50):
            stacks = random_stacks(random.Random(seed))
            check_computed(page.tab.run(COMPUTED % json.dumps(tree_of(stacks))), stacks)


GONE = """
(async () => {
    const {fromJson, withGone} = await import('/ui/builder.js');
    const profile = fromJson(%s, {unit: 'samples'}), both = withGone(profile, fromJson(%s, {unit: 'samples'}), 1);

    return [...both.frame.keys()].filter((node) => both.wide[node] && !both.total[node]).map((node) => both.of(node).name);
})()"""


def frame(name, kind, *children, **more):
    return {"name": name, "kind": kind, "self": 0 if children else 1, "children": list(children), **more}


def test_what_is_there_is_not_told_as_gone(daemon, opened):
    """By lines of one function, and by processes of one name; one that was started again is the same."""
    lines = [frame("f", "python", frame(leaf, "native"), file="a.py", line=line) for line, leaf in ((10, "g"), (12, "h"))]

    def host(*processes):
        return frame("all", "root", *(frame(f"[{pid}]app", "process", *below) for pid, below in processes))

    two = host((1, lines), (2, [frame("other", "native")]))
    with opened(daemon) as page:
        assert page.tab.run(GONE % (json.dumps(two), json.dumps(two))) == []
        again = host((3, lines))
        assert page.tab.run(GONE % (json.dumps(again), json.dumps(two))) == ["other"]


def test_the_next_match_is_another_one_below_a_resting_mouse(profiler, start, opened):
    target = start("thirds", 60)
    profiler.profile(pids=[target.pid], frequency=HZ)
    wait_for(lambda: {"sixty", "thirty"} <= profiler.folded(pid=target.pid).frames(), why="samples")
    target.kill()
    wait_for(lambda: target.pid not in profiler.processes(), why="its end")
    with opened(profiler, of(target.pid)) as page:
        page.wait(".facts", "samples")
        page.write("[name=search]", "^(sixty|thirty)$")
        page.wait(".matched", "matched")
        page.point_at("main")
        page.focus("[name=search]")
        seen = set()
        for _ in range(4):
            page.key("Enter")
            seen.add(page.text(".line bdi"))
        assert {"sixty", "thirty"} <= seen, seen
