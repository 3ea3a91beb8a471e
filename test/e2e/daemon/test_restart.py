"""What survives a stop, what a start does by itself, and SIGHUP."""
import json
import os
import signal
import socket
import subprocess

import pytest

from asking import burned, stood
from helpers import BIN, HZ, same_time, wait_burned, wait_for


@pytest.fixture
def keeping(daemon):
    """A daemon that keeps its configuration."""
    daemon.conf.write_text(daemon.conf.read_text().replace("restore = false;", "restore = true;"))
    daemon.stop()
    return daemon.start()


def change_conf(daemon, before, after):
    text = daemon.conf.read_text()
    assert before in text
    daemon.conf.write_text(text.replace(before, after))


def reload(daemon):
    """SIGHUP; returns what the log says of it."""
    offset = len(daemon.log)
    daemon.popen.send_signal(signal.SIGHUP)
    wait_for(lambda: "SIGHUP" in daemon.log[offset:])
    return daemon.log[offset:]


def settings(daemon):
    """The configuration without its status."""
    return {key: value for key, value in daemon.config().items() if key != "status"}


@pytest.mark.quick
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_the_configuration_survives(keeping, start, how):
    start("spin", 60)
    keeping.profile("^spin$", svg_period=60, frequency=99)
    before = settings(keeping)
    getattr(keeping, how)()
    keeping.start()
    assert settings(keeping) == before
    keeping.wait_running()
    wait_for(lambda: keeping.folded().total() > 0)
    assert "is restored" in keeping.log


def test_what_was_stopped_stays_stopped(keeping):
    keeping.put_ok(keeping.wanting("^spin$"))
    keeping.put_ok({"state": "stopped"})
    keeping.stop()
    keeping.start()
    assert settings(keeping)["state"] == "stopped"
    assert keeping.probe()["state"] == "stopped"


def test_a_process_named_by_its_pid_is_followed_after_a_restart(keeping, start):
    target = start("spin", 60)
    keeping.put_ok(keeping.wanting(pids=[target.pid]))
    keeping.stop()
    keeping.start()
    wait_for(lambda: keeping.folded().total(pid=target.pid) > 0)


def test_a_pid_that_has_become_another_process_is_not(keeping, start):
    target = start("spin", 60)
    keeping.put_ok(keeping.wanting(pids=[target.pid]))
    keeping.stop()
    state = keeping.work / "state/state.json"
    saved = json.loads(state.read_text())
    saved["features"]["flamegraph"]["proc_id_start"] = [1]  # as if another had had the pid then
    state.write_text(json.dumps(saved))
    keeping.start()
    assert settings(keeping)["snoopers"]["proc_id"] == [target.pid]
    assert not keeping.processes()


def test_pids_of_an_earlier_boot_match_nothing(keeping, start):
    target = start("spin", 60)
    keeping.put_ok(keeping.wanting(pids=[target.pid]))
    keeping.stop()
    state = keeping.work / "state/state.json"
    state.write_text(state.read_text().replace('"boot_id":"', '"boot_id":"0'))
    keeping.start()
    assert settings(keeping)["snoopers"]["proc_id"] == [target.pid]
    assert not keeping.processes()


def test_only_its_owner_can_read_what_is_kept(keeping):
    keeping.put_ok(keeping.wanting("^spin$"))
    assert (keeping.work / "state").stat().st_mode & 0o777 == 0o700
    assert (keeping.work / "state/state.json").stat().st_mode & 0o777 == 0o600


def test_a_server_that_is_no_longer_allowed_leaves_the_uploads_off_and_no_more(keeping):
    keeping.put_ok(keeping.wanting("^spin$", pyroscope_server="localhost:1", svg_period=77))
    keeping.conf.write_text(keeping.conf.read_text() + 'upload = { allow = ("pyroscope:4040"); };\n')
    reload(keeping)
    assert_not_allowed(keeping)
    keeping.stop()
    keeping.start()
    assert_not_allowed(keeping)
    answer = keeping.put({"params": {"pyroscope_server": "http://localhost:1"}})
    assert answer.status == 400
    assert "pyroscope_server http://localhost:1 is not in upload.allow" in answer.message


def assert_not_allowed(daemon):
    config = daemon.config()
    assert (config["params"]["pyroscope_server"], config["params"]["svg_period"]) == ("localhost:1", 77)
    upload = config["status"]["upload"]
    assert upload["state"] == "off" and "upload.allow" in upload["reason"], upload


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\0" * 100, b'{"features":{"flamegraph":7}}',
                                     b'{"features":{"flamegraph":{"params":{"svg_period":1}}}}'])
def test_a_damaged_state_is_said_and_ignored(keeping, content):
    keeping.put_ok(keeping.wanting("^spin$"))
    keeping.stop()
    (keeping.work / "state/state.json").write_bytes(content)
    keeping.start()
    assert keeping.config() == {}
    assert "state.json" in keeping.log or "can't be restored" in keeping.log
    keeping.put_ok(keeping.wanting("^spin$"))


def test_a_state_that_another_user_could_have_written_is_ignored(keeping):
    keeping.put_ok(keeping.wanting("^spin$"))
    keeping.stop()
    os.chmod(keeping.work / "state/state.json", 0o666)
    keeping.start()
    assert keeping.config() == {}
    assert "Operation not permitted" in keeping.log


def test_a_link_in_place_of_the_state_is_not_followed(keeping):
    keeping.put_ok(keeping.wanting("^spin$"))
    keeping.stop()
    state = keeping.work / "state/state.json"
    state.rename(keeping.work / "elsewhere.json")
    state.symlink_to(keeping.work / "elsewhere.json")
    keeping.start()
    assert keeping.config() == {}


def test_a_state_dir_that_cannot_be_written_is_said_and_the_put_holds(daemon):
    change_conf(daemon, f'{daemon.work}/state', "/proc/no-such-folder")
    daemon.stop()
    daemon.start()
    daemon.put_ok(daemon.wanting("^spin$"))
    assert "can't be saved in /proc/no-such-folder" in daemon.log


def with_init(daemon, text):
    path = daemon.work / "probes.init"
    path.write_text(text)
    change_conf(daemon, "restore = ", f'probes_init = "{path}"; restore = ')
    daemon.stop()
    return daemon.start()


def test_probes_init_is_applied_at_the_start(daemon, start):
    target = start("spin", 60)
    doc = json.dumps(daemon.wanting("^spin$", svg_period=90))
    with_init(daemon, f"# what this host watches\n\n  flamegraph\t{doc}")
    assert daemon.settings()["params"]["svg_period"] == 90
    wait_for(lambda: daemon.folded().total(pid=target.pid) > 0)


def test_a_bad_line_of_probes_init_is_said_and_the_others_hold(daemon):
    doc = json.dumps(daemon.wanting("^spin$"))
    with_init(daemon, f"tcp {{}}\nflamegraph {{\"state\": 7}}\nFlameGraph {doc}\nflamegraph\n")
    assert daemon.settings()["state"] == "running"
    assert "line 1: no such feature in this version: tcp" in daemon.log
    assert "line 2 is refused: " in daemon.log
    assert "line 4 is refused: " in daemon.log


def test_what_was_in_force_at_the_stop_wins_over_probes_init(keeping):
    doc = json.dumps(keeping.wanting("^spin$", svg_period=90))
    with_init(keeping, f"flamegraph {doc}\n")
    keeping.put_ok({"params": {"svg_period": 120}})
    keeping.stop()
    keeping.start()
    assert keeping.settings()["params"]["svg_period"] == 120


def test_sighup_loses_no_sample(profiler, start, observe):
    profiler.profile("^spin$", frequency=HZ)

    def reload_often():
        for _ in range(5):
            wait_burned(target.pid, seconds=0.3)
            reload(profiler)

    target = stood(start)
    samples, cpu_ns, beside_ns = burned(profiler, target, observe(HZ), meanwhile=reload_often)
    same_time(samples, HZ, cpu_ns, beside_ns)
    assert profiler.written() == []  # the period goes on


@pytest.fixture
def listening_by_file(daemon):
    """A daemon without --listen, which would override the file."""
    daemon.stop()
    change_conf(daemon, "port = 0", f"port = {daemon.port}")
    with daemon.log_path.open("ab") as log:
        daemon.popen = subprocess.Popen([BIN, "--config", daemon.conf], stdout=log, stderr=log)
    wait_for(lambda: daemon.log.count("listening on") == 2)
    return daemon


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def test_sighup_takes_a_new_port_and_level(listening_by_file):
    daemon, old, new = listening_by_file, listening_by_file.port, free_port()
    daemon.put_ok(daemon.wanting("^spin$", svg_period=77))
    change_conf(daemon, f"port = {old}", f"port = {new}")
    change_conf(daemon, 'log_level = "info"', 'log_level = "error"')
    reload(daemon)
    daemon.port = new
    assert daemon.settings()["params"]["svg_period"] == 77
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", old))
    offset = len(daemon.log)
    daemon.put_ok(daemon.wanting("^spin$"))  # an info
    assert daemon.log[offset:] == ""


def test_an_address_that_is_taken_leaves_the_old_one(listening_by_file):
    daemon = listening_by_file
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        change_conf(daemon, f"port = {daemon.port}", f"port = {taken.getsockname()[1]}")
        assert f"it goes on listening on 127.0.0.1:{daemon.port}" in reload(daemon)
        assert daemon.alive()


def test_sighup_takes_new_output_roots(daemon):
    change_conf(daemon, '["/var/log", "/tmp"]', '["/var/log"]')
    reload(daemon)
    answer = daemon.put(daemon.wanting("^spin$"))
    assert answer.status == 400
    change_conf(daemon, '["/var/log"]', f'["{daemon.work}"]')
    reload(daemon)
    daemon.put_ok(daemon.wanting("^spin$"))


def test_sighup_says_what_waits_for_the_next_start(daemon):
    with daemon.conf.open("a") as conf:
        conf.write("retention = { days = 9; };\n")
    assert "next start" not in reload(daemon)
    with daemon.conf.open("a") as conf:
        conf.write("bpf = { stacks = 1024; };\nupload = { period = 10; };\n")
    offset = len(daemon.log)
    reload(daemon)
    wait_for(lambda: daemon.log[offset:].count("next start") == 2)


@pytest.mark.parametrize("text", ["global = {", 'rest_api_server = { ssl_auth = "on"; };', None])
def test_a_bad_conf_file_at_sighup_changes_nothing(profiler, start, text):
    start("spin", 60)
    profiler.profile("^spin$")
    before = profiler.config()["params"]
    if text is None:
        profiler.conf.unlink()
    else:
        profiler.conf.write_text(text)
    assert "nothing has changed" in reload(profiler)
    assert profiler.config()["params"] == before
    assert profiler.probe()["state"] == "running"
