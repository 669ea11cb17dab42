// SPDX-License-Identifier: Apache-2.0
// The C library for readers: on files of any bytes, and on stores of random events of both codecs
// that were damaged anywhere, with checksums that are wrong or were made right again.
#include <random>

#include "tests/fuzz/targets/library_reading.hpp"
#include "tests/transport/store/packed_events.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/store/block.hpp"
#include "transport/store/block_file.hpp"

namespace l3::test {
namespace {

std::vector<std::byte> any_block(fuzz_input& in, std::uint64_t sequence) {
  std::mt19937 random(in.byte());
  event_recipe recipe;
  recipe.codec = in.flag() ? codec_id::strong : codec_id::koto;
  recipe.oddities = in.flag();
  recipe.fragments = in.flag() ? 2 : 17; // the last are at 500 MHz
  std::vector<bytes> events;
  for (std::uint32_t n = 1 + in.below(2); n > 0; --n) {
    recipe.key = {1, n};
    events.push_back(make_event(recipe, random).packed);
    in.damage(events.back());
    if (in.flag()) in.damage(std::span(events.back()).first(64));
  }
  auto block = make_block(events, 1 + in.below(2), sequence);
  auto h = load<block_header>(block.data());
  h.codec = recipe.codec;
  if (in.flag()) set_settings(h, 8 * in.byte() % h.payload_bytes);
  if (in.below(4) != 0) h.payload_crc = crc32c(std::span(block).subspan(sizeof h));
  seal_header(h);
  store(block.data(), h);
  return block;
}

std::vector<std::byte> any_store(fuzz_input& in) {
  std::vector<std::byte> file;
  put(file, head_of_file(1));
  for (std::uint64_t n = 1 + in.below(3); n > 0; --n) put_bytes(file, any_block(in, n));
  if (in.flag()) in.damage(file);
  if (in.flag()) file.resize(file.size() - in.number<std::uint16_t>() % file.size());
  return file;
}

} // namespace

void fuzz(fuzz_input& in) {
  static const scratch_of_fuzz folder;
  const auto path = store_file_path(folder.path(), 1);
  const bool is_any = in.flag();
  const unsigned flags = in.below(4);
  const auto any = is_any ? in.rest() : std::span<const std::byte>();
  write_file(path, is_any ? std::vector(any.begin(), any.end()) : any_store(in));
  read_by_library(path, flags);
  read_by_library(folder.path(), flags | L3_READ_SKIP_DAMAGED);
  folder.clear();
}

} // namespace l3::test
