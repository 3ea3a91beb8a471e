"""The command line and the conf file."""
import subprocess

import pytest

from helpers import BIN


def run(*args, timeout=10):
    """Runs stackprobe until it ends by itself."""
    argv = [str(arg) for arg in (BIN, *args)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=timeout, check=False)


def conf(work, text):
    path = work / "other.conf"
    path.write_text(text)
    return path


def test_version_and_help_are_answered():
    assert "stackprobe" in run("--version").stdout
    shown = run("--help")
    assert shown.returncode == 0
    for option in ("--config", "--listen", "--log-level", "--host", "--describe", "--version", "--help"):
        assert option in shown.stdout


@pytest.mark.parametrize(
    "args",
    [
        ["--no-such-option"],
        ["--config"],
        ["--log-level", "loud"],
        ["--listen", "nonsense"],
        ["--listen", "127.0.0.1:99999"],
        ["--describe", "nothing"],
        ["--host", ""],
        ["--host", "n" * 256],
        ["frobnicate"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_two_and_says_why(args):
    ended = run(*args)
    assert ended.returncode == 2
    assert ended.stderr.strip()


def test_an_address_that_is_in_use_is_status_one_and_says_which(daemon):
    ended = run("--config", daemon.conf, "--listen", f"127.0.0.1:{daemon.port}")
    assert ended.returncode == 1
    assert str(daemon.port) in ended.stderr


def test_a_conf_file_that_cannot_be_read_is_status_one_and_says_where(work):
    ended = run("--config", conf(work, "global = {\nthis is no libconfig\n"))
    assert ended.returncode == 1
    assert "other.conf" in ended.stderr


def test_tls_that_cannot_be_served_stops_the_start(work):
    text = 'rest_api_server = { bind_addr = "127.0.0.1"; port = 0; ssl_auth = "on"; };\n'
    ended = run("--config", conf(work, text))
    assert ended.returncode == 1
    assert ended.stderr.strip()
    assert "listening" not in ended.stderr


def test_an_unknown_conf_key_is_logged_and_ignored(daemon):
    daemon.stop()
    daemon.conf.write_text(daemon.conf.read_text() + "frobs = { knob = 3; };\nknob2 = 1;\n")
    daemon.start()
    assert daemon.alive()
    assert "frobs" in daemon.log and "knob2" in daemon.log


def test_sigint_ends_it_like_sigterm(daemon):
    daemon.popen.send_signal(2)
    assert daemon.popen.wait(10) == 0
