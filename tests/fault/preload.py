# SPDX-License-Identifier: Apache-2.0
"""Small libraries that are loaded into koto-l3's programs to change what the machine tells them. Each reads a file of numbers that stays
open to this process: what is written there is in force at once."""
import contextlib
import os
import struct
import subprocess

import harness
from chain import HERE, Skipped


class Numbers:
    """64-bit numbers in a file that both sides see."""

    def __init__(self, path, count):
        self._path = path
        path.write_bytes(bytes(8 * count))

    @property
    def path(self):
        return self._path

    def set(self, place, value):
        with open(self._path, "r+b") as f:
            f.seek(8 * place)
            f.write(struct.pack("<q", value))

    def get(self, place):
        return struct.unpack_from("<q", self._path.read_bytes(), 8 * place)[0]


def library(c, source):
    """The file it was made into, for this chain."""
    if harness.SANITIZED:
        raise Skipped("a sanitizer's own library must be the first to be loaded")
    made = c.folder / f"{source}.so"
    try:
        subprocess.run(["c++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o", made, HERE / f"{source}.cpp"], check=True)
    except FileNotFoundError:
        raise Skipped(f"no compiler for the library {source}") from None
    return made


@contextlib.contextmanager
def preloaded(made, **environment):
    """Programs that are started meanwhile load it."""
    names = {"LD_PRELOAD": str(made), **{name: str(value) for name, value in environment.items()}}
    os.environ.update(names)
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]
