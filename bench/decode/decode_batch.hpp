// SPDX-License-Identifier: Apache-2.0
// The synthetic batch with some opaque boards, which need no decoding.
#pragma once

#include <cstdint>

#include "bench/harness/held_batch.hpp"

namespace l3::bench {

class decode_batch : public held_batch {
public:
  decode_batch(std::uint32_t events, std::uint32_t percent_opaque);

private:
  void make_opaque(board_entry& b);
};

} // namespace l3::bench
