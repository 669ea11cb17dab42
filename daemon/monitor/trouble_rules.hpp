// SPDX-License-Identifier: Apache-2.0
// The rules of the daemon's table of troubles (troubles.cpp): each has the name of its row,
// compares a snapshot with the one before it, and says what is wrong.
#pragma once

#include <optional>

#include "daemon/monitor/snapshot.hpp"
#include "monitor/trouble.hpp"

namespace l3::rules {

using snap = metrics_snapshot;
using found = std::optional<finding>;
using rule = found(const snap& before, const snap& now);

rule nothing_admitted, crate_fault, events_incomplete, events_missing, no_ends_of_spill,
    datagrams_refused, kernel_drops, conflicting_events, duplicates, data_without_run, no_pause,
    no_data, no_frame, engine_error, wrong_results, engine_fails, events_not_judged, hot_inputs,
    outbox_full, shedding, lost_at_run_end, ledger_missing, receiver_absent, spool_fills_up,
    spool_waits, spool_damaged, spool_missing, crashed_before, farm_cut_off, farm_node_missing,
    farm_not_one_run, stuck, receiver_refuses, receiver_wrong, backlog_on_disk, spool_full,
    spool_fails, device_lost, engine_bypassed, inputs_changed, histograms_changed, reload_refused;

} // namespace l3::rules
