// SPDX-License-Identifier: Apache-2.0
// A decoder: it writes the waveforms of board packets to memory, with one block per board. It
// removes the tags of the samples, converts their sample-major order to consecutive waveforms,
// finds minimum and N of each waveform, and adds those with a pulse to their event's list.
//
// It has six techniques with which LHCb accelerated the decoding of its raw banks, each as a
// switch. They change the speed of the decoder but not its output. Packing and selection read
// packets directly, so only the bench uses it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "bench/decode/decoded_batch.hpp"
#include "bench/decode/walk.hpp"
#include "gpu/codec/koto.hpp"
#include "gpu/decode/packet.hpp"
#include "gpu/executors/atomics.hpp"

namespace l3 {

struct decode_techniques {
  /// On: a block reads its board's place from the host's table. Off: it walks over the packets of
  /// the crate until it reaches its board.
  bool table_by_source = true;
  /// On: only boards with data to decode get a block. Off: every slot of every crate gets one.
  bool zero_suppression = true;
  /// On: the hits of a warp get their places in the list by one atomic. Off: each hit uses its own
  /// atomic. (A plain atomicAdd would be neither, because device compilers combine lanes where they
  /// can.) On a CPU, which has no warps, both are the same code.
  bool warp_aggregation = true;
  /// On: the slowest boards come first, so that none of them ends last. Off: boards come in the
  /// order of the input.
  bool big_first = true;
  /// On: samples are compared as 16-bit integers. Off: as 32-bit integers.
  bool short_registers = true;
  /// On: there are as many blocks as can run at once, and each fetches one board after the other.
  /// Off: each board has a block.
  bool opportunistic = true;
};

inline constexpr decode_techniques no_technique{false, false, false, false, false, false};

/// Marks every board as not decoded, clears every list, and sets the cursor to the first work item.
struct begin_decoding {
  static constexpr std::uint32_t width = 256;
  static constexpr std::uint32_t items = 1024; // per block

  struct shared {};

  [[nodiscard]] static std::uint32_t blocks(const decoded_batch& out) {
    return (out.boards.size() + out.hit_counts.size()) / items + 1;
  }

  template <block B>
  L3_FN void operator()(const B& b, shared&, const decoded_batch& out) const {
    for_each(b, items, [&](std::uint32_t k) {
      const std::uint32_t i = b.index() * items + k;
      if (i < out.boards.size()) out.boards[i] = board_state::not_decoded;
      if (i < out.hit_counts.size()) out.hit_counts[i] = 0;
      if (i == 0) out.cursor[0] = 0;
    });
  }
};

/// fetch_add with one atomic per item. Devices have their own overload (gpu/executors/atomics.cuh),
/// because their compiler could use one atomic for a whole warp.
template <block B>
[[nodiscard]] std::uint32_t fetch_add_alone(const B& b, std::uint32_t* at, std::uint32_t n) {
  return fetch_add(b, at, n);
}

/// fetch_add of 1, for items of a for_each that all use one counter. On a device one atomic serves
/// all lanes of a warp that call it together. A CPU has no warps and adds for each item.
template <block B>
[[nodiscard]] std::uint32_t fetch_one_of_warp(const B& b, std::uint32_t* at) {
  return fetch_add(b, at, 1);
}

#if defined(__CUDACC__)
/// The first active lane adds for all active lanes of the warp, and each lane takes its share.
/// Written by hand, because ptxas combines lanes only in some kernels and on some devices; the add
/// uses fetch_add_alone so that ptxas does not combine again.
[[nodiscard]] __device__ inline std::uint32_t fetch_one_of_warp(const cuda_block& b,
                                                                std::uint32_t* at) {
  const std::uint32_t here = __activemask();
  std::uint32_t before_me = 0;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(before_me));
  const auto mine = static_cast<std::uint32_t>(__popc(here & before_me));
  std::uint32_t first = 0;
  if (mine == 0) first = fetch_add_alone(b, at, static_cast<std::uint32_t>(__popc(here)));
  return __shfl_sync(here, first, __ffs(static_cast<int>(here)) - 1) + mine;
}
#endif

/// The bytes of a packet with so many rows of 16 samples. Synthetic packets of boards of 125 MHz
/// may have fewer rows than 64, in multiples of 8; then their first header word has the number.
[[nodiscard]] L3_FN constexpr std::uint32_t bytes_of_rows(std::uint32_t rows) {
  return 2 * (l2::header_words + packet_lanes * rows + l2::footer_words);
}

/// The rows of a packet that can be decoded, else 0.
[[nodiscard]] L3_FN inline std::uint32_t rows_of(const board_entry& board,
                                                 const fragment_entry& fragment) {
  constexpr std::uint32_t step = 8;
  if (is_full_packet(board, fragment)) return packet_rows;
  const std::uint32_t bytes = packet_bytes(board, fragment);
  if (board.opaque != 0 || board.kind != board_kind::sampling_125_mhz || bytes != board.bytes ||
      bytes < bytes_of_rows(step) || bytes > bytes_of_rows(packet_rows) ||
      (bytes - bytes_of_rows(0)) % (bytes_of_rows(step) - bytes_of_rows(0)) != 0 ||
      (board.offset | fragment.piece_bytes) % sizeof(std::uint16_t) != 0)
    return 0;
  return (bytes - bytes_of_rows(0)) / (2 * packet_lanes);
}

/// staged_packet for any number of rows.
class staged_rows {
public:
  [[nodiscard]] L3_FN const std::uint16_t* header() const { return words_ + lead; }
  [[nodiscard]] L3_FN const std::uint16_t* footer(std::uint32_t rows) const {
    return samples() + packet_lanes * rows;
  }
  [[nodiscard]] L3_FN const std::uint16_t* by_lane(board_kind kind) const {
    return kind == board_kind::sampling_125_mhz ? samples() : by_lane_;
  }

  /// Copies the packet. It can be read after the next sync().
  template <block B>
  L3_FN void stage(const B& b, const batch_view& in, const fragment_entry& fragment,
                   const board_entry& board, std::uint32_t rows) {
    for_each_run(in, fragment, board.offset, bytes_of_rows(rows),
                 [&](const std::byte* p, std::uint32_t from, std::uint32_t n) {
                   swap_in(b, p, words_ + lead + from / 2, n / 2);
                   prefetch(b, p + n, n); // packets are usually adjacent
                 });
    if (board.kind == board_kind::sampling_125_mhz) return;
    b.sync();
    // Word row 64 j + s of four channels becomes quarter j of row s.
    constexpr std::uint32_t quarter = 4;
    for_each(b, quarter, packet_rows, [&](std::uint32_t j, std::uint32_t s) {
      for (std::uint32_t c = 0; c < quarter; ++c)
        by_lane_[packet_lanes * s + quarter * j + c] =
            samples()[quarter * (packet_rows * j + s) + c];
    });
  }

private:
  static constexpr std::uint32_t lead = 32 - l2::header_words; // the samples start at a cache line

  [[nodiscard]] L3_FN const std::uint16_t* samples() const {
    return words_ + lead + l2::header_words;
  }

  alignas(64) std::uint16_t words_[lead + l2::board_words];
  alignas(64) std::uint16_t by_lane_[l2::sample_words];
};

/// A work item is the number of a board, or `no_board`. Without the technique table_by_source it is
/// a source: 16 × fragment + slot − first slot.
inline constexpr std::uint32_t no_board = 0xffffffff;

template <decode_techniques how>
struct decode_boards {
  static constexpr std::uint32_t width = 128;

  static constexpr std::uint32_t parts = 8; // of rows_per_part rows each
  static constexpr std::uint32_t rows_per_part = packet_rows / parts;
  static constexpr std::uint32_t tagged_words = l2::header_words + l2::footer_words;
  static constexpr std::uint32_t row_of_octets =
      packet_lanes + 1; // spreads columns over the banks of shared memory

  using sample = std::conditional_t<how.short_registers, std::int16_t, std::int32_t>;

  struct shared {
    staged_rows packet;
    alignas(64) std::uint64_t first_quad[parts][row_of_octets];  // samples 0 … 3 of each eight
    alignas(64) std::uint64_t second_quad[parts][row_of_octets]; // samples 4 … 7
    alignas(64) sample low[parts][packet_lanes];
    alignas(64) sample high[parts][packet_lanes];
    std::uint32_t minimum[packet_lanes];
    std::uint32_t range[packet_lanes];
    alignas(8) std::uint8_t wrong[2 * packet_lanes]; // 1: a wrong tag; first for each lane, then
                                                     // for each word of header and footer
    std::uint32_t fetched[2];
  };

  /// `share`: number of work items that an opportunistic block fetches at a time.
  template <block B>
  L3_FN void operator()(const B& b, shared& s, const batch_view& in,
                        column<const std::uint32_t> work, std::uint32_t share,
                        std::uint32_t threshold, const decoded_batch& out) const {
    if constexpr (how.opportunistic) {
      for (std::uint32_t turn = 0;; ++turn) {
        std::uint32_t& fetched =
            s.fetched[turn % 2]; // lanes may still read the word of the last turn
        for_each(b, 1, [&](std::uint32_t) { fetched = fetch_add(b, out.cursor.data(), share); });
        b.sync();
        const std::uint32_t first = fetched;
        if (first >= work.size()) return;
        for (std::uint32_t w = first; w < work.size() && w < first + share; ++w)
          find_and_decode(b, s, in, work[w], threshold, out);
      }
    } else {
      find_and_decode(b, s, in, work[b.index()], threshold, out);
    }
  }

private:
  template <block B>
  L3_FN static void find_and_decode(const B& b, shared& s, const batch_view& in,
                                    std::uint32_t source, std::uint32_t threshold,
                                    const decoded_batch& out) {
    if constexpr (how.table_by_source) {
      if (source != no_board) decode(b, s, in, source, in.boards[source], threshold, out);
    } else {
      const fragment_entry fragment = in.fragments[source / l2::max_boards];
      const found_board found =
          fragment_walk(in, fragment).find(l2::first_slot + source % l2::max_boards);
      if (!found.found) return;
      const std::uint32_t i = fragment.first_board + found.number;
      board_entry board = in.boards[i];
      board.offset = static_cast<std::uint16_t>(found.offset);
      board.opaque = found.opaque ? 1 : 0;
      board.bytes = found.bytes;
      decode(b, s, in, i, board, threshold, out);
    }
  }

  /// No sync() is needed before the next board: before its first sync(), the next call writes only
  /// memory whose last reader in this call comes before this call's last sync().
  template <block B>
  L3_FN static void decode(const B& b, shared& s, const batch_view& in, std::uint32_t i,
                           board_entry board, std::uint32_t threshold, const decoded_batch& out) {
    const fragment_entry fragment = in.fragment_of(i);
    const std::uint32_t rows = rows_of(board, fragment);
    if (board.opaque != 0 || rows == 0) return;
    s.packet.stage(b, in, fragment, board, rows);
    b.sync();
    const std::uint32_t used = rows / rows_per_part;
    take_octets(b, s, board.kind, used);
    check_header_and_footer(b, s, rows);
    b.sync();
    write_samples(b, s, i, board.kind, used, out);
    reduce_lanes(b, s, used);
    b.sync();
    write_features(b, s, i, board.kind, in.homes[i].event, in.event_of(i), threshold, out);
  }

  /// Takes eight samples of a lane at a time: writes them consecutively without tags, and their
  /// minimum and maximum with tags. As signed numbers, words with a sample's tag are the smallest.
  template <block B>
  L3_FN static void take_octets(const B& b, shared& s, board_kind kind, std::uint32_t used) {
    const std::uint16_t* const words = s.packet.by_lane(kind);
    for_each(b, used, packet_lanes, [&](std::uint32_t part, std::uint32_t lane) {
      const std::uint16_t* const column = words + part * rows_per_part * packet_lanes + lane;
      const auto word = [&](std::uint32_t r) { return column[r * packet_lanes]; };
      const auto value = [&](std::uint32_t r) -> sample {
        return static_cast<std::int16_t>(word(r));
      };
      const auto quad = [&](std::uint32_t r) {
        return (word(r) | std::uint64_t{word(r + 1)} << 16 | std::uint64_t{word(r + 2)} << 32 |
                std::uint64_t{word(r + 3)} << 48) &
               payload_of_four;
      };
      sample low = value(0);
      sample high = low;
      for (std::uint32_t r = 1; r < rows_per_part; ++r) {
        low = value(r) < low ? value(r) : low;
        high = value(r) > high ? value(r) : high;
      }
      s.low[part][lane] = low;
      s.high[part][lane] = high;
      s.first_quad[part][lane] = quad(0);
      s.second_quad[part][lane] = quad(4);
    });
  }

  template <block B>
  L3_FN static void check_header_and_footer(const B& b, shared& s, std::uint32_t rows) {
    const std::uint16_t* const header = s.packet.header();
    const std::uint16_t* const footer = s.packet.footer(rows);
    for_each(b, packet_lanes, [&](std::uint32_t w) {
      bool right = true; // header and footer have only twelve words
      if (w < l2::header_words) {
        right = (header[w] & l2::wide_tag_mask) == l2::header_tag;
      } else if (w < tagged_words) {
        right = (footer[w - l2::header_words] & l2::footer_tag_mask) == l2::footer_tag;
      }
      s.wrong[packet_lanes + w] = right ? 0 : 1;
    });
  }

  template <block B>
  L3_FN static void write_samples(const B& b, const shared& s, std::uint32_t i, board_kind kind,
                                  std::uint32_t used, const decoded_batch& out) {
    struct alignas(16) eight_samples {
      std::uint64_t first;
      std::uint64_t second;
    };
    std::byte* const to =
        reinterpret_cast<std::byte*>(out.samples.data()) + std::size_t{i} * board_sample_bytes;
    for_each(b, packet_lanes, used, [&](std::uint32_t lane, std::uint32_t part) {
      const std::uint32_t at = (record_of(lane, kind) * parts + part) * sizeof(eight_samples);
      store(aligned<sizeof(eight_samples)>(to + at),
            eight_samples{s.first_quad[part][lane], s.second_quad[part][lane]});
    });
  }

  template <block B>
  L3_FN static void reduce_lanes(const B& b, shared& s, std::uint32_t used) {
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      sample low = s.low[0][lane];
      sample high = s.high[0][lane];
      for (std::uint32_t part = 1; part < used; ++part) {
        low = s.low[part][lane] < low ? s.low[part][lane] : low;
        high = s.high[part][lane] > high ? s.high[part][lane] : high;
      }
      s.minimum[lane] = static_cast<std::uint32_t>(low) & l2::payload_mask;
      s.range[lane] = static_cast<std::uint32_t>(high - low) & l2::payload_mask;
      s.wrong[lane] = high > largest_sample ? 1 : 0;
    });
  }

  template <block B>
  L3_FN static void write_features(const B& b, const shared& s, std::uint32_t i, board_kind kind,
                                   std::uint32_t e, const event_entry& event,
                                   std::uint32_t threshold, const decoded_batch& out) {
    std::uint64_t wrong = 0;
    for (std::uint32_t at = 0; at < sizeof s.wrong; at += sizeof wrong) {
      wrong |= load<std::uint64_t>(
          aligned<sizeof wrong>(reinterpret_cast<const std::byte*>(s.wrong) + at));
    }
    for_each(b, 1, [&](std::uint32_t) {
      out.boards[i] = wrong != 0 ? board_state::damaged : board_state::sound;
    });
    if (wrong != 0) return;
    std::uint32_t* const hits = out.hits.data() + event.first_board * packet_lanes;
    for_each(b, packet_lanes, [&](std::uint32_t lane) {
      const std::uint32_t record = packet_lanes * i + record_of(lane, kind);
      out.minimum[record] = static_cast<std::uint16_t>(s.minimum[lane]);
      out.bits[record] = static_cast<std::uint8_t>(koto::bits_needed(s.range[lane]));
      if (s.range[lane] > threshold) hits[take_place(b, out, e)] = record;
    });
  }

  template <block B>
  L3_FN static std::uint32_t take_place(const B& b, const decoded_batch& out, std::uint32_t event) {
    std::uint32_t* const count = out.hit_counts.data() + event;
    if constexpr (how.warp_aggregation) {
      return fetch_one_of_warp(b, count);
    } else {
      return fetch_add_alone(b, count, 1);
    }
  }

  static constexpr std::size_t board_sample_bytes = sizeof(std::uint16_t) * l2::sample_words;
  static constexpr std::uint64_t payload_of_four = l2::payload_mask * 0x0001000100010001U;
  static constexpr std::int16_t largest_sample = -0x4001; // 0xbfff
};

/// The work list for a batch whose tables the host can read. With zero suppression the list has no
/// missing, opaque or truncated boards; without, it has 16 entries per fragment.
[[nodiscard]] inline std::vector<std::uint32_t> decode_work(const batch_view& in,
                                                            const decode_techniques& how) {
  struct entry {
    std::uint32_t work;
    std::uint32_t cost; // rows, and staging twice
  };
  std::vector<entry> entries;
  for (std::uint32_t f = 0; f < in.fragments.size(); ++f) {
    const fragment_entry& fragment = in.fragments[f];
    std::uint32_t boards[l2::max_boards];
    std::fill(std::begin(boards), std::end(boards), no_board);
    for (std::uint32_t k = 0; k < fragment.boards; ++k) {
      const std::uint32_t i = fragment.first_board + k;
      const std::uint32_t place = in.boards[i].slot - std::uint32_t{l2::first_slot};
      if (place < l2::max_boards) boards[place] = i;
    }
    for (std::uint32_t place = 0; place < l2::max_boards; ++place) {
      const std::uint32_t i = boards[place];
      const std::uint32_t rows =
          i == no_board || in.boards[i].opaque != 0 ? 0 : rows_of(in.boards[i], fragment);
      if (rows == 0 && how.zero_suppression) continue;
      const bool twice = rows != 0 && in.boards[i].kind == board_kind::sampling_500_mhz;
      entries.push_back(
          {how.table_by_source ? i : l2::max_boards * f + place, rows + (twice ? 1 : 0)});
    }
  }
  if (how.big_first) {
    std::ranges::stable_sort(entries, std::ranges::greater(), &entry::cost);
  }
  std::vector<std::uint32_t> work(entries.size());
  std::transform(entries.begin(), entries.end(), work.begin(),
                 [](const entry& e) { return e.work; });
  return work;
}

/// Enqueues the decoding of a batch. `work` is the list from decode_work in memory that kernels can
/// read; `at_once` is the number of blocks that can run at the same time.
template <decode_techniques how, class Queue>
void run_decoder(Queue& queue, const batch_view& in, column<const std::uint32_t> work,
                 std::uint32_t threshold, const decoded_batch& out, std::uint32_t at_once) {
  constexpr decode_techniques in_kernel{
      how.table_by_source, true, how.warp_aggregation, true, how.short_registers, how.opportunistic,
  }; // the other two techniques affect only the list and its order
  // One core works best on adjacent boards, so a block fetches a share of them at a time. There are
  // several shares per block, so that all blocks end at about the same time.
  constexpr std::uint32_t fetches = 8;
  constexpr std::uint32_t most = 256;
  const std::uint32_t share = std::clamp(work.size() / (at_once * fetches), 1U, most);
  const std::uint32_t blocks = how.opportunistic ? std::min(at_once, work.size()) : work.size();
  queue.run(begin_decoding{}, begin_decoding::blocks(out), out);
  queue.run(decode_boards<in_kernel>{}, blocks, in, work, share, threshold, out);
}

} // namespace l3

#if defined(__CUDACC__)
#include "bench/decode/swap_in.cuh" // included here so that no device source can leave it out
#endif
