// SPDX-License-Identifier: Apache-2.0
#include "bench/device/device_pack.hpp"

namespace l3::bench {

std::string device_name() { return {}; }

std::vector<device_pack_row> cuda_pack(const decode_batch&, const device_pack_expected&,
                                       std::uint32_t) {
  return {};
}

} // namespace l3::bench
