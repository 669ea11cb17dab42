// SPDX-License-Identifier: Apache-2.0
// Loads, stores and atomics, and all that is checked about them.
#include <algorithm>
#include <array>
#include <cstring>

#include "tests/device/machine.hpp"

namespace l3::ptx {

namespace {

constexpr std::uint64_t sector_bytes = 32;
constexpr std::uint32_t banks = 32;
constexpr std::uint32_t bank_bytes = 4;

std::string hexadecimal(std::uint64_t n) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(n));
  return text;
}

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::uint64_t load_bits(const std::byte* from, std::uint32_t bytes, bool sign_extended) {
  std::uint64_t bits = 0;
  switch (bytes) { // a copy of a known length is one instruction
  case 1: bits = read<std::uint8_t>(from); break;
  case 2: bits = read<std::uint16_t>(from); break;
  case 4: bits = read<std::uint32_t>(from); break;
  default: bits = read<std::uint64_t>(from);
  }
  // To 64 bits: an instruction takes as many of a register as its type has.
  if (sign_extended && bytes < 8 && (bits >> (8 * bytes - 1) & 1) != 0)
    bits |= ~std::uint64_t{0} << (8 * bytes);
  return bits;
}

std::uint64_t combine(const instruction& i, std::uint64_t old, std::uint64_t a, std::uint64_t b) {
  const bool first_is_less =
      i.is_signed    ? (i.bytes == 4 ? static_cast<std::int32_t>(old) < static_cast<std::int32_t>(a)
                                     : static_cast<std::int64_t>(old) < static_cast<std::int64_t>(a))
      : i.bytes == 4 ? static_cast<std::uint32_t>(old) < static_cast<std::uint32_t>(a)
                     : old < a;
  switch (i.atomic) {
  case atomic_operation::add: return old + a;
  case atomic_operation::min: return first_is_less ? old : a;
  case atomic_operation::max: return first_is_less ? a : old;
  case atomic_operation::and_: return old & a;
  case atomic_operation::or_: return old | a;
  case atomic_operation::xor_: return old ^ a;
  case atomic_operation::exchange: return a;
  case atomic_operation::compare: return old == a ? b : old;
  }
  return old;
}

} // namespace

void grid_run::machine::touch_memory(block_state& b, warp& w, const instruction& i,
                                     std::uint32_t lanes) {
  if (!how_.is_random) count_requests(w, i, lanes);
  for_each_lane(lanes, [&](std::uint32_t lane) {
    std::uint64_t address = row(w, i.from[0])[lane] + static_cast<std::uint64_t>(i.offset);
    memory_space space = i.space;
    if (space == memory_space::shared || space == memory_space::parameters) {
      address = static_cast<std::uint32_t>(address);
    } else if (space == memory_space::generic) {
      const bool is_shared = address - shared_window < (std::uint64_t{1} << 32);
      space = is_shared ? memory_space::shared : memory_space::global;
      if (is_shared) address -= shared_window;
    }
    touch(b, w, i, lane, address, space);
  });
}

void grid_run::machine::touch(block_state& b, warp& w, const instruction& i, std::uint32_t lane,
                              std::uint64_t address, memory_space space) {
  const std::uint32_t bytes = std::uint32_t{i.bytes} * i.elements;
  const std::uint32_t thread = w.first_thread + lane;
  if ((address & (bytes - 1)) != 0)
    fault(b, thread, i,
          "an access of " + std::to_string(bytes) + " bytes to " + hexadecimal(address) +
              ", which is not a multiple of that");
  if (space == memory_space::parameters) {
    if (address + bytes > parameters_.size())
      fault(b, thread, i,
            "an access beyond the arguments of the kernel, at byte " + std::to_string(address));
    return move_elements(w, i, lane, parameters_.data() + address);
  }
  if (space == memory_space::shared) {
    const std::uint64_t at = address - shared_begin;
    if (address < shared_begin || at + bytes > b.shared.size())
      fault(b, thread, i,
            "an access beyond shared memory, at byte " +
                std::to_string(static_cast<std::int64_t>(at)) + " of " +
                std::to_string(b.shared.size()));
    watch(b, w, i, lane, b.shared_log, at, b.shared.data() + at, true);
    return move_elements(w, i, lane, b.shared.data() + at);
  }
  allocation* const memory = memory_.find(address, bytes);
  if (memory == nullptr)
    fault(b, thread, i, "an access to " + hexadecimal(address) + ", where no device memory is");
  const std::uint64_t at = address - memory->address;
  watch(b, w, i, lane, memory->log, at, memory->bytes.data() + at, false);
  move_elements(w, i, lane, memory->bytes.data() + at);
}

void grid_run::machine::move_elements(warp& w, const instruction& i, std::uint32_t lane,
                                      std::byte* memory) {
  if (i.what == action::atomic) {
    const std::uint64_t old = load_bits(memory, i.bytes, false);
    const std::uint64_t a = row(w, i.from[1])[lane];
    const std::uint64_t b = i.from[2] == no_row ? 0 : row(w, i.from[2])[lane];
    const std::uint64_t made = combine(i, old, a, b);
    std::memcpy(memory, &made, i.bytes);
    if (i.to != no_row) row(w, i.to)[lane] = old;
    return;
  }
  for (std::uint32_t n = 0; n < i.elements; ++n) {
    std::byte* const at = memory + std::size_t{n} * i.bytes;
    if (i.what == action::load)
      row(w, i.data[n])[lane] = load_bits(at, i.bytes, i.sign_extended);
    else
      std::memcpy(at, &row(w, i.data[n])[lane], i.bytes);
  }
}

/// What `before`, of this launch, says was done before this lane's next access, in every schedule.
bool grid_run::machine::is_ordered(moment before, const block_state& b, const warp& w,
                                   std::uint32_t lane) const {
  if (before.block() != b.id) return false;
  const std::uint32_t thread = before.thread();
  if (thread == w.first_thread + lane || before.clock() < b.barrier_clock[thread]) return true;
  const std::uint32_t other = thread - w.first_thread;
  return other < warp_lanes && before.clock() < w.known[lane][other];
}

/// The store writes other bytes than there are.
bool grid_run::machine::changes(const warp& w, const instruction& i, std::uint32_t lane,
                                const std::byte* memory) const {
  if (i.what == action::atomic) return true;
  for (std::uint32_t n = 0; n < i.elements; ++n) {
    if (std::memcmp(memory + std::size_t{n} * i.bytes, &row(w, i.data[n])[lane], i.bytes) != 0)
      return true;
  }
  return false;
}

void grid_run::machine::watch(block_state& b, const warp& w, const instruction& i,
                              std::uint32_t lane, access_log& log, std::uint64_t begin,
                              const std::byte* memory, bool is_shared) {
  const std::uint32_t thread = w.first_thread + lane;
  const auto race = [&](moment other, const char* what) {
    fault(b, thread, i,
          std::string("a race: ") + what + " thread " + std::to_string(other.thread()) +
              " of block " + std::to_string(other.block() - first_id_) +
              " without an order between them, " +
              (is_shared ? "shared memory, byte " : "global memory, byte ") +
              std::to_string(begin) + (is_shared ? "" : " of its allocation"));
  };
  // Shared memory is used by one block after the other.
  const std::uint32_t first = is_shared ? b.id : first_id_;
  const std::uint32_t count = is_shared ? 1 : blocks_;
  const auto in_this_launch = [&](moment m) { return m.block() - first < count; };
  const auto races_with = [&](moment m, bool strong) {
    return in_this_launch(m) && !is_ordered(m, b, w, lane) && !(i.is_strong && strong);
  };
  const moment now(b.id, thread, w.clock[lane]);
  const bool reads = i.what != action::store;
  const bool writes = i.what != action::load;
  const std::uint32_t all = std::uint32_t{i.bytes} * i.elements;
  std::uint64_t part = begin;
  bool written = false; // some of this word
  log.for_each(begin, all, [&](access_record& r, std::uint32_t bytes) {
    const bool writer_in_launch = in_this_launch(r.writer);
    if (is_shared && reads) {
      // Of a word some bytes may be undefined: kernels shift them out.
      part += bytes;
      written = written || writer_in_launch;
      const bool word_ends = part % bank_bytes == 0 || part == begin + all;
      if (word_ends && !written)
        fault(b, thread, i,
              "shared memory is read before it is written, up to byte " + std::to_string(part));
      if (word_ends) written = false;
    }
    if (writer_in_launch) {
      if (i.is_non_coherent)
        fault(b, thread, i, "a load that asks for no coherence reads what this kernel writes");
      if (races_with(r.writer, r.strong_writer)) {
        // Two threads of a block may write the same.
        const bool same = !reads && r.writer.block() == b.id && !changes(w, i, lane, memory);
        if (!same)
          race(r.writer, reads ? "reads what was written by" : "writes what was written by");
      }
    }
    if (i.is_strong && races_with(r.weak_writer, false))
      race(r.weak_writer, writes ? "writes what was written by" : "reads what was written by");
    if (writes) {
      if (r.non_coherent_reader && (in_this_launch(r.reader) || in_this_launch(r.other_reader)))
        fault(b, thread, i, "a store where this kernel reads without asking for coherence");
      if (races_with(r.reader, r.strong_reader)) race(r.reader, "writes what was read by");
      if (races_with(r.other_reader, r.strong_other_reader))
        race(r.other_reader, "writes what was read by");
      if (races_with(r.weak_reader, false)) race(r.weak_reader, "writes what was read by");
      r.writer = now;
      r.strong_writer = i.is_strong;
      if (!i.is_strong) r.weak_writer = now;
      return;
    }
    if (!r.reader.is_thread_of(now)) {
      // A reader of another block or warp stays remembered.
      const auto of_this_warp = [&](moment m) {
        return m.block() == b.id && m.thread() / warp_lanes == thread / warp_lanes;
      };
      const bool keep = in_this_launch(r.other_reader) &&
                        ((r.reader.block() == b.id && r.other_reader.block() != b.id) ||
                         (of_this_warp(r.reader) && !of_this_warp(r.other_reader)));
      if (!keep) {
        r.other_reader = r.reader;
        r.strong_other_reader = r.strong_reader;
      }
      if (!in_this_launch(r.other_reader)) r.non_coherent_reader = false;
    }
    r.reader = now;
    r.strong_reader = i.is_strong;
    if (!i.is_strong) r.weak_reader = now;
    r.non_coherent_reader = r.non_coherent_reader || i.is_non_coherent;
  });
}

void grid_run::machine::count_requests(const warp& w, const instruction& i, std::uint32_t lanes) {
  if (i.space == memory_space::parameters) return;
  kernel_counts& c = what_.counts;
  const std::uint32_t bytes = std::uint32_t{i.bytes} * i.elements;
  const auto address = [&](std::uint32_t lane) {
    return row(w, i.from[0])[lane] + static_cast<std::uint64_t>(i.offset);
  };
  const auto distinct = [](auto& list, std::size_t n) {
    std::sort(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(n));
    return static_cast<std::size_t>(
        std::unique(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(n)) - list.begin());
  };
  const bool is_shared =
      i.space == memory_space::shared ||
      (i.space == memory_space::generic &&
       address(static_cast<std::uint32_t>(std::countr_zero(lanes))) - shared_window <
           (std::uint64_t{1} << 32));
  if (!is_shared) {
    std::array<std::uint64_t, warp_lanes> sectors;
    std::size_t n = 0;
    for_each_lane(lanes, [&](std::uint32_t lane) { sectors[n++] = address(lane) / sector_bytes; });
    ++c.global_requests;
    c.global_sectors += distinct(sectors, n);
    return;
  }
  // Lanes with more than a word each are served in halves or quarters of the warp.
  const std::uint32_t words = std::max(bytes / bank_bytes, 1U);
  const std::uint32_t lanes_at_once = warp_lanes / words;
  ++c.shared_requests;
  instruction_counts& here = what_.executed[static_cast<std::size_t>(&i - code_.data())];
  std::array<std::uint64_t, warp_lanes> touched;
  std::size_t all_words = 0;
  for (std::uint32_t first = 0; first < warp_lanes; first += lanes_at_once) {
    std::size_t n = 0;
    for (std::uint32_t lane = first; lane < first + lanes_at_once; ++lane) {
      if ((lanes >> lane & 1) == 0) continue;
      for (std::uint32_t word = 0; word < words; ++word)
        touched[n++] = address(lane) / bank_bytes + word;
    }
    if (n == 0) continue;
    n = distinct(touched, n);
    all_words += n;
    std::array<std::uint8_t, banks> in_bank{};
    std::uint8_t most = 0;
    for (std::size_t k = 0; k < n; ++k) most = std::max(most, ++in_bank[touched[k] % banks]);
    c.shared_wavefronts += most;
    here.shared_wavefronts += most;
  }
  c.shared_wavefronts_least += (all_words + banks - 1) / banks;
  here.shared_wavefronts_least += (all_words + banks - 1) / banks;
}

} // namespace l3::ptx
