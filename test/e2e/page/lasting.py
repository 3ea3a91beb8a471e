"""A daemon for all tests of a file: what is collected once is looked at by each of them."""
import shutil
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from helpers import HZ, Target, missing_privilege, program, wait_for
from kept import Session
from past import ended


class Lasting(Session):
    """A daemon that keeps windows of a second, and targets of its own."""

    def __init__(self):
        super().__init__("history = { window = 1; };\n")
        self.targets = []

    def start(self, name, *args):
        path = program(name) if isinstance(name, str) else name
        self.targets.append(Target([path, *args], self.work / f"target-{len(self.targets)}.log"))
        return self.targets[-1]

    def copy(self, name, as_name):
        """A test program under another name."""
        path = self.work / "bin" / as_name
        path.parent.mkdir(exist_ok=True)
        return shutil.copy(program(name), path)

    def profile(self, *targets, **params):
        self.daemon.profile(pids=[target.pid for target in targets], frequency=HZ, **params)

    def ended(self, target, *functions, least=50):
        """Its folded text, once it has so many samples of each function (of all, if none is named) and has ended: so its
        profile stays as it is."""

        def counts():
            profile = self.daemon.folded(pid=target.pid)
            return [profile.total(name) for name in functions] or [profile.total()]

        wait_for(lambda: min(counts()) >= least, 60, 0.1, why=lambda: f"samples of {functions}: {counts()}")
        target.kill()
        wait_for(lambda: target.pid not in self.daemon.processes(), why="its end")
        return self.daemon.folded(pid=target.pid)

    def done(self):
        for target in self.targets:
            target.kill()
        super().done()


@pytest.fixture(scope="module")
def lasting():
    reason = missing_privilege()
    if reason:
        pytest.skip(reason)
    made = Lasting()
    yield made
    made.done()


@pytest.fixture(scope="module")
def compared(lasting):
    """Two processes that do quite other things, `large` and `small`, in a range of history; `view`: a fragment that shows
    large's compared with small's. They have ended."""
    large, small = lasting.start(lasting.copy("spin", "large"), 600), lasting.start(lasting.copy("paced", "small"), 600, 20, 20, 20)
    lasting.profile(large, small)
    wait_for(lambda: all(len(windows_of(lasting.daemon, target.pid)) > 8 for target in (large, small)), 60, 0.2, why="windows of both")
    windows = windows_of(lasting.daemon, small.pid)
    for target in (large, small):
        lasting.ended(target)
    span = {"from": windows[1]["from"], "until": windows[-1]["until"]}
    view = {"source": "range", "probe": "oncpu", "pids": large.pid, "of": "large", "rival": small.pid, "colour": "change", **span}
    return SimpleNamespace(daemon=lasting.daemon, large=large.pid, small=small.pid, span=span,
                           view="&".join(f"{key}={quote(str(value))}" for key, value in view.items()))  # fmt: skip


def windows_of(daemon, pid):
    """Those in which it had samples."""
    return [window for window in ended(daemon, pid=pid) if window["weight"]]
