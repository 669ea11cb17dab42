// SPDX-License-Identifier: Apache-2.0
#include "transport/store/strong_group.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "transport/format/endian.hpp"
#include "transport/format/strong_tables.hpp"

namespace l3 {

namespace {

constexpr std::size_t length_bytes = 2;
constexpr unsigned length_mask = 0x7ff;
constexpr std::size_t raw_bytes = 2 * l2::sample_words;
constexpr unsigned lanes = 8;
constexpr unsigned steps = l2::sample_words / lanes;
constexpr std::uint32_t least_state = 65536;
constexpr unsigned taps = 4;

/// The symbol of each slot of each table, and for each symbol the sum of the frequencies before it.
struct symbol_lists {
  std::uint8_t symbol[strong::tables][strong::table_slots];
  std::uint16_t before[strong::tables][strong::max_symbols];
  std::uint8_t escape[strong::tables];
};

constexpr symbol_lists lists = [] {
  symbol_lists l{};
  for (unsigned t = 0; t < strong::tables; ++t) {
    unsigned sum = 0;
    for (unsigned s = 0; s < strong::max_symbols && strong::frequencies[t][s] != 0; ++s) {
      l.before[t][s] = static_cast<std::uint16_t>(sum);
      l.escape[t] = static_cast<std::uint8_t>(s);
      for (unsigned k = 0; k < strong::frequencies[t][s]; ++k)
        l.symbol[t][sum++] = static_cast<std::uint8_t>(s);
    }
  }
  return l;
}();

std::int32_t unfold(std::uint32_t z) {
  return z % 2 == 0 ? static_cast<std::int32_t>(z / 2) : -static_cast<std::int32_t>((z + 1) / 2);
}

/// Reads from the front, and remembers an underflow.
class byte_reader {
public:
  explicit byte_reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::uint32_t take(std::size_t n) {
    std::uint32_t value = 0;
    if (n > rest_.size()) {
      short_ = true;
      rest_ = {};
      return value;
    }
    for (std::size_t i = 0; i < n; ++i) value |= std::to_integer<std::uint32_t>(rest_[i]) << 8 * i;
    rest_ = rest_.subspan(n);
    return value;
  }
  [[nodiscard]] bool used_up() const { return !short_ && rest_.empty(); }
  [[nodiscard]] bool too_short() const { return short_; }

private:
  std::span<const std::byte> rest_;
  bool short_ = false;
};

/// The head of a group (see its table in docs/formats.md).
struct head {
  std::int32_t start = 0; ///< a
  std::array<std::int32_t, taps> filter{};
  std::array<std::uint32_t, l2::waveforms_per_board> high{}; ///< of the folded first samples
  std::array<std::uint32_t, lanes> state{};
};

bool read_head(byte_reader& from, unsigned start, bool wide, head& h) {
  h.start = static_cast<std::int32_t>((2 + start % 2) << start / 2);
  const std::uint32_t filter = from.take(4);
  for (unsigned j = 0; j < taps; ++j) {
    const auto bits = static_cast<std::int32_t>(filter >> 7 * j & 0x7f);
    h.filter[j] = bits < 64 ? bits : bits - 128;
  }
  const unsigned width = filter >> 28;
  if (width > (wide ? 0U : 8U)) return false;
  const std::uint32_t tall = from.take(1);
  if (!wide) {
    h.high[0] = from.take(1);
    std::uint32_t bits = 0;
    unsigned have = 0;
    for (std::size_t i = 1; i < h.high.size(); ++i) {
      for (; have < width; have += 8) bits |= from.take(1) << have;
      h.high[i] = bits & ((1U << width) - 1);
      bits >>= width;
      have -= width;
    }
  }
  for (unsigned l = 0; l < lanes; ++l) {
    h.state[l] = from.take((tall >> l & 1) != 0 ? 4 : 3);
    if (h.state[l] < least_state) return false;
  }
  return !from.too_short();
}

/// The prediction model of a lane.
struct model {
  std::array<std::int32_t, taps> y{};
  std::int32_t level = 8;
  std::int32_t lead = 0;
  std::int32_t fast = 0;
  std::int32_t slow = 0;
  std::int32_t filtered = 0; ///< p0
  std::int32_t predicted = 0;
  unsigned table = 0;
  unsigned low_bits = 0;

  model() = default;
  explicit model(const head& h) : fast(h.start), slow(64 * h.start) {}

  void look(const head& h) {
    std::int32_t rest = 32;
    std::int32_t sum = 0;
    for (unsigned j = 0; j < taps; ++j) {
      rest -= h.filter[j];
      sum += h.filter[j] * y[j];
    }
    filtered = ((level - 8) * rest + 16 * sum + 256) >> 9;
    predicted = lead > 9 ? y[0] : filtered;
    const auto m = static_cast<unsigned>(std::max(fast + (slow >> 6), 4));
    const unsigned octave = static_cast<unsigned>(std::bit_width(m)) - 1;
    const unsigned n = std::min(2 * (octave - 2) + (m >> (octave - 1) & 1), 21U);
    table = n < 10 ? n : 10 + n % 2;
    low_bits = n < 10 ? 0 : (n - 10) / 2 + 1;
  }

  std::int32_t take(std::int32_t r, unsigned age) {
    const std::int32_t now = static_cast<std::int16_t>(predicted + r);
    fast += 4 * std::abs(r) - (fast >> 2);
    slow += 16 * std::abs(r) - (slow >> 6);
    lead += std::abs(now - filtered) - std::abs(now - y[0]) - (lead >> 3);
    const int shift = age < 2 ? 1 : age < 4 ? 2 : age < 8 ? 3 : 4;
    level += now * (16 >> shift) - (level >> shift);
    y = {now, y[0], y[1], y[2]};
    return now;
  }
};

/// Decodes one residual of a lane; `escaped` if its value follows separately.
std::int32_t decode(std::uint32_t& state, const model& m, bool& escaped) {
  const unsigned k = m.low_bits;
  const std::uint32_t slot = state >> k & (strong::table_slots - 1);
  const std::uint32_t low = state & ((1U << k) - 1);
  const unsigned symbol = lists.symbol[m.table][slot];
  state = strong::frequencies[m.table][symbol] * (state >> (strong::table_bits + k)) + slot -
          lists.before[m.table][symbol];
  escaped = symbol == lists.escape[m.table];
  return unfold(symbol) * (1 << k) + static_cast<std::int32_t>(low);
}

/// Decodes the first samples of all pieces from the last states of the lanes.
bool find_first(const head& h, bool wide, std::span<std::uint16_t> first) {
  for (const std::uint32_t state : h.state)
    if (state >> 16 != 1) return false;
  std::uint32_t x = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const std::uint32_t rest = h.state[wide ? i : i / 2] & 0xffff;
    const std::uint32_t folded = wide ? rest : (rest >> 8 * (i % 2) & 0xff) | h.high[i] << 8;
    x = i == 0 ? folded : x + static_cast<std::uint32_t>(unfold(folded));
    first[i] = static_cast<std::uint16_t>(x);
  }
  return true;
}

} // namespace

std::size_t strong_group_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < length_bytes) return 0;
  const std::size_t coded = load<std::uint16_t>(bytes.data()) & length_mask;
  const std::size_t length = length_bytes + (coded == 0 ? raw_bytes : coded);
  return length <= bytes.size() ? length : 0;
}

bool unpack_strong_group(std::span<const std::byte> group, bool wide, strong_samples& samples) {
  const unsigned word = load<std::uint16_t>(group.data());
  group = group.subspan(length_bytes);
  if ((word & length_mask) == 0) {
    for (std::size_t i = 0; i < samples.size(); ++i)
      samples[i] = load<std::uint16_t>(group.data() + 2 * i);
    return word == 0;
  }
  head h;
  byte_reader from(group);
  if (!read_head(from, word >> 11, wide, h)) return false;

  const unsigned piece = wide ? steps : l2::waveform_samples;
  std::array<model, lanes> models;
  for (unsigned i = 0; i < steps; ++i) {
    const unsigned age = i % piece;
    if (age == 0) {
      models.fill(model(h));
      for (unsigned l = 0; l < lanes; ++l) samples[l * steps + i] = 0;
      continue;
    }
    std::array<std::int32_t, lanes> r{};
    std::array<bool, lanes> escaped{};
    for (unsigned l = 0; l < lanes; ++l) {
      models[l].look(h);
      r[l] = decode(h.state[l], models[l], escaped[l]);
    }
    for (std::uint32_t& state : h.state)
      if (state < least_state) state = state << 16 | from.take(2);
    for (unsigned l = 0; l < lanes; ++l) {
      if (escaped[l]) r[l] = static_cast<std::int16_t>(from.take(2));
      samples[l * steps + i] = static_cast<std::uint16_t>(models[l].take(r[l], age));
    }
  }
  std::array<std::uint16_t, l2::waveforms_per_board> first{};
  const unsigned pieces = l2::sample_words / piece;
  if (!from.used_up() || !find_first(h, wide, std::span(first).first(pieces))) return false;
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = static_cast<std::uint16_t>(samples[i] + first[i / piece]);
  return true;
}

bool unpack_strong_groups(std::span<const std::byte> groups, bool wide,
                          std::span<std::uint16_t> samples) {
  strong_samples of_group;
  for (; !samples.empty(); samples = samples.subspan(of_group.size())) {
    const std::size_t bytes = strong_group_bytes(groups);
    if (bytes == 0 || !unpack_strong_group(groups.first(bytes), wide, of_group)) return false;
    std::ranges::copy(of_group, samples.begin());
    groups = groups.subspan(bytes);
  }
  return groups.empty();
}

} // namespace l3
