// SPDX-License-Identifier: Apache-2.0
// What the serial executor makes of a batch: the measure of what is right on any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/decode/decode_batch.hpp"
#include "gpu/decode/decoded_batch.hpp"
#include "gpu/memory/buffer.hpp"

namespace l3::bench {

/// Where nothing is written, as whoever is compared must have it before.
inline constexpr int poison_byte = 0xa5;

/// The memory of a decoded_batch, with the hits of each event in rising order.
[[nodiscard]] buffer decode_on_host(const decode_batch& batch, std::uint32_t threshold);

/// Hits stand in any order, and where the fetching of work ended depends on who fetched.
void put_in_order(const decoded_batch& d, const batch_view& batch);

/// The packed events of a batch that is kept.
[[nodiscard]] std::vector<std::byte> pack_on_host(const decode_batch& batch);

} // namespace l3::bench
