"""A CA, and certificates of a server on 127.0.0.1 and of a client, made by openssl."""
import shutil
import ssl
import subprocess
from typing import NamedTuple

import pytest

KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-batch")


class Certificates(NamedTuple):
    folder: object

    @property
    def ca(self):
        return self.folder / "ca.pem"

    def server(self, client=False):
        """A server's context. `client`: who has no certificate of that CA isn't let in."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "server.pem", self.folder / "server.key")
        if client:
            context.load_verify_locations(self.ca)
            context.verify_mode = ssl.CERT_REQUIRED
        return context


def request(folder, name, *options):
    argv = ["openssl", "req", "-x509", *KEY, "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem",
            "-subj", f"/CN={name}", *options]  # fmt: skip
    subprocess.run([str(arg) for arg in argv], check=True, capture_output=True)


def signed(folder, name, *extensions, ca="ca"):
    added = [part for one in (*extensions, "basicConstraints=CA:FALSE") for part in ("-addext", one)]
    request(folder, name, "-CA", folder / f"{ca}.pem", "-CAkey", folder / f"{ca}.key", *added)


def expired(folder, name):
    """One of that CA whose last day was yesterday."""
    key, asked = folder / f"{name}.key", folder / f"{name}.csr"
    for argv in (["req", "-new", *KEY[:4], "-nodes", "-batch", "-keyout", key, "-out", asked, "-subj", f"/CN={name}"],
                 ["x509", "-req", "-in", asked, "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-days", "-1",
                  "-out", folder / f"{name}.pem"]):  # fmt: skip
        subprocess.run(["openssl", *[str(arg) for arg in argv]], check=True, capture_output=True)


def certificates(folder):
    """Made below that folder: ca, server, client, and another ca that has signed none of them."""
    if not shutil.which("openssl"):
        pytest.skip("no openssl")
    folder.mkdir()
    for name in ("ca", "other"):
        request(folder, name)
    signed(folder, "server", "subjectAltName=IP:127.0.0.1")
    signed(folder, "client")
    return Certificates(folder)
