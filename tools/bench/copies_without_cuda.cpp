// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/copies.hpp"

namespace l3::bench {

std::vector<copy_row> cuda_copies(std::size_t, std::uint32_t) { return {}; }

} // namespace l3::bench
