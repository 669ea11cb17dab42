// SPDX-License-Identifier: Apache-2.0
// The rest of the code that docs/adding-a-column.md shows, and the comparison with the page.
#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "gpu/columns/collection.hpp"
#include "gpu/executors/serial.hpp"
#include "tests/gpu/columns/columns_example.hpp"
#include "tests/shown_code.hpp"

namespace l3::test {
namespace {

struct arena {
  pulses::view found;
  gains::view known;

  static arena take(region& from, std::uint32_t pulses_at_most, std::uint32_t channels) {
    return {pulses::take(from, pulses_at_most), gains::take(from, channels)};
  }
};

TEST(columns_example, lie_in_one_buffer) {
  const std::uint32_t n = 1000;
  const buffer memory = host_memory::allocate(pulses::bytes(n)); // n is known at run time
  const pulses::view found = pulses::over({memory.data(), memory.size()}, n);
  EXPECT_EQ(found.size(), n);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(found.time.data()) % region::alignment, 0U);
  EXPECT_THROW(static_cast<void>(pulses::over({memory.data(), memory.size()}, 2 * n)),
               std::out_of_range);
}

TEST(columns_example, run_on_the_host) {
  // show run
  host_columns<pulses> found(1000);
  host_columns<gains> known(10);
  fill_example(found.view(), known.view());
  serial_queue queue;
  queue.run(calibrate{}, 1, found.view(), known.const_view());
  // end
  check_example(found.view());
}

TEST(columns_example, take_memory_of_a_frame) {
  region counted;
  static_cast<void>(arena::take(counted, 1000, 10));
  const buffer memory = host_memory::allocate(counted.used());
  region from(memory);
  const arena all = arena::take(from, 1000, 10);
  fill_example(all.found, all.known);
  serial_queue().run(calibrate{}, 1, all.found, gains::const_view(all.known));
  check_example(all.found);
  EXPECT_EQ(from.used(), counted.used());
}

/// Stands for the queue of a device.
struct streaming_queue {
  struct memory {
    static constexpr bool has_device = true;
  };
};
template <class Queue>
concept copies_on_the_host = requires(Queue queue, host_columns<pulses> columns) {
  copy(queue, columns, columns);
};
static_assert(copies_on_the_host<serial_queue>);
static_assert(!copies_on_the_host<streaming_queue>, "it would overtake what was enqueued");

TEST(columns_example, check_ranges) {
  host_columns<pulses::checked> some(10);
  const pulses::checked::view checked = some.view();
  EXPECT_THROW(static_cast<void>(checked[10]), std::out_of_range);
  EXPECT_THROW(static_cast<void>(checked.energy[10]), std::out_of_range);
}

TEST(columns_example, is_what_the_page_shows) {
  code_by_name shown;
  compare_page(L3_SOURCE_DIR, "docs/adding-a-column.md",
               {"tests/gpu/columns/columns_example.hpp",
                "tests/gpu/columns/columns_example_test.cpp",
                "tests/gpu/columns/columns_cuda_test.cu"},
               shown);
  if (IsSkipped() || HasFatalFailure()) return;
  EXPECT_EQ(std::ranges::count(shown["layout"], '\n'), 8) << "four columns are eight lines";
}

} // namespace
} // namespace l3::test
