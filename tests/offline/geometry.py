# SPDX-License-Identifier: Apache-2.0
"""Which input carries what, from the detector's description, for the offline judge: boards of all crates are counted through, and each has 16
numbers. Crates 0 to 14 sample 16 channels at 125 MHz, crates 15 to 17 four channels at 500 MHz."""
import dataclasses
import math
import tomllib

import simulated_constants

CRATES = [(crate, 12 if crate == 11 else 16, crate < 15) for crate in range(18)]
FIRST_SLOT = 3


@dataclasses.dataclass
class Input:
    number: int
    slow: bool
    counts: float = 0.0  # of height, for a MeV or photoelectron
    offset: float = 0.0  # ns
    crystal: tuple = None  # x, y, size
    veto: object = None
    module: int = 0
    end: int = 0


@dataclasses.dataclass
class Veto:
    name: str
    ends: int
    threshold: float
    window: tuple
    neighbours: int
    within: float
    length: float


def crystals_of(c):
    """Places in the order of the inputs: tiles of small crystals from the lower left, then rows of large ones."""
    half, size, tile = c["small_columns"] // 2, c["small_size"], c["small_tile_columns"]
    hole = c["small_hole_columns"] // 2
    for tile_y in range(0, c["small_columns"], tile):
        for tile_x in range(0, c["small_columns"], tile):
            for y in range(tile_y, tile_y + tile):
                for x in range(tile_x, tile_x + tile):
                    if -hole <= x - half < hole and -hole <= y - half < hole:
                        continue
                    yield (x - half + 0.5) * size, (y - half + 0.5) * size, size
    large, side = c["large_size"], half * size
    n = int(c["large_radius"] // large) + 1
    for row in range(-n, n):
        for column in range(-n, n):
            x, y = (column + 0.5) * large, (row + 0.5) * large
            if max(abs(x), abs(y)) > side and math.hypot(x, y) <= c["large_radius"]:
                yield x, y, large


class Geometry:
    def __init__(self, description):
        with open(description, "rb") as file:
            d = tomllib.load(file)
        self.signals, self.front = d["signals"], d["calorimeter"]["front"]
        self.first_board, boards = {}, 0
        for crate, count, _ in CRATES:
            self.first_board[crate] = boards
            boards += count
        self.boards = boards
        offsets = simulated_constants.time_offsets(16 * boards, self.signals["time_offset"], self.signals["seed"])
        self.inputs = {}
        calorimeter = d["calorimeter"]
        places = list(crystals_of(calorimeter))
        for (number, slow), (x, y, size) in zip(self.run_of_inputs(calorimeter["first"], len(places)), places, strict=True):
            counts = calorimeter["small_counts_per_mev" if size == calorimeter["small_size"] else "large_counts_per_mev"]
            self.inputs[number] = Input(number, slow, counts, offsets[number], crystal=(x, y, size))
        self.vetoes = []
        for v in d["veto"]:
            ends = v.get("ends", 1)
            veto = Veto(v["name"], ends, v["threshold"], tuple(v["window"]), v.get("neighbours", 1), v.get("within", 0.0), v.get("length", 0.0))
            self.vetoes.append(veto)
            for i, (number, slow) in enumerate(self.run_of_inputs(v["first"], v["modules"] * ends)):
                self.inputs[number] = Input(number, slow, v["counts_per_unit"], offsets[number] + v.get("t0", 0.0) + v.get("delay", 0.0), veto=veto, module=i // ends, end=i % ends)

    def run_of_inputs(self, first, count):
        crate, slot, channel = (int(part) for part in first.split("/"))
        for _ in range(count):
            boards, slow = CRATES[crate][1:]
            yield 16 * (self.first_board[crate] + slot - FIRST_SLOT) + channel, slow
            channel += 1
            if channel == (16 if slow else 4):
                channel, slot = 0, slot + 1
            if slot == FIRST_SLOT + boards:
                slot, crate = FIRST_SLOT, crate + 1
