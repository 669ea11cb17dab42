// SPDX-License-Identifier: Apache-2.0
#include "gpu/columns/device_collection.hpp"
#include "tests/gpu/columns/columns_cases.hpp"
#include "tests/gpu/columns/columns_example.hpp"
#include "tests/gpu/executors/on_device.cuh"

namespace l3::test {

struct to_device : on_device {
  template <class Layout>
  using there = device_columns<Layout>;
};
struct pinned_and_device : to_device {
  template <class Layout>
  using here = pinned_columns<Layout>;
};
struct pageable_and_device : to_device {
  template <class Layout>
  using here = host_columns<Layout>;
};
using cuda_places = testing::Types<pinned_and_device, pageable_and_device>;
INSTANTIATE_TYPED_TEST_SUITE_P(cuda, columns_on, cuda_places);

TEST(columns_cuda, run_the_example) {
  if (const std::string why_not = on_device::why_not(); !why_not.empty()) GTEST_SKIP() << why_not;
  // show device
  pinned_columns<pulses> found(1000);
  pinned_columns<gains> known(10);
  fill_example(found.view(), known.view());
  device_columns<pulses> pulses_there(1000);
  device_columns<gains> gains_there(10);
  cuda_queue queue;
  copy(queue, pulses_there, found);
  copy(queue, gains_there, known);
  queue.run(calibrate{}, 1, pulses_there.view(), gains_there.const_view());
  copy(queue, found, pulses_there);
  ASSERT_EQ(queue.finish(), ""); // from here on the host may read `found`
  // end
  check_example(found.view());
}

/// Reads and writes row i of a checked view.
struct touch {
  static constexpr std::uint32_t width = 1;
  struct shared {};
  template <block B>
  L3_FN void operator()(const B& b, shared&, probes::checked::view v, std::uint32_t i) const {
    for_each(b, 1, [&](std::uint32_t) { v.medium[i] = v[i].small; });
  }
};

// The last case: a device that trapped stays so for this process.
TEST(zz_columns_cuda, trap_beyond_the_end) {
  if (const std::string why_not = on_device::why_not(); !why_not.empty()) GTEST_SKIP() << why_not;
  cuda_queue queue;
  device_columns<probes::checked> columns(8);
  queue.run(touch{}, 1, columns.view(), 7U); // reads and writes that row
  ASSERT_EQ(queue.finish(), "");
  queue.run(touch{}, 1, columns.view(), 8U); // within the buffer, but not within the column
  EXPECT_NE(queue.finish(), "");
}

} // namespace l3::test
