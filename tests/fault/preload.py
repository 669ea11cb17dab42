# SPDX-License-Identifier: Apache-2.0
"""A library that is loaded into koto-l3's programs to change what the machine tells them."""
import struct
import subprocess

import harness
from chain import HERE, Skipped

CLOCK_SHIFT, FLUSH_ERROR, FLUSHES_FAILED, POOR = range(4)  # its numbers: lying_machine.cpp


class LyingMachine:
    """`environment` is that of a program that loads it. The numbers are in a file that both sides see, and in force at once."""

    def __init__(self, stage):
        if harness.SANITIZED:
            raise Skipped("a sanitizer's own library must be the first to be loaded")
        self._numbers, made = stage.folder / "numbers", stage.folder / "lying_machine.so"
        self._numbers.write_bytes(bytes(40))
        try:
            subprocess.run(["c++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o", made, HERE / "lying_machine.cpp"], check=True)
        except FileNotFoundError:
            raise Skipped("no compiler for the library lying_machine") from None
        self.environment = {"LD_PRELOAD": str(made), "KOTO_L3_LYING_MACHINE": str(self._numbers)}

    def set(self, place, value):
        with open(self._numbers, "r+b") as f:
            f.seek(8 * place)
            f.write(struct.pack("<q", value))

    def get(self, place):
        return struct.unpack_from("<q", self._numbers.read_bytes(), 8 * place)[0]
