"""Names that have no room: what a frame is called then."""
import html
import re

import pytest

from screen import render

JAVA = "com.example.shop.Cart.addItem (Cart.java:42)"
SIGNED = "com.example.shop.Cart.addItem(int, java.lang.String)"
PYTHON = "outer.<locals>.Shop.addItem (shop/cart.py:120)"
# Widths in px of a frame, of which 1180 are the picture's, and what a reader sees in it.
SIMPLE = {
    JAVA: {310: JAVA, 210: "com.example.shop.Cart.addItem", 100: "Cart.addItem", 60: "addItem", 42: "addI…"},
    SIGNED: {360: SIGNED, 210: "com.example.shop.Cart.addItem", 100: "Cart.addItem", 60: "addItem", 42: "addI…"},
    "Cart.<init>": {90: "Cart.<init>", 60: "<init>", 42: "<ini…"},
    "net::Server::accept(int, std::string const&)": {310: "net::Server::accept(int, std::string const&)",
        140: "net::Server::accept", 106: "Server::accept", 60: "accept", 42: "acce…"},
    "main_loop::run": {106: "main_loop::run", 70: "run", 26: "run"},
    PYTHON: {320: PYTHON, 190: "outer.<locals>.Shop.addItem", 90: "Shop.addItem", 60: "addItem", 42: "addI…"},
}
CUT = {
    "std::vector.push_back::grow": {100: "std::vector.p…"},
    "std::vector<int>::push_back(int)": {100: "std::vector<i…"},
    "net::operator<<(net::Out&, int)": {100: "net::operator…"},
    "(anonymous namespace)::start": {100: "(anonymous na…"},
    "JS:*handle /app/server.js:10:5": {100: "JS:*handle /a…"},
    "encoding/json.(*decodeState).object": {100: "encoding/json…"},
    "name_without_a_class": {100: "name_without_…"},
}


def pictured(name, suffix, widths):
    lines = [f"of{px};{name}{suffix} {px}\n" for px in widths]
    return "".join(lines) + f"rest {1180 - sum(widths)}\n"


def labels_of(svg):
    """What stands in the frames as they are written, without the script."""
    return [html.unescape(text) for text in re.findall(r"<text stroke=[^>]*>([^<]*)<", svg)]


@pytest.mark.parametrize("suffix", ["_[j]", "_[0]", "_[i]", "_[p]"])
@pytest.mark.parametrize("name", [*SIMPLE, *CUT], ids=str)
def test_a_java_or_python_frame_has_a_simple_name_before_it_is_cut(draw, name, suffix):
    wanted = {**SIMPLE, **CUT}[name]
    text = pictured(name, suffix, wanted)
    written = labels_of(render(text))
    with draw(text) as picture:
        for label in wanted.values():
            assert label in picture.labels and label in written
        assert [f.title.split(f"{suffix} (")[0] for f in picture.frames].count(name) == len(wanted)


def test_other_kinds_are_cut_at_their_end(draw):
    with draw(f"n;{JAVA} 100\nk;{JAVA}_[k] 100\nrest 980\n") as picture:
        assert picture.labels.count("com.example.s…") == 2
        assert not {"addItem", "Cart.addItem"} & {*picture.labels}


def test_scopes_of_native_code_give_way_too(draw):
    name = "net::Server::accept(int)"
    with draw(pictured(name, "", [180, 140, 106, 60, 42])) as picture:
        assert {name, "net::Server::accept", "Server::accept", "accept", "acce…"} <= {*picture.labels}
