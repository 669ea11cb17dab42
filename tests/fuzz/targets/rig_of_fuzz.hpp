// SPDX-License-Identifier: Apache-2.0
// The event builder's rig as fuzz targets use it: what the rig expects, and does not find, is an
// exception here, which ends the process.
#pragma once

#include "tests/fuzz/targets/fuzz.hpp"
#include "tests/transport/building/rig.hpp"

namespace l3::test {

/// Small enough to be made for every input.
inline rig_options options_of(fuzz_input& in) {
  GTEST_FLAG_SET(throw_on_failure, true);
  rig_options o;
  o.crates = {{{4, 1, board_kind::sampling_125_mhz}, {15, 2, board_kind::sampling_500_mhz}}};
  o.batch_events = 2;
  o.parked = 2;
  o.max_events = 64;
  o.strip = 8;
  const auto how = in.byte();
  if ((how & 1) != 0) o.incomplete = incomplete_events::forward;
  if ((how & 2) != 0) o.chunk_bytes = 536;
  if ((how & 4) != 0) o.batches = 2;
  return o;
}

/// Ends everything, and the sums must agree.
inline void settle(rig& r) {
  r.pool.hold(false);
  r.pool.stop(false);
  r.drain();
  r.expect_balance();
  require(r.builder.open_events() == 0 && r.builder.open_fragments() == 0, "nothing stays open");
}

} // namespace l3::test
