# SPDX-License-Identifier: GPL-2.0-or-later
"""What a subject of the report found: its figures, who they are of, and how each of these was run. As JSON it is all
that the page and its plots are made from."""
import json
import os
import time
from pathlib import Path
from statistics import median

OURS, PEER, REFERENCE = "ours", "peer", "reference"
FORMAT = 1  # of what is kept: figures of another are not drawn


def busy_ticks():
    """(busy, all) of all CPUs since the start."""
    fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(fields) - fields[3] - fields[4], sum(fields)


def load(seconds=1):
    """The load average of the last minute, and the percents of the CPUs that others use now: nothing of the report's
    is running."""
    busy, total = busy_ticks()
    time.sleep(seconds)
    busy, total = (after - before for after, before in zip(busy_ticks(), (busy, total)))
    return [os.getloadavg()[0], round(100 * busy / max(total, 1))]


class Subject:
    """`quantities`: each is a table and a plot, and has figures by who (`ways`) and where (the name of a group, or a
    number on the axis `across`). A figure is the list of its turns' values."""

    def __init__(self, key, title, measured):
        self.key, self.title, self.measured = key, title, measured
        self.began, self.loads = time.time(), [load()]
        self.quantities, self.ways, self.figures, self.missing, self.goals, self.notes = {}, {}, [], {}, [], []

    def quantity(self, key, title, unit, better="less", across=None, plot=True, ratio=True):
        """Without `ratio`: it can be below zero, so differences count."""
        self.quantities[key] = {"title": title, "unit": unit, "better": better, "across": across, "plot": plot,
                                "ratio": ratio}  # fmt: skip

    def way(self, who, kind, command, note="", beside=None, version="", how=""):
        """`note` stands beside each figure that is better than ours, `how` beside the command alone. `beside`: the
        peers that do the same as this way of ours, if not all."""
        self.ways.setdefault(who, {"kind": kind, "command": command, "note": note, "beside": beside,
                                   "version": version, "how": how})  # fmt: skip

    def add(self, quantity, who, where, *values):
        for figure in self.figures:
            if (figure["quantity"], figure["who"], figure["where"]) == (quantity, who, where):
                figure["values"] += values
                return
        self.figures.append({"quantity": quantity, "who": who, "where": where, "values": list(values)})

    def goal(self, peer, quantity, where, at_most):
        """Ours is to be at most so many times that peer's."""
        self.goals.append({"peer": peer, "quantity": quantity, "where": where, "at_most": at_most})

    def lacks(self, peer, reason):
        self.missing[peer] = reason

    def told(self, revision=""):
        """When it has been measured."""
        return {**vars(self), "format": FORMAT, "revision": revision, "seconds": time.time() - self.began,
                "loads": [*self.loads, load()]}  # fmt: skip

    def write(self, folder, revision=""):
        path = Path(folder) / f"{self.key}.json"
        path.write_text(json.dumps(self.told(revision), indent=1) + "\n")


def middle(figure):
    return median(figure["values"])


def find(subject, quantity, who, where):
    """That figure of a subject that was read back, or None."""
    for figure in subject["figures"]:
        if (figure["quantity"], figure["who"], figure["where"]) == (quantity, who, where) and figure["values"]:
            return figure
    return None
