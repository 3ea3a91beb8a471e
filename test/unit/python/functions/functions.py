"""Functions, and what they are called: 'CODE_ADDRESS NAME' each, then 'end', for test_pyfunctions_real.c.

NAME is what CPython 3.11 has as co_qualname; `-` where nobody can reach a function of that name.
usage: -c (this text), with MODULES in the environment: how many modules of the standard library it imports.
"""
import os
import sys
import types
import warnings

if not (3, 8) <= sys.version_info < (3, 11):
    sys.exit()

SHOP = '''
import collections, contextlib, dataclasses, functools

def logged(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)
    return wrapper

def same(f):
    @functools.wraps(f)
    def again(*args):
        return f(*args)
    return again

def bare(f):
    return lambda *args: f(*args)

class Base:
    def inherited(self):
        pass

class Orders(Base):
    kind = "Orders.kind"

    class Item:
        def price(self):
            class Local:
                def run(self):
                    pass
            return Local

        class Deep:
            def er(self): pass

    def make(self):
        def inner(): pass
        return [x for x in (1, 2)], inner, lambda: 0

    def __private(self): pass
    @staticmethod
    def still(): pass
    @classmethod
    def classy(cls): pass
    @property
    def worth(self): pass
    @worth.setter
    def worth(self, value): pass
    @logged
    def decorated(self): pass
    @same
    def again(self): pass
    @bare
    def barely(self): pass
    @functools.lru_cache(maxsize=None)
    def cached(self): pass
    @contextlib.contextmanager
    def managed(self): yield
    async def later(self): pass
    partial = functools.partial(bare, bare)
    def ghost(self): pass
    def copied(self): pass
    alias = make
    square = lambda self: 0

@dataclasses.dataclass
class Point:
    x: int

Pair = collections.namedtuple("Pair", "a b")
Other = collections.namedtuple("Other", "a b")
größe = 0
def größer(): pass
class Größe:
    def größer(self): pass
'''

shop = types.ModuleType("shop")
sys.modules["shop"] = shop
exec(compile(SHOP, "/srv/shop.py", "exec"), shop.__dict__)


class Main:
    def here(self):
        def inside(): pass
        return inside

    def gone(self): pass


def constant(code, name):
    (found,) = [c for c in code.co_consts if hasattr(c, "co_name") and c.co_name == name]
    return found


def main():
    Orders = shop.Orders
    kept = Orders.__dict__["ghost"].__code__
    del Orders.ghost
    shop.copy = types.FunctionType(Orders.copied.__code__, {})
    gone = Main.__dict__["gone"].__code__
    del Main.gone
    make, price = Orders.make.__code__, Orders.Item.price.__code__
    local = constant(constant(price, "Local"), "run")
    told = [
        (shop.logged.__code__, "logged"),
        (constant(shop.logged.__code__, "wrapper"), "logged.<locals>.wrapper"),
        (constant(shop.same.__code__, "again"), "same.<locals>.again"),
        (constant(shop.bare.__code__, "<lambda>"), "bare.<locals>.<lambda>"),
        (shop.Base.inherited.__code__, "Base.inherited"),
        (make, "Orders.make"),
        (constant(make, "inner"), "Orders.make.<locals>.inner"),
        (constant(make, "<listcomp>"), "Orders.make.<locals>.<listcomp>"),
        (constant(make, "<lambda>"), "Orders.make.<locals>.<lambda>"),
        (price, "Orders.Item.price"),
        (local, "Orders.Item.price.<locals>.Local.run"),
        (Orders.Item.Deep.er.__code__, "Orders.Item.Deep.er"),
        (Orders._Orders__private.__code__, "Orders.__private"),
        (Orders.still.__code__, "Orders.still"),
        (Orders.classy.__func__.__code__, "Orders.classy"),
        (Orders.worth.fget.__code__, "Orders.worth"),
        (Orders.worth.fset.__code__, "Orders.worth"),
        (Orders.decorated.__wrapped__.__code__, "Orders.decorated"),
        (Orders.again.__wrapped__.__code__, "Orders.again"),
        (Orders.barely.__closure__[0].cell_contents.__code__, "Orders.barely"),
        (Orders.cached.__wrapped__.__code__, "Orders.cached"),
        (Orders.managed.__wrapped__.__code__, "Orders.managed"),
        (Orders.later.__code__, "Orders.later"),
        (Orders.square.__code__, "Orders.<lambda>"),
        (kept, "-"),
        (Orders.copied.__code__, "-"),
        (shop.Point.__init__.__code__, "-"),
        (shop.Pair._asdict.__code__, "namedtuple.<locals>._asdict"),
        (shop.größer.__code__, "größer"),
        (shop.Größe.größer.__code__, "Größe.größer"),
        (Main.here.__code__, "Main.here"),
        (constant(Main.here.__code__, "inside"), "Main.here.<locals>.inside"),
        (gone, "Main.gone"),  # the module that runs still has the class's code
        (main.__code__, "main"),
        (os.path.join.__code__, "join"),
    ]  # fmt: skip
    for code, name in told:
        hash(code.co_name)
        print("%x %s" % (id(code), name))
    print("end", flush=True)
    sys.stdin.readline()


def import_many(count):
    """Modules of the standard library, as many as there are up to that number."""
    folder, before = os.path.dirname(os.__file__), len(sys.modules)
    names = sorted(n[:-3] for n in os.listdir(folder) if n.endswith(".py") and not n.startswith("_"))
    for package in ("asyncio", "concurrent.futures", "email", "email.mime", "encodings", "html", "http", "json",
                    "logging", "multiprocessing", "unittest", "urllib", "xml.dom", "xml.etree", "xml.sax", "wsgiref",
                    "distutils", "distutils.command", "ctypes", "sqlite3", "curses", "importlib", "pydoc_data",
                    "tkinter"):  # fmt: skip
        inner = os.path.join(folder, *package.split("."))
        files = sorted(os.listdir(inner)) if os.path.isdir(inner) else []
        names += ["%s.%s" % (package, n[:-3]) for n in files if n.endswith(".py") and n != "__main__.py"]
    for name in names:
        if len(sys.modules) - before >= count:
            break
        if name not in ("antigravity", "this", "idlelib", "turtle"):
            try:
                __import__(name)
            except BaseException:
                pass


warnings.simplefilter("ignore")
import_many(int(os.environ.get("MODULES", "0")))
main()
