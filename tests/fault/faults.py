# SPDX-License-Identifier: Apache-2.0
"""Faults that the kernel commits for us, and counts: nftables rules on one of the machines. Each rule that does something has a
counter of its own; what it counted is what was injected, exactly."""
import json

TABLE = "inet faults"


class Rules:
    """The rules of one machine. A datagram's own fields stand behind the UDP header of 8 bytes: the fragment id at bit 64, the chunk
    index at bit 96 (docs/formats.md, section 3)."""

    def __init__(self, network, at):
        self._network, self._at = network, at

    def load(self, *lines, sets=(), hook="prerouting", priority="-300"):
        """Replaces what was loaded before. {count name} in a line counts under that name."""
        names = sorted({part.split("}")[0] for line in lines for part in line.split("{count ")[1:]})
        text = [f"table {TABLE} {{", *(f"counter of_{n} {{ }}" for n in names), *sets,
                f"chain faults {{ type filter hook {hook} priority {priority};",
                *(line.replace("{count ", "counter name of_").replace("}", "") for line in lines), "}", "}"]
        self.clear()
        self._nft("\n".join(text) + "\n")

    def clear(self):
        self._nft(f"table {TABLE} {{ }}\ndelete table {TABLE}\n")

    def counts(self):
        """{name: packets}"""
        found = json.loads(self._network.run("nft", "-j", "list", "counters", "table", *TABLE.split(), at=self._at))["nftables"]
        return {o["counter"]["name"].removeprefix("of_"): o["counter"]["packets"] for o in found if "counter" in o}

    def _nft(self, text):
        self._network.run("nft", "-f", "-", at=self._at, input=text)


def some(of_1000):
    return f"numgen random mod 1000 < {of_1000}"


def set_of_datagrams(name, these):
    """A set of (fragment id, chunk index); `@th,64,32 . @th,96,32 @name` looks a datagram up in it."""
    elements = ", ".join(f"{fragment:#x} . {chunk:#x}" for fragment, chunk in these)
    return f"set {name} {{ typeof @th,64,32 . @th,96,32; elements = {{ {elements} }} }}"


def in_set(name):
    return f"@th,64,32 . @th,96,32 @{name}"
