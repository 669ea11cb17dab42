#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A batch on which a device failed is kept, and `koto-l3 rerun FILE --backend BACKEND` computes it again and compares. The device is the fault
executor (KOTO_L3_TEST_FAULT); which of its faults cost nothing is the row R12–14 of tests/fault."""
import pathlib

import harness
import level2

DEPLOY = pathlib.Path(__file__).resolve().parents[2] / "deploy"
FAILED, USAGE, MISSING_RESOURCE = 1, 2, 69


class KeptBatches(harness.SystemTest):
    def keep_a_batch(self, fault, events, verify_one_in=1, **sections):
        """The only file that is kept."""
        dumps, receiver = self.folder / "dumps", self.start_receiver()
        daemon = self.start_daemon(harness.failing(fault), frames={"events": 4, "count": 4},
                                   compute={"verify_one_in": verify_one_in, "dumps": str(dumps)}, **sections)
        self.run_replay(self.write_events(self.make_events(events)))
        daemon.wait_for(lambda s: s["engine"]["batches_dumped"] == 1, "a kept batch")
        self.assertEqual((daemon.stop(), receiver.stop()), (0, 0))
        (file,) = dumps.iterdir()
        return file

    def rerun(self, file, on, code, *texts):
        got, said = self.run_tool("rerun", file, *on)
        self.assertEqual(got, code, said)
        for text in texts:
            self.assertRegex(said, text)

    def test_a_wrong_bit_is_found_again(self):
        file = self.keep_a_batch("wrong_bit:at=2", 24)
        self.rerun(file, ("--backend", "serial"), FAILED, r"the stored output: spill 1, event \d+ differs in 1 of \d+ bytes",
                    r"the stored output: 1 of \d events differ from serial")
        self.rerun(file, ("--backend", "pool"), FAILED, r"pool \(\d+ threads?\): the same as serial", "the stored output: 1 of ")

    def test_the_selection_of_then_is_in_it(self):
        """Its files may have gone since."""
        self.crate_lines, self.crates, self.chunk_bytes = level2.KOTO, level2.readout(level2.KOTO), 8000
        files = {key: self.folder / name for key, name in (("lines", "selection.toml"), ("detector", "detector.toml"))}
        for file in files.values():
            file.write_text((DEPLOY / file.name).read_text())
        batch = self.keep_a_batch("error:at=1", 4, verify_one_in=0, selection={key: str(file) for key, file in files.items()})
        for file in files.values():
            file.unlink()
        for on in ("serial", "pool"):
            self.rerun(batch, ("--backend", on), 0, "no output was stored")


if __name__ == "__main__":
    harness.main()
