# SPDX-License-Identifier: Apache-2.0
"""All rows, in the order of the table, and those that somebody names."""
import re

from rows import (clock_faults, compute_faults, configuration, daemon_faults, elsewhere, floods, full_disk, full_faults, input_faults, line_faults, mixture,
                  receiver_faults)

ALL = sorted((row for room in (mixture, receiver_faults, input_faults, full_faults, full_disk, daemon_faults, compute_faults, floods, clock_faults,
                                         configuration, elsewhere, line_faults)
              for row in room.ROWS),
             key=lambda row: int(row.name[1:].split("–")[0]))


def _numbers(name):
    """The first and the last of a row or a range, as in R4, R12–14, r2-r6; None if it is neither."""
    m = re.fullmatch(r"r?(\d+)(?:[-–]r?(\d+))?", name, re.I)
    return m and (int(m[1]), int(m[2] or m[1]))


def named(names):
    """The rows that have one of the numbers, in the order of the table, and the names that stand for none."""
    chosen, unknown = set(), []
    for name in names:
        asked = _numbers(name)
        fitting = {row.name for row in ALL if asked and (own := _numbers(row.name))[0] <= asked[1] and asked[0] <= own[1]}
        chosen |= fitting
        if not fitting:
            unknown.append(name)
    return [row for row in ALL if row.name in chosen], unknown
