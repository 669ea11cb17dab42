#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A batch on which a device failed is kept, with the selection of then, and `koto-l3 rerun FILE --backend BACKEND` computes it again and
compares. The device is the fault executor (KOTO_L3_TEST_FAULT); which of its faults cost nothing is the row R12–14 of tests/fault."""
import harness
from selection_stage import DEPLOY, FAILED, Selecting


class KeptBatches(Selecting):
    def test_a_wrong_bit_is_found_again(self):
        """The files of the selection may have gone since."""
        selection = {key: self.write((DEPLOY / name).read_text(), name) for key, name in (("lines", "selection.toml"), ("detector", "detector.toml"))}
        dumps, receiver = self.folder / "dumps", self.start_receiver()
        daemon = self.start_daemon(harness.failing("wrong_bit:at=2"), frames={"events": 4, "count": 4},
                                   selection={key: str(file) for key, file in selection.items()},
                                   compute={"verify_one_in": 1, "dumps": str(dumps)})
        self.run_replay(self.simulate(60))
        daemon.wait_for(lambda s: s["engine"]["batches_dumped"] == 1, "a kept batch")
        self.assertEqual((daemon.stop(), receiver.stop()), (0, 0))
        for file in selection.values():
            file.unlink()
        for backend, texts in (("serial", (r"the stored output: spill 1, event \d+ differs in 1 of \d+ bytes",
                                           r"the stored output: 1 of \d events differ from serial")),
                               ("pool", (r"pool \(\d+ threads?\): the same as serial", "the stored output: 1 of "))):
            code, said = self.run_tool("rerun", *dumps.iterdir(), "--backend", backend)
            self.assertEqual(code, FAILED, said)
            for text in texts:
                self.assertRegex(said, text)


if __name__ == "__main__":
    harness.main()
