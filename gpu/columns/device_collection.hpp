// SPDX-License-Identifier: Apache-2.0
// Collections in pinned host memory, which a device copies directly, and in device memory, whose
// rows only kernels can access. This header is plain C++ and includes no CUDA header.
#pragma once

#include <cstddef>

#include "gpu/columns/collection.hpp"
#include "gpu/memory/device.hpp"

namespace l3 {

struct device_memory {
  [[nodiscard]] static buffer allocate(std::size_t bytes) {
    return cuda_memory::allocate_on_device(bytes);
  }
};
template <>
inline constexpr bool host_reads<device_memory> = false;

template <class Layout>
using pinned_columns = collection<Layout, cuda_memory>;
template <class Layout>
using device_columns = collection<Layout, device_memory>;

} // namespace l3
