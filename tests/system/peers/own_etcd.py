# SPDX-License-Identifier: Apache-2.0
"""A real etcd of a test's own, and its keys by the JSON gateway."""
import base64
import http.client
import json
import shutil

import harness

PREFIX = "/koto-l3/"


def there():
    return shutil.which("etcd")


def coded(text):
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


class Etcd:
    """It has a port for each of so many clients. Its folder outlives a stop, unless the test removes it."""

    def __init__(self, stage, port, clients=1):
        self.stage, self.port, self.folder = stage, port, stage.folder / "etcd"
        *self.urls, self.peer_url = (f"http://{harness.HOST}:{port + n}" for n in range(clients + 1))

    def start(self):
        self.program = self.stage.keep(harness.Program(
            ["etcd", "--data-dir", self.folder, "--listen-client-urls", ",".join(self.urls), "--advertise-client-urls", self.urls[0],
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
        return json.loads(harness.http_ask(connection, "POST", f"/v3/{path}", json.dumps(body))[2])

    def keys(self):
        """{name behind the prefix: bytes}"""
        answer = self.call("kv/range", key=coded(PREFIX), range_end=coded(PREFIX[:-1] + "0"))
        return {base64.b64decode(kv["key"]).decode()[len(PREFIX):]: base64.b64decode(kv.get("value", "")) for kv in answer.get("kvs", ())}
