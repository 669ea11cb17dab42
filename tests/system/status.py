#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an operator asks: `koto-l3 status` of daemons, receivers and nodes that do not answer, and `koto-l3 doctor` on this machine, whatever it
finds. tests/tools has every state of a row and machines with each trouble; headlines.py asks for the status of every trouble."""
import contextlib
import re
import signal
import socket
import threading

import harness

FAILED = 1


class Status(harness.SystemTest):
    def listener(self):
        return self.enterContext(socket.create_server((harness.HOST, 0)))

    def test_a_daemon_its_receiver_and_nodes_that_do_not_answer(self):
        receiver = self.start_receiver("--monitor", f"{harness.HOST}:0")
        receiver.wait_to_say("monitoring on")
        its_url, = re.findall(r"monitoring on http://([\d.]+:\d+)/", receiver.said())
        daemon = self.start_daemon()
        self.send_events(self.udp_sender(daemon), self.make_events(40))
        daemon.wait_for_stored(40)
        garbage = self.listener()

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    with garbage.accept()[0] as c:
                        c.recv(1000)
                        c.sendall(b"SSH-2.0-other\r\n\r\n")
        threading.Thread(target=answer, daemon=True).start()
        mine, nobody = f"{harness.HOST}:{self.ports.monitor}", f"{harness.HOST}:{self.ports.udp}"
        silent, garbage_url = f"{harness.HOST}:{self.listener().getsockname()[1]}", f"{harness.HOST}:{garbage.getsockname()[1]}"

        def status(*urls):
            return self.ask_for_json("status", "--interval", "600 ms", *urls)[:2]
        harness.wait_until(lambda: status(its_url)[1]["nodes"][0]["state"] == "receiving, 1 of 1 daemons", "the daemon at the receiver")
        code, said = status(mine, its_url)
        self.assertEqual(code, 0, said)
        self.assertEqual([(n["program"], n["run"], n["state"], n["failure"]) for n in said["nodes"]],
                         [("koto-l3d", 7, daemon.status()["state"]["now"], None), ("koto-l3 receive", None, "receiving, 1 of 1 daemons", None)])
        code, text = self.run_tool("status", mine, its_url)
        self.assertEqual((code, len(text.splitlines())), (0, 3), text)
        self.assertRegex(text, r"(?m)^address +node +state +run +events/s +in MB/s +out MB/s +worst crate +disk$")
        code, said = status(nobody, silent, garbage_url, "no.invalid:9420", mine)
        self.assertEqual(code, FAILED)
        for node, wanted in zip(said["nodes"], ("Connection refused", "no answer within 2 s", "does not speak HTTP", "", ""), strict=True):
            self.assertIn(wanted, node["failure"] or "")
        self.assertIn(f"{nobody}: critical, no_answer: Connection refused; check its service", self.run_tool("status", nobody)[1])

        watching = self.start_tool("status", "--watch", "--interval", "100 ms", mine)
        harness.wait_until(lambda: watching.said().count("worst crate") > 2, "three tables")
        watching.signal(signal.SIGINT)
        self.assertEqual(watching.wait(), 0, watching.said())
        self.assertNotIn("\033", watching.said(), "no terminal")


class Doctor(harness.SystemTest):
    def test_this_machine(self):
        config = self.write_config(udp={"bind": "0.0.0.0:42000"})
        code, said, _ = self.ask_for_json("doctor", "--config", config, "--store", self.store.parent)
        self.assertEqual(code, int(any(f["health"] == "bad" for f in said["findings"])), said)
        for f in said["findings"]:
            self.assertEqual(f["health"] != "ok", bool(f["remedy"]), f)
        self.assertLessEqual({"memory.locked", "clock", "device", "disk.room.spool.folder", "disk.room.store"}, {f["what"] for f in said["findings"]})
        its_code, text = self.run_tool("doctor", "--config", config)
        self.assertEqual(its_code, code, text)
        self.assertRegex(text, r"\d+ ok, \d+ warnings, \d+ bad\n$")


if __name__ == "__main__":
    harness.main()
