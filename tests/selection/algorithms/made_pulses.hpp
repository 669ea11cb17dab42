// SPDX-License-Identifier: Apache-2.0
// Pulses without waveforms: boards are lists of rows, events are lists of boards. From these come
// the slots of measure_pulses, in memory that the kernels of a queue can reach, for the algorithms
// behind it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "selection/sequence/algorithm.hpp"
#include "selection/sequence/slots.hpp"
#include "tests/gpu/decode/decode_memory.hpp"

namespace l3::test {

/// A board of an event, with the output of measure_pulses for it.
struct pulse_board {
  std::uint16_t number = board_signals::unread; ///< in the readout
  board_kind kind = board_kind::sampling_125_mhz;
  std::uint16_t lit = 0;
  std::uint16_t trigger = 0;
  std::int32_t sum[l2::waveforms_per_board] = {};
  std::uint16_t time[l2::waveforms_per_board] = {};
  std::uint8_t flags[l2::waveforms_per_board] = {};
};
using pulse_event = std::vector<pulse_board>;

/// Lights a row of the board of that number in the event, to which it adds the board if needed.
inline pulse_board& add_pulse(pulse_event& event, std::uint16_t number, std::uint32_t row,
                              std::int32_t sum, std::uint16_t time,
                              board_kind kind = board_kind::sampling_125_mhz) {
  auto board = std::find_if(event.begin(), event.end(),
                            [&](const pulse_board& b) { return b.number == number; });
  if (board == event.end()) {
    board = event.insert(event.end(), pulse_board{});
    board->number = number;
    board->kind = kind;
  }
  board->lit = static_cast<std::uint16_t>(board->lit | 1U << row);
  board->sum[row] = sum;
  board->time[row] = time;
  board->flags[row] = pulse_found;
  return *board;
}

/// Rows of a slot, on the host and in memory that the kernels of a queue can reach.
template <class Slot, class Queue>
class slot_rows {
public:
  static constexpr int poison = 0xa5;

  slot_rows(Queue& queue, std::uint32_t rows)
      : rows_(rows), host_(host_memory::allocate(std::max<std::size_t>(bytes(), 1))),
        there_(queue, bytes()) {
    std::memset(host_.data(), poison, bytes());
    send();
  }

  [[nodiscard]] typename Slot::columns::view host() const { return over(host_); }
  [[nodiscard]] typename Slot::columns::view there() const { return over(there_.bytes()); }
  void send() { there_.write(host_.data(), bytes()); }
  void fetch() const { there_.read(host_.data()); }

private:
  [[nodiscard]] std::size_t bytes() const { return Slot::columns::bytes(rows_); }
  [[nodiscard]] typename Slot::columns::view over(const buffer& memory) const {
    region all(memory);
    return Slot::columns::take(all, rows_);
  }

  std::uint32_t rows_;
  buffer host_;
  lent_memory<Queue> there_;
};

/// Lends columns of the host to the kernels of a queue.
template <class Queue>
class lender {
public:
  explicit lender(Queue& queue) : queue_(&queue) {}

  template <class T>
  [[nodiscard]] column<const T> lend(column<const T> from) {
    lent_.emplace_back(*queue_, from.size() * sizeof(T));
    lent_.back().write(from.data(), from.size() * sizeof(T));
    return {reinterpret_cast<const T*>(lent_.back().bytes().data()), from.size()};
  }
  template <class T>
  [[nodiscard]] column<const T> lend(const std::vector<T>& from) {
    return lend(column<const T>(from.data(), static_cast<std::uint32_t>(from.size())));
  }
  [[nodiscard]] selection_tables lend(const selection_tables& t) {
    return {t.constants,         lend(t.first_board), lend(t.board_vetoes), lend(t.inputs),
            lend(t.crystals),    lend(t.neighbours),  lend(t.modules),      lend(t.vetoes),
            lend(t.attenuation), lend(t.lines),       lend(t.packed_lines), lend(t.packed_payloads),
            lend(t.levels),      lend(t.kept_with)};
  }

private:
  Queue* queue_;
  std::deque<lent_memory<Queue>> lent_;
};

/// The batch of these events. Rows that are not lit hold noise, which no algorithm may read.
template <class Queue>
class made_pulses {
public:
  made_pulses(Queue& queue, const std::vector<pulse_event>& events)
      : lender_(queue), pulses_(queue, boards_of(events) * l2::waveforms_per_board),
        signals_(queue, boards_of(events)) {
    for (const pulse_event& event : events) add(event);
    pulses_.send();
    signals_.send();
    host_.events = {events_.data(), static_cast<std::uint32_t>(events_.size())};
    host_.boards = {boards_.data(), static_cast<std::uint32_t>(boards_.size())};
    there_.events = lender_.lend(events_);
    there_.boards = lender_.lend(boards_);
  }

  /// The batch has events and boards, but no bytes.
  [[nodiscard]] const batch_view& host() const { return host_; }
  [[nodiscard]] const batch_view& there() const { return there_; }
  [[nodiscard]] const slot_rows<pulses, Queue>& rows() const { return pulses_; }
  [[nodiscard]] const slot_rows<board_signals, Queue>& signals() const { return signals_; }

private:
  [[nodiscard]] static std::uint32_t boards_of(const std::vector<pulse_event>& events) {
    std::size_t n = 0;
    for (const pulse_event& e : events) n += e.size();
    return static_cast<std::uint32_t>(n);
  }

  void add(const pulse_event& event) {
    event_entry entry;
    entry.first_board = static_cast<std::uint32_t>(boards_.size());
    entry.boards = static_cast<std::uint32_t>(event.size());
    for (const pulse_board& board : event) {
      const auto b = static_cast<std::uint32_t>(boards_.size());
      board_entry& made = boards_.emplace_back();
      made.kind = board.kind;
      signals_.host()[b] = {.number = board.number,
                            .lit = board.lit,
                            .trigger = board.trigger,
                            .loud = 0,
                            .seeds = 0};
      for (std::uint32_t row = 0; row < l2::waveforms_per_board; ++row) {
        if ((board.lit >> row & 1U) == 0) continue;
        const std::uint32_t at = l2::waveforms_per_board * b + row;
        pulses_.host().sum[at] = board.sum[row];
        pulses_.host().time[at] = board.time[row];
        pulses_.host().flags[at] = board.flags[row];
      }
    }
    events_.push_back(entry);
  }

  std::vector<event_entry> events_;
  std::vector<board_entry> boards_;
  lender<Queue> lender_;
  slot_rows<pulses, Queue> pulses_;
  slot_rows<board_signals, Queue> signals_;
  batch_view host_;
  batch_view there_;
};

} // namespace l3::test
