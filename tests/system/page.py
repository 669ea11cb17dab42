#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shifter's page in a browser: what it says in each state, that it can be read by eyes, keys and screen readers, and that it asks
nobody but its daemon."""
import json
import re
import struct

import harness
import level2
import selection_stage
from browser import PHONE, InABrowser

MOST_BYTES = 300_000


class Page(InABrowser):
    number = 0  # of the last event of spill 1

    # The page asks the daemon twice a second. What a test shows instead is read in the same script: `show`.

    def way(self, show=""):
        """{station: its state}"""
        return dict(self.browser.run(show + "return [...document.querySelectorAll('#way li')].map(e => [e.querySelector('h3').innerText, e.className])"))

    def bars(self, show=""):
        """The kinds of events of each spill."""
        return self.browser.run(show + "return [...document.querySelectorAll('#spills g')].map(g => [...g.querySelectorAll('rect')].map(r => r.getAttribute('class')))")

    def start_controlled(self):
        self.control = self.folder / "control.sock"
        config = self.write_config(run={"control": str(self.control), "ledger": f"{self.folder}/ledgers/"})
        daemon = self.keep(harness.Daemon(config, self.ports, self.folder))
        daemon.wait_to_say("ready for runs")
        return daemon

    def test_a_run_is_green_counts_and_lives_on_over_the_daemons_restart(self):
        self.start_receiver()
        daemon = self.start_daemon()
        daemon.wait_for(lambda s: s["receiver"]["connected"] and not s["state"]["degraded"], "a receiver")
        self.open()
        self.wait_for_text("mode", "node 3 · receiving · run 7")
        self.assertEqual(self.browser.run("return document.title"), "node 3: receiving – koto-l3d")
        self.assertIn("no event yet", self.text("when"))
        sender = self.udp_sender(daemon)
        for spill, events in ((1, 30), (2, 4)):
            self.send_events(sender, self.make_events(events, spill))
            self.wait_for_text("numbers", f"\n{events} in this spill\n")
            sender.end(spill, events)
            daemon.wait_for(lambda s, n=spill: len(s["latest_spills"]) == n and s["this_spill"]["ended"], f"the end of spill {spill}")
        self.wait_for_text("when", "ago")
        self.wait_for_text("numbers", "\n4 in the last spill\n34 in the run\nstored\n")
        self.wait_for_text("numbers", "\n4 in the last spill\n34 in the run\nrejected\n")
        self.assertIn("lost\n0\nin the last spill\nnone in the run", self.text("numbers"))
        self.assertIn("refused\n0\nof all datagrams", self.text("numbers"))
        self.wait_for_text("spills-text", "2 spills, none of them with events that are incomplete or missing")
        self.assertEqual(self.bars(), [["stored"], ["stored"]])
        self.assertEqual(self.way(), {name: "good" for name in ("input", "building", "selection", "output", "receiver", "disk")})
        self.wait_for_text("rates", "events kept and not shed")
        self.assertTrue(self.browser.run("return document.getElementById('problem').hidden"))
        self.assert_readable("quiet")
        asked = self.browser.run("return performance.getEntries().filter(e => e.name.startsWith('http')).map(e => e.name)")
        self.assertTrue(asked and all(name.startswith(self.here) for name in asked), asked)
        self.assertLess(len(daemon.get("/")[1]), MOST_BYTES)
        paint = self.browser.run("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"first paint after {paint:.0f} ms", flush=True)  # docs/performance.md has the figures of a quiet machine
        # A browser's clock may be wrong.
        self.browser.run("window.Real = Date; window.Date = class extends Real { constructor(...of) { if (of.length) super(...of); else super(0); } }")
        self.wait_for_text("changes", "-")  # no longer of today: with the date
        self.assertRegex(self.text("changes"), r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S")
        self.assertRegex(self.text("when"), r"last event \d+ s ago")
        self.browser.run("window.Date = Real")
        status = daemon.status()
        status["latest_spills"] = [{"spill": 1, "admitted": 90, "incomplete": 10, "expected": 100, "stored": 20, "rejected": 60, "shed": 10}]
        show = f"showSpills({json.dumps(status)});"
        self.assertEqual(self.bars(show), [["stored", "rejected", "shed", "lost"]])
        self.assertIn("1 of them with events that are incomplete or missing, 1 with events that were shed",
                      self.browser.run(show + "return document.getElementById('spills-text').textContent"))
        self.the_first_trouble_is_the_headline(status)
        # A spill ended late: what was stored of the next one meanwhile was counted for it.
        status["latest_spills"] = [{"spill": n, "admitted": 40, "incomplete": 0, "expected": 40, "stored": stored, "rejected": 0, "shed": 0} for n, stored in ((1, 60), (2, 20))]
        self.assertEqual(self.bars(f"showSpills({json.dumps(status)});"), [["stored"], ["stored"]])
        # A run that ends is no fault.
        status = daemon.status()
        status["state"] |= {"now": "draining", "ready": False, "degraded": [], "level": "good"}
        status["run_state"] = "draining"
        seen = self.browser.run(f"showState({json.dumps(status)}); return [document.getElementById('state').className, document.getElementById('mode').innerText]")
        self.assertEqual(seen[0], "idle")
        self.assertIn("run 7 ends", seen[1])
        self.assert_quiet()

        daemon.kill()
        self.wait_for_text("mode", "no answer from the daemon of node 3")
        self.assertEqual(self.browser.run("return [document.body.className, document.title]"), ["old", "node 3: no answer – koto-l3d"])
        daemon = self.start_daemon()
        self.wait_for_text("mode", "node 3 · receiving")
        self.wait_for_text("when", "no event yet")
        self.assertEqual(self.browser.run("return document.body.className"), "")
        self.send_events(self.udp_sender(daemon), self.make_events(20))
        self.wait_for_text("numbers", "\n20 in this spill\n")
        # A daemon of another build has another page: that is fetched.
        self.browser.run("first.commit = 'another'; window.old = true")
        harness.wait_until(lambda: not self.browser.run("return window.old ?? false"), "the page to be loaded again")
        self.wait_for_text("mode", "node 3 · receiving")

    def the_first_trouble_is_the_headline(self, status):
        told = [{"name": "no_frame", "severity": "critical", "since": 1.7e9, "who": "the shift", "text": "577 of 1000 events of this spill are lost", "action": "look at `top`"},
                {"name": "spool_fills_up", "severity": "warning", "since": 1.7e9, "who": "the shift", "text": "the disk is full in 3 min", "action": ""},
                {"name": "hot_inputs", "severity": "note", "since": 1.7e9, "who": "the detector's expert", "text": "one input is hot", "action": ""}]
        status = {**status, "troubles": told, "problem": {"name": "no_frame", "text": "…"}, "state": {**status["state"], "level": "critical", "degraded": ["no_frame", "spool_fills_up"]}}
        show = f"const s = {json.dumps(status)}; showState(s); showWay(s);"
        seen = self.browser.run(show + "return [document.getElementById('problem').innerText, document.getElementById('state').className,"
                                " [...document.querySelectorAll('#others li')].map(e => e.className + ': ' + e.innerText), document.title]")
        self.assertRegex(seen[0], r"(?i)^no frame\n577 of 1000 events of this spill are lost\.\nLook at top\.\nsince \d{4}-.* · the shift acts · More in the runbook$")
        self.assertEqual(seen[1], "off")
        self.assertRegex("\n".join(seen[2]), r"^warning: spool fills up The disk is full in 3 min\. since .* · the shift acts · runbook\nnote: hot inputs One input is hot\. ")
        self.assertEqual(seen[3], "node 3: receiving, no frame – koto-l3d")
        self.assertEqual([self.way(show)[station] for station in ("input", "selection", "disk")], ["good", "critical", "warning"])
        # The next spill has begun, and has lost nothing yet.
        status |= {"troubles": [told[0] | {"losing": "now"}], "this_spill": {"ended": False, "admitted": 5, "incomplete": 0, "stored": 0, "rejected": 0, "shed": 0}}
        self.assertIn("lost\n20\n20 % of the last spill, 10 shed\n", self.browser.run(f"showNumbers({json.dumps(status)}); return document.getElementById('numbers').innerText"))

    def test_without_a_run_it_says_so_also_in_a_small_window_with_large_text_and_long_words(self):
        """320 px is a page of 1280 px at a zoom of 400 %, which WCAG 2.1 asks for; text alone may be twice as large."""
        self.start_receiver()
        daemon, comment = self.start_controlled(), "W" * 1000
        self.open(size=(320, 640))
        self.wait_for_text("mode", "no run")
        self.assertEqual(self.state(), "idle")
        self.wait_for_text("problem", "Begin a run with koto-l3 run start")
        self.assertIn("datagrams that arrive\n0 /s\nnothing comes", self.text("numbers"))
        self.assert_readable("idle")
        self.assertEqual([daemon.get(path)[:2] for path in ("/detector", "/event", "/waveforms")], [(200, "null"), (200, "null"), (200, "")])
        self.assertEqual(self.run_tool("run", "start", "--socket", self.control, "--number", "4294967294", "--comment", comment, "--wait")[0], 0)
        self.wait_for_text("mode", "run 4294967294")
        self.wait_for_text("comment", comment)
        sender = self.udp_sender(daemon)
        self.send_events(sender, self.make_events(30))
        daemon.wait_for_stored(30)
        self.assert_readable("320")
        self.browser.run("document.documentElement.style.fontSize = '200%'")
        self.assert_readable("320-large-text")
        self.assertEqual(self.run_tool("run", "stop", "--socket", self.control)[0], 0)
        self.wait_for_text("mode", "no run")
        self.browser.run("return pollEvent()")
        self.send_events(sender, self.make_events(1, spill=2))  # without a run it is lost
        self.wait_for_text("numbers", "crates that send\n3 of 3\n0, 1, 2\n")
        self.wait_for_text("numbers", "dropped: no run is active")
        self.assert_readable("no-run")
        self.assert_quiet()

    def test_troubles_are_said_with_what_to_do(self):
        daemon, maker = self.start_daemon(), level2.EventMaker(self.crates, 5)  # no receiver
        self.open(size=PHONE, dark=True)
        self.wait_for_text("mode", "receiving, degraded")
        self.wait_for_text("problem", "Start koto-l3 receive there")
        self.assertIn("receiver absent", self.text("problem"))
        self.assertIn("receiver absent", self.text("changes"))
        self.assert_readable("absent-dark-phone")
        sender = self.udp_sender(daemon)

        def named():
            for _ in range(10):
                self.number += 1
                sender.event(1, self.number, maker.fragments(1, self.number), without=(1,) if self.number > 40 else ())
            return "crate 1 is silent" in self.text("problem") and "silent" in self.text("crates")
        harness.wait_until(named, lambda: f"a silent crate in {self.text('problem')}, {self.text('others')}, {self.text('crates')}")
        cells = self.browser.run("return [...document.querySelectorAll('#crates li')].map(e => [e.innerText.split('\\n')[0], e.className])")
        self.assertEqual(cells, [["0", ""], ["1", "bad"], ["2", ""]])
        self.assertEqual(self.state(), "off")
        self.assertIn("receiving, losing events", self.text("mode"))
        self.assertIn("receiver absent", self.text("others"))
        self.assertEqual(self.way()["receiver"], "warning")
        self.assertEqual(self.way()["building"], "critical")
        self.assert_readable("bad-crate")
        self.assert_quiet()
        daemon.kill()
        self.wait_for_text("mode", "no answer from the daemon")
        self.assertEqual(self.state(), "lost")
        self.assertIn("systemctl status koto-l3d", self.text("problem"))
        self.assert_readable("lost-dark-phone")

    def test_keys_and_screen_readers_reach_everything_and_without_javascript_it_says_so(self):
        self.start_daemon()
        self.open()
        self.wait_for_text("mode", "receiving")
        self.assertEqual(self.browser.run("return [document.getElementById('mode').role, document.documentElement.lang]"), ["status", "en"])
        reached = set()
        for _ in range(60):
            self.browser.press("\ue004")  # tabulator
            reached.add(self.browser.run("const e = document.activeElement; return e.tagName === 'A' ? e.innerText : e.title"))
        self.assertLessEqual({"metrics", "status", "health", "readiness"}, reached)
        self.assertTrue(any(name and name.startswith("tcp: ") for name in reached), reached)
        unnamed = self.browser.run(
            "return [...document.querySelectorAll('svg[role=img], ul, table th')].filter(e => !e.getAttribute('aria-labelledby') && !e.getAttribute('aria-label') && !e.textContent.trim()).length")
        self.assertEqual(unnamed, 0)
        self.assert_quiet()
        self.browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
        self.browser.open(self.here)
        self.assertEqual(self.browser.in_session("GET", f"/element/{self.browser.find('#state')}/attribute/class"), "idle", "green would be a lie")
        self.assertIn("This page needs JavaScript", self.browser.in_session("GET", f"/element/{self.browser.find('body')}/text"))
        self.keep_screenshot("without-javascript")

    def test_the_runbook_is_a_page_with_an_anchor_for_each_trouble(self):
        self.start_daemon()
        self.open()
        self.browser.open(self.here + "runbook#spool_full")
        self.assertEqual(self.browser.run("return document.querySelector(':target h3').innerText"), "spool_full")
        box = self.browser.run("const box = document.querySelector(':target').getBoundingClientRect(); return [box.top, innerHeight]")
        self.assertTrue(0 <= box[0] < box[1], box)
        source = (harness.HERE.parents[1] / "docs" / "runbook.md").read_text()
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('h3')].map(e => e.innerText)"), re.findall(r"(?m)^### (.*)", source))
        left = self.browser.run("return document.querySelector('main').innerText")
        for mark in ("### ", "](", "| ---"):
            self.assertNotIn(mark, left)
        self.browser.look(PHONE, dark=True)
        self.assert_readable("runbook-dark-phone")
        self.assert_quiet()


class Event(InABrowser, selection_stage.Selecting):
    """The calorimeter's face with the latest kept event, and a waveform on click."""

    def test_the_pages_have_what_was_sent_and_a_click_shows_a_waveform(self):
        file = self.simulate(40, spills=1)
        self.daemon = self.run_daemon(40, file=file)
        self.shown = json.loads(self.daemon.get("/event")[1])
        fragments = self.events_in(file)[self.shown["spill"]][self.shown["event"] - 1]
        self.samples = dict(level2.waveforms(self.crates, fragments))  # as they were sent
        self.the_pages_have_it({(e["spill"], e["event"]): e for e in self.select(file)["events"] if e["kept"]})
        self.the_face_shows_it()

    def the_pages_have_it(self, kept):
        detector = json.loads(self.daemon.get("/detector")[1])
        inputs = {name.split(", ")[-1]: number for number, name in enumerate(detector["inputs"]) if name}
        self.assertEqual(inputs.keys(), self.samples.keys())
        self.assertEqual(len(detector["crystals"]), 2716)
        this = kept[self.shown["spill"], self.shown["event"]]
        self.assertEqual(self.shown["lines"], this["kept_by"])
        for address, number in inputs.items():
            samples = self.samples[address]
            self.assertEqual(self.shown["heights"][number], max(0, max(samples) - sorted(samples)[len(samples) // 2]), address)
        self.assertEqual(sum(h is None for h in self.shown["heights"]), len(detector["inputs"]) - len(inputs))
        waveforms = self.daemon.get("/waveforms", raw=True)[1]
        size = 8 + len(detector["inputs"]) // 16 * 2048
        self.assertEqual(len(waveforms) % size, 0)
        self.assertEqual(struct.unpack_from("<II", waveforms), (self.shown["spill"], self.shown["event"]))
        for address, number in inputs.items():
            length = len(self.samples[address])
            self.assertEqual(number // 16 in detector["wide"], length == 256)
            at = 8 + number // 16 * 2048 + 2 * (number % 16) * length
            self.assertEqual(list(struct.unpack_from(f"<{length}H", waveforms, at)), self.samples[address], address)
        told = sum(len(self.daemon.get(page)[1]) for page in ("/", "/detector", "/event"))
        self.assertLess(told, MOST_BYTES)

    def the_face_shows_it(self):
        self.open()
        self.wait_for_text("event-text", f"spill {self.shown['spill']}, event {self.shown['event']}")
        self.wait_for_text("waveform-text", f"in event {self.shown['event']} of spill {self.shown['spill']}: ")  # without a click
        self.assertEqual(self.browser.run("return document.getElementById('go-on').hidden"), True)
        self.assertIn("≥ 4000", self.text("scale-ticks"))
        highest = max(self.shown["heights"], key=lambda h: h or 0)
        self.assertIn(f": {highest}", self.text("pulses").splitlines()[0])
        painted = "const c = document.getElementById('face'); return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v)"
        self.assertTrue(self.browser.run(painted))
        self.browser.run("document.querySelector('#pulses button').click()")
        self.wait_for_text("waveform-text", "samples of")
        address = self.text("pulses").splitlines()[0].split(": ")[0].split(", ")[-1]
        samples = self.samples[address]
        self.assertIn(f"{len(samples)} samples", self.text("waveform-text"))
        self.assertIn(f"from {min(samples)} to {max(samples)} counts, highest at sample {samples.index(max(samples))}", self.text("waveform-text"))
        self.assertEqual(self.browser.run("return document.querySelector('#waveform polyline').points.length"), len(samples))
        self.assert_readable("event")
        # A click into the middle of a crystal of the face.
        self.browser.run("""const [x, y, , input] = places.crystals[100], c = document.getElementById('face'), box = c.getBoundingClientRect();
            const reach = Math.max(...places.crystals.map(p => Math.max(Math.abs(p[0]), Math.abs(p[1])) + p[2] / 2));
            c.dispatchEvent(new MouseEvent('click', {clientX: box.left + (x + reach) / (2 * reach) * box.width, clientY: box.top + (reach - y) / (2 * reach) * box.height}))""")
        self.wait_for_text("waveform-text", "crystal 100,")
        # The arrow keys go from crystal to crystal.
        self.browser.run("document.getElementById('face').focus()")
        x, y, size, _ = json.loads(self.daemon.get("/detector")[1])["crystals"][100]
        for key, (right, up) in (("\ue014", (1, 0)), ("\ue013", (0, 1)), ("\ue012", (-1, 0)), ("\ue015", (0, -1))):
            was = self.text("waveform-text")
            self.browser.press(key)
            harness.wait_until(lambda: self.text("waveform-text") != was, "another waveform")
            there = self.browser.run("return places.crystals.find(c => c[3] === chosen)")
            self.assertLess(abs((there[0] - x) * up + (there[1] - y) * right), size, "beside its row")
            self.assertGreater((there[0] - x) * right + (there[1] - y) * up, 0, "not ahead")
            x, y = there[:2]
        self.browser.run("document.getElementById('go-on').click()")
        self.wait_for_text("event-text", "event")
        self.assertEqual(self.browser.run("return [document.getElementById('go-on').hidden, chosen]"), [True, None])
        self.assert_quiet()


if __name__ == "__main__":
    harness.main()
