// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/state.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>

namespace l3 {

std::string advice_on(const unknown_receiver& r) {
  return fmt::format(
      "the name in {} ({}) has no address on this machine: {}; events wait in memory, then on "
      "disk: correct the name, or the machine's name service (/etc/hosts, DNS)",
      r.endpoint, r.key, r.why);
}

std::string advice_on(trouble t, std::string_view receiver) {
  switch (t) {
  case trouble::receiver_absent:
    return fmt::format("no receiver answers at {} (forward.to), or it refuses this daemon (`output "
                       "link: …` in the log says why); events wait in memory, then on disk: start "
                       "`koto-l3 receive` there, or check its log and the network",
                       receiver);
  case trouble::receiver_refuses:
    return fmt::format(
        "the receiver at {} answers but stores nothing: its disk may be full, or it does not "
        "accept a block (`output link: …` in the log names the reason or the block; the receiver's "
        "log may say more); events wait in memory, then on disk",
        receiver);
  case trouble::receiver_wrong:
    return fmt::format("the receiver at {} claims to have blocks that were never sent to it; the "
                       "daemon keeps its blocks, in memory, then on disk: check that this is the "
                       "right receiver, and that no other program uses its store",
                       receiver);
  case trouble::no_frame:
    return "every frame is busy: TCP senders wait, events that begin over UDP are shed; look for "
           "outbox_full, or a compute.backend that is too slow";
  case trouble::spilling:
    return fmt::format("the outbox's memory is full, events go to disk (spool.folder) until the "
                       "receiver at {} accepts more; nothing is lost",
                       receiver);
  case trouble::spool_full:
    return fmt::format("there is no room on disk (spool.size, spool.floor, or the disk itself): "
                       "make room, or bring back the receiver at {}",
                       receiver);
  case trouble::spool_fails:
    return "the disk of spool.folder refuses blocks, but not for lack of room (`the disk refuses a "
           "block of the spool: …` in the log says why); writes are retried, TCP senders wait, and "
           "after a minute the daemon ends: check that disk (dmesg, smartctl) and the limits of "
           "the process";
  case trouble::no_pause:
    return "crates send without a pause of 0.4 s, and no run can begin before they pause";
  case trouble::spool_waits:
    return fmt::format("events on disk (spool.folder) wait for the next run, which sends them to "
                       "the receiver at {}: begin a run (`koto-l3 run start`) when it is there; "
                       "nothing is lost meanwhile",
                       receiver);
  case trouble::shedding:
    return fmt::format(
        "memory and disk are nearly full: events of the lines with the lowest priority are shed "
        "and counted (koto_l3_events_shed_total{{reason=\"priority\"}}) until the receiver at {} "
        "accepts more",
        receiver);
  case trouble::outbox_full:
    return fmt::format("the outbox is full, frames wait: the receiver at {} is absent or slower "
                       "than the input (forward.rate, its disk)",
                       receiver);
  case trouble::engine_error: return "kernels failed: restart the daemon, check the device";
  case trouble::device_lost:
    return "this process has lost the device's context; the CPU computes, with the same results; "
           "under a service manager the daemon restarts by itself between spills; otherwise "
           "restart it between spills";
  case trouble::engine_bypassed:
    return "the device failed or hangs and the CPU computes in its place, with the same results "
           "but perhaps more slowly; the device is tried again: if that does not help, restart the "
           "daemon between spills and look at the device";
  case trouble::crate_fault:
    return "check the crate that the log, the page and /status name, its fibre and its switch, and "
           "tell its expert";
  case trouble::events_incomplete:
    return "more than one event in a hundred lacks fragments, and is dropped or flagged "
           "(building.incomplete): check the links' kernel drops and refused datagrams first, then "
           "crates and switches (the log names the missing crates)";
  case trouble::hot_inputs:
    return "pulses of these inputs make hits and crystals in most events, which are then vetoed or "
           "measured wrong: tell the detector's expert; until an input is repaired, dead = 1 in "
           "selection.calibration excludes it from the next run on";
  case trouble::inputs_changed:
    return "pedestal, noise, occupancy or time of these inputs, or how often they are read out, "
           "differ from the reference run (histograms.reference): tell the detector's expert; if "
           "the detector was changed on purpose, make a new reference from a good run with "
           "`koto-l3 histograms URL --save FILE`";
  case trouble::histograms_changed:
    return "these histograms of events differ from those of the reference run "
           "(histograms.reference): gains, the calibration, the trigger or the beam have changed: "
           "check inputs_changed first, then compare selection.calibration and the conditions of "
           "both runs, and tell the detector's expert";
  case trouble::wrong_results:
    return "an event did not unpack to its input; its frame was computed again on the CPU, but "
           "events that were not checked may be wrong: keep the batch in compute.dumps, check the "
           "device's memory";
  case trouble::count_: break;
  }
  return "unknown";
}

bool state_report::degraded() const {
  return std::any_of(has.begin(), has.end(), [](bool b) { return b; });
}

bool state_report::ready() const {
  return now == phase::receiving && !has[static_cast<std::size_t>(trouble::engine_error)];
}

std::optional<trouble> state_report::worst() const {
  // Order: troubles that lose events now, that will lose events, and that only cost speed.
  constexpr std::array by_weight{
      trouble::engine_error,      trouble::wrong_results,      trouble::outbox_full,
      trouble::no_frame,          trouble::shedding,           trouble::crate_fault,
      trouble::events_incomplete, trouble::spool_fails,        trouble::spool_full,
      trouble::receiver_refuses,  trouble::receiver_wrong,     trouble::receiver_absent,
      trouble::no_pause,          trouble::spool_waits,        trouble::hot_inputs,
      trouble::inputs_changed,    trouble::histograms_changed, trouble::device_lost,
      trouble::spilling,          trouble::engine_bypassed,
  };
  static_assert(by_weight.size() == troubles);
  const auto found =
      std::ranges::find_if(by_weight, [&](trouble t) { return has[static_cast<std::size_t>(t)]; });
  return found == by_weight.end() ? std::nullopt : std::optional(*found);
}

std::string state_report::text() const {
  std::string text(name_of(now));
  if (!degraded()) return text;
  text += ", degraded:";
  for (std::size_t t = 0; t < troubles; ++t) {
    if (has[t]) text.append(" ").append(names_of<trouble>[t]);
  }
  return text;
}

void daemon_state::enter(phase next) {
  [[maybe_unused]] const phase before = phase_.exchange(next);
  assert(before <= next && next < phase::count_);
}

bool daemon_state::set(trouble t, bool present) {
  const std::uint32_t bit = 1U << static_cast<unsigned>(t);
  const std::uint32_t before = present ? troubles_.fetch_or(bit) : troubles_.fetch_and(~bit);
  return ((before & bit) != 0) != present;
}

state_report daemon_state::report() const {
  state_report r;
  r.now = phase_.load();
  const std::uint32_t bits = troubles_.load();
  for (std::size_t t = 0; t < troubles; ++t) r.has[t] = ((bits >> t) & 1U) != 0;
  return r;
}

} // namespace l3
