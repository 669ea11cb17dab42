# SPDX-License-Identifier: Apache-2.0
"""An independent daemon's end of the output link, written from section 8 of docs/formats.md: a DEALER in plain sockets (ZMTP 3.0,
https://rfc.zeromq.org/spec/23, without security), so that a test can also be a stranger on the receiver's port."""
import socket
import struct

from crc32c import crc32c

GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + b"\x00" + bytes(31)
MORE, LONG, COMMAND = 1, 2, 4
HEADER = struct.Struct("<4sBBHQQI")  # then the CRC-32C of these 28 bytes
HELLO, WELCOME, BLOCK, ACKNOWLEDGEMENT, REFUSAL, HEARTBEAT, GOODBYE = range(1, 8)
BLOCK_HEADER = struct.Struct("<4sBBHIIQQIIQQI")


def header(kind, session, sequence=0, credit=0, magic=b"KL3L", version=1, crc=None) -> bytes:
    head = HEADER.pack(magic, version, kind, 0, session, sequence, credit)
    return head + struct.pack("<I", crc32c(head) if crc is None else crc)


def answer(missing) -> bytes:
    """The body of a welcome."""
    body = struct.pack("<QQI", missing, 0, 0)
    return body + struct.pack("<I", crc32c(body))


def block(session, sequence, payload, events, run=7, node=3, payload_crc=None) -> bytes:
    head = BLOCK_HEADER.pack(b"KL3B", 1, 1, 0, len(payload), events, session, sequence, run, node, 0, 0,
                             crc32c(payload) if payload_crc is None else payload_crc)
    return head + struct.pack("<I", crc32c(head)) + payload


class Peer:
    """Frames and messages over a socket."""

    def __init__(self, its_socket):
        self._socket = its_socket
        self._input = b""

    def close(self):
        self._socket.close()

    def reset(self):
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _take(self, n):
        while len(self._input) < n:
            data = self._socket.recv(1 << 16)
            if not data:
                raise ConnectionError("the other end closed the connection")
            self._input += data
        taken, self._input = self._input[:n], self._input[n:]
        return taken

    def _frame(self):
        flags = self._take(1)[0]
        length = struct.unpack(">Q", self._take(8))[0] if flags & LONG else self._take(1)[0]
        return flags, self._take(length)

    def send(self, *frames):
        data = b""
        for i, frame in enumerate(frames):
            more = MORE if i + 1 < len(frames) else 0
            size = struct.pack(">BQ", more | LONG, len(frame)) if len(frame) > 255 else bytes([more, len(frame)])
            data += size + frame
        self._socket.sendall(data)

    def send_raw(self, data):
        self._socket.sendall(data)

    def receive(self):
        """(type, session, sequence, credit, body) of the next message."""
        frames, flags = [], MORE
        while flags & MORE:
            flags, frame = self._frame()
            if flags & COMMAND:
                flags = MORE
                if frame.startswith(b"\x04PING"):  # of ZMTP 3.1: two bytes of time, then what the answer repeats
                    pong = b"\x04PONG" + frame[7:]
                    self._socket.sendall(bytes([COMMAND, len(pong)]) + pong)
            else:
                frames.append(frame)
        head, body = frames
        assert len(head) == 32 and crc32c(head[:28]) == struct.unpack_from("<I", head, 28)[0], "not a header of the link"
        magic, version, kind, _, session, sequence, credit = HEADER.unpack(head[:28])
        assert (magic, version) == (b"KL3L", 1)
        return kind, session, sequence, credit, body

    def silent(self, seconds):
        """Whether nothing comes for so long."""
        old = self._socket.gettimeout()
        self._socket.settimeout(seconds)
        try:
            if not self._input:
                self._input += self._socket.recv(1 << 16)
            return not self._input
        except TimeoutError:
            return True
        finally:
            self._socket.settimeout(old)


class LinkSender(Peer):
    def __init__(self, host, port, seconds=10):
        super().__init__(socket.create_connection((host, port), timeout=seconds))
        self._socket.sendall(GREETING)
        self._take(64)
        ready = b"\x05READY" + b"\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER"
        self._socket.sendall(bytes([COMMAND, len(ready)]) + ready)
        self._frame()  # the other's READY


def hello(session, first=1, run=7, node=3):
    return header(HELLO, session, first), struct.pack("<II", run, node)


