// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "bench/device/copies.hpp"
#include "bench/pipeline/arrivals.hpp"

namespace l3::bench {

std::vector<copy_row> cuda_copies(std::size_t, std::uint32_t) { return {}; }

some_arrivals cuda_arrivals(std::span<const std::span<const std::byte>>) { std::abort(); }

} // namespace l3::bench
