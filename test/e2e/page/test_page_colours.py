"""Colours of the page's picture, read from its canvas: by kind, file, container, own weight, change; what matches."""
import pytest

from browsing import opened  # noqa: F401
from canvas import LETTERS, boxes, ink, made, palette, show
from helpers import wait_for

HEADS = ("root", "pod", "container", "process", "thread")
CODE = (
    made("native_a", "native", made("native_b", "native", module="/lib/b.so"), made("native_c", "native", module="/lib/b.so"),
         made("native_d", "native", module="/bin/a"), own=5, module="/bin/a"),
    made("kernel_a", "kernel", made("kernel_b", "kernel")),
    made("jit_a", "jit", made("inlined_a", "inlined", module="/bin/a"), made("interpreted_a", "interpreted"), own=20),
    made("python_a", "python", made("python_b", "python"), made("[marker]", "marker")),
)  # fmt: skip
POD = made("[Pod]p", "pod", made("[Con]c", "container", made("[1]app", "process", made("worker", "thread", *CODE))))
ALONE = made("[2]other", "process", made("native_a", "native", module="/bin/a"))
STEP = {"grew": "g9", "grew_less": "g3", "fell": "s5", "fell_least": "s0"}  # of the changes below
CHANGES = {"grew": 1, "grew_less": 0.35, "fell": -0.5, "fell_least": -0.01}


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


def drawn(page, way, *top, **more):
    """Frames of that profile as they are drawn when one has pressed k until they are coloured that way."""
    show(page, *top, **more)
    for _ in range(5):
        if page.tab.run("document.querySelector('[name=colour]').value") == way:
            return boxes(page)
        page.key("k")
    raise AssertionError(f"no colours by {way}")


def test_by_kind_of_code(daemon, opened, scheme):
    shades = palette(scheme)
    with opened(daemon, scheme=scheme) as page:
        page.wait("#host")
        found = drawn(page, "kind", POD, ALONE)
    assert {box["kind"] for box in found} == set(LETTERS)  # each is seen
    for box in found:
        assert box["colour"] in shades[LETTERS[box["kind"]]], box
    by_label = {}
    for box in found:
        by_label.setdefault(box["label"], set()).add(box["colour"])
    assert all(len(colours) == 1 for colours in by_label.values()), by_label  # a function has one
    assert len({box["colour"] for box in found if box["kind"] == "native"}) > 1  # neighbours can be told apart


def test_by_file_with_the_code(daemon, opened, scheme):
    shades = palette(scheme)
    with opened(daemon, scheme=scheme) as page:
        page.wait("#host")
        found = drawn(page, "module", POD, ALONE)
    of = {}
    for box in found:
        if box["kind"] in HEADS:
            assert box["colour"] in shades[LETTERS[box["kind"]]], box
        else:
            of.setdefault(box["module"] or box["kind"] == "kernel", set()).add(box["colour"])
    assert {len(colours) for colours in of.values()} == {1}, of
    assert of["/bin/a"] != of["/lib/b.so"] and (of["/bin/a"] | of["/lib/b.so"]) <= {c for letter in "njity" for c in shades[letter]}
    assert of[True] <= set(shades["k"]) and of[False] <= set(shades["u"])  # the kernel; nobody knows


def test_by_container_or_process(daemon, opened, scheme):
    with opened(daemon, scheme=scheme) as page:
        page.wait("#host")
        found = drawn(page, "container", POD, ALONE)
    of = {}
    for box in found[1:]:
        of.setdefault(box["path"][0], set()).add(box["colour"])
    assert {len(colours) for colours in of.values()} == {1} and of["[Pod]p"] != of["[2]other"]


def test_by_own_weight(daemon, opened, scheme):
    shades = palette(scheme)
    with opened(daemon, scheme=scheme) as page:
        page.wait("#host")
        found = drawn(page, "self", POD, ALONE)
    assert {box["own"] for box in found} == {0, 5, 10, 20}
    for box in found[1:]:
        wanted = shades["g"][min(9, 10 * box["own"] // 20)] if box["own"] else shades["u"][0]
        assert box["colour"] == wanted, box


def test_by_change_and_grey_within_noise(daemon, opened, scheme):
    shades = palette(scheme)
    below = [made(name, "native") for name in ("as_it_was", *CHANGES)]
    with opened(daemon, scheme=scheme) as page:
        page.wait("#host")
        found = drawn(page, "change", made("[1]grew", "process", *below), changes={**CHANGES, "[1]grew": 1})
    colours = {box["label"]: box["colour"] for box in found[1:]}
    grey = shades["u"][0]
    assert colours == {"[1]grew": grey, "as_it_was": grey, **{name: shades[step[0]][int(step[1])] for name, step in STEP.items()}}


def test_what_matches_is_marked_and_nothing_else(daemon, opened, scheme):
    with opened(daemon, "q=^native_[ab]$", scheme=scheme) as page:
        page.wait("#host")
        show(page, POD, ALONE)
        page.wait(".matched", "matched")
        marked = {box["label"] for box in boxes(page) if box["colour"] == ink("match", scheme)}
        assert marked == {"native_a", "native_b"}
        page.write("[name=search]", "x")  # matches nothing any more
        page.wait(".matched", r"matched 0\.00 %")
        assert ink("match", scheme) not in {box["colour"] for box in boxes(page)}


def test_a_scheme_that_changes_changes_the_picture(daemon, opened):
    with opened(daemon) as page:
        page.wait("#host")
        show(page, POD)
        for scheme in ("dark", "light", "dark"):
            page.tab.scheme(scheme)
            known = {colour for shades in palette(scheme).values() for colour in shades}
            wait_for(lambda: {box["colour"] for box in boxes(page)} <= known, why=f"colours of {scheme}")
