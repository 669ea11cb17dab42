# ---
# jupyter:
#   jupytext:
#     text_representation: {extension: .py, format_name: percent}
#   kernelspec: {display_name: Python 3, language: python, name: python3}
# ---

# %% [markdown]
# # From level-2 data to the mass of the kaon
#
# This page takes simulated data with koto-l3, opens what was stored, and finds K_L → π⁰π⁰ → 4γ in it. It takes a few minutes.
# You need the programs `koto-l3` and `koto-l3d` in PATH (or their folder in `KOTO_L3_BIN`), and
# `pip install 'koto_l3-….whl[awkward,export,plot]'`. As a notebook: `pip install jupytext; jupytext --to ipynb tutorial.py`. CI runs
# this file, and each `assert` holds there.

# %%
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib

import awkward as ak
import matplotlib.pyplot as plt
import numpy as np

import koto_l3 as l3
from koto_l3 import take_data

data = pathlib.Path(os.environ.get("KOTO_L3_SAMPLE", "tutorial-data"))
pictures = pathlib.Path(os.environ.get("KOTO_L3_PICTURES", data))
data.mkdir(exist_ok=True)
plt.rcParams.update({"figure.constrained_layout.use": True, "svg.hashsalt": "koto-l3"})

# %% [markdown]
# ## Simulate, and take data
#
# Run 101 has events of every kind, and the built-in selection decides which are stored. Run 102 has only decays into four photons.
# All its events are recorded, so we can see what the selection would have rejected. `take_data.take` starts a receiver and a daemon,
# and sends a file to it, as README.md does by hand.

# %%
if not (data / "made").exists():
    print(f"simulating and taking data into {data}")
    take_data.run("simulate", data / "mix.l2raw", "--events", 300, "--spills", 3, "--seed", 7, "--run", 101, "--threads", 2)
    take_data.run("simulate", data / "four.l2raw", "--events", 500, "--spills", 2, "--seed", 8, "--run", 102,
                  "--type", "four_cluster", "--threads", 2)
    take_data.take([data / "mix.l2raw"], data / "store", run_number=101)
    take_data.take([data / "four.l2raw"], data / "store", run_number=102, mode="record")
    (data / "made").touch()

# %% [markdown]
# ## Runs and menu
#
# A list of inputs is opened as one. The ledgers of the daemon say what it rejected, which is not in a store.

# %%
s = l3.open([data / "store", data / "store.ledgers"])
s.runs

# %%
runs = s.runs
assert runs.run.tolist() == [101, 102] and runs.admitted.tolist() == [300, 500]
assert (runs.admitted == runs.rejected + runs.shed + runs.stored).all(), "every event is accounted for"
s.menu(101)

# %% [markdown]
# ## Energies of photons
#
# `e.awkward()` has a list of photons for each event. It reads what is used.

# %%
e = s.events(run=102, fired="klpi0pi0")
a = e.awkward()
fig, ax = plt.subplots()
ax.hist(ak.ravel(a.photon.energy), bins=50, range=(0, 2500))
ax.set(xlabel="energy of a photon / MeV", ylabel="photons")
assert (e.photons == 4).all() and ak.all(ak.num(a.photon) == 4)

# %% [markdown]
# ## One event
#
# Crystals are coloured by their energy. Circles are the photons that level 3 found.

# %%
one = e[3]
one.show()
one

# %%
crystals = one.map()
hottest = crystals[int(np.nanargmax(crystals.energy))]
w = one.samples(hottest["name"])
p = one.pulses(hottest["name"])
fig, ax = plt.subplots()
ax.step(8 * np.arange(64), w, where="mid")
ax.axhline(p.pedestal[0], color="grey", linestyle=":", label="pedestal")
ax.axvline(8 * p.edge[0], color="tab:red", linestyle="--", label="half height of the rising edge")
ax.set(xlabel="time / ns", ylabel="ADC counts", title=f"{hottest['name']}, {hottest['energy']:.0f} MeV")
ax.legend()
assert w.max() == p.peak[0]

# %% [markdown]
# ## The same numbers as the trigger's
#
# `pulses` calls the trigger's own code. From them we compute the time of the event, the energy in the calorimeter and the number of
# crystals, as docs/selection.md describes, in the trigger's integers (keV, 1/128 ns). All bits agree with the stored summary.

# %%
def calorimeter(some):
    """(energy in keV, number of crystals, time in 1/128 ns) of each event."""
    p = some.pulses("CSI")
    energy, time = p.raw["energy"].astype(np.int64), p.raw["time"].astype(np.int64)
    high = p.found & np.isfinite(p.time) & (energy >= 3000)
    first, step = -40 * 128, 4 * 128
    near = high & (abs(time) <= 40 * 128)
    at, event = (time - first) // step, np.arange(len(some))[:, None] + 0 * energy
    sums = np.zeros((2, len(some), 64), np.int64)
    for i, weight in enumerate((energy, energy * (time - first))):
        np.add.at(sums[i], (event[near], at[near]), weight[near])
    total = np.cumsum(sums, axis=2)
    total[:, :, 8:] -= total[:, :, :-8].copy()  # of 32 ns
    best = total[0].argmax(axis=1)
    weight, moment = total[:, np.arange(len(some)), best]
    when = np.where(weight > 0, first + moment // np.maximum(1, weight), 0)
    in_time = high & (abs(time - when[:, None]) <= 28 * 128)
    return (energy * in_time).sum(axis=1), in_time.sum(axis=1), when


every = s.events()
for got, name in zip(calorimeter(every), ("calorimeter_energy", "crystals", "event_time")):
    assert (got == every.raw[name]).all(), name

# %% [markdown]
# ## The vertex of a neutral pion
#
# Two photons of a π⁰ that decayed on the axis have an opening angle that follows from their energies. At one distance from the
# calorimeter they appear under that angle: docs/selection.md has the equation. Again all bits agree, because + − × ÷ √ of IEEE
# doubles have one right result.

# %%
PION, FRONT = 134976.8, 61480.0  # keV, 0.1 mm


def vertex(e1, x1, y1, e2, x2, y2):
    """z in 0.1 mm of the decay, NaN if no distance fits."""
    loss = PION * PION / (2 * (e1 * e2))
    c = 1 - loss
    c2, r12, r1, r2 = c * c, x1 * x2 + y1 * y2, x1 * x1 + y1 * y1, x2 * x2 + y2 * y2
    quadratic, linear, constant = loss * (1 + c), 2 * r12 - c2 * (r1 + r2), r12 * r12 - c2 * (r1 * r2)
    with np.errstate(invalid="ignore", divide="ignore"):
        root = np.sqrt(linear * linear - 4 * quadratic * constant)
        total = np.where(linear > 0, -(linear + root) / 2, (root - linear) / 2)
        roots = np.sort([total / quadratic, np.where(total != 0, constant / total, total / quadratic)], axis=0)
        fits = (roots > 0) & (c * (roots + r12) >= 0)
        return FRONT - np.sqrt(np.where(fits[1], roots[1], np.where(fits[0], roots[0], np.nan)))


def of_photons(some, n):
    """Energy in keV, x and y in 0.1 mm of events with n photons: arrays (events, n)."""
    columns = some.lists("photon").columns
    return [np.round(columns[name].values * unit).reshape(-1, n) for name, unit in (("energy", 1000), ("x", 10), ("y", 10))]


two = every[every.photons == 2]
E, x, y = of_photons(two, 2)
z = vertex(E[:, 0], x[:, 0], y[:, 0], E[:, 1], x[:, 1], y[:, 1])
stored = two.raw["vertex_z"]
assert len(two) > 10 and np.isfinite(z).any()
assert (np.where(np.isnan(z), -2**31, np.floor(np.nan_to_num(z) + 0.5)) == stored).all()
assert (E.sum(axis=1) == two.raw["photon_energy"]).all()

# %% [markdown]
# ## The mass of the kaon
#
# Four photons make two pions in three ways. The right one has both vertices at one place. From there the four-momenta of the
# photons, and so the mass, are known.

# %%
E, x, y = of_photons(e, 4)
z = np.array([[vertex(E[:, i], x[:, i], y[:, i], E[:, j], x[:, j], y[:, j]) for i, j in pair]
              for pair in (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))])  # (way, pion, event)
apart = np.nan_to_num(abs(z[:, 0] - z[:, 1]), nan=np.inf)
best, every_event = apart.argmin(axis=0), np.arange(len(e))
z = z[best, :, every_event].mean(axis=1)
d = (FRONT - z)[:, None]
flight = np.sqrt(x**2 + y**2 + d**2)
momentum = [(E * component / flight).sum(axis=1) for component in (x, y, d)]
mass = np.sqrt(E.sum(axis=1)**2 - sum(p**2 for p in momentum)) / 1000
good = apart[best, every_event] < 4000  # 400 mm
mass = mass[good]
low, peak, high = np.percentile(mass, [15.87, 50, 84.13])
width = (high - low) / 2

fig, ax = plt.subplots()
ax.hist(mass, bins=60, range=(440, 560), color="tab:blue", alpha=0.7)
ax.axvline(497.6, color="black", linestyle=":", label="497.6 MeV (Particle Data Group)")
ax.set(xlabel="mass of four photons / MeV", ylabel="events / 2 MeV",
       title=f"K$_L$ → π⁰π⁰: {peak:.1f} ± {width / np.sqrt(len(mass)):.1f} MeV, width {width:.1f} MeV")
ax.legend()
fig.savefig(pictures / "kaon-mass.svg", metadata={"Date": None})
print(f"mass of four photons: {peak:.1f} ± {width / np.sqrt(len(mass)):.1f} MeV; picture: {pictures / 'kaon-mass.svg'}")
assert abs(peak - 497.6) < 2 and width < 8, (peak, width)

# %% [markdown]
# ## Level 3 against the truth
#
# The simulation wrote what it made. `join` puts it beside the stored events.

# %%
truth = l3.truth(data / "four.l2raw.truth.jsonl", run=102).join(e)
ratio = e.photon_energy / ak.to_numpy(ak.sum(truth.awkward().photon.energy, axis=1))
print(f"energy of all photons, found / true: {ratio.mean():.3f} ± {ratio.std():.3f}")
print(f"vertex, found − true: {np.median(z[good] / 10 - truth.vertex_z[good]):.0f} mm")
assert abs(ratio.mean() - 1) < 0.02

# %% [markdown]
# ## The turn-on of a line
#
# `klpi0pi0` wants four photons, and a cluster is a photon from 60 MeV on. Run 102 has the events on which it did not fire, too.

# %%
recorded = s.events(run=102)
photon = l3.truth(data / "four.l2raw.truth.jsonl", run=102).join(recorded).awkward().photon
all_seen = ak.to_numpy(ak.all(photon.hit == "CsI", axis=1))
lowest = ak.to_numpy(ak.min(photon.energy, axis=1))[all_seen]
fired = recorded.line("klpi0pi0")[all_seen]
edges = np.array([45, 50, 55, 60, 65, 70, 80, 90, 100, 120, 140, 170, 200])
seen, taken = np.histogram(lowest, edges)[0], np.histogram(lowest[fired], edges)[0]
share = taken / np.maximum(1, seen)


def half_point(energy, fired):
    """The threshold for which a step of 4 MeV, up to the efficiency of high energies, is most likely."""
    top = fired[energy > 90].mean()
    thresholds = np.arange(40, 90, 0.1)
    p = top / (1 + np.exp(-(energy - thresholds[:, None]) / 4)) * 0.998 + 0.001
    return thresholds[np.where(fired, np.log(p), np.log(1 - p)).sum(axis=1).argmax()]


half = half_point(lowest, fired)
fig, ax = plt.subplots()
ax.errorbar((edges[1:] + edges[:-1])[seen > 0] / 2, share[seen > 0], np.sqrt(share * (1 - share) / np.maximum(1, seen))[seen > 0],
            np.diff(edges)[seen > 0] / 2, fmt=".")
ax.axvline(half, color="tab:red", linestyle="--", label=f"half of it at {half:.0f} MeV")
ax.set(xlabel="true energy of the lowest photon / MeV", ylabel="share on which klpi0pi0 fired", ylim=(0, 1.05))
ax.legend()
fig.savefig(pictures / "turn-on.svg", metadata={"Date": None})
print(f"klpi0pi0 fires on half of the events at {half:.0f} MeV; picture: {pictures / 'turn-on.svg'}")
assert 55 < half < 70, half

# %% [markdown]
# ## Weights
#
# `klpi0pi0` keeps one of four events on which it fires. So an event that it kept stands for four. `weight` refuses runs in which the
# daemon shed events by priority.

# %%
mixture = s.events(run=101)
weight = mixture.weight("klpi0pi0")
weighted, error = weight.sum(), np.sqrt((weight**2).sum())
sent = (l3.truth(data / "mix.l2raw.truth.jsonl", run=101)["type"] == "four_cluster").sum()
print(f"{(weight > 0).sum()} events kept, for {weighted:.0f} ± {error:.0f}; {sent} decays into four photons were sent")
assert set(weight) <= {0.0, 4.0} and weighted > 0

# %% [markdown]
# ## Export
#
# The same as `koto-l3-export store -o skim.parquet --fired klpi0pi0`. Menu, settings and units are in the file.

# %%
from koto_l3.export import export  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

skim = data / "skim.parquet"
skim.unlink(missing_ok=True)
export(s, e, skim)
table = pq.read_table(skim)
assert table.num_rows == len(e) and (table["photon_energy"].to_numpy() == e.photon_energy).all()
print(f"{skim}: {table.num_rows} events, {len(table.schema.names)} columns, {skim.stat().st_size / 1e3:.0f} kB")
