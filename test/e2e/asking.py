"""A GET in the background, and a target that is known to burn."""
import threading
from http.client import HTTPException
from urllib.parse import urlencode

from helpers import wait_for


class Asked(threading.Thread):
    """A GET in the background."""

    def __init__(self, daemon, ending="folded", **query):
        super().__init__()
        self.daemon_ = daemon
        self.path = f"/flamegraph/oncpu.{ending}?{urlencode(query)}"
        self.answer = None
        self.start()

    def run(self):
        try:
            self.answer = self.daemon_.get(self.path, timeout=60)
        except (OSError, HTTPException):
            pass  # the daemon has ended; there is no answer

    def result(self):
        self.join()
        return self.answer


def burning(start, *args):
    target = start("spin", 60, *args)
    wait_for(lambda: target.cpu_ns_now() > 1e8, why="it burns")
    return target
