"""A daemon for all tests of a module, and what was measured by it: each thing once."""
import shutil
from pathlib import Path

import pytest

from beside import own_folder
from helpers import Daemon, missing_privilege


class Session:
    """measure(…) is its kind's; `conf`: more lines of the conf file."""

    def __init__(self, conf=""):
        self.work = own_folder()
        self.daemon = Daemon(self.work)
        with self.daemon.conf.open("a") as file:
            file.write(conf)
        self.daemon.start()
        self.known = {}

    def done(self):
        try:
            self.daemon.done()
        finally:
            shutil.rmtree(self.work)

    def of(self, *what):
        """measure(…), for the tests that ask for the same."""
        if what not in self.known:
            self.known[what] = None  # unless it can be measured, once
            self.known[what] = self.measure(*what)
        assert self.known[what], "not measured"
        return self.known[what]


def session_of(kind):
    """The fixture. Its tests are alone (beside.py)."""

    def session():
        reason = missing_privilege()
        if reason:
            pytest.skip(reason)
        begun = kind()
        yield begun
        begun.done()

    session.alone = "many programs burn, each for a time of its own clock"
    return pytest.fixture(scope="module")(session)
