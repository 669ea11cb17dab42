// SPDX-License-Identifier: Apache-2.0
// The form of measure_pulses for CUDA devices: a warp per board, with the samples in registers as
// in measure_boards_by_warp. In nearly all waveforms the highest sample shows that there is no
// pulse. The whole warp searches a 125 MHz waveform with a high sample, two samples per thread:
// votes find the peak, the edge and other pulses. A 500 MHz board with a high sample is copied to
// shared memory and searched as in the portable form, a thread per channel.
#pragma once

#include <cstdint>

#include "gpu/cuda/board_place.cuh"
#include "gpu/cuda/load_here.cuh"
#include "gpu/cuda/sample_pairs.cuh"
#include "gpu/cuda/warp.cuh"
#include "gpu/executors/bits.hpp"
#include "gpu/executors/cuda_form.hpp"
#include "selection/packing/measure.hpp"

namespace l3 {

class measure_pulses_by_warp {
  struct fast_board {
    alignas(64) std::uint32_t words[board_place::samples]; ///< in the layout of find_fast_pulses
    find_fast_pulses::shared search;                       ///< only `over` is used
    found_pulses found;
  };

public:
  static constexpr std::uint32_t width = 128;
  static constexpr std::uint32_t resident = 9;                   // blocks per multiprocessor
  static constexpr std::uint32_t boards = width / warp::threads; // boards per CUDA block

  struct shared {
    fast_board of_warp[boards];
  };

  [[nodiscard]] static std::uint32_t blocks_for(std::uint32_t n) {
    return (n + boards - 1) / boards;
  }

  __device__ void operator()(const cuda_block&, shared& s, const selection_frame& frame,
                             const pulses::columns::view& pulse_rows,
                             const board_signals::columns::view& signals) const {
    const std::uint32_t i = blockIdx.x * boards + threadIdx.x / warp::threads;
    if (i >= frame.batch.boards.size()) return;
    const found_packet packet = load_here(&frame.packing.packets[i]);
    warp_findings f;
    if (!packet.has_samples()) {
      warp::write_raw(i, packet.kind(), packet.first_bytes, frame.packing);
      return leave_unread(i, pulse_rows, signals);
    }
    const board_place place(frame.batch, packet, i);
    const std::uint32_t number =
        measure_pulses::number_of(frame.tables, packet.crate(), packet.slot());
    const bool is_known = number != board_signals::unread;
    const input_entry* const inputs =
        frame.tables.inputs.data() + measure_pulses::inputs_per_board * (is_known ? number : 0);
    std::uint32_t lit = 0;
    bool was_read = false;
    const auto measured = [&] {
      warp::write_findings(f, i, frame.packing);
      was_read = (f.shape.form & board_raw) == 0 && is_known;
      return was_read;
    };
    if (packet.kind() == board_kind::sampling_125_mhz) {
      slow_board b(place);
      const input_of_thread input(inputs, slow_board::record(), is_known);
      b.conclude(f, packet);
      if (measured()) lit = b.find(f, input, i, pulse_rows);
    } else {
      fast_waveforms b(place);
      const input_of_thread input(inputs, fast_waveforms::channel(), is_known);
      b.conclude(f, packet);
      if (measured())
        lit = b.find(f, input, inputs, i, pulse_rows, s.of_warp[threadIdx.x / warp::threads]);
    }
    if (!was_read) return leave_unread(i, pulse_rows, signals);
    lit = warp::union_of(lit);
    std::uint32_t beyond = 0;
    if (frame.tables.levels.size() != 0) {
      if (f.owns_record)
        beyond = measure_pulses::record_beyond(
            frame.tables.levels[measure_pulses::inputs_per_board * number +
                                measure_pulses::channel_of(f.record, packet.kind())],
            f.record, f.own_minimum, f.own_maximum);
      beyond = warp::union_of(beyond);
    }
    if (warp::thread() == 0)
      signals[i] = {static_cast<std::uint16_t>(number), static_cast<std::uint16_t>(lit),
                    static_cast<std::uint16_t>(packet.trigger), static_cast<std::uint16_t>(beyond),
                    static_cast<std::uint16_t>(beyond >> packet_lanes)};
  }

private:
  /// A thread's data about the input of its waveform, loaded while the samples are being
  /// loaded.
  class input_of_thread {
  public:
    __device__ input_of_thread(const input_entry* inputs, std::uint32_t channel, bool is_known) {
      if (!is_known) return;
      in_one_register_ = inputs[channel].least_height |
                         static_cast<std::uint32_t>(inputs[channel].kind) << kind_shift;
    }
    [[nodiscard]] __device__ std::uint32_t least_height() const {
      return in_one_register_ & ((1U << kind_shift) - 1);
    }
    [[nodiscard]] __device__ bool is_used() const {
      return in_one_register_ >> kind_shift != static_cast<std::uint32_t>(input_kind::none);
    }

  private:
    static constexpr std::uint32_t kind_shift = 16;
    std::uint32_t in_one_register_ = 0;
  };

  struct row {
    std::uint32_t pedestal = 0;
    std::uint32_t peak = 0;
    std::uint32_t peak_sample = 0;
    std::uint32_t flags = 0;
    std::uint32_t time = 0;
    std::int32_t sum = 0;

    __device__ void write(std::uint32_t r, const pulses::columns::view& rows) const {
      rows.pedestal[r] = static_cast<std::uint16_t>(pedestal);
      rows.peak[r] = static_cast<std::uint16_t>(peak);
      rows.peak_sample[r] = static_cast<std::uint8_t>(peak_sample);
      rows.flags[r] = static_cast<std::uint8_t>(flags);
      rows.time[r] = static_cast<std::uint16_t>(time);
      rows.sum[r] = sum;
    }
  };

  __device__ static void leave_unread(std::uint32_t i, const pulses::columns::view& pulse_rows,
                                      const board_signals::columns::view& signals) {
    if (warp::thread() < packet_lanes) row().write(packet_lanes * i + warp::thread(), pulse_rows);
    if (warp::thread() == 0) signals[i] = {board_signals::unread, 0, 0, 0, 0};
  }

  static constexpr std::uint32_t payloads = l2::payload_mask * pairs::both;

  /// A board at 125 MHz. Thread t has pair t % 8 of rows t / 8 + 4 k.
  class slow_board {
  public:
    __device__ explicit slow_board(const board_place& place) : place_(place) {
      place.load_samples<warp::threads>(warp::thread(), words_);
    }

    /// The record of which the thread writes the results.
    [[nodiscard]] __device__ static std::uint32_t record() {
      return warp::thread() % apart * 2 + which();
    }

    __device__ void conclude(warp_findings& f, const found_packet& packet) {
      constexpr std::uint32_t rows = 4; // rows of each word that the warp has
      static_assert(in_time_first % rows == 0 && in_time_end % rows == 0);
      static_assert(slow_pedestal_samples == 2 * rows);
#pragma unroll
      for (std::uint32_t k = 0; k < warp::words_of_thread; ++k)
        words_[k] = pairs::swapped(words_[k]);
      f.low = f.high = words_[0];
#pragma unroll
      for (std::uint32_t k = 1; k < warp::words_of_thread; ++k) {
        f.low = pairs::lowest(f.low, words_[k]);
        if (k < in_time_first / rows || k >= in_time_end / rows)
          f.high = pairs::highest(f.high, words_[k]);
      }
      std::uint32_t in_time = words_[in_time_first / rows];
#pragma unroll
      for (std::uint32_t k = in_time_first / rows + 1; k < in_time_end / rows; ++k)
        in_time = pairs::highest(in_time, words_[k]);
      f.high = pairs::highest(f.high, in_time);
      in_time = pairs::highest(in_time, warp::across(in_time, apart));
      in_time = pairs::highest(in_time, warp::across(in_time, 2 * apart));
      f.record = record();
      f.owns_record = warp::thread() < packet_lanes;
      warp::complete(f, apart);
      warp::conclude(f, which(), packet);
      peak_ = pairs::half(in_time, which()) & l2::payload_mask;
      // The sums of four samples fit 16 bits, those of eight do not.
      const auto eight = [&](std::uint32_t one, std::uint32_t other) {
        std::uint32_t sums = (one & payloads) + (other & payloads);
        sums += warp::across(sums, apart);
        const std::uint32_t sum = pairs::half(sums, which());
        return sum + warp::across(sum, 2 * apart);
      };
      constexpr std::uint32_t last = warp::words_of_thread - 1;
      pedestal_ =
          (umin(eight(words_[0], words_[1]), eight(words_[last - 1], words_[last])) + 1) / 2;
    }

    /// Writes the rows; returns the thread's bits of the lit rows.
    __device__ std::uint32_t find(const warp_findings& f, const input_of_thread& input,
                                  std::uint32_t i, const pulses::columns::view& rows) const {
      const std::uint32_t least = least_sample(pedestal_, input.least_height());
      row mine{.pedestal = pedestal_, .peak = peak_};
      mine.flags = f.own_bits == 0 ? pulse_flat : 0;
      for (std::uint32_t high = warp::ballot(f.owns_record && peak_ >= least); high != 0;
           high &= high - 1) {
        const std::uint32_t owner = lowest_one(high);
        const row found =
            search(warp::of_thread(f.record, owner), warp::of_thread(peak_, owner),
                   warp::of_thread(input.least_height(), owner), warp::of_thread(least, owner));
        if (warp::thread() != owner) continue;
        mine.peak_sample = found.peak_sample;
        mine.flags |= found.flags;
        mine.time = found.time;
        mine.sum = found.sum;
      }
      if (!f.owns_record) return 0;
      mine.write(packet_lanes * i + f.record, rows);
      return (mine.flags & pulse_found) != 0 && input.is_used() ? 1U << f.record : 0;
    }

  private:
    static constexpr std::uint32_t apart = 8; ///< threads with the same channels

    /// The half of the thread's words that has its record.
    [[nodiscard]] __device__ static std::uint32_t which() { return warp::thread() / apart % 2; }

    using votes = std::uint64_t; // one bit per sample of a waveform

    /// Sample number `row` of a channel.
    [[nodiscard]] __device__ std::int32_t sample(std::uint32_t channel, std::uint32_t row) const {
      const std::uint32_t word =
          place_.load(board_place::header + packet_lanes / 2 * row + channel / 2);
      return static_cast<std::int32_t>(pairs::half(pairs::swapped(word), channel % 2) &
                                       l2::payload_mask);
    }

    /// The results of find_slow_pulses and measure_pulses for a waveform with a high sample, except
    /// pedestal and peak.
    [[nodiscard]] __device__ row search(std::uint32_t channel, std::uint32_t peak,
                                        std::uint32_t least_height, std::uint32_t least) const {
      const std::uint32_t t = warp::thread();
      const std::int32_t early = sample(channel, t);
      const std::int32_t late = sample(channel, t + warp::threads);
      const auto vote = [&](auto&& yes) -> votes {
        return warp::ballot(yes(early)) | votes{warp::ballot(yes(late))} << warp::threads;
      };
      const auto top = static_cast<std::int32_t>(peak);
      constexpr votes in_time = (votes{1} << in_time_end) - (votes{1} << in_time_first);
      const votes tops = vote([&](std::int32_t x) { return x == top; }) & in_time;
      const auto k = static_cast<std::uint32_t>(__ffsll(static_cast<long long>(tops))) - 1;
      const votes higher = vote([&](std::int32_t x) { return x > top; });
      const bool flank = (k == in_time_first && (higher >> (in_time_first - 1) & 1) != 0) ||
                         (k == in_time_end - 1 && (higher >> in_time_end & 1) != 0);
      row found;
      if (flank) {
        found.flags = pulse_second;
        return found;
      }
      constexpr votes reach = (votes{1} << (reach_before + reach_after)) - 1;
      const votes high =
          vote([&](std::int32_t x) { return x >= static_cast<std::int32_t>(least); });
      if ((high & ~(reach << (k - reach_before))) != 0 || least == 0) found.flags |= pulse_second;
      const std::int32_t level = level_before_or_behind(k, early, late);
      if (4 * top - level < static_cast<std::int32_t>(4 * least_height)) return found;
      found.flags |= pulse_found;
      found.peak_sample = k;
      if (top >= slow_trace::limit) found.flags |= pulse_saturated;

      const std::int32_t half = 4 * top + level;
      const votes below =
          vote([&](std::int32_t x) { return 8 * x < half; }) & ((votes{1} << k) - 1);
      if (below == 0) {
        found.flags |= pulse_no_edge;
      } else {
        constexpr std::uint32_t last = slow_trace::samples - 1;
        const auto j = last - static_cast<std::uint32_t>(__clzll(static_cast<long long>(below)));
        const auto at = [&](std::uint32_t row) {
          const std::int32_t either = row < warp::threads ? early : late;
          return static_cast<std::int32_t>(
              warp::of_thread(static_cast<std::uint32_t>(either), row % warp::threads));
        };
        const std::int32_t before = at(j);
        const std::int32_t after = at(j + 1);
        const std::int32_t part = 256 / 8 * (half - 8 * before) / (after - before);
        found.time = 256 * j + static_cast<std::uint32_t>(part);
      }
      const std::uint32_t first = slow_energy_window::first(k);
      const auto counted = [&](std::uint32_t row, std::int32_t x) {
        return static_cast<std::uint32_t>(slow_energy_window::weight(row - first) * x);
      };
      const std::uint32_t sum = warp::sum(counted(t, early) + counted(t + warp::threads, late));
      found.sum = 4 * static_cast<std::int32_t>(sum);
      return found;
    }

    /// level_of for a waveform of which the thread has two samples: both sums of four fit one
    /// word.
    [[nodiscard]] __device__ static std::int32_t
    level_before_or_behind(std::uint32_t peak_sample, std::int32_t early, std::int32_t late) {
      constexpr level_window window = slow_trace::level();
      constexpr std::uint32_t shift = 16;
      const auto counted = [&](std::uint32_t row, std::int32_t x) {
        const auto sample = static_cast<std::uint32_t>(x);
        const std::uint32_t before = row - (peak_sample - window.before_peak);
        const std::uint32_t behind = row - (peak_sample + window.after_peak);
        return (before < level_window::samples ? sample : 0) |
               (behind < level_window::samples ? sample << shift : 0);
      };
      const std::uint32_t t = warp::thread();
      const std::uint32_t sums = warp::sum(counted(t, early) + counted(t + warp::threads, late));
      return static_cast<std::int32_t>(umin(sums & 0xffff, sums >> shift));
    }

    const board_place& place_;
    std::uint32_t words_[warp::words_of_thread];
    std::uint32_t peak_ = 0; ///< of the thread's channel: the highest in-time sample
    std::uint32_t pedestal_ = 0;
  };

  /// A board at 500 MHz. Each quarter of the waveforms, 64 samples, has eight threads: thread t has
  /// quarter t / 8, and of its samples 4 k + t / 2 % 4, k = 0 … 15, those of channel pair t % 2.
  class fast_waveforms {
  public:
    __device__ explicit fast_waveforms(const board_place& place) {
      const std::uint32_t t = warp::thread();
      place.load_samples<8>(board_place::samples / 4 * (t / 8) + t % 8, words_);
    }

    /// The channel of the record of which the thread writes the results.
    [[nodiscard]] __device__ static std::uint32_t channel() {
      return warp::thread() % 2 * 2 + which();
    }

    __device__ void conclude(warp_findings& f, const found_packet& packet) {
#pragma unroll
      for (std::uint32_t k = 0; k < warp::words_of_thread; ++k)
        words_[k] = pairs::swapped(words_[k]);
      f.low = f.high = words_[0];
#pragma unroll
      for (std::uint32_t k = 1; k < warp::words_of_thread; ++k) {
        f.low = pairs::lowest(f.low, words_[k]);
        f.high = pairs::highest(f.high, words_[k]);
      }
      const std::uint32_t t = warp::thread();
      f.record = 4 * channel() + t / 8;
      f.owns_record = (t & 4) == 0;
      warp::complete(f, apart);
      warp::conclude(f, which(), packet);
      // The sums of four samples fit 16 bits, those of sixteen do not: two threads exchange the
      // sums of the channels that are not theirs.
      std::uint32_t sums = words_[0] & payloads;
#pragma unroll
      for (std::uint32_t k = 1; k < fast_pedestal_samples / find_fast_pulses::group; ++k)
        sums += words_[k] & payloads;
      std::uint32_t sum =
          pairs::half(sums, which()) + pairs::half(warp::across(sums, apart), which());
      sum += warp::across(sum, 2 * apart);
      low_ = f.own_minimum;
      high_ = pairs::half(f.high, which());
#pragma unroll
      for (std::uint32_t quarters = 8; quarters <= 16; quarters *= 2) {
        sum = umin(sum, warp::across(sum, quarters));
        low_ = umin(low_, warp::across(low_, quarters));
        high_ = umax(high_, warp::across(high_, quarters));
      }
      pedestal_ = (sum + 2) / 4;
    }

    /// Writes the rows; returns the thread's bits of the lit rows.
    __device__ std::uint32_t find(const warp_findings& f, const input_of_thread& input,
                                  const input_entry* inputs, std::uint32_t i,
                                  const pulses::columns::view& rows, fast_board& s) const {
      const std::uint32_t least = least_sample(pedestal_, input.least_height());
      const std::uint32_t r = packet_lanes * i + f.record;
      row mine{.pedestal = pedestal_};
      mine.flags = low_ == high_ ? pulse_flat : 0;
      const bool is_high = (high_ & l2::payload_mask) >= least;
      if (!warp::any(is_high)) {
        if (f.owns_record) mine.write(r, rows);
        return 0;
      }
      search(f, inputs, least, mine.flags, s);
      if (!f.owns_record) return 0;
      mine.flags = s.found.flags[f.record];
      mine.peak_sample = s.found.peak_sample[f.record];
      mine.write(r, rows);
      if ((mine.flags & pulse_found) == 0) return 0;
      const auto* const samples = reinterpret_cast<const std::uint16_t*>(s.words);
      const bool is_pulse = measure_pulses::measure(fast_trace{samples, channel()}, s.found,
                                                    f.record, input.least_height(), rows[r]);
      return is_pulse && input.is_used() ? 1U << f.record : 0;
    }

  private:
    static constexpr std::uint32_t apart = 2; ///< threads with the same records

    /// The half of the thread's words that has its record.
    [[nodiscard]] __device__ static std::uint32_t which() { return warp::thread() / apart % 2; }

    /// Copies the board to shared memory, where four threads search, one per channel.
    __device__ void search(const warp_findings& f, const input_entry* inputs, std::uint32_t least,
                           std::uint32_t flags, fast_board& s) const {
      const std::uint32_t t = warp::thread();
      const std::uint32_t over = groups_over(least);
#pragma unroll
      for (std::uint32_t k = 0; k < warp::words_of_thread; ++k)
        s.words[warp::threads * k + 8 * (t / 2 % 4) + 2 * (t / 8) + t % 2] = words_[k];
      if (f.owns_record) {
        s.search.over[find_fast_pulses::channels * (t / 8) + channel()] =
            static_cast<std::uint16_t>(over);
        s.found.pedestal[f.record] = static_cast<std::uint16_t>(pedestal_);
        s.found.peak_sample[f.record] = 0;
        s.found.flags[f.record] = static_cast<std::uint16_t>(flags);
      }
      warp::sync();
      if (t < find_fast_pulses::channels)
        find_fast_pulses::search({reinterpret_cast<const std::uint16_t*>(s.words), t},
                                 std::int32_t{4} * inputs[t].least_height, s.search, s.found);
      warp::sync();
    }

    /// Bit g: a sample of group g in the thread's record is at least `least`. Bit 15 of each half
    /// shows it for one sample of either channel.
    [[nodiscard]] __device__ std::uint32_t groups_over(std::uint32_t least) const {
      constexpr std::uint32_t top = 0x8000;
      const std::uint32_t own = top - umin(least, l2::payload_mask + 1);
      const std::uint32_t other = warp::across(own, 2);
      const std::uint32_t to_top = which() == 0 ? own | other << 16 : other | own << 16;
      std::uint32_t over = 0;
#pragma unroll
      for (std::uint32_t k = 0; k < warp::words_of_thread; ++k)
        over = over >> 1 | (((words_[k] & payloads) + to_top) & top * pairs::both);
      over |= warp::across(over, 2);
      over |= warp::across(over, 4);
      return pairs::half(over, which());
    }

    std::uint32_t words_[warp::words_of_thread];
    std::uint32_t pedestal_ = 0;
    std::uint32_t low_ = 0; ///< of all four records of the channel, including tags
    std::uint32_t high_ = 0;
  };
};

template <>
struct cuda_form<measure_pulses> {
  using type = measure_pulses_by_warp;
};

} // namespace l3
