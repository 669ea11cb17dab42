# SPDX-License-Identifier: Apache-2.0
"""The daemon's end of an output link with keys, from the page of CurveZMQ (https://rfc.zeromq.org/spec/26) and libsodium: so that
a peer whose key is listed can send what ZeroMQ itself would not."""
import ctypes
import ctypes.util
import os
import socket
import struct

import line_sender
from line_sender import COMMAND, LONG, MORE

Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
GREETING = line_sender.GREETING[:12] + b"CURVE".ljust(20, b"\0") + line_sender.GREETING[32:]
_sodium = ctypes.CDLL("libsodium.so.23")
_sodium.sodium_init()
MAC = 16
SEALED_COMMAND = 2  # a heartbeat of ZeroMQ


def key_in(path) -> bytes:
    text = path.read_text().splitlines()[-1].split()[0]
    groups = [text[i:i + 5] for i in range(0, len(text), 5)]
    return b"".join(struct.pack(">I", sum(Z85.index(c) * 85 ** (4 - i) for i, c in enumerate(g))) for g in groups)


def key_pair():
    public, secret = ctypes.create_string_buffer(32), ctypes.create_string_buffer(32)
    _sodium.crypto_box_keypair(public, secret)
    return public.raw, secret.raw


def seal(data, nonce, public, secret) -> bytes:
    out = ctypes.create_string_buffer(len(data) + MAC)
    assert _sodium.crypto_box_easy(out, data, ctypes.c_ulonglong(len(data)), nonce, public, secret) == 0
    return out.raw


def unseal(data, nonce, public, secret) -> bytes:
    out = ctypes.create_string_buffer(len(data) - MAC)
    assert _sodium.crypto_box_open_easy(out, data, ctypes.c_ulonglong(len(data)), nonce, public, secret) == 0
    return out.raw


class SealedSender(line_sender.Peer):
    """Speaks with the key in NAME.public and NAME.secret to the receiver whose public key is `receiver`."""

    def __init__(self, where, own, receiver, seconds=10, identity=b""):
        super().__init__(socket.create_connection(where, timeout=seconds))
        self._nonce = 0
        server, public, secret = key_in(receiver), key_in(own.with_suffix(".public")), key_in(own.with_suffix(".secret"))
        self._short, self._short_secret = key_pair()
        self._socket.sendall(GREETING)
        self._take(64)
        number = self._number()
        self._command(b"\x05HELLO\x01\x00" + bytes(72) + self._short + number +
                      seal(bytes(64), b"CurveZMQHELLO---" + number, server, self._short_secret))
        welcome = self._frame()[1]
        assert welcome[:8] == b"\x07WELCOME", welcome
        opened = unseal(welcome[24:], b"WELCOME-" + welcome[8:24], server, self._short_secret)
        self._server_short, cookie = opened[:32], opened[32:]
        vouch_nonce = os.urandom(16)
        vouch = seal(self._short + server, b"VOUCH---" + vouch_nonce, self._server_short, secret)
        about = b"\x0bSocket-Type" + struct.pack(">I", 6) + b"DEALER" + b"\x08Identity" + struct.pack(">I", len(identity)) + identity
        number = self._number()
        self._command(b"\x08INITIATE" + cookie + number +
                      seal(public + vouch_nonce + vouch + about, b"CurveZMQINITIATE" + number, self._server_short,
                           self._short_secret))
        assert self._frame()[1][:6] == b"\x05READY"

    def _number(self):
        self._nonce += 1
        return struct.pack(">Q", self._nonce)

    def _command(self, body):
        size = bytes([COMMAND, len(body)]) if len(body) < 256 else struct.pack(">BQ", COMMAND | LONG, len(body))
        self._socket.sendall(size + body)

    def sealed(self, frame, more) -> bytes:
        number = self._number()
        body = b"\x07MESSAGE" + number + seal(bytes([MORE if more else 0]) + frame, b"CurveZMQMESSAGEC" + number,
                                              self._server_short, self._short_secret)
        return (bytes([0, len(body)]) if len(body) < 256 else struct.pack(">BQ", LONG, len(body))) + body

    def send(self, *frames):
        self._socket.sendall(b"".join(self.sealed(f, i + 1 < len(frames)) for i, f in enumerate(frames)))

    def receive_kind(self):
        """The kind of the next message."""
        frames, more = [], True
        while more or not frames:
            _, body = self._frame()
            assert body[:8] == b"\x07MESSAGE", body[:8]
            opened = unseal(body[16:], b"CurveZMQMESSAGES" + body[8:16], self._server_short, self._short_secret)
            more = opened[0] & MORE
            if not opened[0] & SEALED_COMMAND:
                frames.append(opened[1:])
        return line_sender.HEADER.unpack(frames[0][:28])[2]
