#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./run slurm-test: `koto-l3 reprocess --slurm` on a real Slurm of two nodes on this machine. A task is killed, a node is lost in the
middle of another: what is killed is named by the check, run again by the next submission, and the bytes are those of one machine.
As root; two to four minutes."""
import os
import pathlib
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "system"), str(HERE.parent / "system/peers")]

import harness  # noqa: E402
import slurm  # noqa: E402
from reprocess_stage import Reprocessing  # noqa: E402

PATIENCE = 240
NODES = ("one", "two")


class BySlurm(Reprocessing):
    EVENTS, FILES = 60, 8

    def setUp(self):
        super().setUp()
        why = slurm.what_is_missing()
        if why:
            self.skipTest(why)
        self.slurm = slurm.Slurm(self.folder / "slurm", NODES).start()
        self.addCleanup(self.slurm.stop)
        os.environ.update(self.slurm.environment)

    def submit(self, *more):
        """The jobs of the arrays, and that of the check."""
        said = self.reprocess("--out", self.out, "--slurm", "--json", *more)
        print(f"{said['tasks']} tasks given to Slurm, jobs {said['jobs']}", flush=True)
        return said["jobs"][:-1], said["jobs"][-1]

    def held(self, node=None):
        """The process of a task, stopped as soon as it is seen; on that node."""
        def found():
            for pid in slurm.processes():
                command = slurm.command_of(pid)
                if str(self.out) in command and "--task" in command and command.startswith(str(harness.BIN)):
                    if node is None or self.slurm.node_of(pid) == node:
                        slurm.kill(pid, signal.SIGSTOP)
                        return pid
            return None
        return harness.wait_until(found, lambda: f"a task on {node}: {self.slurm.jobs()}", PATIENCE)

    def ended(self, job):
        harness.wait_until(lambda: self.slurm.jobs().get(job) in ("COMPLETED", "FAILED", "NODE_FAIL", "CANCELLED"),
                           lambda: f"job {job}: {self.slurm.jobs()}", PATIENCE)
        return self.slurm.jobs()[job]

    def test_a_task_killed_and_a_node_lost(self):
        began = time.monotonic()
        _, cut = self.stored_whole()
        menu = "built-in"
        whole, self.out = self.folder / "whole", self.folder / "out"
        self.reprocess(cut, "--menu", menu, "--out", whole)

        arrays, check = self.submit(cut, "--menu", menu)
        self.assertEqual(len(arrays), 1)
        killed = self.held()
        task = slurm.command_of(killed).split("--task ")[1].split()[0]
        node = self.slurm.node_of(killed)
        slurm.kill(killed, signal.SIGKILL)
        print(f"task {task} killed on node {node}", flush=True)
        lost = self.held("two")
        moved = slurm.command_of(lost).split("--task ")[1].split()[0]
        self.slurm.lose("two", lost)
        print(f"node two lost in the middle of task {moved}", flush=True)
        harness.wait_until(lambda: self.slurm.state("two").startswith("down"), lambda: self.slurm.say("sinfo"), PATIENCE)

        self.assertEqual(self.ended(check), "FAILED", "the check of an output that lacks a task")
        said = next(self.out.glob(f"reprocess/slurm-check-{check}.log")).read_text()
        self.assertIn(f"missing: {cut}/blocks-{int(task):06}", said)
        verdict = self.check(self.out, code=1)
        self.assertEqual((verdict["tasks_done"], len(verdict["missing"])), (self.FILES - 1, 1), verdict)

        arrays, check = self.submit()
        self.assertEqual(self.ended(check), "COMPLETED", self.slurm.jobs())
        self.assertIn("each event is in exactly one output", next(self.out.glob(f"reprocess/slurm-check-{check}.log")).read_text())
        self.assert_same(whole, self.out)
        self.assertTrue(self.check(self.out)["holds"])

        # With nothing left to do, it is checked once more.
        arrays, check = self.submit()
        self.assertEqual((arrays, self.ended(check)), ([], "COMPLETED"))
        print(f"the same {len(self.bytes_of(whole))} files, byte for byte; {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    harness.main()
