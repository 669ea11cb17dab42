# SPDX-License-Identifier: Apache-2.0
"""`subscribe`: some of the events that a receiver stores, while it stores them (docs/formats.md, section 17)."""
from __future__ import annotations

import os
import struct
import time
import uuid
import weakref
from collections.abc import Sequence
from typing import Any

from ._events import Events
from ._library import Error
from ._settings import unknown
from ._store import Store

_CONNECT_MS = 5000
_WAITING = 64  # messages in the memory of this process
_HEAD = 16  # bytes of a store's file before its blocks
_BATCH_BYTES = 128 << 20


class _Piece(Store):
    """A file of a store in memory."""

    def __init__(self, content: Sequence[bytes]) -> None:
        file = os.memfd_create("koto_l3")
        weakref.finalize(self, os.close, file)
        os.write(file, b"".join(content))
        super().__init__([f"/proc/self/fd/{file}"], False, False)


def subscribe(address: str, lines: str | Sequence[str] | None = None, *, every: float = 1.0, idle: float | None = None) -> Subscription:
    """Subscribes to events that `koto-l3 receive --publish ADDRESS` stores: at most `--publish-rate` a second of each line.

    lines: lines whose events are wanted; None: all events
    every: seconds of events in one batch
    idle:  end after so many seconds without an event; None: never

    Raises `Error` if nothing publishes there. With the first event, KeyError names a line that the menu lacks."""
    return Subscription(address, [lines] if isinstance(lines, str) else lines, every, idle)


class Subscription:
    """What `subscribe` returns: iterates over batches of new `Events`. A reader that is too slow loses events, and never slows the
    receiver.

    lost: number of published events of its lines that this reader missed
    """

    def __init__(self, address: str, lines: Sequence[str] | None, every: float, idle: float | None) -> None:
        try:
            import zmq
        except ImportError:
            raise ImportError("this needs pyzmq: pip install 'koto-l3[live]'") from None
        self.address, self.every, self.idle, self.lost = address, every, idle, 0
        self._lines, self._checked = lines, lines is None
        self._seen: dict[bytes, tuple[int, int]] = {}  # by topic: mark of the receiver, number of the message
        self._event = b""
        self._socket: Any = zmq.Context.instance().socket(zmq.SUB)
        self._socket.set(zmq.RCVHWM, _WAITING)
        self._socket.set(zmq.LINGER, 0)
        self._socket.set(zmq.IPV6, "[" in address)
        self._socket.subscribe(b"")
        try:
            self._connect(zmq)
        except BaseException:
            self.close()
            raise

    def _connect(self, zmq: Any) -> None:
        from zmq.utils.monitor import recv_monitor_message
        with self._socket.get_monitor_socket(addr=f"inproc://{uuid.uuid4()}") as monitor:
            try:
                self._socket.connect(self.address)
            except zmq.ZMQError as e:
                raise Error(f"{self.address} is not an address like tcp://127.0.0.1:42300: {e}") from None
            answer = zmq.EVENT_CONNECTED
            while answer in (zmq.EVENT_CONNECT_DELAYED, zmq.EVENT_CONNECTED) and monitor.poll(_CONNECT_MS):
                answer = recv_monitor_message(monitor)["event"]
            self._socket.disable_monitor()
        if answer != zmq.EVENT_HANDSHAKE_SUCCEEDED:
            raise Error(f"nothing publishes events at {self.address}: start `koto-l3 receive` with `--publish`")

    def _choose(self, settings: bytes) -> None:
        """Subscribes to the chosen lines, which the menu must have."""
        there = [name for menu in _Piece([settings]).menus() for name in menu.line_bits]
        for line in self._lines or ():
            if line not in there:
                raise unknown("line", line, there)
            self._socket.subscribe(line.encode() + b"\0")
        self._socket.unsubscribe(b"")
        self._checked = True

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> Events:
        end = None if self.idle is None else time.monotonic() + self.idle
        blocks: list[bytes] = []
        sessions: set[bytes] = set()
        size = 0
        while size < _BATCH_BYTES and self._socket.poll(None if end is None else max(0, int(1000 * (end - time.monotonic())))):
            frames = self._socket.recv_multipart()
            if len(frames) != 4:
                raise Error(f"{self.address} publishes no events of koto-l3")
            topic, count, settings, event = frames
            if not self._checked:
                self._choose(settings)
            if self._lines is not None and topic[:-1].decode() not in self._lines:
                continue  # sent before the lines were chosen
            mark, number = struct.unpack("<QQ", count)
            before = self._seen.get(topic, (mark, number - 1))
            self.lost += number - before[1] - 1 if mark == before[0] else 0
            self._seen[topic] = mark, number
            if event == self._event:
                continue  # published for another of the lines, too
            if not blocks:
                blocks, end = [settings[:_HEAD]], time.monotonic() + self.every
            session = event[16:24]
            blocks += [event] if session in sessions else [settings[_HEAD:], event]
            sessions.add(session)
            self._event = event
            size += len(event)
        if not blocks:
            raise StopIteration
        return _Piece(blocks).events()

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
