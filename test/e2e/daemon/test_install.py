"""`make install` and `make deb`: what lies where, and what it needs."""
import os
import shutil
import stat
import subprocess

import pytest

from helpers import BIN, ROOT, SAN, wait_for

pytestmark = pytest.mark.skipif(
    SAN or BIN != ROOT / "build/stackprobe", reason="what is installed is the plain build"
)

FILES = {
    "usr/bin/stackprobe": 0o755,
    "etc/stackprobe/stackprobe.conf": 0o644,
    "usr/share/man/man8/stackprobe.8": 0o644,
    "usr/lib/systemd/system/stackprobe.service": 0o644,
    "usr/lib/systemd/system/stackprobe.socket": 0o644,
    "usr/share/bash-completion/completions/stackprobe": 0o644,
    "usr/share/zsh/vendor-completions/_stackprobe": 0o644,
    **{f"usr/share/doc/stackprobe/{path.relative_to(ROOT)}": 0o644
       for path in (ROOT / "README.md", *ROOT.glob("doc/*.md"), *ROOT.glob("doc/*.svg"), *ROOT.glob("doc/*/*.svg"))},
}  # fmt: skip


def make(*args):
    done = subprocess.run(["make", "-s", *map(str, args)], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "MAKEFLAGS": ""})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tree(root):
    """Files below a folder with their modes."""
    return {str(path.relative_to(root)): stat.S_IMODE(path.stat().st_mode)
            for path in root.rglob("*") if path.is_file()}


def test_install_puts_each_file_in_its_place(work):
    before = os.umask(0o077)
    try:
        make("install", f"DESTDIR={work}")
    finally:
        os.umask(before)
    assert tree(work) == FILES
    assert (work / "usr/bin/stackprobe").read_bytes() == BIN.read_bytes()
    assert all(stat.S_IMODE(p.stat().st_mode) == 0o755 for p in work.rglob("*") if p.is_dir())


def test_a_conf_file_that_is_there_is_kept_and_uninstall_keeps_it(work):
    conf = work / "etc/stackprobe/stackprobe.conf"
    conf.parent.mkdir(parents=True)
    conf.write_text("# mine\n")
    make("install", f"DESTDIR={work}", "PREFIX=/opt/stackprobe")
    assert conf.read_text() == "# mine\n"
    unit = work / "opt/stackprobe/lib/systemd/system/stackprobe.service"
    assert "\nExecStart=/opt/stackprobe/bin/stackprobe\n" in unit.read_text()
    make("uninstall", f"DESTDIR={work}", "PREFIX=/opt/stackprobe")
    assert tree(work) == {"etc/stackprobe/stackprobe.conf": 0o644}


def test_the_daemon_starts_with_the_conf_file_as_it_is_installed(work):
    conf = work / "stackprobe.conf"
    text = (ROOT / "conf/stackprobe.conf").read_text()
    # Not what the machine that runs this has of its own.
    conf.write_text(text.replace("/etc/stackprobe/", f"{work}/").replace("/var/lib/", f"{work}/"))
    log = work / "log"
    with log.open("wb") as err:
        daemon = subprocess.Popen([BIN, "--config", conf, "--listen", "127.0.0.1:0"], stderr=err)
    try:
        wait_for(lambda: "listening on" in log.read_text() or daemon.poll() is not None, why=log.read_text)
    finally:
        daemon.terminate()
        daemon.wait(20)
    said = log.read_text()
    assert "listening on" in said
    assert "unknown key" not in said and "no effect" not in said


def test_the_units_are_such_that_systemd_takes_them(work):
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze")
    unit = work / "stackprobe.service"
    unit.write_text((ROOT / "conf/stackprobe.service").read_text().replace("/usr/bin/stackprobe",
                                                                           str(BIN)))
    socket = shutil.copy(ROOT / "conf/stackprobe.socket", work)
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit, socket], capture_output=True,
                          text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.fixture(scope="module")
def deb():
    if not shutil.which("dpkg-shlibdeps"):
        pytest.skip("no dpkg-shlibdeps (package dpkg-dev)")
    make("deb")
    (path,) = (ROOT / "build").glob("stackprobe_*.deb")
    return path


def test_the_package_has_the_files_and_what_they_need(deb, work):
    subprocess.run(["dpkg-deb", "-R", deb, work], check=True)
    files = {name: mode for name, mode in tree(work).items() if not name.startswith("DEBIAN/")}
    assert files == {
        "usr/bin/stackprobe": 0o755,
        "etc/stackprobe/stackprobe.conf": 0o644,
        "usr/share/man/man8/stackprobe.8.gz": 0o644,
        "lib/systemd/system/stackprobe.service": 0o644,
        "lib/systemd/system/stackprobe.socket": 0o644,
        "usr/share/doc/stackprobe/copyright": 0o644,
        "usr/share/doc/stackprobe/changelog.gz": 0o644,
        "usr/share/doc/stackprobe/CHANGELOG.md.gz": 0o644,
        **{path: mode for path, mode in FILES.items() if "/doc/" in path or "completion" in path},
    }
    listed = subprocess.run(["dpkg-deb", "-c", deb], capture_output=True, text=True, check=True)
    assert all(" root/root " in line for line in listed.stdout.splitlines())
    subprocess.run(["md5sum", "--quiet", "-c", "DEBIAN/md5sums"], cwd=work, check=True)
    assert (work / "DEBIAN/conffiles").read_text() == "/etc/stackprobe/stackprobe.conf\n"
    for script in ("postinst", "prerm", "postrm"):
        subprocess.run(["sh", "-n", work / "DEBIAN" / script], check=True)
    depends = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], capture_output=True, text=True,
                             check=True).stdout
    needed = subprocess.run(["objdump", "-p", work / "usr/bin/stackprobe"], capture_output=True,
                            text=True, check=True).stdout
    for library, package in (("libbpf.so.", "libbpf"), ("libmicrohttpd.so.", "libmicrohttpd"),
                             ("libelf.so.", "libelf"), ("libpcre2-8.so.", "libpcre2-8-0"),
                             ("libc.so.", "libc6")):
        assert (f"NEEDED               {library}" in needed) == (package in depends), package
    assert "libdw1" in depends  # of the line reader, which lies in the program
    assert "libcurl3-gnutls | libcurl4" in depends and "libcurl" not in needed  # loaded by name
    said = subprocess.run([work / "usr/bin/stackprobe", "--version"], capture_output=True,
                          text=True, check=True).stdout
    version = subprocess.run(["dpkg-deb", "-f", deb, "Version"], capture_output=True, text=True,
                             check=True).stdout
    assert said == f"stackprobe {version}"


def test_the_same_tree_makes_the_same_package(deb):
    first = deb.read_bytes()
    make("deb")
    assert deb.read_bytes() == first
