"""A daemon that keeps a history, and what is asked of that."""
from urllib.parse import urlencode

import pytest

from folded import Profile
from helpers import libconfig, wait_for


@pytest.fixture
def keeper(profiler):
    """keeper(window=1, …): the daemon, started again with these keys in the conf file's `history`."""

    def restart(**keys):
        profiler.stop()
        with profiler.conf.open("a") as conf:
            conf.write("history = { " + " ".join(f"{key} = {libconfig(value)};" for key, value in keys.items()) + " };\n")
        return profiler.start()

    return restart


def ask(daemon, path, **query):
    answer = daemon.get(f"{path}?{urlencode(query)}")
    assert answer.status == 200, answer.text
    return answer


def windows(daemon, probe="oncpu", **query):
    return ask(daemon, "/windows", probe=probe, **query).json()["windows"]


def ended(daemon, probe="oncpu", **query):
    """Those that are on disk."""
    return [window for window in windows(daemon, probe, **query) if not window.get("running")]


def wait_windows(daemon, count, probe="oncpu", **query):
    return wait_for(lambda: len(found := ended(daemon, probe, **query)) >= count and found, 60, 0.2)


def stacks(profile):
    return {(stack.pod, stack.container, stack.frames): stack.value for stack in profile.stacks}


def folder(daemon):
    return daemon.work / "state/history"


def profile_of(daemon, probe="oncpu", **query):
    return Profile(ask(daemon, f"/flamegraph/{probe}.folded", **query).text)
