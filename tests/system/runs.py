#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs begin and end while the daemon goes on and events come: none is lost, and each is of its run, in blocks, in ledgers and
by bytes. Run control refuses what cannot be, with reasons, and answers as its OpenAPI file says."""
import collections
import json
import pathlib
import time

import harness
import level2
from managing import RunControl
from selection_stage import SELECTION, Selecting

LONGEST_COMMENT = "𝜈" * 1000  # four bytes each, and characters are what counts
OPENAPI = pathlib.Path(__file__).parents[2] / "deploy" / "run-control.openapi.json"
REFUSED, MISSING_RESOURCE = 1, 69


def fits(value, schema, api):
    """Whether a value is as a schema of the OpenAPI file says; the file uses no more of it than this."""
    known = {"$ref", "allOf", "nullable", "type", "enum", "minimum", "maximum", "maxLength", "required", "properties",
             "additionalProperties", "items", "minItems", "description"}
    assert not schema.keys() - known, schema.keys() - known
    if value is None:
        return schema.get("nullable", False)
    if "$ref" in schema:
        return fits(value, part(api, schema["$ref"]), api)
    if not all(fits(value, s, api) for s in schema.get("allOf", ())):
        return False
    kinds = {"string": str, "integer": int, "boolean": bool, "object": dict, "array": list}
    if "type" in schema and type(value) is not kinds[schema["type"]]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if type(value) is int and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return False
    if type(value) is list and (len(value) < schema.get("minItems", 0) or not all(fits(v, schema["items"], api) for v in value)):
        return False
    if type(value) is dict:
        properties = schema.get("properties", {})
        return (value.keys() >= set(schema.get("required", ())) and
                (schema.get("additionalProperties", True) or value.keys() <= properties.keys()) and
                all(fits(v, properties[k], api) for k, v in value.items() if k in properties))
    return True


def part(api, reference):
    for key in reference.removeprefix("#/").split("/"):
        api = api[key]
    return api


class Controlled(harness.SystemTest):
    api = json.loads(OPENAPI.read_text())

    def setUp(self):
        super().setUp()
        self.socket = self.folder / "control.sock"
        self.ledgers = self.folder / "ledgers"
        self.control, self.answered = RunControl(self.socket), set()

    def start_controlled(self, run={}, **sections):
        return self.start_daemon(ready="ready for runs", run={"control": str(self.socket), "ledger": f"{self.ledgers}/", **run}, **sections)

    def ask(self, method, path, body=None):
        """(status, JSON or text); an answer that the OpenAPI file describes must be as it says."""
        status, kind, content = self.control.request(method, path, body)
        value = json.loads(content) if kind == "application/json" else content
        operation = self.api["paths"].get(path, {}).get(method.lower())
        if operation:
            schema = part(self.api, operation["responses"][str(status)]["$ref"])["content"][kind]["schema"]
            self.assertTrue(fits(value, schema, self.api), (method, path, status, content))
            self.answered.add((path, method, status))
        return status, value

    def start(self, **order):
        status, answer = self.control.order("start", **order)
        self.assertEqual(status, 202, answer)

    def ledgers_by_run(self):
        found = collections.defaultdict(list)
        for file in sorted(self.ledgers.glob("*.json")):
            ledger = json.loads(file.read_text())
            self.assertEqual(file.name, f"run{ledger['run']:06}-3-{ledger['session']}.json")
            found[ledger["run"]].append(ledger)
        return found

    def events_by_run(self):
        """{run: {(spill, number): event}}"""
        found = collections.defaultdict(dict)
        for block in harness.store_reader.read_store(self.store):
            for event in block.events:
                self.assertNotIn((event.spill, event.number), found[block.run], "stored twice")
                found[block.run][event.spill, event.number] = event
        return found


class Runs(Controlled):
    def setUp(self):
        super().setUp()
        self.receiver, self.daemon, self.sent = self.start_receiver(), self.start_controlled(), collections.defaultdict(dict)

    def send_spill(self, sender, run, spill, events, told=None):
        sent = self.make_events(events, spill, run)
        self.send_events(sender, sent)
        self.sent[run] |= sent
        sender.end(spill, told or events)

    def end(self):
        self.assertEqual(self.daemon.stop(), 0, self.daemon.said())
        self.assertEqual(self.receiver.stop(), 0, self.receiver.said())
        found = self.events_by_run()
        self.assertEqual({run: found[run].keys() for run in found}, {run: self.sent[run].keys() for run in self.sent})
        for run in self.sent:
            for key, fragments in self.sent[run].items():
                self.assertEqual(found[run][key].fragments, dict(enumerate(fragments)), (run, key))
        return self.ledgers_by_run()

    def test_three_runs_over_udp_and_tcp(self):
        """What comes without a run is counted. The beam goes on: a run that is asked for in a spill has the next one whole, after a pause of two
        and a half seconds."""
        self.assertEqual(self.daemon.get("/readyz")[0], 503)
        udp = self.udp_sender(self.daemon)
        self.send_spill(udp, 0, 1, 20)
        del self.sent[0]
        harness.wait_until(lambda: self.ask("GET", "/run")[1]["datagrams_without_run"] == udp.sent, "all datagrams")
        harness.wait_until(lambda: self.daemon.metrics()["koto_l3_no_run_datagrams_total"] == udp.sent, "the metric")
        lost = udp.sent
        self.start(comment=LONGEST_COMMENT)
        self.control.wait_for_run("running", 7)  # run.number: none was used before
        for run, following in ((7, {}), (8, {"number": 40}), (40, None)):
            self.send_spill(udp, run, 1, 40)
            self.daemon.wait_for_stored(40)
            stream, sent = self.stream_sender(run=run).connect(), self.make_events(30, 2, run)
            self.sent[run] |= sent
            stream.begin(2)
            self.send_events(stream, sent)
            stream.wait_for_acknowledgement(stream.end(2, 30))
            stream.close()
            udp.event(3, 51, self.sent[run].setdefault((3, 51), level2.EventMaker(self.crates, run).fragments(3, 51)))
            if following is not None:  # while its spill goes on
                self.start(**following)
            self.send_spill(udp, run, 3, 50, told=51)
            if following is None:
                self.daemon.wait_for_stored(121)
            else:
                time.sleep(2.5)
        self.assertEqual(self.ask("POST", "/run/stop", "")[0], 202)
        now = self.control.wait_for_run("configured")
        self.assertEqual((now["last"]["number"], now["last"]["events"], now["last"]["well"]), (40, "121 = 121 stored", True))
        self.assertEqual(now["datagrams_without_run"], lost)
        ledgers = self.end()
        self.assertEqual(sorted(ledgers), [7, 8, 40])
        for run, (ledger,) in ledgers.items():
            self.assert_conserved(ledger)
            self.assertTrue(ledger["clean"])
            self.assertEqual((ledger["events"]["admitted"], ledger["events"]["forwarded"]), (121, 121))
        self.assertEqual(ledgers[7][0]["comment"], LONGEST_COMMENT)
        self.assertEqual(len({ledger["session"] for (ledger,) in ledgers.values()}), 3)

    def test_a_spill_belongs_to_one_run(self):
        """Level 2 stalls within a spill, for longer than a spill without an end is waited for. The run that shall follow waits for the
        spill's own end."""
        self.start()
        self.control.wait_for_run("running", 7)
        udp, spill = self.udp_sender(self.daemon), self.make_events(40, 2, 7)
        self.send_spill(udp, 7, 1, 20)
        halves = [dict(list(spill.items())[half:half + 20]) for half in (0, 20)]
        self.send_events(udp, halves[0])
        self.start(number=8)
        self.daemon.wait_for(lambda s: s["latest_spills"] and s["latest_spills"][-1]["spill"] == 2, "the spill reported")
        time.sleep(1.5)  # three times as long as a pause and a look
        self.assertEqual(self.ask("GET", "/run")[1]["current"]["number"], 7)
        self.send_events(udp, halves[1])
        udp.end(2, 40)
        self.sent[7] |= spill
        self.control.wait_for_run("running", 8)
        self.send_spill(udp, 8, 3, 20)
        self.daemon.wait_for_stored(20)
        ledgers = self.end()
        self.assertEqual([ledgers[run][0]["missing"] for run in (7, 8)], [0, 0])


class Menus(Controlled, Selecting):
    def test_a_menu_is_in_force_for_its_run(self):
        """Two runs with two menus over the same events: each stores what `select` keeps with its menu. A menu that has mistakes is refused."""
        receiver, menus = self.start_receiver(), {7: "built-in", 8: str(self.write(SELECTION))}
        daemon = self.start_controlled(selection={"lines": "built-in"}, frames=self.frames, building={"chunk_bytes": self.chunk_bytes})
        for text, reason in ((SELECTION.replace("BHGC", "BHGX"), r'menu.toml:\d+:\d+: .*no counter "BHGX"'), ("[", r"menu.toml:1")):
            status, answer = self.ask("POST", "/run/start", json.dumps({"menu": str(self.write(text, "menu.toml"))}))
            self.assertEqual(status, 409)
            self.assertRegex(answer["reasons"][0], reason)
        said, named = {}, {}
        for run, menu in menus.items():
            file = self.simulate(20, f"{run}.l2raw", run=run, spills=1)
            said[run] = self.select(file, menu)
            self.start(menu=menu)
            self.control.wait_for_run("running", run)
            self.run_replay(file)
            named[run] = daemon.wait_for(lambda s: s["run"] == run and s["events"]["admitted"] == 20, "20 events")["menu"]
        self.assertEqual(daemon.stop(), 0, daemon.said())
        receiver.stop()
        ledgers, found = self.ledgers_by_run(), self.events_by_run()
        for run, menu in menus.items():
            kept = {(e["spill"], e["event"]) for e in said[run]["events"] if e["kept_by"]}
            self.assertEqual(found[run].keys(), kept)
            hashes = {f"{e.summary.settings:08x}" for e in found[run].values()}
            self.assertEqual((named[run], ledgers[run][0]["menu"]), (f"{menu} {next(iter(hashes))}",) * 2)
            self.assertEqual(len(hashes), 1)
            self.assertEqual(ledgers[run][0]["events"]["rejected"], 20 - len(kept))
        self.assertNotEqual(named[7].split()[1], named[8].split()[1])


class Control(Controlled):
    def test_what_is_refused_and_why(self):
        daemon = self.start_controlled(spool={"floor": "16384 GiB"})
        status, answer = self.ask("POST", "/run/start", "{}")
        self.assertEqual(status, 409)
        for text, reason in zip(("receiver is absent: no receiver answers at tcp://", "the disk of .* is nearly full"), answer["reasons"], strict=True):
            self.assertRegex(reason, text)
        self.assertEqual(self.ask("POST", "/run/stop")[0], 409)
        for body, text in (("{", "not JSON"), ("[" * 10_000, "not JSON"), ("[]", "not a JSON object"), ('{"nummer": 1}', "nummer is not a key"),
                           ('{"number": 4294967296}', "number is not a number"),
                           (json.dumps({"comment": LONGEST_COMMENT + "x"}), "comment is not a text of at most 1000 characters"),
                           ('{"comment": "\\u001b[2J"}', "comment is not plain text"), ('{"menu": null}', "menu is not a text"),
                           ('{"again": 1}', "again is neither"), ('{"again": true}', "again needs a number")):
            with self.subTest(body[:40]):
                status, answer = self.ask("POST", "/run/start", body)
                self.assertEqual(status, 400, answer)
                self.assertIn(text, answer["reasons"][0])
        longest = '{"nummer": 1}'.ljust(64 << 10)
        for method, path, body, status in (
                ("POST", "/run/stop", '{"now": true}', 400), ("POST", "/run/start", longest, 400), ("POST", "/run/start", longest + " ", 413),
                ("POST", "/run/stop", " " * 70_000, 413), ("GET", "/run/start", None, 405), ("DELETE", "/run", None, 405),
                ("GET", "/run/x", None, 404)):
            self.assertEqual(self.ask(method, path, body)[0], status, (method, path))
        self.assertEqual(self.ask("GET", "/run")[1]["state"], "configured")
        self.assertEqual(daemon.stop(), 0, daemon.said())
        # Every answer that the file names was seen, but 405: that is an answer to another method.
        named = {(path, method.upper(), int(code)) for path, methods in self.api["paths"].items() for method, operation in methods.items()
                 for code in operation["responses"] if code != "405"}
        self.assertEqual(self.answered - named, set())
        self.assertEqual(named - self.answered, {("/run/start", "POST", 202), ("/run/stop", "POST", 202)}, "which other tests see")

    def test_the_command(self):
        said = self.control.tool("status")
        self.assertEqual(said.returncode, MISSING_RESOURCE)
        self.assertIn(f"no run control answers at {self.socket}", said.stderr)
        daemon = self.start_controlled()
        said = self.control.tool("start", refused=True)
        self.assertEqual((said.returncode, said.stdout), (REFUSED, ""))
        self.assertIn("koto-l3 run: the receiver is absent", said.stderr)
        receiver = self.start_receiver()
        said = self.control.tool("start", "--wait", "--number", "5", "--comment", "by hand")
        self.assertEqual((said.returncode, said.stdout), (0, "running\n  current     run 5 (by hand)\n"), said.stderr)
        udp, maker = self.udp_sender(daemon), level2.EventMaker(self.crates, 12)
        waiting, events = None, 0
        while waiting is None or "run 6 begins when the beam pauses" not in waiting.said():  # the spill goes on: it waits, and says for what
            events += 1
            udp.event(1, events, maker.fragments(1, events))
            waiting = waiting or self.start_tool("run", "start", "--wait", "--number", "6", "--socket", self.socket)
            self.assertTrue(waiting.running(), waiting.said())
            time.sleep(0.05)
        udp.end(1, events)
        self.assertEqual(waiting.wait(), 0, waiting.said())
        said = self.control.tool("stop", "--wait")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stdout, r"^configured\n  last        run 6: events 0 = 0 stored\n +\S+/run000006-3-[0-9a-f]{16}\.json\n$")
        self.assertEqual(json.loads(self.control.tool("status", "--json").stdout)["state"], "configured")
        self.assertEqual(self.control.tool("stop").returncode, REFUSED)
        status, answer = self.ask("POST", "/run/start", '{"number": 5}')
        self.assertEqual(status, 409)
        self.assertIn("5 was already used", answer["reasons"][0])
        self.start(number=5, again=True)
        self.control.wait_for_run("running", 5)
        self.assertEqual(daemon.stop(), 0)
        self.assertEqual(len(self.ledgers_by_run()[5]), 2)
        receiver.stop()


if __name__ == "__main__":
    harness.main()
