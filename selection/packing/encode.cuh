// SPDX-License-Identifier: Apache-2.0
// The form of encode_boards for CUDA devices. A warp encodes four boards
// at once: eight threads are the lanes of a group (gpu/codec/strong.hpp). Coders write words as in
// the portable form, from the end of the slot; a vote decides which lanes write, and where.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/codec/strong.hpp"
#include "gpu/cuda/board_place.cuh"
#include "gpu/cuda/warp.cuh"
#include "gpu/executors/cuda_form.hpp"
#include "selection/packing/measure.hpp"
#include "transport/format/endian.hpp"

namespace l3 {

namespace warp {

/// A group in shared memory: 64 rows of the samples of 16 records.
struct group_tile {
  static constexpr std::uint32_t group_records = strong::group_records;
  static constexpr std::uint32_t rows = strong::record_samples;
  static constexpr std::uint32_t padding = 16; // so that four groups use different banks

  alignas(sizeof(std::uint32_t)) std::uint16_t samples[rows * group_records + padding];

  /// The samples of a record by number.
  struct record {
    const std::uint16_t* first;
    __device__ std::int32_t operator[](std::uint32_t n) const { return first[group_records * n]; }
  };
  [[nodiscard]] __device__ record of(std::uint32_t number) const { return {samples + number}; }

  /// The first sample of one of the two records of a codec lane; further ones are a row apart.
  [[nodiscard]] __device__ std::uint16_t* of_lane(std::uint32_t lane, std::uint32_t record) {
    return samples + 2 * lane + record;
  }

  __device__ void clear() {
    for (std::uint32_t n = thread(); n < rows * group_records; n += threads) samples[n] = 0;
  }

  /// Loads the samples of a board, without their tags.
  __device__ void load(const board_place& place, board_kind kind) {
    std::uint32_t words[words_of_thread];       // this many loads are pending at once
    if (kind == board_kind::sampling_125_mhz) { // a row has eight words
      place.load_samples<threads>(thread(), words);
#pragma unroll
      for (std::uint32_t k = 0; k < words_of_thread; ++k)
        store(reinterpret_cast<std::byte*>(samples + 2 * (threads * k + thread())),
              samples_of(words[k]));
    } else { // a row of four channels, with four records each, has two words
      // A thread loads rows of one record, so that the threads store to different banks.
      constexpr std::uint32_t apart = 8;
      const std::uint32_t record = thread() / apart;
      const std::uint32_t word = thread() % apart;
      place.load_samples<apart>(2 * rows * record + word, words);
      std::uint16_t* const to =
          samples + group_records * (word / 2) + group_records / 2 * (word % 2) + record;
#pragma unroll
      for (std::uint32_t k = 0; k < words_of_thread; ++k) {
        const std::uint32_t pair = samples_of(words[k]);
        to[apart / 2 * group_records * k] = static_cast<std::uint16_t>(pair);
        to[apart / 2 * group_records * k + group_records / 4] =
            static_cast<std::uint16_t>(pair >> 16);
      }
    }
  }

private:
  /// Two samples without their tags.
  [[nodiscard]] __device__ static std::uint32_t samples_of(std::uint32_t word) {
    constexpr std::uint32_t swap_each_half = 0x2301;
    return __byte_perm(word, 0, swap_each_half) & (l2::payload_mask | l2::payload_mask << 16);
  }
};

/// The eight lanes of a group among the threads of a warp.
struct group_lane {
  std::uint32_t group = thread() / strong::lanes; ///< of the warp
  std::uint32_t lane = thread() % strong::lanes;

  /// Bit l is set if lane l of this group says yes.
  [[nodiscard]] __device__ std::uint32_t ballot(bool yes) const {
    return warp::ballot(yes) >> (strong::lanes * group) & ((1U << strong::lanes) - 1);
  }
  [[nodiscard]] __device__ static std::uint32_t union_of(std::uint32_t bits) {
    for (std::uint32_t apart = 1; apart < strong::lanes; apart *= 2) bits |= across(bits, apart);
    return bits;
  }
};

/// The coders of a group's lanes, and the words that they write downwards from `end`; words beyond
/// the limit of a coded group are only counted. A group that is not coded writes none.
class group_coder {
public:
  __device__ group_coder(const group_lane& mine, bool coded, std::byte* end, std::uint32_t state)
      : state_(state), end_(end), to_(end), first_(coded ? end - 2 * most_words : end),
        all_(((1U << strong::lanes) - 1) << strong::lanes * mine.group),
        from_mine_(all_ & everyone << thread()) {}

  /// Codes a step if `takes`. All threads of the warp call it.
  __device__ void push(const strong::residual& r, bool takes = true) {
    const bool escapes = takes && (r.symbol & strong::escape_bit) != 0;
    if (any(escapes)) write(escapes, static_cast<std::uint16_t>(r.value));
    std::uint16_t word = 0;
    const bool full = takes && strong::push(state_, r, word);
    write(full, word);
  }

  [[nodiscard]] __device__ std::uint32_t state() const { return state_; }
  [[nodiscard]] __device__ std::uint32_t words() const {
    return static_cast<std::uint32_t>(end_ - to_) / 2;
  }

private:
  static constexpr std::uint32_t most_words = strong::max_coded_bytes / 2;

  /// The last lane writes first.
  __device__ void write(bool yes, std::uint16_t word) {
    const std::uint32_t lanes = ballot(yes);
    std::byte* const at = to_ - 2 * ones(lanes & from_mine_);
    if (yes && at >= first_) *reinterpret_cast<std::uint16_t*>(at) = word;
    to_ -= 2 * ones(lanes & all_);
  }

  std::uint32_t state_;
  std::byte* end_;
  std::byte* to_; ///< the same in the lanes of a group
  std::byte* first_;
  std::uint32_t all_; ///< the group's threads in the warp
  std::uint32_t from_mine_;
};

/// The first samples of a group as stored in its head: each lane has its own.
struct first_samples {
  std::uint32_t own;       ///< of the lane's first record, folded
  std::uint32_t other = 0; ///< of its second record, if that begins a waveform
  std::uint32_t high_bits; ///< strong::group_head::high_bits

  /// All threads of the warp call it.
  __device__ first_samples(const group_lane& mine, const group_tile& tile, strong::shape of) {
    const bool is_short = of == strong::shape::short_ones;
    const std::uint16_t* const x = tile.samples + 2 * mine.lane;
    const auto difference = [](std::uint16_t later, std::uint16_t sooner) {
      return strong::fold_sign(static_cast<std::int16_t>(later - sooner));
    };
    own = mine.lane == 0 ? x[0] : difference(x[0], *(x - (is_short ? 1 : 2)));
    if (is_short) other = difference(x[1], x[0]);
    const std::uint32_t all = group_lane::union_of((mine.lane == 0 ? 0 : own) | other);
    high_bits = bits_used(all >> strong::carried_bits(of));
  }

  /// The initial state of the lane's coder.
  [[nodiscard]] __device__ std::uint32_t carried(strong::shape of) const {
    return of == strong::shape::long_ones ? own : (own & 0xff) | (other & 0xff) << 8;
  }

  /// Writes the high bits of all but the group's first sample, bit by bit, if `writes`. All threads
  /// of the warp call it.
  __device__ void write_high_bits(const group_lane& mine, bool writes, std::byte* to) const {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    const auto add = [&](std::uint32_t folded, std::uint32_t number) {
      constexpr std::uint32_t most = 64;
      const std::uint64_t bits = folded >> 8;
      const std::uint32_t at = (number - 1) * high_bits;
      if (at < most) low |= bits << at;
      if (at >= most)
        high |= bits << (at - most);
      else if (at != 0)
        high |= bits >> (most - at);
    };
    if (mine.lane != 0) add(own, 2 * mine.lane);
    add(other, 2 * mine.lane + 1);
    const auto in_all = [](std::uint64_t bits) {
      return group_lane::union_of(static_cast<std::uint32_t>(bits)) |
             std::uint64_t{group_lane::union_of(static_cast<std::uint32_t>(bits >> 32))} << 32;
    };
    low = in_all(low);
    high = in_all(high);
    const std::uint32_t bytes = writes ? (15 * high_bits + 7) / 8 : 0;
    if (mine.lane < bytes) to[mine.lane] = static_cast<std::byte>(low >> 8 * mine.lane);
    if (mine.lane + 8 < bytes) to[mine.lane + 8] = static_cast<std::byte>(high >> 8 * mine.lane);
  }
};

/// A lane of the model, which iterates over its samples: each residual replaces its sample, and its
/// symbol is written separately.
struct modelled_lane {
  strong::choice chosen;
  std::uint16_t* x;      ///< the current sample
  std::uint16_t* symbol; ///< its symbol
  strong::lane_model model;
  std::uint16_t first = 0;

  /// Call it where a waveform begins.
  __device__ void begin() {
    model = strong::lane_model(chosen);
    first = *x;
    next();
  }
  __device__ void step(std::uint32_t age) {
    const auto p = model.predict(chosen);
    const std::int32_t y = static_cast<std::int16_t>(*x - first);
    const std::int32_t r = static_cast<std::int16_t>(y - p.best);
    *x = static_cast<std::uint16_t>(r);
    *symbol = static_cast<std::uint16_t>(strong::symbol_of(r, model.scale_now()));
    model.learn(p, y, r, age);
    next();
  }
  __device__ void next() {
    x += group_tile::group_records;
    symbol += threads;
  }
};

} // namespace warp

struct encode_boards_by_warp {
  static constexpr std::uint32_t width = warp::threads;
  static constexpr std::uint32_t boards = encode_boards::boards;
  static_assert(boards * strong::lanes == warp::threads);

  /// The sums of a strong::contribution: each lane of a group computes one of them.
  static constexpr std::uint32_t group_sums = strong::taps + 2;
  static_assert(group_sums <= strong::lanes);

  struct shared {
    warp::group_tile tiles[boards];
    union {
      double sums[boards][group_sums][strong::group_records + 1]; // padded: rows use other banks
      std::uint16_t symbols[strong::lane_samples][warp::threads]; // used afterwards
    };
  };

  __device__ void operator()(const cuda_block&, shared& s, const batch_view& in,
                             const frame_columns& columns) const {
    const warp::group_lane mine;
    const std::uint32_t i = boards * blockIdx.x + mine.group;
    const bool coded = encode_boards::codes(in, columns, i);
    const std::uint32_t all = warp::ballot(coded);
    if (all == 0) return;
    const auto board = [&](std::uint32_t k) { return warp::of_thread(i, strong::lanes * k); };
    std::uint32_t bytes = 0;
    std::uint32_t raw = 0; // lanes of groups that would grow
    std::uint32_t to_load = all;
    // At most twice: a group that would grow is loaded again, because residuals replaced it. A
    // loop, so that the loading code exists only once.
#pragma unroll 1
    for (;;) {
      for_each_group(to_load, [&](std::uint32_t k) { load(s.tiles[k], in, columns, board(k)); });
      if (raw != 0) break;
      bytes = encode(s, mine, in, columns, i, coded, all);
      raw = warp::ballot(coded && bytes - strong::length_bytes > strong::max_coded_bytes);
      if (raw == 0) break;
      to_load = raw;
      warp::sync(); // the coders have read the residuals
    }
    if (raw != 0) {
      warp::sync();
      for_each_group(raw, [&](std::uint32_t k) { store_raw(s.tiles[k], columns, board(k)); });
    }
    if (!coded || mine.lane != 0) return;
    if (bytes - strong::length_bytes > strong::max_coded_bytes) bytes = strong::max_group_bytes;
    encode_boards::conclude(columns, i, bytes);
  }

private:
  [[nodiscard]] __device__ static std::byte* slot_end(const frame_columns& columns,
                                                      std::uint32_t i) {
    return columns.slot(i) + board_slot_bytes;
  }

  /// Encodes the loaded groups, whose lanes are in `all`. Returns the length of the lane's group.
  __device__ static std::uint32_t encode(shared& s, const warp::group_lane& mine,
                                         const batch_view& in, const frame_columns& columns,
                                         std::uint32_t i, bool coded, std::uint32_t all) {
    // Missing groups follow the same path as others, so that the warp stays together.
    for_each_group(~all, [&](std::uint32_t k) { s.tiles[k].clear(); });
    warp::sync();
    const strong::choice chosen = choose(s, mine, all);
    const strong::shape of =
        coded ? encode_boards::shape_of(in.boards[i].kind) : strong::shape::short_ones;
    model(s, mine, of, chosen);
    warp::sync();
    const warp::first_samples first(mine, s.tiles[mine.group], of);
    std::byte* const end = slot_end(columns, coded ? i : 0);
    warp::group_coder coder(mine, coded, end, strong::least_state + first.carried(of));
    code(s, mine, of, coder);
    return write_head(mine, of, chosen, first, coder, coded, end);
  }

  /// Calls f(k) with all threads for each group whose lanes are in the mask.
  template <class F>
  __device__ static void for_each_group(std::uint32_t threads, F&& f) {
#pragma unroll 1
    for (std::uint32_t k = 0; k < boards; ++k)
      if ((threads >> (strong::lanes * k) & 1) != 0) f(k);
  }

  /// Loads the board's samples, and copies the words in front of the group in its data.
  __device__ static void load(warp::group_tile& tile, const batch_view& in,
                              const frame_columns& columns, std::uint32_t i) {
    const found_packet packet = columns.packets[i];
    const board_place place(in, packet, i);
    tile.load(place, packet.kind());
    const std::uint32_t form = columns.boards.form[i];
    if (stored_words_bytes(form) == 0) return;
    warp::put_outer_words(place, form, columns.slot(i));
  }

  __device__ static strong::choice choose(shared& s, const warp::group_lane& mine,
                                          std::uint32_t all) {
    const std::uint32_t record = warp::thread() % strong::group_records;
#pragma unroll 1
    for (std::uint32_t k = warp::thread() / strong::group_records; k < boards; k += 2) {
      if ((all >> (strong::lanes * k) & 1) == 0) continue;
      const strong::contribution c =
          strong::contribution_of(strong::correlate(s.tiles[k].of(record)));
#pragma unroll
      for (std::uint32_t j = 0; j <= strong::taps; ++j) s.sums[k][j][record] = c.of[j];
      s.sums[k][strong::taps + 1][record] = c.start;
    }
    warp::sync();
    const bool is_there = (all >> warp::thread() & 1) != 0;
    double sum = 0; // numbers of scales are integers, so their sum is exact
    if (is_there) {
      const std::uint32_t own = mine.lane < group_sums ? mine.lane : 0;
#pragma unroll
      for (std::uint32_t r = 0; r < strong::group_records; ++r)
        sum = sum + s.sums[mine.group][own][r];
    }
    const auto of_lane = [&](std::uint32_t lane) {
      return __shfl_sync(warp::everyone, sum, static_cast<int>(lane), strong::lanes);
    };
    strong::contribution group;
#pragma unroll
    for (std::uint32_t j = 0; j <= strong::taps; ++j) group.of[j] = of_lane(j);
    group.start = static_cast<std::uint32_t>(of_lane(strong::taps + 1));
    strong::choice chosen;
    if (is_there) chosen = strong::chosen_for(group);
    warp::sync();
    return chosen;
  }

  __device__ static void model(shared& s, const warp::group_lane& mine, strong::shape of,
                               const strong::choice& chosen) {
    constexpr std::uint32_t settled =
        8; // from this age on the level is the mean of that many samples
    static_assert(strong::lane_model::level_shift(settled) ==
                  strong::lane_model::level_shift(strong::lane_samples));
    warp::modelled_lane lane{chosen};
#pragma unroll 1
    for (std::uint32_t record = 0; record < 2; ++record) {
      lane.x = s.tiles[mine.group].of_lane(mine.lane, record);
      lane.symbol = &s.symbols[strong::record_samples * record][warp::thread()];
      std::uint32_t n = 0;
      if (!strong::codes(strong::record_samples * record, of)) {
        lane.begin();
#pragma unroll 1
        for (n = 1; n < settled; ++n) lane.step(n);
      }
#pragma unroll 1
      for (; n < strong::record_samples; ++n) lane.step(settled);
    }
  }

  /// The steps are coded in reverse order.
  __device__ static void code(shared& s, const warp::group_lane& mine, strong::shape of,
                              warp::group_coder& coder) {
#pragma unroll 1
    for (std::uint32_t record = 2; record-- != 0;) {
      constexpr std::uint32_t last = strong::record_samples - 1;
      const std::uint32_t begin = strong::record_samples * record;
      const std::uint16_t* x =
          s.tiles[mine.group].of_lane(mine.lane, record) + last * warp::group_tile::group_records;
      const std::uint16_t* symbol = &s.symbols[begin + last][warp::thread()];
      const auto residual = [&]() -> strong::residual {
        return {static_cast<std::int16_t>(*x), strong::entry_of(*symbol)};
      };
#pragma unroll 1
      for (std::uint32_t n = last; n != 0; --n) {
        coder.push(residual());
        x -= warp::group_tile::group_records;
        symbol -= warp::threads;
      }
      const bool goes_on = strong::codes(begin, of); // a waveform of both records
      if (warp::any(goes_on)) coder.push(goes_on ? residual() : strong::residual(), goes_on);
    }
  }

  /// Writes the head, as strong::detail::store_head does, in front of the words. Returns the length
  /// of the group; if it exceeds the limit of a coded group, writes nothing.
  __device__ static std::uint32_t write_head(const warp::group_lane& mine, strong::shape of,
                                             const strong::choice& chosen,
                                             const warp::first_samples& first,
                                             const warp::group_coder& coder, bool coded,
                                             std::byte* end) {
    constexpr std::uint32_t fixed = strong::length_bytes + 5;
    constexpr std::uint32_t state_bytes = 3;
    const bool is_short = of == strong::shape::short_ones;
    const std::uint32_t state = coder.state();
    const std::uint32_t long_states = mine.ballot(state >> 24 != 0);
    const std::uint32_t to_states = fixed + (is_short ? 1 + (15 * first.high_bits + 7) / 8 : 0);
    const std::uint32_t bytes =
        to_states + state_bytes * strong::lanes + ones(long_states) + 2 * coder.words();
    const bool writes = coded && bytes - strong::length_bytes <= strong::max_coded_bytes;
    std::byte* const head = end - bytes;
    first.write_high_bits(mine, writes && is_short, head + fixed + 1);
    if (!writes) return bytes;
    if (mine.lane == 0) {
      store(head, static_cast<std::uint16_t>((bytes - strong::length_bytes) | chosen.start << 11));
      std::uint32_t filter = first.high_bits << 28;
      for (std::uint32_t j = 0; j < strong::taps; ++j)
        filter |= (static_cast<std::uint32_t>(chosen.filter[j]) & 0x7f) << (7 * j);
      store(head + 2, filter);
      head[6] = static_cast<std::byte>(long_states);
      if (is_short) head[7] = static_cast<std::byte>(first.own >> 8);
    }
    std::byte* const to =
        head + to_states + state_bytes * mine.lane + ones(long_states & ((1U << mine.lane) - 1));
    store(to, static_cast<std::uint16_t>(state));
    to[2] = static_cast<std::byte>((state >> 16) & 0xff);
    if ((long_states >> mine.lane & 1) != 0) to[3] = static_cast<std::byte>(state >> 24);
    return bytes;
  }

  /// Stores a group that would grow as raw samples.
  __device__ static void store_raw(const warp::group_tile& tile, const frame_columns& columns,
                                   std::uint32_t i) {
    std::byte* const to = slot_end(columns, i) - strong::max_group_bytes;
    if (warp::thread() == 0) store(to, std::uint16_t{0});
#pragma unroll 1
    for (std::uint32_t n = warp::thread(); n < strong::group_samples; n += warp::threads)
      store(to + strong::length_bytes + 2 * n,
            static_cast<std::uint16_t>(
                tile.of(n / strong::record_samples)[n % strong::record_samples]));
  }
};

template <>
struct cuda_form<encode_boards> {
  using type = encode_boards_by_warp;
};

} // namespace l3
