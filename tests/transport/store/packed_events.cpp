// SPDX-License-Identifier: Apache-2.0
#include "tests/transport/store/packed_events.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <stdlib.h>

#include "gpu/codec/strong.hpp"

#include "transport/format/crc32c.hpp"

namespace l3::test {

namespace {

using words = std::vector<std::uint16_t>;

void put(bytes& to, std::uint64_t value, int size) { // little-endian
  for (int i = 0; i < size; ++i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}
void put_big(bytes& to, std::uint64_t value, int size) {
  for (int i = size - 1; i >= 0; --i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}
void append(bytes& to, const bytes& from) { to.insert(to.end(), from.begin(), from.end()); }
bytes big_words(const words& w) {
  bytes b;
  for (const auto v : w) put_big(b, v, 2);
  return b;
}

struct board {
  bytes original;
  bytes data;
  std::uint8_t slot;
  std::uint8_t form;
};

board make_board(const event_recipe& recipe, std::uint32_t slot, std::uint32_t reference,
                 std::mt19937& random) {
  const auto chance = [&](unsigned one_in) { return recipe.oddities && random() % one_in == 0; };
  const std::uint32_t spill = recipe.key.spill;
  const bool wide = random() % 2 == 0;
  words header{0xC000,
               0xC000,
               static_cast<std::uint16_t>(0xC000 | reference >> 14),
               static_cast<std::uint16_t>(0xC000 | (reference & 0x3FFF)),
               static_cast<std::uint16_t>(0xC000 | (spill & 0xFF) << 6 | (spill >> 8) << 5 | slot),
               static_cast<std::uint16_t>(0xC000 | (recipe.key.number & 0x3FFF))};
  words footer(6, 0x6000);
  board b{{}, {}, static_cast<std::uint8_t>(slot), static_cast<std::uint8_t>(wide ? 1 : 0)};
  if (chance(8)) { // opaque: any number of words
    for (unsigned i = 0; i < 1 + random() % 700; ++i) put_big(b.original, random() & 0xFFFF, 2);
    b.data = b.original;
    b.form = 8;
    return b;
  }
  if (chance(4)) {
    header[0] = static_cast<std::uint16_t>(0xC000 | (random() & 0x3FFF));
    b.form |= 2;
    append(b.data, big_words(header));
  }
  if (chance(4)) {
    footer[3] = static_cast<std::uint16_t>(0x6000 | (random() & 0xFFF));
    b.form |= 4;
    append(b.data, big_words(footer));
  }
  // channels × samples; the words go out sample by sample, the records channel by channel.
  const unsigned channels = wide ? 4 : 16;
  const unsigned samples = wide ? 256 : 64;
  std::vector<words> waveforms(channels, words(samples));
  for (auto& w : waveforms) {
    const unsigned width = random() % (recipe.sample_bits + 1);
    const auto pedestal = static_cast<std::uint16_t>(random() % (0x4000 - (1U << width) + 1));
    for (auto& s : w) s = static_cast<std::uint16_t>(pedestal + random() % (1U << width));
  }
  append(b.original, big_words(header));
  for (unsigned s = 0; s < samples; ++s) {
    for (const auto& w : waveforms) put_big(b.original, 0x8000U | w[s], 2);
  }
  append(b.original, big_words(footer));
  if (recipe.codec == codec_id::strong) {
    words all;
    for (const auto& w : waveforms) all.insert(all.end(), w.begin(), w.end());
    const auto shape = wide ? strong::shape::long_ones : strong::shape::short_ones;
    bytes group(strong::max_group_bytes);
    group.resize(strong::encode_group(all.data(), shape, group.data()));
    b.form |= 64;
    append(b.data, group);
    return b;
  }
  for (const auto& w : waveforms) {
    for (unsigned first = 0; first < samples; first += 64) {
      append(b.data, pack_record({w.begin() + first, w.begin() + first + 64}));
    }
  }
  return b;
}

} // namespace

bytes pack_record(const words& samples) {
  const auto [lowest, highest] = std::minmax_element(samples.begin(), samples.end());
  unsigned width = 0;
  while ((*highest - *lowest) >> width != 0) ++width;
  bytes record;
  put(record, width, 1);
  put(record, *lowest, 2);
  bytes packed(8 * width);
  for (unsigned i = 0; i < samples.size(); ++i) {
    for (unsigned bit = 0; bit < width; ++bit) {
      if (((samples[i] - *lowest) >> bit & 1) != 0) {
        const unsigned at = i * width + bit;
        packed[at / 8] |= static_cast<std::byte>(1U << at % 8);
      }
    }
  }
  append(record, packed);
  return record;
}

packed_and_original make_event(const event_recipe& recipe, std::mt19937& random) {
  const std::uint32_t reference = random() & 0x0FFFFFFF;
  packed_and_original event;
  bytes fragment_table;
  bytes board_table;
  bytes data;
  std::uint32_t boards = 0;
  for (std::uint32_t crate = 0; crate < recipe.fragments; ++crate) {
    bytes original;
    const bool raw = recipe.oddities && random() % 8 == 0;
    const std::uint32_t n = raw ? 0 : recipe.boards;
    if (raw) {
      for (unsigned i = 0; i < random() % 300; ++i) put(original, random(), 1);
      append(data, original);
    } else {
      put_big(original, 0x3C000000U | (recipe.key.number & 0x3FFF), 4);
      for (std::uint32_t i = 0; i < n; ++i) {
        const board b = make_board(recipe, 3 + i, reference, random);
        append(original, b.original);
        append(data, b.data);
        put(board_table, b.slot, 1);
        put(board_table, b.form, 1);
        put(board_table, b.data.size(), 2);
      }
      put_big(original, 0x24000000U, 4);
    }
    put(fragment_table, crate, 1);
    put(fragment_table, raw ? 1 : 0, 1);
    put(fragment_table, n, 2);
    put(fragment_table, original.size(), 4);
    boards += n;
    event.fragments.push_back(original);
  }
  bytes summary(recipe.oddities ? random() % 3 * 8 : 0, std::byte{0x5A});

  bytes rest = fragment_table;
  append(rest, board_table);
  rest.resize((rest.size() + 7) / 8 * 8);
  append(rest, summary);
  append(rest, data);
  rest.resize((rest.size() + 7) / 8 * 8);

  bytes& out = event.packed;
  put(out, 32 + rest.size(), 4);
  put(out, recipe.key.spill, 4);
  put(out, recipe.key.number, 4);
  put(out, 0, 2);
  put(out, recipe.fragments, 2);
  put(out, boards, 4);
  put(out, reference, 4);
  put(out, summary.size(), 4);
  put(out, 0, 4);
  append(out, rest);
  return event;
}

bytes make_block(const std::vector<bytes>& events, std::uint64_t session, std::uint64_t sequence,
                 std::uint32_t run) {
  bytes payload;
  for (const auto& e : events) append(payload, e);
  bytes block;
  for (const char c : {'K', 'L', '3', 'B'}) put(block, static_cast<unsigned char>(c), 1);
  put(block, 1, 1); // version
  put(block, 1, 1); // codec
  put(block, 0, 2);
  put(block, payload.size(), 4);
  put(block, events.size(), 4);
  put(block, session, 8);
  put(block, sequence, 8);
  put(block, run, 4);
  put(block, 0, 4); // node
  put(block, 0, 8);
  put(block, 0, 8);
  put(block, crc32c(payload), 4);
  put(block, crc32c(block), 4);
  append(block, payload);
  return block;
}

bytes read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string s{std::istreambuf_iterator<char>(in), {}};
  const auto* const p = reinterpret_cast<const std::byte*>(s.data());
  return {p, p + s.size()};
}
void write_file(const std::filesystem::path& path, std::span<const std::byte> data) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
}
void edit_file(const std::filesystem::path& path, const std::function<void(bytes&)>& change) {
  bytes file = read_file(path);
  change(file);
  write_file(path, file);
}

scratch_folder::scratch_folder()
    : path_((std::filesystem::temp_directory_path() / "l3-test-XXXXXX").string()) {
  if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no scratch folder");
}
scratch_folder::~scratch_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

} // namespace l3::test
