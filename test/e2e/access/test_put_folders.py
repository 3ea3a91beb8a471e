"""What a PUT may write: folders of the daemon's own alone, none before the first file, none that stay for ever; and a
file system that doesn't answer stops nobody but that PUT."""
import json
import os
import select
import threading
import time
from pathlib import Path

import pytest

from asking import until_sampled
from hanging_folder import HangingFolder
from helpers import stopped, wait_for
from test_retention import plant

NOBODY = 65534


def below(folder):
    found = (Path(where, name) for where, folders, files in os.walk(folder) for name in (*folders, *files))
    return sorted(str(path.relative_to(folder)) for path in found)


def make_theirs(folder, mode=0o755):
    folder.mkdir(mode=mode)
    os.chown(folder, NOBODY, NOBODY)
    folder.chmod(mode)
    return folder


@pytest.fixture
def open_to_all(work):
    """Where nobody may make folders, as in /tmp."""
    folder = work / "open"
    folder.mkdir()
    folder.chmod(0o1777)
    conf = work / "stackprobe.conf"
    return folder, conf


@pytest.fixture
def rooted(daemon, open_to_all):
    """A daemon with that folder as its root for output, and the folder."""
    folder, conf = open_to_all
    daemon.stop()
    conf.write_text(conf.read_text().replace('["/var/log", "/tmp"]', f'["{folder}"]'))
    return daemon.start(), folder


@pytest.mark.parametrize("key", ["svg_dir", "flame_dir"])
@pytest.mark.parametrize("deep", ["", "/profiles/of/mine"])
def test_a_folder_of_another_user_is_refused(rooted, key, deep):
    """He would read the profiles, replace them, or was there first (/tmp/java-data-N)."""
    daemon, root = rooted
    inner = make_theirs(root / "theirs")
    for name in filter(None, deep.split("/")):
        inner = make_theirs(inner / name)
    before = below(root)
    answer = daemon.put(stopped(**{key: f"{root}/theirs{deep}/x"}))
    assert answer.status == 400
    assert answer.message.startswith(f"params.{key} can't be used: {root}/theirs has mode "), answer.message
    assert f"owner {NOBODY}" in answer.message
    assert below(root) == before
    assert daemon.get("/flamegraph").json() == {}


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777, 0o2750], ids=oct)
def test_a_folder_that_others_may_write_to_or_that_gives_its_group_is_refused(rooted, mode):
    daemon, root = rooted
    folder = root / "shared"
    folder.mkdir()
    os.chown(folder, -1, NOBODY)
    folder.chmod(mode)
    answer = daemon.put(stopped(svg_dir=f"{folder}/svg"))
    assert answer.status == 400 and f"{folder} has mode {mode:04o}" in answer.message, answer.text
    assert below(folder) == []
    folder.chmod(0o750)
    daemon.put_ok(stopped(svg_dir=f"{folder}/svg"))
    assert below(folder) == [], "made with the first file"


def test_a_root_may_be_open_to_all_and_have_a_group(profiler, start, open_to_all, work):
    """It is the conf file that names it; what is made below is the daemon's own."""
    folder, conf = open_to_all
    os.chown(folder, -1, NOBODY)
    folder.chmod(0o3777)
    profiler.stop()
    conf.write_text(conf.read_text().replace('["/var/log", "/tmp"]', f'["{folder}", "{work}"]'))
    profiler.start()
    profiler.profile("^spin$", frequency=500, svg_dir=f"{folder}/svg")
    until_sampled(profiler, start("spin", 600))
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: profiler.files(folder, "svg"), why="a picture")
    assert (folder / "svg").stat().st_mode & 0o777 == 0o750
    assert profiler.config()["status"]["files"]["last_failure"] == ""
    profiler.put_ok({"params": {"svg_dir": f"{folder}/svg"}})


def test_a_put_makes_no_folder_whether_it_is_taken_or_refused(daemon, work):
    for end in ("", {"state": "paused"}, {"params": {"svg_period": 1}}):
        doc = stopped(svg_dir=f"{work}/a/b/c", flame_dir=f"{work}/d/e")
        if end:
            doc = {**doc, **end, "params": {**doc["params"], **end.get("params", {})}}
        assert daemon.put(doc).status == (400 if end else 200)
        assert not (work / "a").exists() and not (work / "d").exists()
    # All or nothing: the other folder is a good one.
    (work / "link").symlink_to("/etc")
    before = daemon.settings()
    answer = daemon.put({"params": {"svg_dir": f"{work}/good", "flame_dir": f"{work}/link/x"}})
    assert (answer.status, answer.message) == (400, "params.flame_dir leads through a symbolic link")
    assert daemon.settings() == before and not (work / "good").exists()


def test_a_folder_that_becomes_anothers_later_gets_no_file(profiler, start, work):
    profiler.profile("^spin$", frequency=500, svg_dir=f"{work}/late/svg")
    make_theirs(work / "late", 0o777)
    until_sampled(profiler, start("spin", 600))
    profiler.put_ok({"state": "stopped"})
    wait_for(lambda: profiler.config()["status"]["files"]["last_failure"], why="a failure")
    assert "isn't stackprobe's alone" in profiler.config()["status"]["files"]["last_failure"]
    assert below(work / "late") == []


def test_what_cant_be_written_to_is_refused_at_the_put(daemon, work):
    (work / "file").write_text("x")
    for path, words in ((f"{work}/file/x", "Not a directory"), (f"{work}/{'n' * 256}", "File name too long"),
                        (f"{work}/a/b/{'n' * 256}", "File name too long")):  # fmt: skip
        answer = daemon.put(stopped(svg_dir=path))
        assert answer.status == 400
        assert answer.message == f"params.svg_dir can't be used: {words}"


def test_a_root_that_the_daemon_may_not_write_to_is_named_with_what_to_do(rooted):
    """The conf file names it: so it isn't asked whose it is, but the daemon has kept no right to all folders."""
    daemon, root = rooted
    os.chown(root, NOBODY, NOBODY)
    root.chmod(0o755)
    answer = daemon.put(stopped(svg_dir=f"{root}/svg"))
    assert answer.status == 400
    assert answer.message.startswith(f"params.svg_dir can't be used: the daemon may not write to {root}: "), answer.text


# ---- a file system that doesn't answer ----


@pytest.fixture
def hanging(work):
    """A folder below /tmp whose file system answers no more."""
    folder = work / "hanging"
    folder.mkdir()
    try:
        with HangingFolder(folder, "file", b"x", after=None):
            yield folder
    except OSError as error:
        pytest.skip(f"no FUSE: {error}")


def test_a_file_system_that_hangs_stops_nobody_but_the_put_that_names_it(daemon, hanging):
    daemon.put_ok(stopped("^kept$"))
    before, answers = daemon.settings(), []
    asking = threading.Thread(target=lambda: answers.append(daemon.put(stopped(svg_dir=f"{hanging}/svg"))))
    asking.start()
    took = []
    while not answers:
        began = time.monotonic()
        assert daemon.get("/healthz", timeout=10).status == 200
        assert daemon.get("/flamegraph", timeout=10).status == 200
        took.append(time.monotonic() - began)
        asking.join(0.05)
    assert sum(seconds < 2 for seconds in took) >= 5, f"others are answered meanwhile: {took}"
    assert answers[0].status == 503 and "params.svg_dir can't be used: no answer" in answers[0].message
    assert daemon.settings() == before
    daemon.put_ok({"state": "stopped"})


def test_puts_behind_one_that_hangs_are_taken_in_their_order(daemon, hanging, work):
    daemon.put_ok(stopped("^first$", svg_period=60))
    began, puts = time.monotonic(), []

    def put(doc):
        puts.append(daemon.http(60))
        puts[-1].request("PUT", "/flamegraph", b"json=" + json.dumps(doc).encode(), {"Connection": "close"})

    put({"params": {"svg_dir": f"{hanging}/x", "svg_period": 90}})
    time.sleep(0.3)  # it is there first
    for i in range(4):
        put({"params": {"flame_dir": f"{work}/flame-{i}"}} if i % 2 else {"params": {"svg_period": 100 + i}})
        time.sleep(0.1)
    answered = select.select([one.sock for one in puts], [], [], 0)[0]
    assert not answered or time.monotonic() - began > 1.5
    statuses = [one.getresponse().status for one in puts]
    assert statuses == [503, 200, 200, 200, 200]
    params = daemon.settings()["params"]
    assert (params["svg_period"], params["flame_dir"]) == (102, f"{work}/flame-3")
    assert params["svg_dir"] == "/var/log/stackprobe/stacktrace"


def test_a_client_that_goes_away_while_its_folder_is_looked_at_leaves_the_others_in_peace(daemon, hanging, work):
    daemon.put_ok(stopped("^first$"))
    body = b'json={"params": {"svg_dir": "%s/x"}}' % str(hanging).encode()
    with daemon.connect() as gone:
        gone.sendall(b"PUT /flamegraph HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        time.sleep(0.3)
    daemon.put_ok({"params": {"svg_dir": f"{work}/good"}})
    assert daemon.settings()["params"]["svg_dir"] == f"{work}/good"


def test_the_daemon_starts_and_stops_where_a_folder_hangs(daemon, hanging, work):
    """Of probes.init, and of what was restored."""
    daemon.stop()
    init = work / "probes.init"
    init.write_text(f'flamegraph {{"cmd": {{"probe": ["oncpu"]}}, "snoopers": {{"proc_name": [{{"comm": "^x$"}}]}}, '
                    f'"params": {{"svg_dir": "{hanging}/svg"}}, "state": "stopped"}}\n')  # fmt: skip
    conf = daemon.conf.read_text()
    daemon.conf.write_text(conf.replace("restore = false;", f'restore = false; probes_init = "{init}";'))
    daemon.start()
    assert "probes.init: line 1 is refused" in daemon.log and "no answer in time" in daemon.log
    assert daemon.get("/flamegraph").json() == {}


# ---- left-over folders ----


def write_files(daemon, start, folder, **params):
    """A pair of files below folder/svg/deep and folder/flame."""
    daemon.profile("^spin$", frequency=500, svg_dir=f"{folder}/svg/deep", flame_dir=f"{folder}/flame", **params)
    until_sampled(daemon, start("spin", 600))
    daemon.put_ok({"state": "stopped"})
    wait_for(lambda: daemon.files(folder, "folded"), why=f"files below {folder}")
    wait_for(lambda: daemon.config()["status"]["files"]["written"], why="told")


def age(folder, days):
    """As if the files of the two folders had been written then."""
    then = time.strftime("%Y-%m-%d", time.localtime(time.time() - days * 86400))
    for top in (folder / "svg/deep/oncpu", folder / "flame/oncpu"):
        for day in [path for path in top.iterdir() if path.is_dir() and not path.is_symlink()]:
            for path in day.iterdir():
                path.rename(day / (then + path.name[10:]))
            day.rename(top / then)


def test_folders_of_earlier_settings_are_cleaned_also_after_a_restart(keeping, start, work):
    daemon = keeping(days=7, bytes=0)
    for name in ("a1", "a2", "a3"):
        write_files(daemon, start, work / name)
    mine = work / "a2/svg/mine.svg"
    mine.write_text("mine")
    daemon.stop()
    age(work / "a1", 9)
    age(work / "a2", 9)
    daemon.start()
    daemon.put_ok(stopped(svg_dir=f"{work}/a4/svg", flame_dir=f"{work}/a4/flame"))
    wait_for(lambda: not (work / "a1").exists(), why=lambda: f"a1 has gone: {below(work / 'a1')}, {daemon.log}")
    wait_for(lambda: below(work / "a2") == ["svg", "svg/mine.svg"], why=lambda: below(work / "a2"))
    assert mine.read_text() == "mine"
    assert len(daemon.files(work / "a3", "svg")) == len(daemon.files(work / "a3", "folded")) == 1
    listed = (daemon.work / "state/folders").read_text()
    wait_for(lambda: "/a1/" not in (daemon.work / "state/folders").read_text(), why=listed)
    assert "/a3/" in listed
    assert daemon.config()["status"]["files"]["remove_failed"] == 0


def test_the_limit_of_bytes_is_that_of_all_folders_together(keeping, start, work):
    daemon = keeping(days=0, bytes=0)
    for name in ("a1", "a2"):
        write_files(daemon, start, work / name)
    daemon.stop()
    age(work / "a1", 3)
    daemon.svg_dir, daemon.flame_dir = work / "a3/svg", work / "a3/flame"
    young = [*plant(daemon, 1, size=200_000), *daemon.files(work / "a2", "svg"), *daemon.files(work / "a2", "folded")]
    limit = sum(path.stat().st_size for path in young)
    daemon.conf.write_text(daemon.conf.read_text().replace("bytes = 0;", f"bytes = {limit};"))
    daemon.start()
    daemon.put_ok(stopped(svg_dir=str(daemon.svg_dir), flame_dir=str(daemon.flame_dir)))
    wait_for(lambda: not (work / "a1").exists(), why=lambda: f"{below(work / 'a1')}, {daemon.log}")
    assert len(young) == 4 and all(path.exists() for path in young)


def test_a_folder_that_was_there_before_stays(keeping, start, work):
    """What the daemon didn't make is not its own to remove."""
    daemon = keeping(days=7, bytes=0)
    (work / "there/svg").mkdir(parents=True)
    write_files(daemon, start, work / "there")
    age(work / "there", 9)
    daemon.put_ok(stopped(svg_dir=f"{work}/other/svg", flame_dir=f"{work}/other/flame"))
    wait_for(lambda: below(work / "there") == ["svg"], why=lambda: below(work / "there"))


def test_an_earlier_folder_that_hangs_keeps_no_other_from_being_cleaned(keeping, start, work):
    daemon = keeping(days=7, bytes=0)
    write_files(daemon, start, work / "a1")
    write_files(daemon, start, work / "a2")
    age(work / "a2", 9)
    with HangingFolder(work / "a1", "file", b"x", after=None):
        daemon.put_ok(stopped(svg_dir=f"{work}/a3/svg", flame_dir=f"{work}/a3/flame"))
        wait_for(lambda: not (work / "a2").exists(), 60, why=lambda: f"{below(work / 'a2')}, {daemon.log}")
        assert f"retention: reading {work}/a1/svg/deep takes too long" in daemon.log
        assert daemon.alive()
