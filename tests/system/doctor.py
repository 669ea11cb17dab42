#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""koto-l3 doctor on this machine, whatever it finds: each finding has its form, and nothing is left behind. tests/tools has machines
with each trouble."""
import json
import subprocess

import harness

USAGE, MISSING, BAD_CONFIGURATION = 2, 69, 78


class Doctor(harness.SystemTest):
    def test_this_machine(self):
        config = self.write_config(udp={"bind": "0.0.0.0:42000"})
        before = sorted(self.folder.rglob("*"))
        p = subprocess.run([harness.BIN / "koto-l3", "doctor", "--config", config, "--store", self.folder, "--json"], capture_output=True,
                           text=True, timeout=harness.PATIENCE)
        found = json.loads(p.stdout)["findings"]
        self.assertEqual(p.returncode, int(any(f["health"] == "bad" for f in found)), p.stdout)
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        for f in found:
            self.assertIn(f["health"], ("ok", "warning", "bad"))
            self.assertEqual(f["health"] != "ok", bool(f["remedy"]), f)
        names = {f["what"] for f in found}
        self.assertLessEqual({"memory.locked", "memory.limit", "processors.governor", "processors.numa", "clock", "device",
                              "disk.room.spool.folder", "disk.room.store"}, names)
        code, text = self.run_tool("doctor", "--config", config)
        self.assertEqual(code, p.returncode, text)
        self.assertRegex(text, r"\d+ ok, \d+ warnings, \d+ bad\n$")

    def test_mistakes(self):
        self.assertEqual(self.run_tool("doctor", "--config", self.folder / "none")[0], MISSING)
        wrong = self.folder / "wrong.toml"
        wrong.write_text("[forward]\nrat = 1\n")
        code, said = self.run_tool("doctor", "--config", wrong)
        self.assertEqual(code, BAD_CONFIGURATION)
        self.assertIn("did you mean", said)


if __name__ == "__main__":
    harness.main()
