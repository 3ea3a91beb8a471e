# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest: an initramfs of busybox, stackprobe and test programs, and QEMU without KVM."""
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

QEMU = 'qemu-system-x86_64'
BUSYBOX = '/bin/busybox'
HERE = Path(__file__).resolve().parent
FOLDERS = ['bin', 'dev', 'etc', 'proc', 'sys', 'tmp', 'root', 'var/lib', 'var/log']
APPLETS = ['awk', 'cat', 'cut', 'date', 'dmesg', 'grep', 'head', 'insmod', 'ip', 'kill', 'killall', 'losetup', 'mkdir', 'mount', 'nc', 'dd', 'poweroff', 'readlink',
           'rm', 'sed', 'sh', 'sleep', 'stty', 'tail', 'test', 'timeout', 'tr', 'uname']
GUEST_SECONDS = 900


class Result(NamedTuple):
    status: int
    text: str


def missing():
    """What is not installed here."""
    needed = [QEMU, 'cpio', 'apt-get', 'dpkg-deb']
    return [name for name in needed if not shutil.which(name)] + \
        [BUSYBOX] * (not os.access(BUSYBOX, os.X_OK))


def libraries_of(program):
    listed = subprocess.run(['ldd', program], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False).stdout
    return re.findall(r'(/\S+) \(0x', listed)


def copy_program(program, root):
    shutil.copy(program, root / 'bin')
    for library in libraries_of(program):
        to = root / library.lstrip('/')
        to.parent.mkdir(parents=True, exist_ok=True)
        if not to.exists():
            shutil.copy(os.path.realpath(library), to)


def make_initramfs(folder, programs, cases):
    """Path of the archive; `cases` is what /init runs."""
    root, archive = folder / 'root', folder / 'initramfs'
    shutil.rmtree(root, ignore_errors=True)
    for name in FOLDERS:
        (root / name).mkdir(parents=True)
    shutil.copy(BUSYBOX, root / 'bin')
    for applet in APPLETS:
        (root / 'bin' / applet).symlink_to('busybox')
    for program in programs:
        copy_program(program, root)
    shutil.copy(HERE / 'init', root / 'init')
    (root / 'init').chmod(0o755)
    (root / 'cases').write_text(cases)
    names = '\0'.join(str(path.relative_to(root)) for path in sorted(root.rglob('*')))
    with archive.open('wb') as out:
        subprocess.run(['cpio', '--quiet', '--null', '--create', '--format=newc'], cwd=root,
                       input=names.encode(), stdout=out, check=True)
    return archive


def add_modules(initramfs, folder, names):
    """Path of the archive with a kernel's modules behind it, in /modules; those that there aren't are left out."""
    root, archive = folder / 'root', folder / 'initramfs'
    shutil.rmtree(root, ignore_errors=True)
    (root / 'modules').mkdir(parents=True)
    for name in names:
        for path in sorted(folder.glob('*.modules/%s.ko' % name)):
            shutil.copy(path, root / 'modules')
    listed = '\0'.join(str(path.relative_to(root)) for path in sorted(root.rglob('*')))
    shutil.copy(initramfs, archive)
    with archive.open('ab') as out:
        subprocess.run(['cpio', '--quiet', '--null', '--create', '--format=newc'], cwd=root,
                       input=listed.encode(), stdout=out, check=True)
    return archive


def boot(kernel, initramfs, folder):
    """Runs the guest until it turns itself off: results by name, and what the console said."""
    answers, console = folder / 'answers', folder / 'console'
    # One thread for both processors: with two, 6.12 and 7.2 were seen to die, behind cmpxchg16b and on a
    # breakpoint (int3) where code had been patched.
    # Without cmpxchg16b (cx16=off) 7.2 gives no task storage at a switch.
    argv = [QEMU, '-accel', 'tcg,thread=single', '-cpu', 'max', '-smp', '2', '-m', '2048',
            '-display', 'none', '-nic', 'none', '-no-reboot', '-kernel', kernel, '-initrd', initramfs,
            '-serial', 'file:%s' % console, '-serial', 'file:%s' % answers,
            # On a busy host the guest's timer may not tick in the time in which the kernel looks for it.
            '-append', 'console=ttyS0 loglevel=4 panic=-1 no_timer_check']
    for path in (answers, console):
        path.write_text('')
    try:
        subprocess.run(argv, stdin=subprocess.DEVNULL, timeout=GUEST_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        pass  # What it told until then counts.
    return (results_of(answers.read_text(errors='replace')), console.read_text(errors='replace'))


def results_of(text):
    pattern = re.compile(r'^@begin (\S+)\n(.*?)^@end \1 (\d+)$', re.MULTILINE | re.DOTALL)
    return {name: Result(int(status), body) for name, body, status in
            pattern.findall(text.replace('\r', ''))}
