// SPDX-License-Identifier: Apache-2.0
// The serial executor's output for a batch, the reference for the other executors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/decode/decode_batch.hpp"
#include "bench/decode/decoded_batch.hpp"
#include "bench/harness/measure.hpp"
#include "gpu/memory/buffer.hpp"
#include "transport/format/block.hpp"

namespace l3::bench {

/// The memory of a decoded_batch, with the hits of each event sorted. Unwritten bytes are poison.
[[nodiscard]] buffer decode_on_host(const decode_batch& batch, std::uint32_t threshold);

/// Makes outputs comparable: hits are in any order, and the final cursor depends on the executor.
void put_in_order(const decoded_batch& d, const batch_view& batch);

/// The packed events of a batch that is completely kept.
[[nodiscard]] std::vector<std::byte> pack_on_host(const decode_batch& batch,
                                                  codec_id codec = codec_id::koto);

} // namespace l3::bench
