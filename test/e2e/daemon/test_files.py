"""The files: where they lie, that they are whole, and what names in them can't do."""
import os
import re
import stat
import time
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from asking import until_sampled
from folded import Profile
from helpers import wait_burned, wait_for
from picture import Picture

TITLE = re.compile(r"(.+) \(([\d,]+) samples, (\d+(?:\.\d+)?)%\)", re.DOTALL)


def relative(daemon):
    """Files below the two folders, relative to them."""
    svgs = [p.relative_to(daemon.svg_dir) for p in daemon.files(daemon.svg_dir, "svg")]
    return svgs, [p.relative_to(daemon.flame_dir) for p in daemon.files(daemon.flame_dir, "folded")]


def stop_and_list(daemon, count):
    """Stops the probe, which writes the last window: so many files of each sort then lie there."""
    daemon.put_ok({"state": "stopped"})
    wait_for(lambda: daemon.probe()["state"] == "stopped", why="stopped")
    wait_for(lambda: min(map(len, relative(daemon))) >= count, why=f"{count} files of each sort")
    time.sleep(0.2)
    svgs, foldeds = relative(daemon)
    assert len(svgs) == len(foldeds) == count
    return svgs, foldeds


def read_svg(text):
    """Frames of an SVG by title: {name: samples}; parsing checks that it is well-formed."""
    titles = (e.text or "" for e in ElementTree.fromstring(text).iter() if e.tag.endswith("}title"))
    found = {}
    for match in filter(None, map(TITLE.fullmatch, titles)):
        found[match[1]] = found.get(match[1], 0) + int(match[2].replace(",", ""))
    return found


def markup(text):
    """Which elements with which attributes occur."""
    return {(e.tag, name) for e in ElementTree.fromstring(text).iter() for name in ("", *e.attrib)}


@pytest.mark.quick
def test_one_merged_graph_lies_in_a_folder_of_its_day(profiler, start):
    profiler.profile("^spin$", frequency=500)
    targets = [start("spin", 600), start("spin", 600)]
    until_sampled(profiler, *targets)
    svgs, foldeds = stop_and_list(profiler, 1)
    assert re.fullmatch(rf"oncpu/(\d{{4}}-\d\d-\d\d)/\1-\d\d-\d\d-\d\d\.svg", str(svgs[0]))
    assert foldeds == [svgs[0].with_suffix(".folded")]
    ended = datetime.strptime(svgs[0].stem, "%Y-%m-%d-%H-%M-%S").timestamp()
    assert abs(time.time() - ended) < 10
    assert profiler.written()[0].pids == {target.pid for target in targets}


def test_one_graph_for_each_process_lies_in_a_folder_of_the_process(profiler, start, copy):
    profiler.profile("^(alpha|beta)$", frequency=500, multi_instance=1)
    targets = {name: start(copy("spin", name), 600) for name in ("alpha", "beta")}
    until_sampled(profiler, *targets.values())
    svgs, foldeds = stop_and_list(profiler, 2)
    assert foldeds == [path.with_suffix(".folded") for path in svgs]
    for name, target in targets.items():
        (own,) = [p for p in svgs if p.parts[1] == f"{name}-{target.pid}"]
        folder = rf"oncpu/{name}-{target.pid}/(\d{{4}}-\d\d-\d\d)"
        layout = rf"{folder}/\1-\d\d-\d\d-\d\d-{target.pid}\.svg"
        assert re.fullmatch(layout, str(own))
        profile = Profile((profiler.flame_dir / own.with_suffix(".folded")).read_text())
        assert (profile.pids, profile.names) == ({target.pid}, {name})
        latest = profiler.svg_dir / "oncpu" / own.parts[1] / "latest.svg"
        assert latest.is_symlink() and latest.resolve() == profiler.svg_dir / own


@pytest.mark.parametrize("umask", [0o000, 0o077], ids=oct)
def test_folders_are_0750_and_files_0640_whatever_the_umask(profiler, start, copy, umask):
    profiler.stop()
    before = os.umask(umask)
    try:
        profiler.start()
    finally:
        os.umask(before)
    profiler.profile("^masked$", frequency=500, multi_instance=1)
    until_sampled(profiler, start(copy("spin", "masked"), 600))
    stop_and_list(profiler, 1)
    for top in (profiler.svg_dir, profiler.flame_dir):
        assert len(list(top.rglob("*"))) >= 4
        for path in (top, *top.rglob("*")):
            if not path.is_symlink():
                mode = stat.S_IMODE(path.stat().st_mode)
                assert mode == (0o750 if path.is_dir() else 0o640), (path, oct(mode))


def test_what_a_library_might_make_is_nobody_elses(daemon):
    """Whatever has no mode of its own choice is for the daemon's user alone."""
    assert re.search(r"^Umask:\s*0077$", Path(f"/proc/{daemon.pid}/status").read_text(), re.MULTILINE)


def test_the_newest_file_is_linked_and_none_is_overwritten(profiler, start):
    profiler.profile("^spin$", frequency=500)
    totals = []
    for expected in (1, 2, 3):  # quickly, perhaps within one second
        until_sampled(profiler, target := start("spin", 600))
        totals.append(profiler.folded().total(pid=target.pid))  # an answer has the period before as well
        svgs, _ = stop_and_list(profiler, expected)
        newest = max(svgs, key=lambda p: (profiler.svg_dir / p).stat().st_mtime_ns)
        assert (profiler.svg_dir / "oncpu/latest.svg").resolve() == profiler.svg_dir / newest
        profiler.put_ok({"state": "running"})
        profiler.wait_running()
    assert sorted(p.total() for p in profiler.written()) == sorted(totals)


def test_changed_params_close_the_window_before(profiler, start):
    profiler.profile("^spin$", frequency=500)
    until_sampled(profiler, start("spin", 600))
    profiler.put_ok({"params": {"multi_instance": 1}})
    wait_for(lambda: len(profiler.written()) == 1, why="one file")
    assert profiler.probe()["state"] == "running"


def test_where_profiles_are_sent_closes_no_window(profiler, start):
    start("spin", 60)
    profiler.profile("^spin$")
    wait_for(lambda: profiler.probe()["samples"] > 50)
    profiler.put_ok({"params": {"pyroscope_server": "localhost:1"}})
    profiler.put_ok({"params": {"pyroscope_api": "ingest"}})
    profiler.put_ok({"params": {"pyroscope_server": ""}})
    assert profiler.files(profiler.flame_dir, "folded") == []
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: profiler.probe()["state"] == "stopped")
    wait_for(lambda: profiler.files(profiler.flame_dir, "folded"))
    time.sleep(0.5)
    assert len(profiler.files(profiler.flame_dir, "folded")) == 1


def test_sigterm_writes_the_last_partial_window(profiler, start):
    profiler.profile("^spin$", frequency=500)
    target = start("spin", 600)
    until_sampled(profiler, target, least=100)
    asked = profiler.folded(pid=target.pid)
    profiler.stop()
    (profile,) = profiler.written()
    assert profile.total("inner_spin", pid=target.pid) == asked.total("inner_spin") > 0
    assert profile.total(pid=target.pid) == asked.total()


def test_the_svg_has_the_frames_and_the_weights_of_the_folded_text(profiler, start):
    profiler.profile("^spin$", frequency=1000)
    until_sampled(profiler, start("spin", 600), least=500)
    answer = profiler.get("/flamegraph/oncpu.svg")
    assert answer.headers["Content-Type"].startswith("image/svg+xml")
    frames, profile = read_svg(answer.text), profiler.folded()
    assert frames["all"] == profile.total() >= 500
    for name in ("main", "outer", "middle", "inner_spin"):
        assert frames[name] == profile.total(name)
    stop_and_list(profiler, 1)
    (written,) = profiler.files(profiler.svg_dir, "svg")
    assert read_svg(written.read_text())["inner_spin"] == frames["inner_spin"]


def test_pictures_have_their_root_on_top_where_that_is_asked(profiler, start, copy):
    profiler.profile("^icicles$", frequency=500, icicle=1)
    until_sampled(profiler, start(copy("spin", "icicles"), 600))
    as_told = Picture(profiler.get("/flamegraph/oncpu.svg").text)
    upright = Picture(profiler.get("/flamegraph/oncpu.svg?icicle=0").text)
    assert as_told.is_icicle and not upright.is_icicle
    assert as_told.frames == upright.frames
    assert profiler.get("/flamegraph/oncpu.svg?icicle=2").status == 400
    svgs, _ = stop_and_list(profiler, 1)
    assert Picture((profiler.svg_dir / svgs[0]).read_text()).is_icicle


def test_the_json_tree_adds_up_to_the_folded_text(profiler, start):
    profiler.profile("^threads$", frequency=1000)
    until_sampled(profiler, start("threads", 600), least=300)
    tree, profile = profiler.get("/flamegraph/oncpu.json").json(), profiler.folded()

    def check(node):
        assert set(node) >= {"name", "kind", "self", "total", "children"}
        assert node["total"] == node["self"] + sum(map(check, node["children"]))
        return node["total"]

    assert check(tree) == profile.total()
    process, *others = tree["children"]
    assert not others and re.fullmatch(r"\[\d+\]threads", process["name"])
    by_thread = {child["name"]: child["total"] for child in process["children"]}
    for name in ("red", "green", "blue"):
        assert by_thread[name] == sum(s.value for s in profile.stacks if s.frames[1] == name)


HOSTILE = {
    # name of the process: in paths, in folded text
    "../../../etc/x": ("_._.._.._etc_x", "../../../etc/x"),
    "a;b\nc 7": ("a_b_c_7", "a:b c 7"),
    ".hidden": ("_hidden", ".hidden"),
    "..": ("_.", ".."),
    "]]><b>&\"'</b>": ("____b______b_", "]]><b>&\"'</b>"),
    '" onload="x()': ("__onload__x__", '" onload="x()'),
    "</title><b/>": ("__title__b__", "</title><b/>"),
    "tab\tesc\x1b[1m": ("tab_esc__1m", "tab esc [1m"),
    "caf\u00e9 \u4e2d": ("caf______", "caf\u00e9 \u4e2d"),
    b"bad\xff\xc3(": ("bad___", "bad\ufffd\ufffd("),
    "%s%n%99999d": ("_s_n_99999d", "%s%n%99999d"),
}


def test_hostile_process_names_do_no_harm(profiler, start, work):
    targets = {name: start("spin", 60, name) for name in HOSTILE}
    plain = start("spin", 60)
    pids = [plain.pid, *(target.pid for target in targets.values())]
    wait_burned(*pids, seconds=0.02)  # all have taken their names
    profiler.profile(pids=pids, frequency=1000, multi_instance=1)
    wait_burned(*pids, seconds=0.2)
    expected_markup = markup(profiler.get(f"/flamegraph/oncpu.svg?pid={plain.pid}").text)
    for name, target in targets.items():
        assert profiler.folded(pid=target.pid).names == {HOSTILE[name][1]}
        svg = profiler.get(f"/flamegraph/oncpu.svg?pid={target.pid}").text
        assert markup(svg) <= expected_markup, name
        assert read_svg(svg)["inner_spin"] > 100, name
        tree = profiler.get(f"/flamegraph/oncpu.json?pid={target.pid}").json()
        if isinstance(name, str):
            assert [child["name"] for child in tree["children"]] == [f"[{target.pid}]{name}"]

    svgs, foldeds = stop_and_list(profiler, len(pids))
    folders = {f"{HOSTILE[name][0]}-{target.pid}" for name, target in targets.items()}
    assert {p.parts[1] for p in svgs} == folders | {f"spin-{plain.pid}"}
    assert {p.parts[1] for p in foldeds} == {p.parts[1] for p in svgs}
    for svg in svgs:
        ElementTree.parse(profiler.svg_dir / svg)
    assert all(profile.total() for profile in profiler.written())
    assert {p.name for p in work.iterdir() if p.is_dir()} <= {"svg", "flame", "state"}
    assert not Path("/etc/x").exists()


def test_no_symbolic_link_is_followed_below_the_root(profiler, work):
    outside = work / "outside"
    outside.mkdir()
    (work / "link").symlink_to(outside)
    for key in ("svg_dir", "flame_dir"):
        answer = profiler.put(profiler.wanting("^spin$", **{key: f"{work}/link/inner"}))
        assert answer.status == 400, answer.text
    assert not os.listdir(outside)


def test_a_link_planted_later_is_not_followed_either(profiler, start, work):
    outside = work / "outside"
    outside.mkdir()
    profiler.svg_dir.mkdir()
    (profiler.svg_dir / "oncpu").symlink_to(outside)
    profiler.put(profiler.wanting("^spin$", frequency=500))
    start("spin", 0.3).finish()
    profiler.put({"state": "stopped"})
    assert not os.listdir(outside)
    assert profiler.alive()
