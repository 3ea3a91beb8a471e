# SPDX-License-Identifier: GPL-2.0-or-later
"""Which of our figures are worse than a peer's of the same run, and whether the goals are reached."""
from typing import NamedTuple

from rows import OURS, PEER, find, middle


class Worse(NamedTuple):
    subject: dict
    quantity: dict
    where: object
    ours: dict  # figures
    theirs: dict
    within_spread: bool


def is_worse(quantity, mine, theirs):
    return mine > theirs if quantity["better"] == "less" else mine < theirs


def overlap(one, other):
    return min(one["values"]) <= max(other["values"]) and min(other["values"]) <= max(one["values"])


def pairs(subject):
    """Each figure of ours with each peer's of the same quantity at the same place."""
    for mine in subject["figures"]:
        way = subject["ways"][mine["who"]]
        if way["kind"] != OURS or not mine["values"]:
            continue
        for who, other in subject["ways"].items():
            if other["kind"] != PEER or (way["beside"] is not None and who not in way["beside"]):
                continue
            theirs = find(subject, mine["quantity"], who, mine["where"])
            if theirs:
                yield mine, theirs


def worse(subjects):
    """By how much the median is worse, the worst first."""
    found = []
    for subject in subjects:
        for mine, theirs in pairs(subject):
            quantity = subject["quantities"][mine["quantity"]]
            if quantity["better"] and is_worse(quantity, middle(mine), middle(theirs)):
                found.append(Worse(subject, quantity, mine["where"], mine, theirs, overlap(mine, theirs)))
    return sorted(found, key=lambda one: (one.within_spread, -times(one)))


def times(one):
    """How many times better the peer is."""
    mine, theirs = middle(one.ours), middle(one.theirs)
    low, high = sorted((abs(mine), abs(theirs)))
    if not one.quantity["ratio"]:
        return 1
    return high / max(low, 1e-9)


def apart(one):
    return abs(middle(one.ours) - middle(one.theirs))


class Goal(NamedTuple):
    subject: dict
    quantity: dict
    peer: str
    where: object
    at_most: float
    ratio: object  # None: it could not be measured
    reason: str


def goals(subjects):
    found = []
    for subject in subjects:
        ours = next((who for who, way in subject["ways"].items() if way["kind"] == OURS), None)
        for goal in subject["goals"]:
            mine = find(subject, goal["quantity"], ours, goal["where"])
            theirs = find(subject, goal["quantity"], goal["peer"], goal["where"])
            ratio = middle(mine) / middle(theirs) if mine and theirs and middle(theirs) else None
            reason = subject["missing"].get(goal["peer"], "there is no figure of it")
            found.append(Goal(subject, subject["quantities"][goal["quantity"]], goal["peer"], goal["where"],
                              goal["at_most"], ratio, "" if ratio is not None else reason))  # fmt: skip
    return found
