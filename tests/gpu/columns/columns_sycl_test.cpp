// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/executors/on_sycl.hpp"

#include "tests/gpu/columns/columns_cases.hpp"

namespace l3 {

struct sycl_device_memory {
  [[nodiscard]] static buffer allocate(std::size_t bytes) {
    return sycl_memory::allocate_on_device(bytes);
  }
};
template <>
inline constexpr bool host_reads<sycl_device_memory> = false;

namespace test {

struct columns_on_sycl : on_sycl {
  template <class Layout>
  using here = collection<Layout, sycl_memory>;
  template <class Layout>
  using there = collection<Layout, sycl_device_memory>;
};
INSTANTIATE_TYPED_TEST_SUITE_P(sycl, columns_on, columns_on_sycl);

} // namespace test
} // namespace l3
