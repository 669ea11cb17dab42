// SPDX-License-Identifier: Apache-2.0
// The counters of datagrams, fragments, events and blocks. The ledger and the metrics are made from
// these structs.
#pragma once

#include <cstdint>

#include "transport/accounting/counter.hpp"
#include "transport/accounting/crate_counts.hpp"
#include "transport/format/block.hpp"

namespace l3 {

/// Reasons why a datagram or a record was refused.
enum class refused : std::uint8_t {
  too_short,     ///< shorter than its header
  too_long,      ///< longer than a header and a chunk
  fragment_id,   ///< 0, or its event number is outside 1 … max_events_per_spill
  chunk_index,   ///< beyond the longest fragment
  chunk_length,  ///< a middle chunk that is not chunk_bytes long, or of odd length
  discriminator, ///< data with a discriminator, or a trailer of a crate not in the readout
  wrong_spill,   ///< far from the current spill
  stream_magic,  ///< a record that does not start with the magic number
  stream_version,
  stream_checksum,
  stream_length,
  stream_sequence,
  stream_content,   ///< a record whose body contradicts itself, the readout or the run
  stream_conflict,  ///< an event that came before with other bytes
  connection_limit, ///< a connection beyond the limit
  source,           ///< from a machine that may not send; its content was not read
  count_
};

/// Reasons why a fragment with all its bytes was not accepted.
enum class malformed : std::uint8_t {
  crate_header,  ///< its first word is not a crate header
  crate_trailer, ///< its last word is not a crate trailer
  wrong_l1a,     ///< the event number inside differs from its id
  wrong_spill,
  wrong_slot,         ///< slots outside 3 … 18 or not rising
  header_tag,         ///< a board header whose tags are wrong
  truncated,          ///< it ends within a board
  trailing_bytes,     ///< more bytes than its boards need
  conflicting_chunks, ///< two different chunks came for one place
  chunk_count,        ///< trailer and chunks disagree
  count_
};

/// Reasons why an admitted event was given up.
enum class shed : std::uint8_t {
  no_frame, ///< every frame was busy
  engine,   ///< the kernels of its frame failed
  drain,    ///< the daemon had to stop before the receiver stored it
  spool,    ///< it was damaged on disk
  priority, ///< there was little room left, and its lines had the lowest priority
  count_
};

/// Counters of one input thread, which writes them. Only the owner of event building writes
/// refused::wrong_spill.
struct input_counters {
  counter datagrams; ///< or, over TCP, records
  counter bytes;
  counter kernel_drops; ///< datagrams for which the socket had no room
  reason_counters<l3::refused> refused;
  counter longest; ///< payload of the longest datagram with data; rises only
};

/// Counters of event building, written by its owner.
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

  counter fragments_conflicting; ///< of the duplicate ones: of an event that was admitted before,
                                 ///< with other bytes

  // These show which crate has a fault; they are no part of the sum of fragments.
  crate_counts fragments_missing; ///< missing or incomplete when their event ended, although at
                                  ///< least half of the crates sent theirs
  crate_counts fragments_overdue; ///< likewise, of an event that has waited for 250 ms
  crate_counts fragments_alone;   ///< of events that less than half of the crates sent
  crate_counts astray;            ///< datagrams of a spill far from the current one
  crate_latest<event_key> latest; ///< latest fragment of which any part arrived
  crate_latest<std::uint32_t> time_ahead; ///< of the latest fragment, in clocks of 8 ns: its time
                                          ///< stamp minus the event's, modulo 2^28

  counter events_admitted;
  counter events_incomplete; ///< given up, or admitted with the flag, because of missing fragments
  counter older_admitted;    ///< of these, events of spills before the current ones
  counter older_incomplete;  ///< likewise
  counter spills;
  counter parked;       ///< events that were copied out of their first frame before they ended
  counter parked_bytes; ///< bytes of these events, copied out of that frame and into another
};

/// Outcomes of admitted events, counted by the compute and output side.
struct outcome_counters {
  counter events_rejected;
  reason_counters<l3::shed> events_shed;
  counter boards_damaged;
  counter boards_opaque;
  counter computed_bytes;                       ///< of the fragments of all computed events
  counter waveform_bytes;                       ///< of these, in packed events, before compression
  reason_counters<event_payload> packed_events; ///< by the payload that is kept
  reason_counters<event_payload> packed_bytes;  ///< of these, after compression
};

/// Counters of a forwarder's thread.
struct forward_counters {
  counter blocks;       ///< sent, repeats included
  counter bytes;        ///< of these
  counter resent;       ///< blocks sent again
  counter acknowledged; ///< blocks
  counter reconnects;   ///< welcomes after the first
  counter refusals;     ///< by the receiver, with a text
  counter impossible;   ///< blocks that the receiver claims but was never sent
};

/// The kinds of failure of a device on a batch.
enum class engine_failure : std::uint8_t {
  error, ///< the device reported it
  hang,  ///< a frame had no result at its time limit
  wrong, ///< a check found packed bytes, a decision or tables wrong
  count_
};

/// Counters of the device's supervision. The waiting thread writes them, except `restarts`, which
/// the starting thread writes.
struct engine_counters {
  reason_counters<engine_failure> failures;
  counter frames_bypassed;
  counter restarts; ///< attempts
  counter events_verified;
  counter events_wrong;
};

} // namespace l3
