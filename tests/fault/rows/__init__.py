# SPDX-License-Identifier: Apache-2.0
"""All rows, in the order of the table: those of one chain, those of farms, and what people see."""
import importlib


def _of(*rooms):
    return [row for room in rooms for row in importlib.import_module(f"rows.{room}").ROWS]


CHAIN = sorted(_of("mixture_rows", "link_rows", "input_rows", "full_rows", "daemon_rows", "compute_rows", "floods_rows", "readout_rows"),
               key=lambda row: int(row.name[1:].split("–")[0]))
FARM = _of("farm_rows", "together_rows")
HEADLINES = _of("headline_rows")
