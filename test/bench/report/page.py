# SPDX-License-Identifier: GPL-2.0-or-later
"""The page, from what was kept of the runs."""
import json
import textwrap
import time
from pathlib import Path
from statistics import median_low

import judging
import plots
from rows import FORMAT, OURS, find, middle
from plots import number

HEAD = """# Performance

What stackprobe costs, beside other profilers in the same run. `make report` (as root, 25 minutes) measured this and
wrote this page and its pictures; no line of it is written by hand. Run it on your machine: figures of another machine
can differ by much, their ratios by less.
"""
HOW = """**How to read this.** A figure is the median of several turns. `[lowest..highest]` is their spread. In a turn all
profilers run one after the other, never at the same time. Where other programs want the CPUs, times grow: each
section has what share of the CPUs they used in the second before it began and in the one after it ended, and the load
average.
"""


def read(folder):
    """(machine, [subject]) of what runs have kept there, maybe at several times."""
    folder = Path(folder)
    machine = json.loads((folder / "machine.json").read_text())
    found = [folder / f"{key}.json" for key in machine["subjects"]]
    subjects = [json.loads(path.read_text()) for path in found if path.exists()]
    return machine, [subject for subject in subjects if subject.get("format") == FORMAT]


def wrapped(text):
    return textwrap.fill(text, 118, break_long_words=False, break_on_hyphens=False) + "\n"


def cell(figure):
    if not figure:
        return "–"
    text, values = number(middle(figure)), figure["values"]
    return text if len(values) < 2 else f"{text} [{number(min(values))}..{number(max(values))}]"


def place(quantity, where):
    """Where a figure stands, in words."""
    if quantity["across"]:
        return f"{where:,} {quantity['across']}"
    return where


def table(subject, key):
    quantity, figures = subject["quantities"][key], plots.figures_of(subject, key)
    columns = list(dict.fromkeys(figure["where"] for figure in figures))
    if quantity["across"]:
        columns.sort()
    lines = [f"| {plots.heading(quantity)} | " + " | ".join(place(quantity, where) for where in columns) + " |",
             "|---" * (len(columns) + 1) + "|"]  # fmt: skip
    for who in dict.fromkeys(figure["who"] for figure in figures):
        name = f"**{who}**" if subject["ways"][who]["kind"] == OURS else who
        lines.append(f"| {name} | " + " | ".join(cell(find(subject, key, who, where)) for where in columns) + " |")
    return "\n".join(lines) + "\n"


def link(subject):
    return f"[{subject['title']}](#{anchor(subject['title'])})"


def anchor(title):
    kept = (letter for letter in title.lower() if letter.isalnum() or letter in " -")
    return "".join(kept).replace(" ", "-")


def picture_name(subject, key):
    return f"{subject['key']}-{key}.svg"


def lacking(subject):
    return "".join(f"- Missing: {peer}: {reason}.\n" for peer, reason in subject["missing"].items())


def section(subject, machine, folder):
    """Its text; its pictures are written into that folder."""
    parts = [f"## {subject['title']}\n", wrapped(subject["measured"])]
    for key, quantity in subject["quantities"].items():
        if not plots.figures_of(subject, key):
            continue
        picture = plots.draw(subject, key)
        if picture:
            (folder / picture_name(subject, key)).write_text(picture)
            parts.append(f"![{plots.heading(quantity)}]({folder.name}/{picture_name(subject, key)})\n")
        parts.append(table(subject, key))
    ran = {who: way for who, way in subject["ways"].items()
           if any(figure["who"] == who and figure["values"] for figure in subject["figures"])}  # fmt: skip
    lines = []
    for who, way in ran.items():
        command = f"`{way['command']}`" if way["command"] else "nothing runs"
        version = f" ({way['version']})" if way["version"] else ""
        lines.append(". ".join(part for part in (f"- {who}{version}: {command}", way["note"], way["how"]) if part))
    began = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(subject["began"]))
    other = f", of revision {subject['revision']}" if subject["revision"] != machine["revision"] else ""
    first, last = subject["loads"][0], subject["loads"][-1]
    parts += ["How each was run:\n", "\n".join(lines) + "\n", lacking(subject)]
    parts += [f"{note}\n" for note in subject["notes"]]
    parts.append(wrapped(f"From {began} on, for {subject['seconds']:.0f} s{other}; others used {first[1]} % of the CPUs before "
                         f"and {last[1]} % after it; load average {first[0]:.1f} and {last[0]:.1f}."))  # fmt: skip
    return "\n".join(part for part in parts if part)


def worse_text(subjects):
    found = judging.worse(subjects)
    text = "## Where a peer is better\n\n"
    if not found:
        beside = any(True for subject in subjects for _ in judging.pairs(subject))
        return text + ("Nowhere in this run.\n" if beside else "No peer ran.\n")
    text += ("Every figure of this run in which the median of a peer is better than stackprobe's, the worst first.\n\n"
             "| what | where | stackprobe | peer | times, or by how much |\n|---|---|---|---|---|\n")  # fmt: skip
    for one in found:
        who = "" if one.ours["who"] == "stackprobe" else f"{one.ours['who']}: "
        note = one.subject["ways"][one.theirs["who"]]["note"]
        by = f"{number(judging.times(one))}" if one.quantity["ratio"] else f"{number(judging.apart(one))} {one.quantity['unit']}"
        spread = ", within the spread" if one.within_spread else ""
        text += (f"| {link(one.subject)}: {plots.heading(one.quantity)} | {place(one.quantity, one.where)} "
                 f"| {who}{cell(one.ours)} | {one.theirs['who']}: {cell(one.theirs)}{'. ' + note if note else ''} "
                 f"| {by}{spread} |\n")
    return text


def goals_text(subjects):
    found = judging.goals(subjects)
    if not found:
        return ""
    text = "## Goals\n\n| goal | at most | measured | |\n|---|---|---|---|\n"
    for goal in found:
        what = f"{plots.heading(goal.quantity)}, {place(goal.quantity, goal.where)}, beside {goal.peer}"
        if goal.ratio is None:
            text += f"| {what} | {goal.at_most:.2f} times | – | not measured: {goal.reason} |\n"
        else:
            text += (f"| {what} | {goal.at_most:.2f} times | {goal.ratio:.2f} times "
                     f"| {'reached' if goal.ratio <= goal.at_most else '**missed**'} |\n")
    return text


def missing_text(subjects):
    """The peers of which there is nothing at all, or not everywhere."""
    found = {}
    for subject in subjects:
        for peer, reason in subject["missing"].items():
            found.setdefault((peer, reason), []).append(link(subject))
    if not found:
        return ""
    rows = "".join(f"| {peer} | {reason} | {', '.join(where)} |\n" for (peer, reason), where in found.items())
    return f"## Missing\n\nNot measured in this run:\n\n| peer | why | in |\n|---|---|---|\n{rows}"


def machine_text(machine):
    guest = ", a virtual machine" if machine["guest"] else ""
    revision = f" ({machine['revision']})" if machine["revision"] else ""
    return wrapped(f"**Machine**: {machine['cpu']}, {machine['cpus']} CPUs{guest}, {machine['memory_gib']} GiB; "
                   f"{machine['system']}, Linux {machine['kernel']} ({machine['arch']}). **Date**: {machine['date']}. "
                   f"**Version**: {machine['version']}{revision}.")  # fmt: skip


def loads_text(subjects):
    others = [load[1] for subject in subjects for load in subject["loads"]]
    if not others:
        return ""
    return (f"**Others** used {min(others)} to {max(others)} % of the CPUs between the measurements (half of these "
            f"looks: at most {median_low(others)} %).\n")


def write(folder, page):
    """Makes that page of what is kept in the folder, and its pictures beside it in a folder of its name."""
    machine, subjects = read(folder)
    pictures = page.with_suffix("")
    pictures.mkdir(parents=True, exist_ok=True)
    for old in pictures.glob("*.svg"):
        old.unlink()
    parts = [HEAD, machine_text(machine), loads_text(subjects), worse_text(subjects), goals_text(subjects),
             missing_text(subjects), HOW, *(section(subject, machine, pictures) for subject in subjects)]  # fmt: skip
    page.write_text("\n".join(part for part in parts if part))
