"""A daemon for all tests of a module, and what was measured by it: each thing once."""
import shutil
import tempfile
from pathlib import Path

import pytest

from helpers import Daemon, missing_privilege


class Session:
    """measure(…) is its kind's."""

    def __init__(self):
        self.work = Path(tempfile.mkdtemp(prefix="stackprobe-e2e-", dir="/tmp"))
        self.daemon = Daemon(self.work).start()
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
    """The fixture."""

    @pytest.fixture(scope="module")
    def session():
        reason = missing_privilege()
        if reason:
            pytest.skip(reason)
        begun = kind()
        yield begun
        begun.done()

    return session
