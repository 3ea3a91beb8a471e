"""A stand-in for Pyroscope that refuses what the real one refuses, and what it drops without a word.

What a body must be is in pprof_rules.py, pyroscope_push.py and pyroscope_ingest.py; how the server answers
is here; how it fails to, in pyroscope_faults.py; what it has stored can be asked as pyroscope_stored.py
tells.
"""

import gzip
import hashlib
import threading
import time
import zlib

import pprof
import pprof_rules
import pyroscope_ingest as ingest
import pyroscope_push as push
from pprof import Refused
from pyroscope_faults import Fault
from pyroscope_http import Answer, Server, saying_no
from pyroscope_stored import ReadBack, of_ingest, of_push

MIB = 1 << 20


class Bucket:
    """So many bytes a second, `burst` at once. What is larger than that never goes in."""

    def __init__(self, rate, burst):
        self.rate, self.burst = rate, burst
        self.level, self.at = burst, time.monotonic()

    def take(self, size):
        now = time.monotonic()
        self.level = min(self.burst, self.level + (now - self.at) * self.rate)
        self.at = now
        if size > self.level:
            return False
        self.level -= size
        return True


class Pyroscope(ReadBack):
    """Started on a port of its own. `with Pyroscope() as server: …`

    stored:     what was accepted, in order of arrival
    refused:    (rule, text) of what no repeating makes good
    put_off:    (rule, text) of what may be sent again: "rate", "starting"
    repeated:   bodies (digests) that came again after all or a part of them was stored
    unanswered: how many requests were stored whose answer was not given, or not as a whole
    asked:      every request
    followed:   requests that went where a redirection had sent them
    broken:     its own mistakes, and requests that aren't HTTP, of which stop() complains
    """

    def __init__(self, delay=0.5, rate=4 * MIB, burst=2 * MIB, authorization=None, tenant=None,
                 clock=time.time, tls=None):  # fmt: skip
        self.delay, self.burst, self.clock, self.tls = delay, burst, clock, tls
        self.authorization, self.tenant = authorization, tenant
        self.bucket = Bucket(rate, burst)
        self.stored, self.refused, self.put_off, self.repeated, self.asked, self.broken = (
            [] for _ in range(6)
        )
        self.followed = self.unanswered = 0
        self.seen = set()
        self.lock = threading.Lock()
        self.fault, self.coming, self.faults = None, [], []
        self.port = 0
        self.server = self.thread = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self):
        return f"http{'s' if self.tls else ''}://127.0.0.1:{self.port}"

    def start(self, starting=0, unready=0):
        """On the port that it had before. For `starting` seconds it says 500 to pushes, also after the
        `unready` seconds in which /ready says 503."""
        self.ended = threading.Event()
        now = time.monotonic()
        self.up_at, self.ready_at = now + starting, now + unready
        self.server = Server(("127.0.0.1", self.port), self)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        return self

    def stop(self):
        """At once, in the middle of an answer too. What waits for one then was not stored."""
        if not self.server:
            return
        self.ended.set()
        self.behave()
        self.server.shutdown()
        self.server.server_close()
        self.server.close_connections()
        self.thread.join()
        self.server = None
        assert not self.broken, self.broken[0]

    def misbehave(self, how, times=None, **options):
        """From now on (that many times) a push is answered as pyroscope_faults.py has it."""
        self.behave()
        self.fault = Fault(how, times, **options)
        self.faults.append(self.fault)

    def misbehave_in_turn(self, *faults):
        """Each of the next pushes gets one of these, as misbehave() takes them."""
        self.behave()
        self.coming = [Fault(times=1, **fault) for fault in faults]
        self.faults += self.coming
        self.fault = self.coming.pop(0)

    def behave(self):
        """What hangs ends as well."""
        with self.lock:
            self.fault, self.coming = None, []
        for fault in self.faults:
            fault.over.set()

    def next_fault(self):
        """The fault that this push gets."""
        with self.lock:
            fault = self.fault
            if fault and fault.times is not None:
                fault.times -= 1
                if not fault.times:
                    self.fault = self.coming.pop(0) if self.coming else None
            return fault

    def count_unanswered(self, stored):
        with self.lock:
            self.unanswered += stored

    # What a request must be, as far as its head

    def check_head(self, method, path, headers):
        """The API that is asked."""
        if path.startswith("//"):
            raise Refused("double-slash", path, 301)
        bare, _, query = path.partition("?")
        if bare not in (push.PATH, *ingest.PATHS) or (bare == push.PATH and query):
            raise Refused("path", path, 404)
        if method != "POST":
            raise Refused("method", f"{method} {path}", 405)
        if self.authorization and headers["Authorization"] != self.authorization:
            raise Refused("authorization", f"no org id: {headers['Authorization']}", 401)
        if self.tenant and headers["X-Scope-OrgID"] != self.tenant:
            raise Refused("tenant", f"no org id: {headers['X-Scope-OrgID']}", 401)
        encoding = headers["Content-Encoding"]
        if bare != push.PATH:
            if encoding:
                raise Refused("ingest-encoding", f"Content-Encoding: {encoding} is not known here")
            return "ingest"
        if push.content_type(headers["Content-Type"]) not in (push.JSON, push.PROTO):
            raise Refused("content-type", str(headers["Content-Type"]), 415)
        if headers["Connect-Protocol-Version"] not in (None, "1"):
            raise Refused("connect-version", headers["Connect-Protocol-Version"])
        if encoding not in (None, "identity", "gzip"):
            raise Refused("encoding", encoding, 501)
        return "push"

    def check_up(self):
        if time.monotonic() < self.up_at:
            raise Refused("starting", "rpc error: code = Unavailable desc = service is unavailable", 500)

    # What is in it

    def pay(self, size):
        with self.lock:
            paid = self.bucket.take(size)
        if not paid:
            limit = f"{self.bucket.rate / MIB:.1f} MiB"
            why = f"push rate limit ({limit}) exceeded while adding {size // 1024} KiB"
            raise Refused("rate", why, 429)

    def push(self, body, headers):
        """([Stored…], [Refused…]): one doesn't spoil the others."""
        if headers["Content-Encoding"] == "gzip":
            try:
                body = gzip.decompress(body)
            except (OSError, EOFError, zlib.error) as error:
                raise Refused("body-gzip", str(error)) from None
        good, bad = [], []
        for series in push.series_of(body, headers["Content-Type"]):
            try:
                push.check_series(series)
            except Refused as no:
                bad.append(no)
                continue
            for raw in series.bodies:
                try:
                    good.append(self.one_profile(series, raw))
                except Refused as no:
                    bad.append(no)
        return good, bad

    def one_profile(self, series, raw):
        profile = pprof.read(raw)
        how = pprof_rules.Push(dict(series.labels)["__name__"], self.clock(), series.label_bytes, self.burst)
        pprof_rules.check(profile, how)
        push.check_sample_labels(series, profile)
        self.pay(profile.size + series.label_bytes)
        return of_push(series, profile, raw)

    def ingest(self, body, path):
        read = ingest.read(path.partition("?")[2], body, self.clock())
        pprof_rules.check_size(read.size, 0, self.burst)
        self.pay(read.size)
        return [of_ingest(read, body)], []

    def take(self, method, path, headers, body, fault=None):
        """The answer to a request, and whether it was stored. None: stopped before it could be."""
        try:
            api = self.check_head(method, path, headers)
            self.check_up()
            if fault and not fault.stores:
                return Answer(200), False
            good, bad = self.push(body, headers) if api == "push" else self.ingest(body, path)
        except Refused as no:
            good, bad = [], [no]
        if good and self.ended.wait(self.delay):
            return None, False
        with self.lock:
            for no in bad:
                (self.put_off if no.rule in ("rate", "starting") else self.refused).append((no.rule, no.text))
            self.keep(good, path, body)
        if bad:
            return saying_no(bad[0]), bool(good)
        if api == "push" and push.content_type(headers["Content-Type"]) == push.JSON:
            return Answer(200, b"{}"), True
        return Answer(200, type=push.PROTO if api == "push" else "text/plain"), True

    def keep(self, good, path, body):
        if not good:
            return
        digest = hashlib.sha256(path.encode() + b"\0" + body).hexdigest()
        if digest in self.seen:
            self.repeated.append(digest)
        self.seen.add(digest)
        self.stored += good
