"""Back in time, further: what happened is read, presets, what is held by age, a hidden tab, what changed in colours."""
import json
import time
from datetime import datetime
from urllib.parse import parse_qs, urlsplit

import pytest

from allocating import let, standing_by, view
from asking import burning
from browsing import of, opened  # noqa: F401
from canvas import boxes, palette
from folded import Profile
from helpers import stopped, wait_for
from lasting import compared, lasting  # noqa: F401

HIDE = "Object.defineProperty(document, 'hidden', {value: true, configurable: true}); document.dispatchEvent(new Event('visibilitychange'))"
SUFFIXES = {"kernel": "_[k]", "jit": "_[j]", "inlined": "_[i]", "interpreted": "_[0]", "python": "_[p]"}


def asked(page, path):
    """Queries of that path so far, the newest last."""
    found = [urlsplit(url) for url in page.tab.requests]
    return [parse_qs(url.query) for url in found if url.path == path]


def test_what_happened_is_opened_and_read(compared, opened):
    compared.daemon.put_ok(stopped())
    with opened(compared.daemon) as page:
        page.wait("#host")
        page.key("b")
        page.wait("#history .range")
        assert not page.shows(".events ul")
        page.click("#history .events summary")
        assert page.shows(".events ul")
        told = compared.daemon.get("/events").json()["events"]
        page.key("Escape")
        lines = [f"{datetime.fromtimestamp(int(event['time'])).astimezone():%F %T %z} {event['kind']}: {event['text']}" for event in reversed(told)]
        assert page.texts(".events li") == lines
        assert any(f"{compared.large} (large) added for oncpu" in line for line in lines)
        assert any(" put: /flamegraph stopped" in line for line in lines)


@pytest.mark.parametrize("preset, back", [("an hour before", 3600), ("a day before", 86400), ("a week before", 604800)])
def test_a_range_is_compared_with_a_preset(compared, opened, preset, back):
    span = compared.span
    fragment = f"source=range&probe=oncpu&pids={compared.large}&of=large&from={span['from']}&until={span['until']}"
    with opened(compared.daemon, fragment) as page:
        page.wait(".facts", "samples")
        whole = page.text(".facts")
        page.key("b")
        page.wait("#history .range", "large")
        page.focus("[name=against]")
        choices = page.texts("[name=against] option")
        for _ in range(choices.index(preset)):
            page.key("ArrowDown")

        def of_preset():
            return [query for query in asked(page, "/changes") if float(query["before_from"][0]) == pytest.approx(span["from"] - back)]

        (query,) = wait_for(of_preset, why="the question")
        assert f"against={back}" in page.fragment
        page.wait("#history caption", "Too few windows to tell")  # nothing ran then
        assert float(query["before_until"][0]) == pytest.approx(span["until"] - back)
        assert [float(query[key][0]) for key in ("from", "until")] == pytest.approx([span["from"], span["until"]])
        assert query["pid"] == [str(compared.large)]
        assert page.text(".facts") == whole  # the numbers are the range's
        fragment = page.fragment
    with opened(compared.daemon, fragment.lstrip("#")) as again:
        again.key("b")
        again.wait("#history caption", "Too few windows to tell")
        assert again.tab.run("document.querySelector('[name=against]').selectedOptions[0].textContent") == preset


@pytest.mark.alone("what others burn is noise, in which no function may have changed")
def test_what_changed_has_its_colour_and_what_did_not_is_grey(compared, opened):
    shades = palette("light")
    with opened(compared.daemon, compared.view) as page:
        page.wait("#status", "functions changed beyond noise")
        found = boxes(page)
        url = next(url for url in page.tab.requests if "/changes?" in url)
    changes = compared.daemon.get(url[url.index("/changes") :]).json()["changes"]
    assert len(changes) > 1

    def size(row):
        which = row["total"] if row["total"].get("change") else row["self"]
        return which["after"] - which["before"]

    most = max(abs(size(row)) for row in changes)
    parts = {row["name"] + SUFFIXES.get(row["kind"], ""): size(row) / most for row in changes}
    drawn = {}
    for box in found[1:]:
        if not box["total"]:
            continue  # of small alone: hatched
        part = 0 if box["kind"] in ("pod", "container", "process", "thread") else parts.get(box["label"], 0)
        letter = "u" if not part else "g" if part > 0 else "s"
        wanted = shades[letter][min(9, int(10 * abs(part))) if part else 0]
        assert box["colour"] == wanted, (box, part)
        drawn.setdefault(letter, set()).add(box["label"])
    assert "inner_spin" in drawn["g"] and f"[{compared.large}]large" in drawn["u"]


def test_a_hidden_tab_makes_no_request(compared, start, opened):
    burning(start)
    with opened(compared.daemon) as page:
        page.wait("#processes tbody", r"\d")
        wait_for(lambda: len(asked(page, "/flamegraph")) > 1, why="it asks for the probes again while it is seen")
        page.tab.run(HIDE)
        wait_for(lambda: none_is_under_way(page), why="what was asked before is answered")
        before = page.tab.requests
        page.tab.run("setTimeout(() => { window.isOver = true; }, 50000)")
        page.tab.call("Emulation.setVirtualTimePolicy", policy="advance", budget=60000)  # a minute of its timers, at once
        wait_for(lambda: page.tab.run("window.isOver === true"), why="a minute is over")
        assert page.tab.requests == before


def none_is_under_way(page):
    page.tab.run("1")
    over = {one["requestId"] for name in ("Finished", "Failed") for one in page.tab.named(f"Network.loading{name}")}
    return all(one["requestId"] in over for one in page.tab.named("Network.requestWillBeSent"))


def held_of(page, folder):
    """{function: bytes} of what the page shows."""
    path = page.save("folded", folder)
    profile = Profile(path.read_text())
    path.unlink()
    return {name: profile.total(name) for name in ("before", "after") if profile.total(name)}


def test_memory_in_use_is_opened_by_age(profiler, start, opened, work):
    target = standing_by(profiler, start, "heirs", "rest")
    let(target)
    wait_for(lambda: view(profiler, "inuse", min_age=8).total("before"), why="it is held for 8 s")
    began = time.monotonic()
    held = {name: truth.held_bytes for name, truth in let(target).items() if truth.held_bytes}
    assert set(held) == {"before", "after"}
    with opened(profiler, of(target.pid, probe="mem_glibc~inuse")) as page:
        page.wait(".facts", "KiB")
        assert held_of(page, work) == held
        between = int(time.monotonic() - began) + 7  # an age that one of them hasn't reached
        page.tab.run(f"location.hash = {json.dumps(of(target.pid, probe=f'mem_glibc~inuse~{between}'))}")
        wait_for(lambda: held_of(page, work) == {"before": held["before"]}, why="the older one alone")
        assert asked(page, "/flamegraph/mem_glibc.frames")[-1] == {"view": ["inuse"], "pid": [str(target.pid)], "min_age": [str(between)]}
        page.tab.run("document.querySelector('[name=probe]').value = 'mem_glibc~inuse~60'")
        page.write("[name=pid]", str(target.pid))
        page.click("#one button")
        page.wait(".facts", "nothing was seen in that time")
        assert asked(page, "/flamegraph/mem_glibc.frames")[-1]["min_age"] == ["60"]
        assert page.tab.run("document.querySelector('[name=probe]').selectedOptions[0].textContent") == "mem_glibc inuse, ≥ 1 min"
