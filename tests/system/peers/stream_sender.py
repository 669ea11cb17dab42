# SPDX-License-Identifier: Apache-2.0
"""An independent sender of level-2 data as a record stream over TCP, written from section 4 of docs/formats.md. It keeps
what was not acknowledged, and `reconnect` sends it again."""
import select
import socket
import struct
import time

from crc32c import crc32c

HEADER = struct.Struct("<4sBBHIIQI")  # then the CRC-32C of these 28 bytes
MAGIC = b"KL3R"
BEGIN, EVENT, END, HELLO, ACKNOWLEDGEMENT, REFUSAL = range(1, 7)


def record(kind, spill, sequence, body, length=None) -> bytes:
    head = HEADER.pack(MAGIC, 1, kind, 0, len(body) if length is None else length, spill, sequence, crc32c(body))
    return head + struct.pack("<I", crc32c(head)) + body


def hello_body(run, crates) -> bytes:
    return struct.pack("<II", run, len(crates)) + b"".join(
        struct.pack("<BBBB", c.number, c.boards, c.kind, 0) for c in crates)


def begin_body(beam_on=2_000_000_000) -> bytes:
    return struct.pack("<QQ", beam_on, 0)


def end_body(events, cycle=4_000_000_000) -> bytes:
    return struct.pack("<IIQ", events, 0, cycle)


def event_body(number, fragments, time_in_spill=0) -> bytes:
    """Fragments as {place: bytes} or as a list with one for every place."""
    table = fragments if isinstance(fragments, dict) else dict(enumerate(fragments))
    return (struct.pack("<IIQ", number, len(table), time_in_spill) +
            b"".join(struct.pack("<HHI", place, 0, len(f)) for place, f in table.items()) +
            b"".join(f + bytes(-len(f) % 4) for f in table.values()))


class Refused(Exception):
    """The daemon said why."""


class StreamSender:
    def __init__(self, crates, host, port, run=1, seconds=10):
        self.crates = crates
        self.run = run
        self.next = 1  # sequence number
        self.acknowledged = 0
        self.acknowledgements = []  # every number that came over this connection
        self.refusal = None
        self.kept = {}  # sequence -> (type, spill, body): not acknowledged yet
        self._begins = {}  # spill -> (sequence, body) of its begin
        self._to = (host, port)
        self._seconds = seconds
        self._socket = None
        self._input = b""

    # Connections

    def connect(self):
        self._socket = socket.create_connection(self._to, timeout=self._seconds)
        self._input = b""
        self.acknowledgements = []
        self.send(HELLO, 0, hello_body(self.run, self.crates))
        return self

    def close(self):
        if self._socket:
            self._socket.close()
            self._socket = None

    def reconnect(self):
        """A new connection: hello, then everything that was not acknowledged, with the begin of each of its spills."""
        self.close()
        self.kept = {n: r for n, r in self.kept.items() if r[0] != HELLO}
        again = dict(self.kept)
        for _, spill, _ in self.kept.values():
            if spill in self._begins:
                sequence, body = self._begins[spill]
                again[sequence] = (BEGIN, spill, body)
        self.connect()
        for sequence in sorted(again):
            kind, spill, body = again[sequence]
            self.send_raw(record(kind, spill, sequence, body))
        return len(again)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Records

    def send_raw(self, data):
        """All of it; what the daemon says meanwhile is read, so that neither side waits for the other."""
        view = memoryview(data)
        until = time.monotonic() + self._seconds
        self._socket.setblocking(False)
        while view:
            readable, writable, _ = select.select([self._socket], [self._socket], [], 0.1)
            if readable:
                self._read()
            if writable:
                view = view[self._socket.send(view):]
                until = time.monotonic() + self._seconds
            elif time.monotonic() > until:
                raise TimeoutError("the daemon does not read")

    def send(self, kind, spill, body):
        sequence = self.next
        self.next += 1
        self.kept[sequence] = (kind, spill, body)
        if kind == BEGIN:
            self._begins[spill] = (sequence, body)
        self.send_raw(record(kind, spill, sequence, body))
        return sequence

    def begin(self, spill):
        return self.send(BEGIN, spill, begin_body())

    def event(self, spill, number, fragments):
        return self.send(EVENT, spill, event_body(number, fragments, 1000 * number))

    def end(self, spill, events):
        return self.send(END, spill, end_body(events))

    # Acknowledgements

    def _read(self):
        data = self._socket.recv(1 << 16)
        if not data:
            raise ConnectionError(self.refusal or "the daemon closed the connection")
        self._input += data
        while len(self._input) >= 32:
            head, head_crc = self._input[:28], struct.unpack_from("<I", self._input, 28)[0]
            magic, version, kind, _, length, spill, sequence, body_crc = HEADER.unpack(head)
            assert (magic, version, spill, sequence) == (MAGIC, 1, 0, 0), "not a record of the daemon"
            assert crc32c(head) == head_crc, "header checksum"
            if len(self._input) < 32 + length:
                return
            body, self._input = self._input[32:32 + length], self._input[32 + length:]
            assert crc32c(body) == body_crc, "body checksum"
            if kind == REFUSAL:
                self.refusal = body.decode()
                raise Refused(self.refusal)
            assert kind == ACKNOWLEDGEMENT and length == 16, f"type {kind} of {length} bytes"
            self._acknowledge(struct.unpack_from("<Q", body)[0])

    def _acknowledge(self, sequence):
        last = max(self.acknowledgements, default=0)
        assert sequence >= last, f"acknowledgements fell from {last} to {sequence}"
        assert sequence < self.next, f"{sequence} acknowledged, {self.next - 1} sent"
        self.acknowledgements.append(sequence)
        self.acknowledged = max(self.acknowledged, sequence)
        for n in [n for n in self.kept if n <= sequence]:
            del self.kept[n]

    def listen(self, seconds, until=lambda: False):
        """Reads what the daemon says for so long, or until a condition holds; returns whether it does."""
        end = time.monotonic() + seconds
        while not until():
            left = end - time.monotonic()
            if left <= 0:
                return False
            if select.select([self._socket], [], [], min(left, 0.1))[0]:
                self._read()
        return True

    def wait_for_acknowledgement(self, sequence, seconds=20):
        if not self.listen(seconds, lambda: self.acknowledged >= sequence):
            raise TimeoutError(f"{sequence} was not acknowledged, only {self.acknowledged}")
