# SPDX-License-Identifier: Apache-2.0
"""Samples and pulses of many events, with the state of missing ones."""
from __future__ import annotations

import html
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._library import Array, State
from ._table import Column, Table


class Waveforms(np.ma.MaskedArray[Any, np.dtype[np.uint16]]):
    """Samples in ADC counts: (events, channels, 64 or 256), or (events, samples) of one channel. A missing waveform is
    masked. A plain array is `w.data`, in which it is zeros.

    state     (events, channels) of `State`
    channels  table of the channels, in their order
    A slice has neither; `present` of a slice is right."""
    state: NDArray[np.uint8]
    _of: tuple[Table, Array]

    @property
    def channels(self) -> Table:
        return self._of[0][self._of[1]]  # type: ignore[no-any-return]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Returns which waveforms are there."""
        mask = np.ma.getmask(self)
        return np.ones(self.shape[:-1], bool) if mask is np.ma.nomask else ~np.asarray(mask)[..., 0]

    @property
    def error(self) -> NDArray[np.uint8]:
        """Returns the `State` of waveforms that should be there and are not; 0 also where the menu did not keep one."""
        return np.where(self.state == State.NOT_KEPT, np.uint8(0), self.state)


def waveforms(samples: Array, state: Array, channels: tuple[Table, Array]) -> Waveforms:
    mask = np.broadcast_to((state != 0)[..., None], samples.shape) if state.max(initial=0) else np.ma.nomask
    made = samples.view(Waveforms)
    # A view of one byte for each waveform; numpy copies it when somebody masks more.
    made._mask, made._sharedmask = mask, True  # type: ignore[attr-defined]
    made.state, made._of = state, channels
    return made


class Pulses(Table):
    """What `measure_pulses` of the trigger finds in waveforms, bit for bit: arrays (events, channels), or (events, channels, 4) of
    channels with 256 samples. `p.energy` is in MeV, `p.time` in ns since the trigger's time, NaN where there is no pulse; `p.raw`
    has the integers."""
    columns: dict[str, Column]  # type: ignore[assignment]

    def __init__(self, raw: dict[str, Array], columns: dict[str, Column], state: Array, channels: tuple[Table, Array]) -> None:
        super().__init__(columns, "pulses")
        self.raw, self.state, self._of = raw, state, channels

    @property
    def channels(self) -> Table:
        """The table of the channels, in their order."""
        return self._of[0][self._of[1]]  # type: ignore[no-any-return]

    def _flag(self, bit: int) -> NDArray[np.bool_]:
        return (self.raw["flags"] >> bit & 1).astype(bool)

    @property
    def found(self) -> NDArray[np.bool_]:
        """Returns where there is a pulse."""
        return self._flag(0)

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """Pulses that reach the end of the digitizer's range."""
        return self._flag(1)

    @property
    def another(self) -> NDArray[np.bool_]:
        """Pulses whose waveform holds another one."""
        return self._flag(3)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.raw["flags"].shape))
        return f"pulses of {shape}: {int(self.found.sum())} found; {', '.join(self.columns)}"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"
