# SPDX-License-Identifier: Apache-2.0
"""All rows, in the order of the table."""
from rows import input_faults, receiver_faults

ALL = sorted([*receiver_faults.ROWS, *input_faults.ROWS], key=lambda r: int(r.name[1:].split("–")[0]))
