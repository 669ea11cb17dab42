// SPDX-License-Identifier: Apache-2.0
// A kernel without a necessary sync(), on the threaded executor. Built with ThreadSanitizer, this
// program must fail with a report of a data race; that shows that the check works.
#include <cstdint>

#include "gpu/memory/column.hpp"
#include "tests/gpu/executors/threaded.hpp"

namespace {

struct forgetful {
  static constexpr std::uint32_t items = 64;
  struct shared {
    std::uint64_t value[items];
  };
  template <l3::block B>
  void operator()(const B& b, shared& s, l3::column<std::uint64_t> out) const {
    for_each(b, items, [&](std::uint32_t i) { s.value[i] = i; });
    // Here b.sync() is missing.
    for_each(b, items, [&](std::uint32_t i) { out[i] = s.value[items - 1 - i]; });
  }
};

} // namespace

int main() {
  std::uint64_t out[forgetful::items] = {};
  l3::threaded_queue(8).run(forgetful{}, 4, l3::column<std::uint64_t>(out, forgetful::items));
}
