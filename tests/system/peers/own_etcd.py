# SPDX-License-Identifier: Apache-2.0
"""A real etcd of a test's own, its keys by the JSON gateway, and a relay in front of it that can be held."""
import base64
import http.client
import json
import select
import shutil
import socket
import threading
import time

import harness

PREFIX = "/koto-l3/"


def there():
    return shutil.which("etcd")


def coded(text):
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


class Etcd:
    """Its folder outlives a stop, unless the test removes it."""

    def __init__(self, stage, port):
        self.stage, self.port, self.folder = stage, port, stage.folder / "etcd"
        self.url, self.peer_url = f"http://{harness.HOST}:{port}", f"http://{harness.HOST}:{port + 1}"

    def start(self):
        self.program = self.stage.keep(harness.Program(
            ["etcd", "--data-dir", self.folder, "--listen-client-urls", self.url, "--advertise-client-urls", self.url,
             "--listen-peer-urls", self.peer_url, "--initial-advertise-peer-urls", self.peer_url,
             "--initial-cluster", f"default={self.peer_url}", "--unsafe-no-fsync", "--log-level", "error"],
            self.stage.folder / "etcd.log"))
        harness.wait_until(self._answers, "etcd to answer")
        return self

    def _answers(self):
        try:
            return self.call("kv/range", key=coded("x")) is not None
        except (OSError, http.client.HTTPException):
            return False

    def lose_everything(self):
        self.program.kill()
        shutil.rmtree(self.folder)
        self.start()

    def call(self, path, **body):
        connection = http.client.HTTPConnection(harness.HOST, self.port, timeout=5)
        try:
            connection.request("POST", f"/v3/{path}", json.dumps(body))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def keys(self):
        """{name behind the prefix: bytes}"""
        answer = self.call("kv/range", key=coded(PREFIX), range_end=coded(PREFIX[:-1] + "0"))
        return {base64.b64decode(kv["key"]).decode()[len(PREFIX):]: base64.b64decode(kv.get("value", "")) for kv in answer.get("kvs", ())}


class Relay(threading.Thread):
    """Of TCP. While it holds, connections stay open and nothing goes through, as with a cable that was pulled."""

    def __init__(self, port, to):
        super().__init__(daemon=True)
        self.url, self._to = f"http://{harness.HOST}:{port}", to
        self._listener = socket.create_server((harness.HOST, port))
        self.held, self._pairs, self._ended = False, [], False
        self.start()

    def run(self):
        while not self._ended:
            if self.held:
                time.sleep(0.02)
                continue
            ends = [s for pair in self._pairs for s in pair]
            for s in select.select([self._listener, *ends], [], [], 0.05)[0]:
                if s is self._listener:
                    self._accept()
                else:
                    self._pass_on(s)

    def _accept(self):
        near = self._listener.accept()[0]
        far = harness.connected((harness.HOST, self._to))
        if far is None:
            near.close()
        else:
            self._pairs.append((near, far))

    def _pass_on(self, s):
        pair = next((p for p in self._pairs if s in p), None)
        if pair is None:
            return
        try:
            data = s.recv(1 << 16)
            if data:
                pair[s is pair[0]].sendall(data)
                return
        except OSError:
            pass
        self._pairs.remove(pair)
        for end in pair:
            end.close()

    def end(self):
        self._ended = True
        self.join()
        for s in [self._listener, *(s for pair in self._pairs for s in pair)]:
            s.close()
