// SPDX-License-Identifier: Apache-2.0
// The forms of gpu/executors/atomics.hpp for SYCL devices: overloads that a compiler prefers to the
// portable functions if the block is a sycl_block.
#pragma once

#include <cstdint>

#include <sycl/sycl.hpp>

namespace l3 {

class sycl_block;

namespace sycl_device {

/// A word of global memory for the whole device.
template <class T>
using shared_by_all = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device>;
/// A word of local memory, for the lanes of one block.
template <class T>
using shared_within =
    sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::work_group>;

} // namespace sycl_device

[[nodiscard]] inline std::uint32_t fetch_add(const sycl_block&, std::uint32_t* at,
                                             std::uint32_t n) {
  return sycl_device::shared_by_all<std::uint32_t>(*at).fetch_add(n);
}

[[nodiscard]] inline std::uint32_t fetch_add_within(const sycl_block&, std::uint32_t* at,
                                                    std::uint32_t n) {
  return sycl_device::shared_within<std::uint32_t>(*at).fetch_add(n);
}

inline void add_within(const sycl_block&, std::uint64_t* at, std::uint64_t n) {
  static_cast<void>(sycl_device::shared_within<std::uint64_t>(*at).fetch_add(n));
}

template <std::uint32_t sums>
inline void add_together_within(const sycl_block& b, std::uint64_t (&at)[sums],
                                const std::uint64_t (&n)[sums]) {
  for (std::uint32_t k = 0; k < sums; ++k) add_within(b, &at[k], n[k]);
}

inline void set_bits_within(const sycl_block&, std::uint32_t* at, std::uint32_t bits) {
  static_cast<void>(sycl_device::shared_within<std::uint32_t>(*at).fetch_or(bits));
}

// Not fetch_min() and fetch_max(): on CPUs those of AdaptiveCpp 24.06 return the new value, while
// SYCL requires the previous one.
inline std::uint32_t fetch_min_within(const sycl_block&, std::uint32_t* at, std::uint32_t n) {
  const sycl_device::shared_within<std::uint32_t> shared(*at);
  std::uint32_t before = shared.load();
  while (n < before && !shared.compare_exchange_weak(before, n)) {
  }
  return before;
}

inline std::uint64_t fetch_max_within(const sycl_block&, std::uint64_t* at, std::uint64_t n) {
  const sycl_device::shared_within<std::uint64_t> shared(*at);
  std::uint64_t before = shared.load();
  while (n > before && !shared.compare_exchange_weak(before, n)) {
  }
  return before;
}

[[nodiscard]] inline std::uint32_t observe_within(const sycl_block&, std::uint32_t* at) {
  return sycl_device::shared_within<std::uint32_t>(*at).load();
}

} // namespace l3
