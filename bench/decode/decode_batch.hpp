// SPDX-License-Identifier: Apache-2.0
// The synthetic batch with some opaque boards, which need no decoding, and if asked with packets of
// lengths that differ like those of raw banks with a hit list: most are short, few are long.
#pragma once

#include <cstdint>

#include "bench/harness/held_batch.hpp"

namespace l3::bench {

class decode_batch : public held_batch {
public:
  decode_batch(std::uint32_t events, std::uint32_t percent_opaque, bool varied = false);

private:
  void make_opaque(const fragment_entry& f, board_entry& b);
};

} // namespace l3::bench
