# SPDX-License-Identifier: Apache-2.0
"""The other ends of what manages a daemon: the service manager's notify socket, and run control."""
import http.client
import json
import math
import socket
import subprocess
import time

import harness

# On a machine that is very busy the link is away for moments, in which an order is refused.
ABSENT = "the receiver is absent: no receiver answers"


class ServiceManager:
    def __init__(self, folder):
        self.environment = {"NOTIFY_SOCKET": str(folder / "notify")}
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(self.environment["NOTIFY_SOCKET"])

    def next(self, seconds):
        """The lines that it is told next, within so long, or none."""
        self._socket.settimeout(max(0.001, seconds))
        try:
            return self._socket.recv(4096).decode().split("\n")
        except TimeoutError:
            return []

    def wait_for(self, line, what):
        harness.wait_until(lambda: any(told.startswith(line) for told in self.next(1)), what)

    def silence(self, goes_on, most=math.inf):
        """The longest time without a keep-alive while a condition holds; no longer than this is waited for."""
        longest, last = 0, time.monotonic()
        while goes_on() and longest <= most:
            alive = "WATCHDOG=1" in self.next(0.1)
            longest = max(longest, time.monotonic() - last)
            last = time.monotonic() if alive else last
        return longest


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=harness.PATIENCE)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(harness.PATIENCE)
        self.sock.connect(str(self.path))


class RunControl:
    def __init__(self, path):
        self.path = path

    def request(self, method, path, body=None):
        """(status, type of the content, content)"""
        status, kind, content = harness.http_ask(UnixConnection(self.path), method, path, body)
        return status, kind, content.decode()

    def run(self):
        return json.loads(self.request("GET", "/run")[2])

    def order(self, what, **order):
        """(status, answer) to "start" or "stop"."""
        def answer():
            status, _, content = self.request("POST", f"/run/{what}", json.dumps(order))
            said = json.loads(content)
            return None if status == 409 and all(ABSENT in reason for reason in said["reasons"]) else (status, said)
        return harness.wait_until(answer, "receivers that answer")

    def wait_for_run(self, state, number=None):
        def is_so():
            now = self.run()
            return now if now["state"] == state and (number is None or now["current"]["number"] == number) else None
        return harness.wait_until(is_so, lambda: f"{state} {number}; {self.run()}")

    def tool(self, *arguments, refused=False):
        """The command that has ended; `refused`: also for want of a receiver."""
        def done():
            said = subprocess.run([harness.BIN / "koto-l3", "run", *arguments, "--socket", self.path], capture_output=True, text=True,
                                  timeout=harness.PATIENCE)
            return None if ABSENT in said.stderr and not refused else said
        return harness.wait_until(done, "receivers that answer")
