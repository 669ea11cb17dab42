# SPDX-License-Identifier: Apache-2.0
"""All rows, in the order of the table."""
import importlib

ROOMS = ("mixture_rows", "link_rows", "input_rows", "full_rows", "daemon_rows", "compute_rows", "floods_rows", "readout_rows", "elsewhere_rows")
ALL = sorted((row for room in ROOMS for row in importlib.import_module(f"rows.{room}").ROWS), key=lambda row: int(row.name[1:].split("–")[0]))
