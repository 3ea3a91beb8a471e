"""HTTPS servers for test_http_tls: makes certificates in the folder that is its argument, prints
`NAME PORT` for each server and a line `ready`, ends when its input does."""
import contextlib
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

FOLDER = Path(sys.argv[1])


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], cwd=FOLDER, check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_ca(name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")


def make_certificate(name, ca, alternatives="DNS:none.example"):
    (FOLDER / f"{name}.ext").write_text(f"subjectAltName={alternatives}\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", f"{name}.csr")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial",
            "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem")


def make_all():
    make_ca("ca")
    make_ca("other_ca")
    make_certificate("here", "ca", "IP:127.0.0.1,DNS:localhost")
    make_certificate("elsewhere", "ca", "DNS:elsewhere.example")
    make_certificate("client", "ca")
    make_certificate("stranger", "other_ca")
    # A key that asks for its password.
    openssl("ec", "-in", "client.key", "-aes128", "-passout", "pass:secret", "-out", "locked.key")
    (FOLDER / "rubbish.pem").write_text("rubbish\n")


def context(certificate, asks=False, newest=None, oldest=None):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(FOLDER / f"{certificate}.pem", FOLDER / f"{certificate}.key")
    if asks:
        made.verify_mode = ssl.CERT_REQUIRED
        made.load_verify_locations(FOLDER / "ca.pem")
    if newest:
        made.set_ciphers("DEFAULT@SECLEVEL=0")
        made.minimum_version = oldest or ssl.TLSVersion.TLSv1_2
        made.maximum_version = newest
    return made


def who(connection):
    told = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
    return dict(field for part in told["subject"] for field in part)["commonName"] if told else "nobody"


def answer(connection):
    stream = connection.makefile("rb")
    while head := stream.readline():
        length = 0
        while (line := stream.readline()) not in (b"\r\n", b""):
            head += line
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        if len(stream.read(length)) != length:
            return
        body = f"{who(connection)} {length}".encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def converse(plain, tls):
    with contextlib.suppress(OSError), plain:
        if tls == "silent":
            plain.recv(1 << 20)
            threading.Event().wait()
        connection = tls.wrap_socket(plain, server_side=True) if tls else plain
        with connection:
            answer(connection)


def accept(listening, tls):
    while True:
        plain, _ = listening.accept()
        threading.Thread(target=converse, args=(plain, tls), daemon=True).start()


def main():
    make_all()
    servers = {
        "here": context("here"),
        "elsewhere": context("elsewhere"),
        "asks": context("here", asks=True),
        "asks_by_1.2": context("here", asks=True, newest=ssl.TLSVersion.TLSv1_2),
        "old": context("here", newest=ssl.TLSVersion.TLSv1_1, oldest=ssl.TLSVersion.TLSv1),
        "plain": None,
        "silent": "silent",
    }
    for name, tls in servers.items():
        listening = socket.create_server(("127.0.0.1", 0))
        print(name, listening.getsockname()[1])
        threading.Thread(target=accept, args=(listening, tls), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


main()
