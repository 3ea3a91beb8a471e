# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's kernels, fetched by apt: it checks the signature of the release, the index by the release.
The machine's own apt stays as it is."""
import hashlib
import lzma
import os
import re
import subprocess

MIRROR = os.environ.get('STACKPROBE_MIRROR', 'http://deb.debian.org')
KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
# The smaller one, for virtual machines; both are built from one configuration but for drivers.
PACKAGE = 'linux-image-cloud-%s'
# Series, where it is found below the mirror, which release it is in.
SERIES = {
    '5.10': ('debian-security', 'bullseye-security'),
    '6.1': ('debian', 'bookworm'),
    '6.12': ('debian', 'trixie'),
    'newest': ('debian', 'sid'),
}
FETCH_SECONDS = 600


class Missing(Exception):
    """A kernel that can't be fetched, and why."""


def run(argv, folder):
    try:
        done = subprocess.run(argv, cwd=folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, timeout=FETCH_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(str(error)) from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise Missing(said[0] if said else '%s failed' % argv[0])
    return done.stdout


def apt_options(folder, place, release, architecture='amd64'):
    """A state of apt of its own."""
    state = folder / 'apt'
    for part in ('lists/partial', 'cache/archives/partial', 'none'):
        (state / part).mkdir(parents=True, exist_ok=True)
    (state / 'status').write_text('')
    (state / 'sources.list').write_text('deb [signed-by=%s] %s/%s %s main\n' %
                                        (KEYRING, MIRROR, place, release))
    settings = ['Dir::Etc::sourcelist=%s/sources.list' % state, 'Dir::Etc::sourceparts=%s/none' % state,
                'Dir::State::lists=%s/lists' % state, 'Dir::Cache=%s/cache' % state,
                'Dir::State::status=%s/status' % state, 'APT::Architecture=%s' % architecture,
                'APT::Architectures=%s' % architecture, 'APT::Sandbox::User=root', 'Acquire::Languages=none',
                'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false']
    return ['-qq', *(word for setting in settings for word in ('-o', setting))]


def show(options, folder, package):
    """The newest version's fields."""
    text = run(['apt-cache', *options, '--no-all-versions', 'show', package], folder)
    return dict(re.findall(r'^([\w-]+): (.*)$', text, re.MULTILINE))


def sha256(path):
    digest = hashlib.sha256()
    with path.open('rb') as file:
        for piece in iter(lambda: file.read(1 << 20), b''):
            digest.update(piece)
    return digest.hexdigest()


def fetch_package(options, folder, package):
    """The .deb, if need be downloaded, with the index's checksum."""
    fields = show(options, folder, package)
    path = folder / ('%s_%s.deb' % (package, fields['Version'].replace(':', '_')))
    if not path.exists() or sha256(path) != fields['SHA256']:
        run(['apt-get', *options, 'download', package], folder)
        downloaded = [f for f in folder.glob(package + '_*.deb') if sha256(f) == fields['SHA256']]
        if not downloaded:
            raise Missing('%s has another SHA256 than the index says' % package)
        downloaded[0].rename(path)
    return path


def vmlinuz_of(deb, folder):
    """The packed kernel, taken out of the package beside it."""
    listed = run(['dpkg-deb', '--contents', str(deb)], folder)
    found = re.search(r'(\./\S*vmlinuz\S*)$', listed, re.MULTILINE)
    if not found:
        return None
    kernel = deb.with_suffix('.vmlinuz')
    if not kernel.exists():
        made = deb.with_suffix('.new')
        with subprocess.Popen(['dpkg-deb', '--fsys-tarfile', str(deb)], stdout=subprocess.PIPE) as tar, \
                made.open('wb') as out:
            subprocess.run(['tar', '-xO', found[1]], stdin=tar.stdout, stdout=out, check=True)
        made.rename(kernel)
    return kernel


def unpacked_modules(deb, folder, modules):
    """Puts modules of a package, unpacked, into the folder ….modules beside it; returns their names."""
    listed = run(['dpkg-deb', '--contents', str(deb)], folder)
    found = {}
    for name in modules:
        path = re.search(r'(\./\S*/kernel/\S*/%s\.ko(?:\.xz)?)$' % name, listed, re.MULTILINE)
        if path:
            found[name] = path[1]
    kept = deb.with_suffix('.modules')
    kept.mkdir(exist_ok=True)
    for name, path in found.items():
        with subprocess.Popen(['dpkg-deb', '--fsys-tarfile', str(deb)], stdout=subprocess.PIPE) as tar:
            data = subprocess.run(['tar', '-xO', path], stdin=tar.stdout, stdout=subprocess.PIPE, check=True).stdout
        (kept / (name + '.ko')).write_bytes(lzma.decompress(data) if path.endswith('.xz') else data)
    return set(found)


def fetch_newest(options, folder, package, modules):
    run(['apt-get', *options, 'update'], folder)
    depends = show(options, folder, package).get('Depends', '')
    image = re.search(r'linux-image-[0-9][\w.+-]*', depends)
    if not image:
        raise Missing('%s depends on no image' % package)
    names, kernel, missing = [image[0]], None, set(modules)
    for name in names:
        deb = fetch_package(options, folder, name)
        kernel = kernel or vmlinuz_of(deb, folder)
        missing -= unpacked_modules(deb, folder, missing) if missing else set()
        if kernel and not missing:
            break
        # From 6.18 on, the image and its modules are in packages that this one depends on.
        depends = show(options, folder, name).get('Depends', '')
        names += [n for n in re.findall(r'linux-(?:binary|modules)-[\w.+-]+', depends) if n not in names]
    if not kernel:
        raise Missing('no vmlinuz in %s' % ', '.join(names))
    return kernel


def fetch(series, folder, architecture='amd64', modules=()):
    """Path of that series' newest kernel; without a mirror that of an earlier run. What there is of its modules is
    in folders beside it."""
    folder = (folder / series).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return fetch_newest(apt_options(folder, *SERIES[series], architecture), folder,
                            PACKAGE % architecture, modules)
    except Missing:
        kept = sorted(folder.glob('*.vmlinuz'), key=lambda path: path.stat().st_mtime)
        if not kept:
            raise
        return kept[-1]
