// SPDX-License-Identifier: Apache-2.0
// Draws one event: the calorimeter, the counters, the lines, and the waveform of a chosen input. The pages of daemon and
// receiver, `koto-l3 inspect --html` and notebooks use this module. It needs no other script, style or network, and touches nothing outside `element`.
//
//   showEvent(element, data)   draws into a shadow root; a later call draws another event there and keeps the user's choices
//   element.addEventListener("choose", e => …)   the user chose the input e.detail.input
//
// `data` is one JSON object. Numbers are the integers of docs/formats.md, section 7: energies in keV (in the counters in the beam 1/1000
// photoelectron), times in 1/128 ns since the trigger's time, lengths in 0.1 mm; in `detector` lengths are in mm. An input is 16 × the number of
// its board + its channel.
//   run, spill, event
//   incomplete, undecodable   true or false: a crate or board is missing; a part could not be decoded
//   payload     what is kept of the waveforms: "all", "suppressed", "features", "summary"
//   time        the event's own time, or null if no selection judged it
//   summary     that of `koto-l3 inspect --json`, where a refused line may say `why` in words, and a hit whether it `counts`; or a text that says
//               why there is none
//   waveforms   by input: an array of samples, a packed text (samplesOf), or null if there is none
//   pulses      [[input, pedestal in 1/4 count, peak, where the rising edge crosses half the height in 1/256 sample or null, energy, time, 1 if
//               it counts]…]
//   detector    {front: z of the calorimeter's face, crystals: [[x, y, size, input, n]…] for n, or one, side by side along x with inputs in turn;
//               boards: ["crate/slot"…], counters: [{name, ends, inputs: by module, then end; threshold, window: [from, to] since the event's
//               time, shape: {form: "barrel" or "wall", inner, outer, z: [from, to]}}…]}; threshold, window and shape may be absent

const shades = 32, least = 1, most = 1000; // MeV, the ends of the scale
const early = -40, late = 40; // ns, likewise
const stripe = 100; // ns on both sides of the event's time
const ramp = [[253, 222, 178], [250, 130, 97], [200, 62, 115], [118, 33, 129], [29, 17, 71]]; // by perceived lightness, for every eye
const times = [[22, 96, 190], [120, 160, 205], [140, 148, 156], [225, 150, 90], [190, 62, 10]];
const mix = (colours, p) => {
  const at = p * (colours.length - 1), i = Math.min(colours.length - 2, Math.floor(at));
  return `rgb(${colours[i].map((v, k) => Math.round(v + (colours[i + 1][k] - v) * (at - i))).join(" ")})`;
};
const scaleOf = colour => Array.from({length: shades}, (_, i) => colour(i / (shades - 1)));
const inLight = p => mix(ramp, p), inDark = p => mix(ramp, .9 - .8 * p);
const classes = (name, colours) => colours.map((c, i) => `.${name}${i}{--c:${c}}`).join("");
const bar = colours => `linear-gradient(to right,${colours.join()})`;

const style = `
:host { display: block; container-type: inline-size; --ink: #14181c; --soft: #525d67; --line: #cfd6dc; --card: #fff; --blue: #2563a8; --red: #c4122f;
  --amber: #b86e00; --green: #176b38; color: var(--ink); font-variant-numeric: tabular-nums; }
${classes("e", scaleOf(inLight))}${classes("t", scaleOf(p => mix(times, p)))}
.bar.e { background: ${bar(scaleOf(inLight))}; } .bar.t { background: ${bar(scaleOf(p => mix(times, p)))}; }
@media (prefers-color-scheme: dark) {
  :host { --ink: #eceff2; --soft: #a9b4be; --line: #36404a; --card: #191f25; --blue: #6fa8dc; --red: #ff5468; --amber: #e69a1f; --green: #4fc27c; }
  ${classes("e", scaleOf(inDark))} .bar.e { background: ${bar(scaleOf(inDark))}; }
}
* { box-sizing: border-box; }
h3 { font-size: .875rem; font-weight: 600; color: var(--soft); margin: 0 0 .4rem; }
p { margin: 0 0 .5rem; }
.title b { font-size: 1.15rem; } .soft, small { color: var(--soft); } small { font-size: .8rem; }
.note { color: var(--amber); font-weight: 600; }
.views { display: grid; gap: .8rem; grid-template-columns: minmax(0, 1fr); }
section { background: var(--card); border-radius: .4rem; padding: .6rem .8rem; min-width: 0; position: relative; }
@container (min-width: 46rem) {
  .views { grid-template: "face side" auto "face counters" 1fr "wave lines" auto / minmax(0, 1fr) minmax(0, 1fr); }
  .face { grid-area: face; } .wave { grid-area: wave; } .side { grid-area: side; } .counters { grid-area: counters; } .lines { grid-area: lines; }
}
@container (min-width: 82rem) { .views { grid-template: "face side wave" auto "face counters lines" 1fr / minmax(0, 9fr) minmax(0, 7fr) minmax(0, 7fr); } }
button { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: .3rem; padding: .1rem .5rem; cursor: pointer; }
button[aria-pressed=true] { border-color: var(--blue); box-shadow: inset 0 0 0 1px var(--blue); }
:focus-visible { outline: 3px solid var(--blue); outline-offset: 1px; }
.tools { float: right; font-size: .875rem; }
.frame { position: relative; } .frame svg { display: block; width: 100%; }
.frame > span, .ticks > span { position: absolute; font-size: .8rem; line-height: 1; white-space: nowrap; pointer-events: none; }
.frame > span { background: var(--card); border-radius: .2rem; padding: .1rem .2rem; transform: translate(-50%, -50%); }
.ticks { position: relative; height: 1.1rem; margin-top: .2rem; color: var(--soft); } .ticks > span { transform: translateX(-50%); }
.ticks > :first-child { transform: none; } .ticks > :last-child { transform: translateX(-100%); }
.bar { height: .7rem; border-radius: .2rem; margin-top: .5rem; }
.face svg { cursor: crosshair; }
.grid { fill: none; stroke: var(--line); stroke-width: 1.5; } .unread { fill: var(--line); opacity: .55; }
.crystal { fill: var(--c); stroke: var(--c); stroke-width: 1; } .crystal.off { fill: none; stroke-width: 5; }
.chosen { fill: none; stroke: var(--green); stroke-width: 10; } .photon { fill: none; stroke: var(--ink); stroke-width: 6; }
.ring { fill: none; stroke: var(--line); opacity: .45; } .ring.unknown { stroke-dasharray: 20 20; }
.hit { cursor: pointer; fill: none; stroke: var(--amber); stroke-width: 5; } .hit.counts { fill: var(--red); stroke: var(--red); stroke-width: 14; }
.side .counter { fill: none; stroke: var(--soft); stroke-width: 2; opacity: .55; } .side .seen { stroke: var(--amber); opacity: 1; }
.side .fired { stroke: var(--red); stroke-width: 5; opacity: 1; } .side .unknown { stroke-dasharray: 5 5; }
.side .box { fill: none; stroke: var(--soft); } .side .axis { stroke: var(--line); } .side .crystal { stroke: none; }
.side .track { stroke: var(--ink); stroke-width: 1.5; } .side .vertex { fill: var(--ink); }
.wave svg { height: 10rem; } .wave * { vector-effect: non-scaling-stroke; }
.wave polyline { fill: none; stroke: var(--blue); stroke-width: 1.5; } .wave .level { stroke: var(--soft); stroke-dasharray: 4 4; }
.wave .half { stroke: var(--amber); stroke-dasharray: 4 4; } .wave .at { stroke: var(--amber); stroke-width: 1.5; }
.pulses { display: flex; flex-wrap: wrap; gap: .3rem; list-style: none; margin: .5rem 0 0; padding: 0; font-size: .8rem; }
.wide { overflow: auto; max-height: 32rem; } table { border-collapse: collapse; width: 100%; font-size: .875rem; }
.told { font-size: .875rem; margin: .4rem 0 0; }
th, td { text-align: left; padding: .2rem .5rem .2rem 0; border-top: 1px solid var(--line); vertical-align: top; font-weight: 400; }
.kept { color: var(--green); font-weight: 600; } .prescale { text-align: right; white-space: nowrap; }
.rows { display: grid; grid-template-columns: max-content minmax(4rem, 1fr) max-content; gap: .15rem .6rem; align-items: center; font-size: .8rem; }
.rows button { border: 0; padding: 0; text-align: left; } .rows .fired, .in { color: var(--red); font-weight: 600; }
.strip { position: relative; height: 1rem; background: linear-gradient(var(--line), var(--line)) center / 100% 1px no-repeat; }
.strip i { position: absolute; top: 0; bottom: 0; background: var(--blue); opacity: .22; }
.strip b { position: absolute; top: .2rem; width: .6rem; height: .6rem; margin-left: -.3rem; border-radius: 50%; border: 2px solid var(--amber); background: var(--card); }
.strip .counts { background: var(--red); border-color: var(--red); }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 0 1rem; margin: .8rem 0 0; font-size: .8rem; }
.facts div { display: flex; justify-content: space-between; gap: .5rem; border-top: 1px solid var(--line); } dt { color: var(--soft); } dd { margin: 0; }
`;

const skeleton = `<style>${style}</style><div class="title"></div><div class="views">
<section class="face"><div class="tools"><button data-show="e">energy</button> <button data-show="t">time</button></div><h3>Calorimeter</h3>
<div class="frame"><svg tabindex="0" role="img"></svg></div><div class="bar"></div><div class="ticks"></div><small></small></section>
<section class="wave"><h3></h3><div class="frame"></div><div class="ticks"></div><p class="told"></p><ul class="pulses" aria-label="highest pulses"></ul></section>
<section class="side"><h3>Side view</h3><div class="frame"></div><div class="ticks"></div><small></small></section>
<section class="counters"></section><section class="lines"></section></div>`;

const safe = text => String(text).replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`);
const plain = name => safe(String(name).replaceAll("_", " "));
const number = v => Number.isInteger(v) ? v : Math.abs(v) >= 99.95 ? v.toFixed(0) : Math.abs(v) >= 9.95 ? v.toFixed(1) : v.toFixed(2);
const signed = v => (v < 0 ? "−" : "+") + Math.abs(v).toFixed(1);
const clamp = (v, low, high) => Math.min(high, Math.max(low, v));
const tick = (p, text) => `<span style="left:${(100 * p).toFixed(1)}%">${text}</span>`;
const label = (x, y, text, how = "") => `<span class="${how}" style="left:${(100 * x).toFixed(2)}%;top:${(100 * y).toFixed(2)}%">${text}</span>`;

/** The samples of a waveform. A packed text has 6 bits a character, the highest first: 14 bits the first sample, then for each step to the next
 *  one u = 2 step, or −2 step − 1 below zero: (u >> k) ones, a zero, and the k low bits of u; or 24 ones and 15 bits of u. It ends with ones.
 *  k is the least with 20 · 2^k ≥ 3 lately; lately begins with 32 and grows by u − ⌊lately / 4⌋ with each step. */
export function samplesOf(waveform) {
  if (typeof waveform !== "string") return waveform;
  const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  let at = 0;
  const bit = () => digits.indexOf(waveform[Math.floor(at / 6)]) >> 5 - at++ % 6 & 1;
  const bits = n => { let v = 0; while (n-- > 0) v = 2 * v + bit(); return v; };
  const samples = [bits(14)], end = 6 * waveform.length;
  for (let lately = 32;;) {
    let k = 0, ones = 0, one = 1;
    while (20 * 2 ** k < 3 * lately) ++k;
    while (ones < 24 && at < end && (one = bit())) ++ones;
    if (one && ones < 24) return samples;
    const u = ones < 24 ? ones * 2 ** k + bits(k) : bits(15);
    lately += u - Math.floor(lately / 4);
    samples.push(samples.at(-1) + (u % 2 ? -(u + 1) / 2 : u / 2));
  }
}

const known = new WeakMap(); // by detector: what its inputs are, and the outlines of its crystals
function placesOf(detector) {
  if (known.has(detector)) return known.get(detector);
  const of = [], address = input => `${detector.boards[input >> 4]}/${input & 15}`, square = ([x, y, size]) => `M${x - size / 2} ${-y - size / 2}h${size}v${size}h${-size}z`;
  const crystals = detector.crystals.flatMap(([x, y, size, input, n = 1]) => Array.from({length: n}, (_, i) => [x + i * size, y, size, input + i]));
  crystals.forEach(([, , , input], n) => of[input] = {crystal: n, name: `crystal ${n}`});
  detector.counters.forEach((c, counter) => c.inputs.forEach((input, i) => {
    const module = Math.floor(i / c.ends);
    of[input] = {counter, module, name: `${c.name} module ${module}${c.ends > 1 ? " end " + i % c.ends : ""}`};
  }));
  const radius = Math.max(100, ...crystals.map(([x, y, size]) => Math.hypot(x, y) + size / 1.4));
  const rings = detector.counters.map((c, counter) => ({...c, counter})).filter(c => c.shape?.form === "barrel").sort((a, b) => a.shape.inner - b.shape.inner);
  const width = radius / 34;
  rings.forEach((ring, i) => ring.from = radius + (1.3 * i + .7) * width);
  const places = {of, crystals, square, rings, width, radius, reach: radius + 1.3 * (rings.length + .6) * width, all: crystals.map(square).join(""),
    name: input => of[input] ? `${of[input].name}, ${address(input)}` : address(input)};
  known.set(detector, places);
  return places;
}
const inputOf = (detector, counter, module) => { const c = detector.counters[counter]; return c?.inputs[module * c.ends]; };

/** The hits that the selection listed; without a selection, the pulses at the ends of modules. */
function hitsOf(data, places) {
  if (data.hits) return data.hits;
  return data.pulses.filter(([input]) => places.of[input]?.counter !== undefined)
    .map(([input, , , , energy, time]) => ({counter: places.of[input].counter, module: places.of[input].module, input, energy, time, counts: null}));
}

function showTitle(data) {
  const kept = data.lines?.filter(l => l.kept).map(l => l.line) ?? [];
  const photons = data.photons?.map(p => `${number(p.energy)} MeV`) ?? [], counting = data.quantities?.find(q => q[0] === "crystals")?.[1] ?? (data.time === null ? null : data.pulses.filter(p => p[6]).length);
  return `<p><b>Run ${data.run}, spill ${data.spill}, event ${data.event}</b> ${kept.length ? `kept by <span class="kept">${kept.map(plain).join(", ")}</span>` : data.lines ? "kept by no line" : ""}</p>
    <p class="soft">${[data.photons && `${photons.length} photon${photons.length === 1 ? "" : "s"}${photons.length ? " of " + photons.join(", ") : ""}`,
      counting !== null && `${counting} crystal${counting === 1 ? "" : "s"} in time`, data.time !== null && `event ${signed(data.time)} ns from the trigger`,
      data.trigger && `level 1: ${data.trigger.map(plain).join(", ") || "no bit"}`].filter(part => part).join(" · ")}</p>
    ${data.notes.length ? `<p class="note">${data.notes.map(safe).join(" · ")}</p>` : ""}`;
}

function showFace(root, state, data, places) {
  const {detector} = data, face = root.querySelector(".face"), zero = data.time ?? 0, r = places.reach;
  const p = ([, , , , energy, time]) => state.show === "e" ? Math.log(Math.max(energy, least) / least) / Math.log(most / least) : (time - zero - early) / (late - early);
  const lit = data.pulses.filter(([input]) => places.of[input]?.crystal !== undefined).map(pulse => {
    const [x, y, size] = places.crystals[places.of[pulse[0]].crystal], inset = pulse[6] ? 0 : 5;
    return `<rect class="crystal ${state.show}${Math.round(clamp(p(pulse), 0, 1) * (shades - 1))}${pulse[6] ? "" : " off"}" x="${x - size / 2 + inset}" y="${-y - size / 2 + inset}" width="${size - 2 * inset}" height="${size - 2 * inset}"/>`;
  });
  const missing = places.crystals.filter(([, , , input]) => !data.waveforms[input]);
  const sector = (ring, module, width) => {
    const modules = ring.inputs.length / ring.ends, corner = (k, radius) => `${(radius * Math.sin(2 * Math.PI * k / modules)).toFixed(1)} ${(-radius * Math.cos(2 * Math.PI * k / modules)).toFixed(1)}`;
    const inner = ring.from, outer = inner + width, large = modules < 2 ? 1 : 0;
    return `M${corner(module, inner)}A${inner} ${inner} 0 ${large} 1 ${corner(module + 1, inner)}L${corner(module + 1, outer)}A${outer} ${outer} 0 ${large} 0 ${corner(module, outer)}z`;
  };
  const hits = hitsOf(data, places), rings = places.rings.map(ring => `<circle class="ring${data.unknown?.includes(ring.counter) ? " unknown" : ""}" r="${ring.from + places.width / 2}" stroke-width="${places.width}"><title>${safe(ring.name)}</title></circle>`
    + hits.filter(h => h.counter === ring.counter).sort((a, b) => a.counts - b.counts).map(h => `<path class="hit${h.counts ? " counts" : ""}" data-input="${h.input ?? inputOf(detector, h.counter, h.module)}" d="${sector(ring, h.module, places.width)}"><title>${safe(ring.name)} module ${h.module}: ${number(h.energy)} MeV, ${signed(h.time - zero)} ns</title></path>`).join(""));
  const chosen = places.of[state.shown]?.crystal, svg = face.querySelector("svg");
  svg.setAttribute("viewBox", `${-r} ${-r} ${2 * r} ${2 * r}`);
  svg.setAttribute("aria-label", "crystals with pulses, photons, and barrel counters as rings; arrow keys choose a crystal");
  svg.innerHTML = `<path class="unread" d="${missing.map(places.square).join("")}"/><path class="grid" d="${places.all}"/>${rings.join("")}${lit.join("")}`
    + (data.photons ?? []).map(p => `<circle class="photon" cx="${p.x}" cy="${-p.y}" r="62"/>`).join("") + (chosen === undefined ? "" : `<path class="chosen" d="${places.square(places.crystals[chosen])}"/>`);
  face.querySelectorAll(".frame > span").forEach(e => e.remove());
  svg.insertAdjacentHTML("afterend", (data.photons ?? []).map(p => label(.5 + p.x / 2 / r, .5 - (p.y + (p.y > 0 ? 1 : -1) * 110) / 2 / r, state.show === "e" ? `${number(p.energy)} MeV` : `${signed(p.time - zero)} ns`)).join(""));
  face.querySelector(".bar").className = "bar " + state.show;
  face.querySelector(".ticks").innerHTML = state.show === "e" ? [1, 3, 10, 30, 100, 1000].map(e => tick(Math.log(e / least) / Math.log(most / least), e === most ? `≥ ${e} MeV` : e)).join("")
    : [-40, -20, 0, 20, 40].map(t => tick((t - early) / (late - early), t === late ? "≥ +40 ns" : t < 0 ? "−" + -t : t)).join("");
  const from = data.time === null ? "the trigger's time" : "the event's time";
  face.querySelector("small").textContent = [state.show === "t" && `since ${from}`, "x to the right, y upwards; outlined: below the threshold or out of time", missing.length && "grey: no waveform",
    places.rings.length && `rings from inside: ${places.rings.map(ring => ring.name).join(", ")}; modules clockwise from the top, red if a hit counts`].filter(part => part).join("; ") + ".";
  face.querySelectorAll(".tools button").forEach(b => b.setAttribute("aria-pressed", b.dataset.show === state.show));
}

function showSide(root, data, places) {
  const {detector} = data, side = root.querySelector(".side"), shapes = detector.counters.map(c => c.shape).filter(s => s), radius = Math.max(places.radius, ...shapes.map(s => s.inner)) * 1.08;
  const front = detector.front, knee = front + 900, end = Math.max(knee, ...shapes.map(s => s.z[1])), width = 1000, height = 460, long = end > knee + 1000 ? 760 : width;
  const first = Math.min(0, ...shapes.map(s => s.z[0])), X = z => z <= knee ? (z - first) / (knee - first) * long : long + (z - knee) / Math.max(1, end - knee) * (width - long - 6), Y = y => height / 2 - y / radius * height / 2;
  const hits = hitsOf(data, places), fired = data.fired ?? [];
  const counters = detector.counters.map((c, k) => {
    if (!c.shape) return "";
    const {form, inner, outer, z} = c.shape, mine = hits.filter(h => h.counter === k), lines = form === "barrel" ? [inner, -inner].map(y => `M${X(z[0])} ${Y(y)}H${X(z[1])}`) : [[inner, outer], [-inner, -outer]].map(([a, b]) => `M${X(z[0])} ${Y(a)}V${Y(b)}`);
    const state = [fired.includes(k) ? "fired" : mine.length ? "seen" : "", data.unknown?.includes(k) ? "unknown" : ""].join(" ");
    return `<path class="counter ${state}"${mine.length ? ` data-input="${mine[0].input ?? inputOf(detector, k, mine[0].module)}"` : ""} d="${lines.join("")}"><title>${safe(c.name)}</title></path>`;
  });
  const lit = data.pulses.filter(p => p[6] && places.of[p[0]]?.crystal !== undefined).sort((a, b) => a[4] - b[4]).map(([input, , , , energy]) => {
    const [, y, size] = places.crystals[places.of[input].crystal];
    return `<rect class="crystal e${Math.round(clamp(Math.log(Math.max(energy, least)) / Math.log(most), 0, 1) * (shades - 1))}" x="${X(front)}" y="${Y(y + size / 2)}" width="${X(front + 500) - X(front)}" height="${size / radius * height / 2}"/>`;
  });
  const vertex = data.quantities?.find(q => q[0] === "vertex_z")?.[1] ?? null, edge = places.radius - 30;
  const tracks = (data.photons ?? []).map(p => (vertex === null ? "" : `<path class="track" d="M${X(vertex)} ${Y(0)}L${X(front)} ${Y(p.y)}"/>`) + `<circle class="vertex" cx="${X(front)}" cy="${Y(p.y)}" r="4"/>`);
  side.querySelector(".frame").innerHTML = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="counters, calorimeter, photons and vertex along the beam"><path class="axis" d="M0 ${height / 2}H${width}"/>${lit.join("")}
    <path class="box" d="M${X(front)} ${Y(edge)}H${X(front + 500)}V${Y(-edge)}H${X(front)}z"/>${counters.join("")}${tracks.join("")}${vertex === null ? "" : `<circle class="vertex" cx="${X(vertex)}" cy="${Y(0)}" r="7"/>`}</svg>`
    + (vertex === null ? "" : label(clamp(X(vertex) / width, .1, .9), .5 + 26 / height, `vertex ${(vertex / 1000).toFixed(2)} m`));
  const marks = [...[0, 2000, 4000, 6000].filter(z => z >= first && z <= knee), ...(long < width ? [10000, end] : [])];
  side.querySelector(".ticks").innerHTML = marks.map(z => tick(X(z) / width, `${+(z / 1000).toFixed(1)}${z === marks.at(-1) ? " m" : ""}`)).join("");
  side.querySelector("small").textContent = `z along the beam, y upwards${long < width ? `; behind ${(knee / 1000).toFixed(1)} m shortened` : ""}. Red: the counter fired${data.lines ? "" : " (no selection judged it)"}; amber: it has hits${data.fired ? " that do not count" : ""}.`
    + (data.photons?.length && vertex === null ? " This event has no vertex." : "");
}

function showCounters(root, data, places) {
  const zero = data.time ?? 0, hits = hitsOf(data, places), at = t => (100 * clamp((t + stripe) / 2 / stripe, 0, 1)).toFixed(1);
  const rows = data.detector.counters.map((c, k) => {
    const mine = hits.filter(h => h.counter === k).sort((a, b) => b.energy - a.energy), best = mine.find(h => h.counts) ?? mine[0], fired = data.fired?.includes(k);
    const input = best && (best.input ?? inputOf(data.detector, k, best.module)), state = data.unknown?.includes(k) ? "unknown " : "";
    return `<button class="${fired ? "fired" : ""}" data-key="counter ${k}" data-input="${input ?? c.inputs[0]}">${safe(c.name)}</button><span class="strip">${c.window ? `<i style="left:${at(c.window[0] / 128)}%;width:${at(c.window[1] / 128) - at(c.window[0] / 128)}%"></i>` : ""}${mine
      .slice(0, 12).reverse().map(h => `<b class="${h.counts ? "counts" : ""}" style="left:${at(h.time - zero)}%" title="module ${h.module}: ${number(h.energy)} MeV, ${signed(h.time - zero)} ns"></b>`).join("")}</span><span class="${best?.counts ? "in" : "soft"}">${state}${best ? `${number(best.energy)}${c.threshold === undefined ? "" : " / " + number(c.threshold / 1000)}` : "–"}</span>`;
  });
  root.querySelector(".counters").innerHTML = `<h3>Counters: ${data.hits ? "highest hits" : "pulses at their ends"}, time since ${data.time === null ? "the trigger's" : "the event's"}</h3><div class="rows">${rows.join("")}<span></span><span class="ticks">${[-100, 0, 100]
    .map(t => tick((t + stripe) / 2 / stripe, t === 100 ? "100 ns" : t < 0 ? "−" + -t : t)).join("")}</span><span></span></div><small>Blue: the window${data.hits ? "; red: the hit counts" : ""}. Right: energy / threshold in MeV (in the beam: photoelectrons).</small>`;
}

function showLines(root, data) {
  const order = l => l.kept ? 0 : l.fired ? 1 : 2;
  const rows = [...data.lines ?? []].sort((a, b) => order(a) - order(b)).map(l => `<tr><th scope="row" class="${l.kept ? "kept" : ""}">${safe(l.line).replaceAll("_", "_<wbr>")}</th><td class="${l.kept ? "kept" : l.fired ? "" : "soft"}">${l.kept ? "kept it" : `${l.fired ? "fired; " : ""}${plain(l.why ?? l.refused ?? "refused")}`}</td><td class="prescale">${l.prescale}</td></tr>`);
  root.querySelector(".lines").innerHTML = `<h3>Lines</h3>` + (data.lines ? `<div class="wide" tabindex="0" role="region" aria-label="lines"><table><thead><tr><th scope="col">line</th><th scope="col">decision</th><th scope="col" class="prescale">prescale</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>
    <dl class="facts">${(data.quantities ?? []).map(([name, value, unit]) => `<div><dt>${plain(name)}</dt><dd>${value === null ? "–" : `${number(value)} ${safe(unit)}`}</dd></div>`).join("")}</dl>` : `<p class="soft">No line judged this event.</p>`);
}

const byHeight = data => [...data.pulses].sort((a, b) => b[2] - b[1] - a[2] + a[1]);
function showWaveform(root, state, data, places) {
  const highest = byHeight(data).slice(0, 8), wave = root.querySelector(".wave");
  const input = state.shown, samples = samplesOf(data.waveforms[input] ?? null), told = wave.querySelector(".told");
  wave.querySelector("h3").textContent = input === undefined ? "Waveform" : places.name(input);
  wave.querySelector(".pulses").innerHTML = highest.map(([i, , , , energy]) => `<li><button data-key="pulse ${i}" data-input="${i}" aria-pressed="${i === input}">${safe(places.of[i]?.name ?? places.name(i))}: ${number(energy)}${places.of[i]?.counter === undefined ? " MeV" : ""}</button></li>`).join("");
  wave.querySelector(".frame").hidden = wave.querySelector(".ticks").hidden = !samples;
  const mine = data.pulses.filter(p => p[0] === input);
  if (!samples) {
    told.textContent = input === undefined ? "No input has a pulse. Choose a crystal." : `Its waveform was not kept, or cannot be read.${mine.length ? ` The stored pulse has ${number(mine[0][4])} MeV.` : ""}`;
    return;
  }
  const step = samples.length === 64 ? 8 : 2, last = samples.length - 1, low = Math.min(...samples), high = Math.max(...samples), range = Math.max(8, high - low);
  const x = s => (s / last * 1000).toFixed(1), y = v => (94 - 88 * (v - low) / range).toFixed(1);
  const half = ([, , , edge]) => { const i = Math.floor(edge), b = samples[Math.min(last, i + 1)]; return samples[i] + (edge - i) * (b - samples[i]); };
  const edges = mine.filter(p => p[3] !== null);
  wave.querySelector(".frame").innerHTML = `<svg viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label="samples of ${safe(places.name(input))}">${mine.length ? `<path class="level" d="M0 ${y(mine[0][1])}H1000"/>` : ""}${edges
    .map(p => `<path class="half" d="M0 ${y(half(p))}H${x(p[3])}"/><path class="at" d="M${x(p[3])} ${y(half(p))}V97"/>`).join("")}<polyline points="${samples.map((v, s) => x(s) + "," + y(v)).join(" ")}"/></svg>${label(.06, .04, high, "soft")}`;
  wave.querySelector(".ticks").innerHTML = [0, .25, .5, .75, 1].map(p => tick(p, Math.round(p * samples.length * step) + (p === 1 ? " ns" : ""))).join("");
  told.textContent = `${samples.length} samples of ${step} ns, ${low} to ${high} counts${high >= (step === 8 ? 16383 : 4095) ? ", saturated" : ""}. ` + (mine.length ? mine.map(p => `Pulse of ${number(p[4])} MeV${places.of[input]?.counter === undefined ? "" : " (in the beam: photoelectrons)"}: pedestal ${p[1].toFixed(1)}, ${(p[2] - p[1]).toFixed(0)} counts high`
    + (p[3] === null ? ", without rising edge." : `, half height at ${(p[3] * step).toFixed(1)} ns, ${signed(p[5])} ns from the trigger.`)).join(" ") : "No pulse for the selection.");
}

const states = new WeakMap();
function draw(element) {
  const state = states.get(element), {data} = state, root = element.shadowRoot, places = placesOf(data.detector), key = root.activeElement?.dataset.key;
  state.shown = state.chosen ?? byHeight(data)[0]?.[0];
  root.querySelector(".title").innerHTML = showTitle(data);
  showFace(root, state, data, places);
  showSide(root, data, places);
  showWaveform(root, state, data, places);
  showLines(root, data);
  showCounters(root, data, places);
  if (key) root.querySelector(`[data-key="${key}"]`)?.focus({preventScroll: true});
}

function choose(element, input) {
  states.get(element).chosen = input;
  draw(element);
  element.dispatchEvent(new CustomEvent("choose", {detail: {input}}));
}

function begin(element) {
  element.attachShadow({mode: "open"}).innerHTML = skeleton;
  const root = element.shadowRoot, svg = root.querySelector(".face svg");
  root.addEventListener("click", click => {
    const state = states.get(element), show = click.target.closest("[data-show]"), hit = click.target.closest("[data-input]");
    if (show) {
      state.show = show.dataset.show;
      draw(element);
    } else if (hit) {
      choose(element, +hit.dataset.input);
    } else if (svg.contains(click.target)) {
      const box = svg.getBoundingClientRect(), {reach, crystals} = placesOf(state.data.detector);
      const x = ((click.clientX - box.left) / box.width * 2 - 1) * reach, y = (1 - (click.clientY - box.top) / box.height * 2) * reach;
      const crystal = crystals.find(c => Math.abs(c[0] - x) <= c[2] / 2 && Math.abs(c[1] - y) <= c[2] / 2);
      if (crystal) choose(element, crystal[3]);
    }
  });
  // An arrow key moves from the chosen crystal, or the highest one, to the nearest in its direction.
  svg.addEventListener("keydown", key => {
    const [right, up] = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[key.key] ?? [0, 0];
    if (right === up) return;
    key.preventDefault();
    const {data, shown} = states.get(element), {crystals} = placesOf(data.detector), from = crystals.find(c => c[3] === shown) ?? crystals[0];
    if (!from) return;
    const ahead = c => (c[0] - from[0]) * right + (c[1] - from[1]) * up, beside = c => Math.abs((c[0] - from[0]) * up) + Math.abs((c[1] - from[1]) * right);
    const next = crystals.filter(c => ahead(c) > 0 && beside(c) <= ahead(c)).sort((a, b) => ahead(a) + 2 * beside(a) - ahead(b) - 2 * beside(b))[0];
    if (next) choose(element, next[3]);
  });
}

const units = [[/energy/, 1000, "MeV"], [/momentum/, 1000, "MeV/c"], [/time/, 128, "ns"], [/^opening$/, 1000, ""], [/^(crystals|clusters|photons)$/, 1, ""], [/./, 10, "mm"]];

/** The event in MeV, ns and mm, with places of counters instead of names. */
function inUnits(data) {
  const {summary, detector} = data, judged = typeof summary === "object" && summary !== null, number = name => detector.counters.findIndex(c => c.name === name);
  return {...data, time: data.time === null ? null : data.time / 128,
    pulses: data.pulses.map(([input, pedestal, peak, edge, energy, time, counts]) => [input, pedestal / 4, peak, edge === null ? null : edge / 256, energy / 1000, time / 128, counts]),
    ...judged && {lines: summary.lines, trigger: summary.trigger, fired: summary.vetoes.map(number), unknown: summary.unknown.map(number),
      photons: summary.photons.map(p => ({...p, x: p.x / 10, y: p.y / 10, energy: p.energy / 1000, time: p.time / 128})),
      hits: summary.hits.map(h => ({...h, counter: number(h.counter), energy: h.energy / 1000, time: h.time / 128})),
      quantities: Object.entries(summary.quantities).map(([name, value]) => { const [, steps, unit] = units.find(([form]) => form.test(name)); return [name, value === null ? null : value / steps, unit]; })},
    notes: [data.incomplete && "incomplete: a crate or a board is missing", data.undecodable && "a part could not be decoded", data.payload !== "all" && `payload: ${data.payload}`,
      ...judged ? [...summary.status, summary.unknown.length && `unknown: ${summary.unknown.join(", ")}`, !summary.names_are_of_these_settings && "another selection decided: energies, windows and names may differ"]
        : [`selection: ${summary}`]].filter(note => note)};
}

export function showEvent(element, data) {
  if (!element.shadowRoot) begin(element);
  states.set(element, {show: "e", chosen: undefined, ...states.get(element), data: inUnits(data)});
  draw(element);
}
