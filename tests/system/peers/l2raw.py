# SPDX-License-Identifier: Apache-2.0
"""Writes `.l2raw` files, the record stream of section 4 of docs/formats.md in a file, for `koto-l3 replay` and `verify`."""
import stream_sender


def write(path, crates, spills, run=7, spacing=1_000_000):
    """spills: {spill: [fragments of event 1, of event 2, …]}; events stand `spacing` ns apart."""
    with open(path, "wb") as out:
        sequence = 0

        def put(kind, spill, body):
            nonlocal sequence
            sequence += 1
            out.write(stream_sender.record(kind, spill, sequence, body))

        put(stream_sender.HELLO, 0, stream_sender.hello_body(run, crates))
        for spill, events in spills.items():
            put(stream_sender.BEGIN, spill, stream_sender.begin_body(spacing * len(events)))
            for number, fragments in enumerate(events, 1):
                put(stream_sender.EVENT, spill, stream_sender.event_body(number, fragments, spacing * number))
            put(stream_sender.END, spill, stream_sender.end_body(len(events), 2 * spacing * len(events)))
