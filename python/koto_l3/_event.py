# SPDX-License-Identifier: Apache-2.0
"""One event: its values, its map of the calorimeter, its picture."""
from __future__ import annotations

import html
from typing import Any

import numpy as np

from ._events import LISTS, Events, reason_name
from ._library import Array, Tables, fields
from ._table import Column, Table
from ._waveforms import Pulses, Waveforms


class Event:
    """`e.vertex_z` is a number, `e.photon` and `e.hit` are tables, `e.samples("CSI")` and `e.pulses("CSI")` are arrays (channels, …)."""

    def __init__(self, events: Events) -> None:
        self.events = events  #: this one

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in LISTS:
            return Table(self.events.lists(name).columns, name)
        value = getattr(self.events, name)
        return value[0] if isinstance(value, np.ndarray) else value

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.events.names]

    def _names(self, stored: str) -> list[str]:
        return [name for column, (word, name) in self.events._bit_names().items() if word == stored and self.events[column][0]]

    @property
    def lines(self) -> list[str]:
        """Returns the names of the lines that fired."""
        return self._names("fired")

    @property
    def kept_by(self) -> list[str]:
        """Returns the names of the lines that kept the event."""
        return self._names("kept_by")

    @property
    def vetoes(self) -> list[str]:
        """Returns the names of the counters that fired."""
        return self._names("vetoes")

    @property
    def refused(self) -> dict[str, str]:
        """Returns, for each other line, the first condition that failed, or the quantity out of range."""
        reasons = self.decision["reason"]
        menu = self.events._menus()[0][0]
        bits = menu.line_bits.items() if menu else ()
        return {name: reason_name(r) for name, bit in bits if bit < len(reasons) and (r := int(reasons[bit]))}

    def samples(self, channels: Any) -> Waveforms:
        """Returns samples in ADC counts: (channels, samples), or (samples,) of a single channel."""
        return self.events.samples(channels)[0]  # type: ignore[no-any-return]

    def pulses(self, channels: Any) -> Pulses:
        """Returns pulses: arrays (channels,), or a number of a single channel."""
        p = self.events.pulses(channels)
        return Pulses({n: c[0] for n, c in p.raw.items()}, {n: Column(np.atleast_1d(c.numpy()[0]), None, c.unit, c.about) for n, c in p.columns.items()},
                      p.state[0], p._of)

    def map(self) -> Table:
        """Returns the crystals: x, y, size in mm, energy in MeV and time in ns since the trigger's time; NaN without a pulse."""
        p = self.events.pulses("CSI")
        columns = {name: p.channels.columns[name] for name in ("name", "x", "y", "size")}
        return Table(columns | {name: Column(p[name][0], None, p.units[name], p.columns[name].about) for name in ("energy", "time")}, "crystals")

    def __repr__(self) -> str:
        keys = "run {}, node {}, session {:016x}, spill {}, event {}".format(*(self.events.raw[k][0] for k in ("run", "node", "session", "spill", "event")))
        values = ", ".join(f"{name} {self.events[name][0]:.6g}" for name, f in fields(Tables.EVENTS).items()
                           if f.nullable and not np.isnan(self.events[name][0]))
        return f"{keys}\n  kept by: {', '.join(self.kept_by) or 'no line'}; vetoes: {', '.join(self.vetoes) or 'none'}\n  {values}"

    def _repr_html_(self) -> str:
        from ._page import page
        return page(self) or f"<pre>{html.escape(repr(self))}</pre>"

    def show(self, ax: Any = None, *, by: str = "energy") -> Any:
        """Draws the calorimeter into `ax`, or into a new figure: crystals by energy (log scale) or time, photons, what fired.
        Returns the axes. Needs matplotlib."""
        try:
            import matplotlib.pyplot as plt
            from matplotlib.collections import PatchCollection
            from matplotlib.colors import LogNorm
            from matplotlib.patches import Rectangle
        except ImportError:
            raise ImportError("this needs matplotlib: pip install 'koto-l3[plot]'") from None
        if by not in ("energy", "time"):
            raise ValueError(f"by is 'energy' or 'time', not {by!r}")
        if ax is None:
            ax = plt.subplots(figsize=(7, 6), layout="constrained")[1]
        crystals = self.map()

        def squares(rows: Array, **how: Any) -> Any:
            corner = crystals.size / 2
            return ax.add_collection(PatchCollection([Rectangle((crystals.x[i] - corner[i], crystals.y[i] - corner[i]), crystals.size[i], crystals.size[i])
                                                      for i in np.flatnonzero(rows)], **how))
        lit = crystals.energy > 0
        squares(~lit, facecolor="none", edgecolor="0.85", linewidth=0.3)
        norm = LogNorm(1, max(10.0, float(np.nanmax(crystals.energy, initial=0)))) if by == "energy" else None
        drawn = squares(lit, cmap="viridis" if by == "energy" else "coolwarm", norm=norm)
        drawn.set_array(crystals[by][lit])
        ax.figure.colorbar(drawn, ax=ax, label="energy of a crystal / MeV" if by == "energy" else "time / ns")
        photons = self.photon
        ax.plot(photons.x, photons.y, "o", markersize=16, markerfacecolor="none", markeredgecolor="tab:red")
        for x, y, energy in zip(photons.x, photons.y, photons.energy):
            ax.annotate(f"{energy:.0f} MeV", (x, y), xytext=(10, 8), textcoords="offset points", color="tab:red")
        ax.set(aspect="equal", xlabel="x / mm", ylabel="y / mm", xlim=(-1000, 1000), ylim=(-1000, 1000),
               title=f"run {self.run}, spill {self.spill}, event {self.event}\n{', '.join(self.lines) or 'no line fired'}"
                     + (f"; vetoed by {', '.join(self.vetoes)}" if self.vetoes else ""))
        return ax
