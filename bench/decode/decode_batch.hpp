// SPDX-License-Identifier: Apache-2.0
// The synthetic batch with some opaque boards, which need no decoding, and if asked with packets of
// lengths that differ like those of raw banks with a hit list: most are short, few are long.
#pragma once

#include <cstdint>

#include "bench/decode/decoded_batch.hpp"
#include "bench/harness/held_batch.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3::bench {

class decode_batch : public held_batch {
public:
  decode_batch(std::uint32_t events, std::uint32_t percent_opaque, bool varied = false);

private:
  void make_opaque(const fragment_entry& f, board_entry& b);
};

/// The serial executor's output, the reference: the memory of a decoded_batch, with the hits of
/// each event sorted. Unwritten bytes are poison.
[[nodiscard]] buffer decode_on_host(const decode_batch& batch, std::uint32_t threshold);

/// Makes outputs comparable: hits are in any order, and the final cursor depends on the executor.
void put_in_order(const decoded_batch& d, const batch_view& batch);

} // namespace l3::bench
