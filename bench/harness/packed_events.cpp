// SPDX-License-Identifier: Apache-2.0
#include "bench/harness/packed_events.hpp"

#include <stdexcept>

#include "selection/engine/make_engine.hpp"

namespace l3::bench {

std::vector<std::byte> packed_events(std::span<const event_result> results,
                                     std::span<const std::byte> output) {
  std::vector<std::byte> all;
  for (const event_result& r : results) {
    if (r.kept == 0 || r.offset > output.size() || r.bytes > output.size() - r.offset) continue;
    const auto packed = output.subspan(r.offset, r.bytes);
    all.insert(all.end(), packed.begin(), packed.end());
  }
  return all;
}

std::vector<std::byte> packed_on_host(const batch_capacity& capacity, codec_id codec,
                                      const selection_program* program,
                                      const std::function<void(input_batch&)>& fill) {
  const auto engine = make_engine({backend::serial, 0}, {capacity, 1, codec}, program);
  frame& f = *engine->frames()[0];
  fill(f.input);
  engine->start(f);
  if (!engine->wait(f)) throw std::runtime_error(f.error);
  return packed_events(f.results, f.output);
}

} // namespace l3::bench
