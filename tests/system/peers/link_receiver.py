# SPDX-License-Identifier: Apache-2.0
"""An independent receiver's end of the output link, written from section 8 of docs/formats.md: a ROUTER for one daemon in
plain sockets. It does nothing by itself: a test says when to welcome, acknowledge, refuse or be silent."""
import socket
import struct

from link_sender import GREETING, COMMAND, Peer


class LinkReceiver(Peer):
    def __init__(self, host, port, seconds=10):
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((host, port))
        self._listener.listen()
        self._listener.settimeout(seconds)
        self._seconds = seconds
        super().__init__(None)

    def read_little(self):
        """The system takes little more from the next connection than is read."""
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 10)

    def read_some(self, n):
        """Bytes of the next message."""
        self._input += self._socket.recv(n)

    def accept(self):
        """The daemon's next connection."""
        self.hang_up()
        self._socket, _ = self._listener.accept()
        self._socket.settimeout(self._seconds)
        self._input = b""
        self._socket.sendall(GREETING)
        self._take(64)
        self._frame()  # the other's READY
        ready = b"\x05READY" + b"\x0bSocket-Type" + struct.pack(">I", 6) + b"ROUTER"
        self._socket.sendall(bytes([COMMAND, len(ready)]) + ready)
        return self

    def hang_up(self):
        if self._socket:
            self._socket.close()
            self._socket = None

    def close(self):
        self.hang_up()
        self._listener.close()
