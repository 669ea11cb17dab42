// SPDX-License-Identifier: Apache-2.0
// The counters of what can happen to datagrams, fragments, events and blocks. The ledger and the
// metrics are made of these structs.
#pragma once

#include <cstdint>

#include "transport/accounting/counter.hpp"
#include "transport/accounting/crate_counts.hpp"
#include "transport/format/block.hpp"

namespace l3 {

/// Why a datagram or a record was refused.
enum class refused : std::uint8_t {
  too_short,     ///< no room for its header
  too_long,      ///< longer than a header and a chunk
  fragment_id,   ///< 0, or its event number is outside 1 … max_events_per_spill
  chunk_index,   ///< beyond the longest fragment
  chunk_length,  ///< a data chunk in the middle that is not chunk_bytes long, or not even
  discriminator, ///< data with a discriminator, or a trailer that names a crate not in the readout
  wrong_spill,   ///< far from the spill being taken
  stream_magic,  ///< a record that does not start with the magic number
  stream_version,
  stream_checksum,
  stream_length,
  stream_sequence,
  stream_content,   ///< a record whose body contradicts itself, the readout or the run
  stream_conflict,  ///< an event that was taken before with other bytes
  connection_limit, ///< a connection for which there was no place
  source,           ///< from a machine that may not send; nothing in it was looked at
  count_
};

/// Why a fragment whose bytes had all arrived was not taken.
enum class malformed : std::uint8_t {
  crate_header,  ///< its first word is not a crate header
  crate_trailer, ///< its last word is not a crate trailer
  wrong_l1a,     ///< the event number inside is not that of its id
  wrong_spill,
  wrong_slot,         ///< slots outside 3 … 18 or not rising
  header_tag,         ///< a board header whose tags are wrong
  truncated,          ///< it ends within a board
  trailing_bytes,     ///< more bytes than its boards need
  conflicting_chunks, ///< two different chunks came for one place
  chunk_count,        ///< trailer and chunks disagree
  count_
};

/// Why an admitted event was given up.
enum class shed : std::uint8_t {
  no_frame, ///< every frame was busy
  engine,   ///< the kernels of its frame failed
  drain,    ///< the daemon had to stop before the receiver took it
  spool,    ///< it was damaged on disk
  priority, ///< there was hardly room left, and its lines had the lowest priority
  count_
};

/// What one thread of the input counts.
struct input_counters {
  counter datagrams; ///< or, over TCP, records
  counter bytes;
  counter kernel_drops; ///< datagrams that the socket had no room for
  reason_counters<l3::refused> refused;
};

/// What event building counts, under its lock.
struct building_counters {
  counter data_chunks;
  counter trailers;
  counter ends_of_spill;
  counter duplicate_chunks;
  counter late_chunks;

  crate_counts fragments_seen;
  crate_counts fragments_admitted;
  crate_counts fragments_incomplete;
  crate_reasons<l3::malformed> fragments_malformed;
  crate_counts fragments_late;
  crate_counts fragments_duplicate;

  // What tells a crate with a fault from the others; no part of the sum of fragments.
  crate_counts fragments_missing; ///< not here, or not whole, when their event ended, although at
                                  ///< least half of the crates sent theirs
  crate_counts fragments_overdue; ///< the same of an event that has waited for 250 ms
  crate_counts fragments_alone;   ///< of events that less than half of the crates sent
  crate_counts astray;            ///< datagrams that name a spill far from the one being taken
  crate_latest<event_key> latest; ///< fragment of which anything arrived
  crate_latest<std::uint32_t> time_ahead; ///< of the latest fragment, in clocks of 8 ns: its time
                                          ///< stamp minus the event's, modulo 2^28

  counter events_admitted;
  counter events_incomplete; ///< given up, or admitted with the flag, for lack of fragments
  counter older_admitted;    ///< of these, events of spills before those that were being taken
  counter older_incomplete;  ///< the same
  counter spills;
  counter parked;       ///< events that left the frame in which they began before they ended
  counter parked_bytes; ///< of them, copied out of that frame and into another
};

/// What happens to admitted events, counted by the compute and output side.
struct outcome_counters {
  counter events_rejected;
  reason_counters<l3::shed> events_shed;
  counter boards_damaged;
  counter boards_opaque;
  counter computed_bytes; ///< of the fragments of all events that were computed
  counter waveform_bytes; ///< of these, of packed events, before compression
  reason_counters<event_payload> packed_events; ///< by what is kept of their waveforms
  reason_counters<event_payload> packed_bytes;  ///< of these, after compression
};

/// What the thread of a forwarder counts.
struct forward_counters {
  counter blocks;       ///< sent, repeats included
  counter bytes;        ///< of these
  counter resent;       ///< blocks sent once more
  counter acknowledged; ///< blocks
  counter reconnects;   ///< welcomes after the first
  counter refusals;     ///< by the receiver, with a text
  counter impossible;   ///< claims of the receiver to have blocks that were never sent
};

/// How the device failed on a batch.
enum class engine_failure : std::uint8_t {
  error, ///< the device reported it
  hang,  ///< a frame had no result at its time limit
  wrong, ///< an event did not unpack to what came in
  count_
};

/// What the supervision of the device counts. The thread that waits writes them, the one that
/// starts writes `restarts`.
struct engine_counters {
  reason_counters<engine_failure> failures;
  counter frames_bypassed;
  counter restarts; ///< attempts
  counter events_verified;
  counter events_wrong;
};

} // namespace l3
