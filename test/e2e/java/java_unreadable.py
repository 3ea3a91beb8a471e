"""Real Java VMs whose tables can't be read for us: one field has another name in them, as in a VM of a
later day."""
import os
import shutil
from pathlib import Path

MISSING = "CodeBlob._frame_complete_offset"


def vm_like(java, to):
    """A Java VM of links to another one, but for its program and libjvm; where these are."""
    home = Path(os.path.realpath(java.path)).parent.parent
    for path in home.rglob("*"):
        copy = to / path.relative_to(home)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.name in ("java", "libjvm.so") and path.is_file():
            shutil.copy(path, copy)
        elif not path.is_dir():
            copy.symlink_to(path)
    return to / "bin/java", next(to.rglob("server/libjvm.so"))


def unreadable(java, to):
    """The same Java, with its home in the folder `to`, that hasn't got the field MISSING."""
    if not to.exists():
        _, library = vm_like(java, to)
        name, other = (b"\0_frame_%s_offset\0" % word for word in (b"complete", b"finished"))
        data = library.read_bytes()
        assert data.count(name) == 1
        library.write_bytes(data.replace(name, other))
    return java._replace(path=to / "bin/java")
