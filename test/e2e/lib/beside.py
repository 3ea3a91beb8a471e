"""What makes tests run beside each other (pytest-xdist): each worker has folders of its own name, by which a
daemon tells its test's processes from those of the tests beside; what belongs together stays in one worker; and
daemons' crashes are told to the process that counts them."""
import atexit
import os
import random
import tempfile
from pathlib import Path

import pytest

# "gw0" …; "" where there is one process for all.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
# Of this run of all workers: two runs on one machine have workers of the same names.
RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID", "")[:6]
# In the command lines of this worker's processes, and in no other's.
TAG = f"stackprobe-e2e-{WORKER}-{RUN}-" if WORKER else "stackprobe-e2e-"
TOGETHER = {"podman_here": "podman", "paranoid": "sysctl", "var_log": "var_log"}  # fixture: group
LARGE = 20  # tests of a group
MARKS = ("alone(reason): runs when no other test does: it measures, or it sees or changes what all share",
         "quick: one of those that `make test-quick` runs")  # fmt: skip
CRASHED = 70  # exit status: no second look makes that good
QUARANTINE = Path(__file__).parents[1] / "quarantine"


def own_folder():
    """An empty folder below /tmp, with the worker's name in its own."""
    return Path(tempfile.mkdtemp(prefix=TAG, dir="/tmp"))


def own_programs(programs):
    """A worker starts the programs by a path with its name; the files are the same."""
    if not WORKER:
        return programs
    own = programs.parent / f"{TAG}programs-{os.getpid()}"  # not below /tmp, which some tests mount anew
    own.symlink_to(programs)
    atexit.register(own.unlink)
    return own


def mixed(items):
    """The largest groups first, because nothing runs beside what is left of one in the end; then what waits and what
    burns in a mixture, which is the same each time."""
    groups = {}
    for item in items:
        mark = item.get_closest_marker("xdist_group")
        groups.setdefault(mark.args[0] if mark else item.nodeid, []).append(item)
    chance = random.Random(1)
    order = sorted(groups.values(), key=lambda group: (-len(group) if len(group) > LARGE else 0, chance.random()))
    return [item for group in order for item in group]


def quarantined():
    """{test: reason}, of the lines `folder/file.py::test reason`."""
    lines = (line.partition("#")[0].strip() for line in QUARANTINE.read_text().splitlines())
    told = dict(line.split(maxsplit=1) for line in lines if line)
    for test in told:
        path, _, name = test.partition("::")
        assert f"def {name}(" in (QUARANTINE.parent / path).read_text(), f"{QUARANTINE}: there is no {test}"
    return told


class Beside:
    """pytest's hooks for that."""

    def __init__(self, crashes):
        self.crashes = crashes

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config, items):
        """Tests that share a module's fixture go to one worker (--dist loadgroup); the others go anywhere."""
        reasons = quarantined()
        for item in items:
            name = f"{item.path.relative_to(QUARANTINE.parent)}::{item.originalname}"
            if name in reasons:
                item.add_marker(pytest.mark.xfail(reason=f"quarantined: {reasons[name]}", strict=False))
            for made in item._fixtureinfo.name2fixturedefs.values():
                if hasattr(made[-1].func, "alone"):
                    item.add_marker(pytest.mark.alone(made[-1].func.alone))
            for mark in item.iter_markers("alone"):
                assert mark.args, f"{item.nodeid}: alone without a reason"
            group = self.group_of(item)
            if group and not item.get_closest_marker("xdist_group"):
                item.add_marker(pytest.mark.xdist_group(group))
        if WORKER:
            items[:] = mixed(items)

    @staticmethod
    def group_of(item):
        known = item._fixtureinfo.name2fixturedefs
        for name, group in TOGETHER.items():
            if name in known:
                return group
        shared = [name for name, made in known.items() if made[-1].scope in ("module", "class")]
        return item.path.stem if shared else None

    def pytest_sessionfinish(self, session):
        """A daemon that crashed fails the run."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["crashes"] = self.crashes
        elif self.crashes:
            session.exitstatus = CRASHED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        self.crashes += getattr(node, "workeroutput", {}).get("crashes", [])
