# SPDX-License-Identifier: Apache-2.0
"""All rows, in the order of the table."""
from rows import (clock_faults, compute_faults, configuration, daemon_faults, elsewhere, floods, full_disk, full_faults, input_faults, mixture,
                  receiver_faults)

ALL = sorted((row for room in (mixture, receiver_faults, input_faults, full_faults, full_disk, daemon_faults, compute_faults, floods, clock_faults,
                                         configuration, elsewhere)
              for row in room.ROWS),
             key=lambda row: int(row.name[1:].split("–")[0]))
