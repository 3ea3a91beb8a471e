"""Containers and pods of a real podman, and images for them that need no registry: rootfs archives made
of this machine's own files.

All is in the machine's own storage, where the daemon looks for names, under names that nobody else has;
what was made is removed in the end. run() takes 0.4 s.
"""
import functools
import io
import itertools
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

from helpers import PROGRAMS, wait_for
from java_vm import inner_pid

TOOLS = ("sh", "sleep", "cat", "cp", "mv", "rm", "mkdir", "chroot", "true")
# Names of programs there are their own, so that no other's process has the same.
PROGRAMS_INSIDE = ("spin", "chain", "allocations_bare", "storm", "short_lived", "mayflies", "jit", "forker", "naps_bare",
                   "mote_a", "mote_b", "brood", "jit_dump")
# Of the interpreter's library, what no test needs and is large.
UNNEEDED = re.compile(r"/(__pycache__|config-\d.*|dist-packages|ensurepip|idlelib|lib2to3|pydoc_data|test|tkinter)$")


def libraries(path):
    """What ldd tells of a program, {where it is looked for: file}."""
    done = subprocess.run(["ldd", path], capture_output=True, text=True, check=False)
    return {found: found for found in re.findall(r"(/\S+) \(0x", done.stdout)}


def pid_space(pid):
    """None: it has gone."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


@functools.cache
def is_chroot():
    """Whether / is another than the mount namespace's, which is where podman's exec and cp arrive."""
    told = subprocess.run(["nsenter", "--mount=/proc/self/ns/mnt", "stat", "-c", "%d %i", "/"], capture_output=True,
                          text=True, check=False)  # fmt: skip
    here = os.stat("/")
    return told.returncode == 0 and told.stdout.split() != [str(here.st_dev), str(here.st_ino)]


def skip_in_chroot(what):
    if is_chroot():
        pytest.skip(f"{what}: this is a chroot (doc/testing.md)")


class Rootfs:
    """A rootfs that is written as an archive."""

    def __init__(self, *copied):
        self.files = {}  # path in it: file of this machine, or bytes
        self.add("/etc/passwd", b"root:x:0:0:root:/:/bin/sh\n")
        for path in copied:
            self.add_program(path)

    def add(self, path, content):
        """A file of this machine, or bytes."""
        self.files[str(path)] = content
        return self

    def add_program(self, source, path=None):
        """With its libraries. Its place is the one it has here unless another is given."""
        self.add(path or source, os.path.realpath(source))
        for name, library in libraries(source).items():
            self.add(name, os.path.realpath(library))
        return self

    def add_tree(self, source, path, unneeded=None):
        for where, folders, names in os.walk(source):
            if unneeded:
                folders[:] = [f for f in folders if not unneeded.search(f"{where}/{f}")]
            for name in names:
                file = Path(where, name)
                if file.is_file():
                    self.add(Path(path, file.relative_to(source)), os.path.realpath(file))
        return self

    def write(self, out):
        with tarfile.open(fileobj=out, mode="w|") as archive:
            for folder in ("proc", "sys", "dev", "tmp", "root", "etc", "run"):
                self.write_folder(archive, folder)
            for path, content in self.files.items():
                info = tarfile.TarInfo(path.lstrip("/"))
                info.mode = 0o755
                if isinstance(content, bytes):
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))
                else:
                    with open(content, "rb") as file:
                        info.size = os.fstat(file.fileno()).st_size
                        archive.addfile(info, file)

    @staticmethod
    def write_folder(archive, name):
        info = tarfile.TarInfo(name)
        info.type, info.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
        archive.addfile(info)


def c_rootfs():
    """A shell, a few tools, test programs: /opt/c_spin is `spin`."""
    made = Rootfs(*filter(None, map(shutil.which, TOOLS)))
    made.files = {re.sub(r"^/usr/s?bin/|^/s?bin/", "/bin/", path): file for path, file in made.files.items()}
    for name in PROGRAMS_INSIDE:
        if (PROGRAMS / name).exists():
            made.add_program(PROGRAMS / name, f"/opt/c_{name}")
    return made


def python_rootfs():
    """With this machine's python3 at /opt/py/bin, a place that it doesn't have here."""
    asked = "import sys, sysconfig; print(sys._base_executable); print(sysconfig.get_path('stdlib'))"
    program = shutil.which("python3") if not Path("/usr/bin/python3").exists() else "/usr/bin/python3"
    told = subprocess.run([program, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    program, library = os.path.realpath(told[0]), Path(told[1])
    made = c_rootfs().add_program(program, "/opt/py/bin/python3")
    made.add_tree(library, f"/opt/py/lib/{library.name}", UNNEEDED)
    for module in library.glob("lib-dynload/*.so"):
        for name, needed in libraries(module).items():
            made.add(name, os.path.realpath(needed))
    return made


def java_home(java):
    return Path(java.path).parent.parent


def java_rootfs(java):
    """What a VM needs beside its own folder, which is mounted: its size is 300 MB."""
    made = c_rootfs().add_tree(PROGRAMS / "java", "/opt/classes")
    home = java_home(java)
    for file in (home / "bin/java", *home.glob("lib/*.so"), *home.glob("lib/server/*.so")):
        for name, library in libraries(file).items():
            if not library.startswith(str(home)):
                made.add(name, os.path.realpath(library))
    return made


def java_mounts(java):
    """Options that mount it at /opt/java, and the folders that links in it lead to (Debian's /etc/java-…)."""
    home = java_home(java)
    links = {Path(os.path.realpath(link)) for link in home.rglob("*") if link.is_symlink()}
    outside = {path if path.is_dir() else path.parent for path in links if path.exists() and "etc" in path.parts[:2]}
    tops = {path for path in outside if not outside & set(path.parents)}
    mounts = [f"{home}:/opt/java:ro", *(f"{path}:{path}:ro" for path in sorted(tops))]
    return [option for mount in mounts for option in ("-v", mount)]


class Podman:
    """Of a session. Everything that it makes has `mine` in its name."""

    number = itertools.count()

    def __init__(self):
        self.mine = f"stackprobe-e2e-{os.getpid()}"
        self.folder = Path(tempfile.mkdtemp(prefix="stackprobe-podman-"))
        self.images, self.containers, self.pods = {}, [], []
        conf = self.folder / "containers.conf"
        # runc may not raise limits everywhere: those that we have.
        limits = [f'"{name}={limit}:{limit}"' for name, limit in
                  (("nofile", self.limit(resource.RLIMIT_NOFILE)), ("nproc", self.limit(resource.RLIMIT_NPROC)))]  # fmt: skip
        conf.write_text(f'[containers]\ndefault_ulimits = [{", ".join(limits)}]\nlog_driver = "k8s-file"\n')
        self.env = {**os.environ, "CONTAINERS_CONF": str(conf)}

    @staticmethod
    def limit(which):
        hard = resource.getrlimit(which)[1]
        return 4096 if hard == resource.RLIM_INFINITY else min(hard, 4096)

    def call(self, *argv, data=None, check=True):
        done = subprocess.run(["podman", *map(str, argv)], input=data, capture_output=True, env=self.env, check=False)
        assert not check or done.returncode == 0, f"podman {argv}: {done.stderr.decode()}"
        return done.stdout.decode().strip() if check else done

    def missing(self):
        """Why there can be no containers, or None."""
        if not shutil.which("podman"):
            return "podman is not installed"
        if os.geteuid() != 0:
            return "podman: needs root"
        try:
            self.run("c", "/bin/true", detach=False).remove()
        except AssertionError as error:
            return "podman can't run here: " + str(error).strip().split("\n")[-1]
        return None

    # Images

    def image(self, name, rootfs):
        """Imports it once; its whole name. `rootfs` is called when it isn't there yet."""
        if name not in self.images:
            full = f"localhost/{self.mine}-{name}:latest"
            with tempfile.TemporaryFile(dir=self.folder) as out:
                rootfs().write(out)
                out.seek(0)
                done = subprocess.run(["podman", "import", "-", full], stdin=out, capture_output=True,
                                      env=self.env, check=False)  # fmt: skip
            assert done.returncode == 0, done.stderr.decode()
            self.images[name] = full
        return self.images[name]

    def image_of(self, name):
        """One of the images that are made here, by its short name; any other name is a whole one."""
        known = {"c": c_rootfs, "python": python_rootfs}
        return self.image(name, known[name]) if name in known else name

    def java(self, java):
        """Image and options for that VM (javas.Java), which is /opt/java/bin/java then; the test's classes
        are /opt/classes."""
        return self.image(f"java{java.release}", lambda: java_rootfs(java)), java_mounts(java)

    def name(self, ending=""):
        """A name that nobody has."""
        return f"{self.mine}-{next(self.number)}{ending and '-' + ending}"

    # Containers

    def run(self, image, *argv, name=None, options=(), detach=True, network="none"):
        """A container that runs that. `options`: further ones of `podman run`."""
        if "--uidmap" in options:
            skip_in_chroot("user namespaces")
        made = Container(self, name or self.name())
        self.containers.append(made)
        net = ["--network", network] if network else []
        how = ["-d"] if detach else []
        self.call("run", *how, "--name", made.name, *net, *options, self.image_of(image), *argv)
        return made

    def create(self, image, *argv, name=None, options=()):
        """One that isn't started."""
        made = Container(self, name or self.name())
        self.containers.append(made)
        self.call("create", "--name", made.name, "--network", "none", *options, self.image_of(image), *argv)
        return made

    def pod(self, name=None):
        made = Pod(self, name or self.name("pod"))
        self.pods.append(made)
        self.call("pod", "create", "--name", made.name, "--network", "none")
        return made

    def remove_all(self):
        """Containers and pods: after each test."""
        names = [one.name for one in self.containers]
        if names:
            self.call("rm", "-f", "-i", "-t", "0", *names, check=False)
        for pod in self.pods:
            self.call("pod", "rm", "-f", "-i", "-t", "0", pod.name, check=False)
        self.containers, self.pods = [], []

    def close(self):
        self.remove_all()
        if self.images:
            self.call("rmi", "-f", "-i", *self.images.values(), check=False)
        shutil.rmtree(self.folder)

    def service(self):
        """The API at the place where it usually is, where nobody serves it yet."""
        return Service(self)


class Container:
    def __init__(self, podman, name):
        self.podman, self.name = podman, name

    def inspect(self, template):
        return self.podman.call("inspect", "--type", "container", "-f", template, self.name)

    @functools.cached_property
    def id(self):
        return self.inspect("{{.Id}}")

    @property
    def pid(self):
        """Of its first process, as this machine numbers it; 0: it doesn't run."""
        return int(self.inspect("{{.State.Pid}}"))

    def copy_in(self, source, path):
        """A file or folder of this machine into its upper layer."""
        skip_in_chroot("podman cp")
        self.podman.call("cp", source, f"{self.name}:{path}")

    @property
    def running(self):
        return self.inspect("{{.State.Running}}") == "true"

    @property
    def root(self):
        return Path(f"/proc/{self.pid}/root")

    @property
    def inner_pid(self):
        return inner_pid(self.pid)

    def cgroup(self):
        """Its path in the v2 hierarchy, or None where it has none."""
        found = re.search(r"^0::(.*)$", Path(f"/proc/{self.pid}/cgroup").read_text(), re.M)
        return found and found[1]

    def conmon(self):
        """Its monitor's pid, which is in no container."""
        return int(self.inspect("{{.State.ConmonPid}}"))

    def pids(self):
        """Of all its processes, as this machine numbers them, the first one first: those of its pid namespace.
        (In a chroot `podman top` tells of the whole machine's.)"""
        own = pid_space(self.pid)
        found = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
        return sorted((pid for pid in found if own and pid_space(pid) == own), key=inner_pid)

    def logs(self):
        done = self.podman.call("logs", self.name, check=False)
        return (done.stdout + done.stderr).decode(errors="replace")

    def json(self):
        """The first line that it wrote."""
        wait_for(lambda: "\n" in self.logs(), why=f"{self.name} writes a line")
        return json.loads(self.logs().split("\n", maxsplit=1)[0])

    def exec(self, *argv, detach=False):
        skip_in_chroot("podman exec")
        how = ["-d"] if detach else []
        return self.podman.call("exec", *how, self.name, *argv)

    def wait(self):
        """Until it has ended: its exit status."""
        return int(self.podman.call("wait", self.name))

    def start(self):
        self.podman.call("start", self.name)

    def stop(self):
        self.podman.call("stop", "-t", "0", self.name)

    def restart(self):
        self.podman.call("restart", "-t", "0", self.name)

    def kill(self, signal="KILL"):
        self.podman.call("kill", "-s", signal, self.name)

    def rename(self, name):
        self.podman.call("rename", self.name, name)
        self.name = name

    def remove(self):
        self.podman.call("rm", "-f", "-t", "0", self.name)


class Inside:
    """What runs in a container, for what wants a Target (helpers.py)."""

    class popen:
        returncode = None

    def __init__(self, container):
        self.container, self.pid = container, container.pids()[-1]
        self.log = self

    def read_text(self):
        return self.container.logs()


class Pod:
    def __init__(self, podman, name):
        self.podman, self.name = podman, name

    @property
    def id(self):
        return self.podman.call("pod", "inspect", "-f", "{{.Id}}", self.name)

    def run(self, image, *argv, **how):
        return self.podman.run(image, *argv, network=None, **{**how, "options": ("--pod", self.name, *how.get("options", ()))})


class Service:
    """`podman system service`, for as long as it is entered."""

    SOCKET = Path("/run/podman/podman.sock")

    def __init__(self, podman):
        self.podman, self.popen = podman, None

    def served(self):
        with socket.socket(socket.AF_UNIX) as one:
            return one.connect_ex(str(self.SOCKET)) == 0

    def __enter__(self):
        if not self.served():
            self.SOCKET.parent.mkdir(exist_ok=True)
            self.SOCKET.unlink(missing_ok=True)
            self.popen = subprocess.Popen(["podman", "system", "service", "--time", "0", f"unix://{self.SOCKET}"],
                                          env=self.podman.env, stdin=subprocess.DEVNULL,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
            wait_for(self.served, why="podman's service")
        return self

    def __exit__(self, *_):
        if self.popen:
            self.popen.terminate()
            self.popen.wait()
            self.SOCKET.unlink(missing_ok=True)
