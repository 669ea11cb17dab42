// SPDX-License-Identifier: Apache-2.0
// The container in which nvcc leaves the code for devices within a program: machine code for some
// architectures, and PTX. Its layout is not documented; this reads the fields that PTX needs.
#pragma once

#include <string>
#include <vector>

namespace l3::ptx {

struct ptx_text {
  unsigned architecture = 0; ///< 90 of compute_90
  std::string text;
};

/// All PTX in a fat binary; `begin` points to its header. Throws std::runtime_error if that is
/// none, or compressed in an unknown way.
[[nodiscard]] std::vector<ptx_text> read_fat_binary(const void* begin);

} // namespace l3::ptx
