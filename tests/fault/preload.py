# SPDX-License-Identifier: Apache-2.0
"""Small libraries that are loaded into koto-l3's programs to change what the machine tells them. Each reads a file of numbers that stays
open to this process: what is written there is in force at once."""
import struct
import subprocess

import harness
from chain import HERE, Skipped


class Numbers:
    """64-bit numbers in a file that both sides see."""

    def __init__(self, path, count):
        self.path = path
        path.write_bytes(bytes(8 * count))

    def set(self, place, value):
        with open(self.path, "r+b") as f:
            f.seek(8 * place)
            f.write(struct.pack("<q", value))

    def get(self, place):
        return struct.unpack_from("<q", self.path.read_bytes(), 8 * place)[0]


def environment(stage, source, **more):
    """Of a program that loads the library made of this source."""
    if harness.SANITIZED:
        raise Skipped("a sanitizer's own library must be the first to be loaded")
    made = stage.folder / f"{source}.so"
    try:
        subprocess.run(["c++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o", made, HERE / f"{source}.cpp"], check=True)
    except FileNotFoundError:
        raise Skipped(f"no compiler for the library {source}") from None
    return {"LD_PRELOAD": str(made), **{name: str(value) for name, value in more.items()}}
