# SPDX-License-Identifier: Apache-2.0
"""An event for the display of koto-l3's pages: the JSON that selection/display/event.js describes, and a page around it."""
from __future__ import annotations

import base64
import gzip
import json
import pathlib
import tomllib
import uuid
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ._library import Error, Tables, fields
from ._settings import Menu

if TYPE_CHECKING:
    from ._event import Event

_PAYLOADS = ["all", "suppressed", "features", "summary"]
_CHANNELS = 16  # inputs are numbered so, for each board


@cache
def module() -> str | None:
    """event.js: in the wheel or the package, or in the sources."""
    here = pathlib.Path(__file__).resolve()
    for path in (here.with_name("event.js"), here.parents[2] / "selection" / "display" / "event.js"):
        if path.exists():
            return path.read_text()
    return None


def _inputs(menu: Menu) -> Any:
    """The number of each row of channels: 16 times that of its board, and the channel."""
    c = menu.channels
    board = np.cumsum(np.concatenate([[0], (np.diff(c.crate.astype(int)) != 0) | (np.diff(c.slot.astype(int)) != 0)]))
    return _CHANNELS * board + c.channel


def detector(menu: Menu) -> dict[str, Any]:
    """Places and names."""
    c, inputs = menu.channels, _inputs(menu)
    described = tomllib.loads(menu.detector)
    shapes = {v["name"]: v for v in described.get("veto", [])}
    crystals = np.flatnonzero(c.kind == 1)
    counters = []
    for i in range(len(menu.counters)):
        counter = menu.counters[i]
        rows = np.flatnonzero((c.kind == 2) & (c.counter == counter["bit"]))
        rows = rows[np.lexsort((c.end[rows], c.module[rows]))]
        one = {"name": counter["name"], "ends": int(c.end[rows].max(initial=0)) + 1, "inputs": inputs[rows].tolist(),
               "threshold": round(counter["threshold"] * 1000), "window": [round(counter["from"] * 128), round(counter["to"] * 128)]}
        shape = shapes.get(counter["name"], {})
        if "barrel" in shape:
            one["shape"] = {"form": "barrel", "inner": shape["barrel"][0], "outer": shape["barrel"][0], "z": shape["barrel"][1:]}
        elif "wall" in shape:
            one["shape"] = {"form": "wall", "inner": shape["wall"][0], "outer": shape["wall"][1], "z": [shape["wall"][2]] * 2}
        counters.append(one)
    first = np.unique(inputs // _CHANNELS, return_index=True)[1]
    return {"front": described.get("calorimeter", {}).get("front", 0), "boards": [f"{c.crate[i]}/{c.slot[i]}" for i in first], "counters": counters,
            "crystals": np.stack([c.x[crystals], c.y[crystals], c.size[crystals], inputs[crystals]], axis=-1).tolist()}


def picture(event: Event) -> dict[str, Any]:
    """The event without the detector, in the integers of docs/formats.md."""
    e, raw = event.events, event.events.raw
    menu = e._menus()[0][0]
    if menu is None:
        raise Error("the settings of this event are not in the store")
    inputs, cuts = _inputs(menu), tomllib.loads(menu.text).get("clusters")
    time = None if np.isnan(e.event_time[0]) else int(raw["event_time"][0])

    def is_in(window: Any, when: int) -> bool:
        return bool(window[0] * 128 <= when - (time or 0) <= window[1] * 128)
    waveforms: list[Any] = [None] * (int(inputs.max()) + 1)
    pulses: list[list[Any]] = []
    for length in (64, 256):
        rows = np.flatnonzero(menu.channels.length == length)
        w, p = e.samples(rows), e.pulses(rows)
        for i in np.flatnonzero(w.present[0]):
            waveforms[inputs[rows[i]]] = w.data[0, i].tolist()
        found = p.found[0].reshape(len(rows), -1)
        columns = {name: p.raw[name][0].reshape(len(rows), -1) for name in ("pedestal", "peak", "edge", "energy", "time", "flags")}
        for i, j in np.argwhere(found & (menu.channels.kind[rows] > 0)[:, None]):
            v = {name: int(column[i, j]) for name, column in columns.items()}
            counts = cuts and menu.channels.kind[rows[i]] == 1 and v["energy"] >= cuts["crystal_threshold"] * 1000 and is_in(cuts["crystal_window"], v["time"])
            pulses.append([int(inputs[rows[i]]), v["pedestal"], v["peak"], None if v["flags"] & 16 else v["edge"], v["energy"], v["time"], int(bool(counts))])
    summary: Any = "the selection did not judge it"
    if raw["selected"][0]:
        quantities = {name: None if raw[name][0] == f.null else int(raw[name][0]) for name, f in fields(Tables.EVENTS).items() if f.nullable}
        refused, photon, hit = event.refused, event.photon, event.hit
        counters = {int(c["bit"]): c for c in (menu.counters[i] for i in range(len(menu.counters)))}
        names = {bit: c["name"] for bit, c in counters.items()}
        unknown = int(raw["unknown"][0])
        summary = {
            "names_are_of_these_settings": int(raw["settings_hash"][0]) == menu.hash, "trigger": [f"bit {b}" for b in range(14) if raw["trigger"][0] >> b & 1],
            "status": [], "vetoes": event.vetoes, "unknown": [name for bit, name in names.items() if unknown >> bit & 1],
            "lines": [{"line": name, "prescale": int(menu.lines.prescale[i]), "fired": name in event.lines, "kept": name in event.kept_by,
                       "refused": refused.get(name), "why": refused.get(name)} for i, name in enumerate(menu.lines.name)],
            "quantities": quantities, "photons_found": int(raw["photons_found"][0]),
            "photons": [{"energy": round(p["energy"] * 1000), "x": round(p["x"] * 10), "y": round(p["y"] * 10), "time": round(p["time"] * 128),
                         "crystals": int(p["crystals"])} for p in (photon[i] for i in range(len(photon)))],
            "hits": [{"counter": names[int(h["counter"])], "module": int(h["module"]), "energy": round(h["energy"] * 1000), "time": round(h["time"] * 128),
                      "counts": bool(h["energy"] >= (c := counters[int(h["counter"])])["threshold"] and is_in((c["from"], c["to"]), round(h["time"] * 128)))}
                     for h in (hit[i] for i in range(len(hit)))]}
    return {"run": int(raw["run"][0]), "spill": int(raw["spill"][0]), "event": int(raw["event"][0]), "incomplete": bool(raw["flags"][0] & 1),
            "undecodable": bool(raw["flags"][0] & 6), "payload": _PAYLOADS[raw["kept_waveforms"][0]], "time": time, "summary": summary,
            "waveforms": waveforms, "pulses": pulses}


def page(event: Event) -> str | None:
    """HTML with the display in a frame of its own; None without event.js."""
    script = module()
    if script is None:
        return None
    menu = event.events._menus()[0][0]
    if menu is None:
        return None
    text = json.dumps({**picture(event), "detector": detector(menu)}, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(text.encode())).decode()  # a third of the text
    name = f"koto-l3-{uuid.uuid4().hex[:8]}"
    return f"""<div id="{name}"></div><script type="module">{script}
const packed = new Blob([Uint8Array.from(atob("{packed}"), c => c.charCodeAt(0))]);
const data = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).json();
showEvent(document.getElementById("{name}"), data);</script>"""
