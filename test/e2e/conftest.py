"""Fixtures: a folder below /tmp, the daemon, target programs; a limit of time for each test."""
import atexit
import functools
import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import rooms  # noqa: F401
from beside import MARKS, WORKER, Beside, own_folder
from chromium import Chromium, missing
from costs import Costs
from drawing import FOLDED
from helpers import PATIENCE, ROOT, Daemon, Target, missing_privilege, program, wait_for
from java_vm import Vm
from javas import javas, missing_releases
from observer import Observer
from podman import Podman
from pythons import Place, missing_versions, pythons
from screen import open_picture, render
from somebody import Somebody
from uploads import Uploader
from waiting import ready

TEST_SECONDS = 120 * PATIENCE

# pytest rewrites each assertion, which takes seconds for all files: it keeps that for the next workers, whatever
# PYTHONDONTWRITEBYTECODE says. (Not those Pythons that tests start.)
sys.dont_write_bytecode, sys.pycache_prefix = False, str(ROOT / "build/pycache")


def pytest_addoption(parser):
    parser.addoption("--costs", type=Path, help="write there what each test costs (costs.py)")


def pytest_configure(config):
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    config.pluginmanager.register(Beside(Daemon.crashes))
    path = config.getoption("costs")
    if path and (WORKER or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(Costs(path))


def pytest_terminal_summary(terminalreporter):
    held_off = [r for r in terminalreporter.stats.get("xfailed", []) if r.wasxfail.startswith("quarantined")]
    if held_off:
        terminalreporter.section("failed, and is in test/e2e/quarantine: look at each")
    for report in held_off:
        terminalreporter.line(f"FAILED {report.nodeid}: {report.wasxfail}")
    if Daemon.crashes:
        terminalreporter.section("the daemon crashed: this run has failed")
    for crash in Daemon.crashes:
        terminalreporter.line(f"CRASH {crash}")


@pytest.fixture(autouse=True)
def time_limit():
    """A hang fails the test and lets its fixtures clean up."""

    def late(_signal, _frame):
        pytest.fail(f"took longer than {TEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(TEST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def work():
    """An empty folder below /tmp, one of the conf file's output_roots."""
    path = own_folder()
    yield path
    shutil.rmtree(path)


@pytest.fixture
def daemon(work):
    """The daemon, for what needs no privilege."""
    started = Daemon(work)
    try:
        started.start()
        yield started
    finally:
        if started.popen:
            started.done()


@pytest.fixture
def serve(work):
    """serve(open=True): the daemon with that in its conf file's rest_api_server, whose socket everybody
    reaches. `bind`, `options`, `before`, `kind`: the Daemon's."""
    made = []

    def begin(kind=Daemon, bind="127.0.0.1", options=(), before=(), **keys):
        work.chmod(0o755)
        made.append(kind(work))
        made[-1].bind, made[-1].options, made[-1].before = bind, [*options], [*before]
        made[-1].set_rest(**keys)
        return made[-1].start()

    yield begin
    for one in made:
        if one.popen:
            one.done()


@pytest.fixture
def somebody():
    """somebody(daemon): a process of nobody's that asks it (somebody.py)."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    made = []

    def begin(daemon, **who):
        made.append(Somebody(daemon, **who))
        return made[-1]

    yield begin
    for one in made:
        one.close()


@pytest.fixture
def needs_bpf():
    reason = missing_privilege()
    if reason:
        pytest.skip(reason)


@pytest.fixture
def profiler(needs_bpf, daemon):
    """The daemon, where it may load BPF programs."""
    return daemon


@pytest.fixture
def keeping(profiler):
    """keeping(days=7, bytes=1000): the daemon, started again with these limits."""

    def restart(**limits):
        profiler.stop()
        settings = " ".join(f"{key} = {value};" for key, value in limits.items())
        with profiler.conf.open("a") as conf:
            conf.write(f"retention = {{ interval = 1; {settings} }};\n")
        return profiler.start()

    return restart


@pytest.fixture
def uploader(needs_bpf, work):
    """uploader(period=10): a daemon whose conf file says so of its uploads."""
    made = []

    def make(**options):
        made.append(Uploader(work, **options))
        return made[-1].start()

    yield make
    for one in made:
        if one.popen:
            one.done()


@pytest.fixture
def start(work):
    """start("spin", 3): a test program; start(path, …): a program of the test's own."""
    targets = []

    def run(name, *args, cpu=None, **how):
        path = program(name) if isinstance(name, str) else name
        log = work / f"target-{len(targets)}.log"
        targets.append(Target([path, *args], log, cpu, **how))
        return targets[-1]

    yield run
    for target in targets:
        target.kill()


@pytest.fixture
def observe(needs_bpf):
    """observe(1000): an Observer at that frequency, from then on."""
    observers = []

    def begin(hz):
        observers.append(Observer(hz))
        return observers[-1]

    yield begin
    for observer in observers:
        observer.close()


@pytest.fixture
def copy(work):
    """copy("spin", "alpha"): a test program under another name, and so another comm."""

    def make(name, as_name):
        path = work / "bin" / as_name
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            shutil.copy(program(name), path)
        return path

    return make


@functools.cache
def each_python():
    """Those that are here, and a skip for each version that isn't."""
    return [*(pytest.param(python, id=python.name) for python in pythons()),
            *(pytest.param(None, id=f"3.{minor}", marks=pytest.mark.skip(f"no Python 3.{minor}"))
              for minor in missing_versions())]  # fmt: skip


@functools.cache
def each_java():
    """Those that are here, and a skip for each release that isn't."""
    return [*(pytest.param(java, id=java.name) for java in javas()),
            *(pytest.param(None, id=str(release), marks=pytest.mark.skip(f"no Java {release} here"))
              for release in missing_releases())]  # fmt: skip


def pytest_generate_tests(metafunc):
    """A test that asks for `python` or `java` runs with each (pythons.py, javas.py), unless it says
    itself with which."""
    asked = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "java" in metafunc.fixturenames and "java" not in asked:
        metafunc.parametrize("java", each_java())
    if "python" in metafunc.fixturenames:
        metafunc.parametrize("python", each_python())


@pytest.fixture
def place(python, work):
    """The programs of test/programs/python, where that Python sees them."""
    made = Place(python, work)
    try:
        shutil.copy(program("foreign.so"), made.real)
        yield made
    finally:
        made.remove()


@pytest.fixture
def run_python(start, place):
    """run_python("blocked.py", "ever"): one of these programs. standing(…): one that has stopped itself
    before its work."""

    def run(name, *args, how=start):
        command, *rest = place.python.argv(name, *args, folder=place.folder)
        return how(Path(command), *rest)

    return run


@pytest.fixture
def standing(start, run_python):
    return lambda *args: run_python(*args, how=lambda *argv: ready(start, *argv))


@pytest.fixture
def vms():
    """Those of the test. When all have been killed and who attached to them has ended, nothing is left:
    for that it is made before either (`usefixtures`)."""
    made = []
    yield made
    wait_for(lambda: not any(one.left() for one in made), 20, why=lambda: [one.left() for one in made])


@pytest.fixture
def vm(java, work, vms):
    """vm("-XX:…", before=(…)): a VM, killed in the end."""

    def run(*flags, **how):
        vms.append(Vm(java, work, *flags, **how))
        return vms[-1]

    yield run
    for one in vms:
        one.kill()


@pytest.fixture(scope="session")
def go_pprof():
    """Go from 1.25 on builds its tool when it is asked for first, which takes longer than most tests may."""
    if shutil.which("go"):
        subprocess.run(["go", "tool", "pprof", "-help"], capture_output=True, check=False)


@pytest.fixture(scope="session")
def podman_here():
    """One for all: its images are made once. (A test that runs again makes pytest forget what ends a session.)"""
    made = Podman()
    atexit.register(made.close)
    reason = made.missing()
    if reason:
        pytest.skip(reason)
    return made


@pytest.fixture
def podman(podman_here):
    """podman.run("c", "/opt/c_spin", 3): a container, removed in the end (podman.py)."""
    yield podman_here
    podman_here.remove_all()


@pytest.fixture(scope="module")
def chromium():
    reason = missing()
    if reason:
        pytest.skip(reason)
    browser = Chromium()
    yield browser
    browser.close()


@pytest.fixture
def draw(chromium, work):
    """draw(folded, options…): a context with that picture in a page of its own (drawing.py)."""

    @contextmanager
    def draw(folded=FOLDED, *options, at="", **kwargs):
        path = work / "picture.svg"
        path.write_text(render(folded, *options))
        with open_picture(chromium, path.as_uri() + at, **kwargs) as picture:
            yield picture

    return draw


@pytest.fixture
def picture(draw):
    with draw() as picture:
        yield picture
