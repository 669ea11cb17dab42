# SPDX-License-Identifier: Apache-2.0
"""Reads what koto-l3, the level-3 trigger of the KOTO experiment, stores.

    import koto_l3 as l3
    s = l3.open("store")
    e = s.events(run=102, kept_by="klpi0pi0")
    e.photon_energy                  # MeV
    e.samples("crystal 17")          # (events, 64) ADC counts
"""
from ._events import Events
from ._library import Error, State, version
from ._live import Subscription, subscribe
from ._settings import Menu
from ._store import Store, open
from ._table import Column, Lists, Table
from ._truth import Truth, truth
from ._waveforms import Pulses, Waveforms

__all__ = ["Column", "Error", "Events", "Lists", "Menu", "Pulses", "State", "Store", "Subscription", "Table", "Truth", "Waveforms", "open", "subscribe", "truth", "version"]
