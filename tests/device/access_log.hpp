// SPDX-License-Identifier: Apache-2.0
// Who touched which byte last: from this the interpreter sees two threads that touch the same byte
// without an order between them, and memory that is read before it is written. For each byte it
// remembers the last writer and two readers, of different threads if there were such; that is
// enough to see one race where there are several. A page of 1 KiB is watched by words of four bytes
// until somebody touches a part of one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace l3::ptx {

/// One access in the life of a thread, in one number: the block, counted over all blocks of all
/// launches (0: never), the thread in the block, and the thread's clock, which moves on whenever it
/// takes part in a barrier.
class moment {
public:
  moment() = default;
  moment(std::uint32_t block, std::uint32_t thread, std::uint32_t clock)
      : bits_(std::uint64_t{block} << 32 | std::uint64_t{thread} << clock_bits | clock) {}

  [[nodiscard]] std::uint32_t block() const { return static_cast<std::uint32_t>(bits_ >> 32); }
  [[nodiscard]] std::uint32_t thread() const {
    return static_cast<std::uint32_t>(bits_) >> clock_bits;
  }
  [[nodiscard]] std::uint32_t clock() const {
    return static_cast<std::uint32_t>(bits_) & ((std::uint32_t{1} << clock_bits) - 1);
  }
  [[nodiscard]] bool is_thread_of(moment other) const {
    return (bits_ ^ other.bits_) >> clock_bits == 0;
  }

private:
  static constexpr int clock_bits = 22;
  std::uint64_t bits_ = 0;
};

struct access_record {
  moment writer;
  moment reader;
  moment other_reader;
  moment weak_writer;
  moment weak_reader;
  bool strong_writer = false;
  bool strong_reader = false;
  bool strong_other_reader = false;
  bool non_coherent_reader = false; ///< `reader` or the other one
};

class access_log {
public:
  explicit access_log(std::size_t bytes) : pages_((bytes + page_bytes - 1) / page_bytes) {}

  /// Calls f with the record of each part of [begin, begin + bytes), and the bytes of that part.
  template <class F>
  void for_each(std::uint64_t begin, std::uint32_t bytes, F&& f) {
    const std::uint64_t end = begin + bytes;
    for (std::uint64_t at = begin; at < end;) {
      page& p = pages_[at / page_bytes];
      const auto within = static_cast<std::uint32_t>(at % page_bytes);
      const bool whole_word = within % word == 0 && at + word <= end;
      if (p.records.empty()) p.records.resize(page_bytes / word);
      if (!p.by_byte && !whole_word) refine(p);
      if (p.by_byte) {
        f(p.records[within], 1U);
        ++at;
      } else {
        f(p.records[within / word], word);
        at += word;
      }
    }
  }

private:
  static constexpr std::uint32_t page_bytes = 1024;
  static constexpr std::uint32_t word = 4;
  struct page {
    std::vector<access_record> records;
    bool by_byte = false;
  };

  static void refine(page& p) {
    std::vector<access_record> bytes(page_bytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = p.records[i / word];
    p.records = std::move(bytes);
    p.by_byte = true;
  }

  std::vector<page> pages_;
};

} // namespace l3::ptx
