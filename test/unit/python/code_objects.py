# SPDX-License-Identifier: GPL-2.0-or-later
"""Tells where code objects lie in memory, and what the interpreter says of them; then waits until its
input ends. A line each, fields separated by spaces, texts as the hexadecimal of their UTF-8:

    version PY_VERSION_HEX ADDRESS_OF_PyRuntime ADDRESS_OF_PyCode_Type
    code ADDRESS NAME FILE FIRST_LINE LINE*INSTRUCTIONS,LINE*INSTRUCTIONS,...

LINE is 0 for an instruction that has none. Of each instruction of two bytes, its caches too.
"""
import ast
import asyncio
import ctypes
import dis
import functools
import json.decoder
import random
import sys
import tokenize
import types

ADDR2LINE = ctypes.pythonapi.PyCode_Addr2Line
ADDR2LINE.argtypes = [ctypes.py_object, ctypes.c_int]
ADDR2LINE.restype = ctypes.c_int


def decorated(wrap):
    @functools.lru_cache(
        maxsize=None,
    )
    @wrap
    def inner(
        a,
        b=lambda x: x
        + 1,
    ):
        return (
            a
            + b(
                a
            )
        )
    return inner


class Größe:
    class 内側:
        def größer_als(self, ζ):
            return [
                x
                for x in ζ
                if x > max(
                    y
                    for y in ζ
                    if y
                )
            ]

        @property
        def ширина(self):
            while True:
                try:
                    with open("/dev/null") as ñ:
                        return ñ.read(
                            1
                        )
                except OSError as e:
                    raise ValueError(
                        "a"
                        "b"
                    ) from e
                finally:
                    self.x = {
                        k: v
                        for k, v in ()
                    }

    async def warten(self):
        async with asyncio.Lock() as lock, \
                asyncio.Lock():
            async for x in self:
                yield await asyncio.sleep(
                    0,
                    x
                )


def far_apart(n):
    # FAR
    i = 0
    while i < n: i += 1; n -= 1
    if n: pass
    else: i = [lambda: n, lambda: (
        n)]
    return i if n else \
        (i,
         n)


def made():
    long = "def long(x):\n" + "".join(
        "    x = x + %d%s\n" % (i, "\n" * (i % 7 * (i % 11))) for i in range(3000)) + "    return x\n"
    wide = "def wide(x):\n    return [" + "x.a(1).b, " * 5000 + "\n" * 70000 + "x]\n"
    backwards = "def backwards(f, x):\n    return f(\n        x,\n\n\n\n        x + 1, f(x)\n)(\n        x)\n"
    sources = [long, wide, backwards, "x = 1\n\n\ndef \U0001d4d0\U0001d4d1(): pass\n",
               "class ａ:\n  def 名前(self): return (yield)\n",
               "\n".join("def f%d(): return %d" % (i, i) for i in range(300))]
    if sys.version_info >= (3, 10):
        sources.append("def m(x):\n match x:\n  case [1,\n    2]: return 1\n  case {'a': y}:\n   return y\n"
                       "  case _:\n   for i in x:\n    if i: continue\n    else: break\n")
    if sys.version_info >= (3, 11):
        sources.append("def g(x):\n try:\n  x()\n except* OSError as e:\n  x(e)\n finally:\n  x(\n   1)\n")
    if sys.version_info >= (3, 12):
        sources.append("class C[T: int]:\n def h[S](self, x: S) -> T:\n  return [y for y in\n   x]\n type A = T\n")
    names = ["<string>", "/tmp/ünï/日本.py", "/tmp/\udcff\udcfe.py", "/tmp/" + "ä" * 3000 + ".py",
             Text("/srv/templates/p\u00e1gina.html"), "a\tb\n"]
    for i, source in enumerate(sources):
        yield compile(source, names[i % len(names)], "exec")
        yield compile(source.replace("\n", "\n\n"), names[-1 - i % len(names)], "exec", optimize=2)


class Text(str):
    """As template engines have them."""


def modules():
    for module in (ast, dis, json.decoder, random, tokenize, types, functools, asyncio.base_events):
        with open(module.__file__, "rb") as f:
            yield compile(f.read(), module.__file__, "exec")


def all_of(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from all_of(const)


def lines_of(code):
    """A line for each instruction: as Python's own functions say, and as the interpreter's C does."""
    size = len(code.co_code)
    lines = [0] * (size // 2)
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            lines[start // 2:end // 2] = [line or 0] * ((end - start) // 2)
    else:
        starts = dict(dis.findlinestarts(code))
        line = code.co_firstlineno
        for at in range(0, size, 2):
            line = starts.get(at, line)
            lines[at // 2] = line
    for at in range(0, size, 2 * (1 + size // 1000)):  # it goes through the table each time
        assert lines[at // 2] == max(ADDR2LINE(code, at), 0), (code, at)
    return lines


def runs(lines):
    last, count = None, 0
    for line in lines:
        if line != last and count:
            yield "%d*%d" % (last, count)
            count = 0
        last = line
        count += 1
    yield "%d*%d" % (last, count)


def told(text):
    # What is no character is replaced; too long ones are cut.
    text = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in str(text))
    utf8 = text.encode()
    if len(utf8) > 4096:
        while len(utf8) > 4093:
            text = text[:-1]
            utf8 = text.encode()
        utf8 += "…".encode()
    return utf8.hex()


def tell(code):
    name = getattr(code, "co_qualname", code.co_name)
    print("code", hex(id(code)), told(name), told(code.co_filename), code.co_firstlineno,
          ",".join(runs(lines_of(code))))


def main():
    runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
    print("version", hex(sys.hexversion), hex(runtime), hex(id(types.CodeType)))
    roots = [*modules(), *made(), sys._getframe(0).f_code]
    with open(__file__, "rb") as f:
        source = f.read()
    roots.append(compile(source, __file__, "exec"))
    roots.append(compile(source.replace(b"    # " + b"FAR\n", b"\n" * 400), __file__, "exec"))
    objects = {id(code): code for root in roots for code in all_of(root)}
    for code in objects.values():
        hash(code.co_name)
        tell(code)
    print("end", flush=True)
    sys.stdin.read()


main()
