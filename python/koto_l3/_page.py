# SPDX-License-Identifier: Apache-2.0
"""The display of koto-l3's pages for an event in a notebook."""
from __future__ import annotations

import base64
import gzip
import pathlib
import uuid
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._event import Event


@cache
def module() -> str | None:
    """event.js: in the wheel or the package, or in the sources."""
    here = pathlib.Path(__file__).resolve()
    for path in (here.with_name("event.js"), here.parents[2] / "selection" / "display" / "event.js"):
        if path.exists():
            return path.read_text()
    return None


def picture(event: Event) -> bytes:
    """The event as JSON."""
    (reader, rows), = event.events._parts
    return reader.event_json(int(rows[0]))


def page(event: Event) -> str | None:
    """HTML with the display in a frame of its own; None without event.js or the event's settings."""
    script = module()
    if script is None or event.events._menus()[0][0] is None:
        return None
    packed = base64.b64encode(gzip.compress(picture(event))).decode()
    name = f"koto-l3-{uuid.uuid4().hex[:8]}"
    return f"""<div id="{name}"></div><script type="module">{script}
const packed = new Blob([Uint8Array.from(atob("{packed}"), c => c.charCodeAt(0))]);
const data = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).json();
showEvent(document.getElementById("{name}"), data);</script>"""
