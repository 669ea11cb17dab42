// SPDX-License-Identifier: Apache-2.0
// The functions of koto_l3/read.h: no exception leaves them, and ranges are divided among threads.
#pragma GCC visibility push(default)
#include "reading/include/koto_l3/read.h"
#pragma GCC visibility pop

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <new>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>

#include "reading/pulses.hpp"
#include "reading/schema.hpp"
#include "reading/tables.hpp"
#include "reading/waveforms.hpp"
#include "selection/display/event_picture.hpp"

struct l3_reader {
  l3::reading::stored_data data;
};

namespace l3::reading {
namespace {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables)
thread_local std::string error_text;
thread_local std::string json_text;
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables)

/// Calls f, or notes why it failed.
template <class F, class Result>
Result guarded(Result failure, const F& f) noexcept {
  try {
    try {
      return f();
    } catch (const std::bad_alloc&) {
      error_text = "there is not enough memory";
    } catch (const std::exception& e) {
      error_text = e.what();
    }
  } catch (...) { // no memory for the text
    error_text.clear();
  }
  return failure;
}

std::uint64_t row_at(const l3_read_range& range, std::uint64_t i) {
  return range.rows != nullptr ? range.rows[i] : range.first + i;
}

std::uint32_t index_in(const unit& u, const l3_read_range& range, std::uint64_t i) {
  return static_cast<std::uint32_t>(row_at(range, i) - u.first_event);
}

/// Reads payloads in one thread, and looks at events before they are read, so the processor does
/// not wait for the memory of each in turn.
struct thread_reader : payload_reader {
  thread_reader(const stored_data& from, const l3_read_range& of, std::uint64_t before)
      : payload_reader(from), range(of), end(before) {}

  /// Calls f(unit, event) for an event that is read soon, after some of the unit `now`.
  template <class F>
  void look(const unit& now, std::uint64_t place, const F& f) {
    if (place >= end) return;
    const unit& u = from().unit_of(row_at(range, place), now);
    if (u.spill || (!u.walked && !may_read(u))) return;
    if (const auto* const found = event(u, index_in(u, range, place))) f(u, *found);
  }

  /// The chosen boards of the event at place n, which are found once.
  const std::vector<found_board>& boards(std::uint64_t n, const packed_event_view& event,
                                         const channel_plan& plan) {
    event_boards& at = soon[n % soon.size()];
    if (std::exchange(at.place, n) != n) find_boards(event, plan, at.boards);
    return at.boards;
  }

  const l3_read_range& range;
  std::uint64_t end; ///< of the places that it reads
  struct event_boards {
    std::uint64_t place = ~std::uint64_t{0};
    std::vector<found_board> boards{};
  };
  std::array<event_boards, 4> soon{};
};

/// Calls f(reader, unit, i, j) for places i … j − 1 of the range, whose events are in one unit, in
/// several threads, and returns the sum of its results.
template <class F>
std::int64_t for_units(const stored_data& from, const l3_read_range& range, int threads,
                       const F& f) {
  static_cast<void>(from.settings()); // once, before threads use them
  std::uint64_t wanted = threads > 0 ? static_cast<std::uint64_t>(threads)
                                     : std::max(1U, std::thread::hardware_concurrency());
  wanted = std::clamp<std::uint64_t>(wanted, 1, std::max<std::uint64_t>(range.count, 1));
  std::vector<std::int64_t> sums(wanted);
  std::vector<std::exception_ptr> failed(wanted);
  const auto work = [&](std::uint64_t n) {
    try {
      thread_reader in(from, range, range.count * (n + 1) / wanted);
      const unit* last = nullptr;
      for (std::uint64_t i = range.count * n / wanted, j = i; i < in.end; i = j) {
        const std::uint64_t row = row_at(range, i);
        const unit& u = last != nullptr ? from.unit_of(row, *last) : from.unit_of(row);
        for (j = i + 1; j < in.end && u.has(row_at(range, j));) ++j;
        last = &u;
        sums[n] += f(in, u, i, j);
      }
    } catch (...) {
      failed[n] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::uint64_t n = 1; n < wanted; ++n) others.emplace_back(work, n);
    work(0);
  }
  for (const std::exception_ptr& e : failed)
    if (e) std::rethrow_exception(e);
  return std::accumulate(sums.begin(), sums.end(), std::int64_t{0});
}

/// The channels of a call, planned for the settings of each session.
class call_plans {
public:
  call_plans(const stored_data& from, std::span<const channel_address> channels,
             std::uint32_t length) {
    if (length != l2::waveform_samples && length != 4 * l2::waveform_samples)
      throw std::invalid_argument("a waveform has 64 or 256 samples");
    for (const loaded_settings& s : from.settings())
      plans_.emplace_back(s.crates(), channels, length);
  }
  [[nodiscard]] const channel_plan& of(const stored_data& from, const unit& u) const {
    return plans_[from.settings_of(u)];
  }

private:
  std::deque<channel_plan> plans_;
};

std::span<const channel_address> channels_at(const std::uint8_t* channels, std::size_t n) {
  static_assert(sizeof(channel_address) == 3);
  return {reinterpret_cast<const channel_address*>(channels), n};
}

/// Whether a call reads and verifies the whole unit: unless it wants few of the boards; a verified
/// unit, only if it wants most of it. `boards`: which part of an event's boards it wants.
bool reads_all(const unit& u, std::uint64_t events, double boards) {
  constexpr double few = 1.0 / 8;
  constexpr double most = 1.0 / 2;
  const double part = boards * static_cast<double>(events) / u.events;
  return u.checked == unit::sum::right ? part >= most : boards >= few;
}

/// Reads waveforms of events i … j − 1 of the range, which are in one unit, and returns how many
/// are damaged. read(place in the range, index in the unit) returns false for damage, clear(place)
/// marks an event as damaged.
template <class Read, class Clear>
std::int64_t read_waveforms(thread_reader& in, const unit& u, const l3_read_range& range,
                            std::uint64_t i, std::uint64_t j, const call_plans& plans,
                            double boards, const Read& read, const Clear& clear) {
  const bool may_read = in.may_read(u);
  const bool all = may_read && reads_all(u, j - i, boards);
  if (all) in.begin(u);
  std::vector<std::uint32_t> damaged;
  for (std::uint64_t n = i; may_read && n < j; ++n) {
    if (!all && !u.spill) {
      in.look(u, n + 3, [](const unit&, const packed_event_view& event) {
        fetch(event.bytes().first(event.data_offset()));
      });
      in.look(u, n + 2, [&](const unit& of, const packed_event_view& event) {
        for (const found_board& b : in.boards(n + 2, event, plans.of(in.from(), of))) fetch(b.data);
      });
    }
    if (const std::uint32_t index = index_in(u, range, n); !read(n, index))
      damaged.push_back(index);
  }
  if (!may_read || (all && !in.load(u))) {
    for (std::uint64_t n = i; n < j; ++n) clear(n);
    return static_cast<std::int64_t>(j - i);
  }
  for (const std::uint32_t index : damaged)
    if (u.spill || in.has(u, index)) // else it is reported with its block
      in.from().report(u, "an event of this block is damaged", 1);
  return static_cast<std::int64_t>(damaged.size());
}

} // namespace
} // namespace l3::reading

using namespace l3::reading; // NOLINT(google-build-using-namespace): the functions are C's

const char* l3_read_version() { return L3_VERSION; }

const char* l3_read_error() { return error_text.c_str(); }

l3_reader* l3_read_open(const char* path, unsigned flags) {
  return guarded(static_cast<l3_reader*>(nullptr), [&] {
    return new l3_reader{
        stored_data(path, (flags & L3_READ_SKIP_DAMAGED) != 0, (flags & L3_READ_CHECK_ALL) != 0)};
  });
}

void l3_read_close(l3_reader* reader) { delete reader; }

std::int64_t l3_read_refresh(l3_reader* reader) {
  return guarded(std::int64_t{-1}, [&] {
    reader->data.refresh();
    return static_cast<std::int64_t>(reader->data.events());
  });
}

std::size_t l3_read_fields(l3_read_table table, const l3_read_field** fields) {
  const auto all = fields_of(table);
  if (fields != nullptr) *fields = all.data();
  return all.size();
}

std::int64_t l3_read_size(const l3_reader* reader, l3_read_table table) {
  return guarded(std::int64_t{-1}, [&] {
    const std::int64_t n = table_size(reader->data, table);
    if (n < 0) throw std::invalid_argument("this table has no rows of its own");
    return n;
  });
}

std::int64_t l3_read_rows(const l3_reader* reader, l3_read_table table, const l3_read_range* range,
                          void* const* columns, int threads) {
  return guarded(std::int64_t{-1}, [&]() -> std::int64_t {
    const stored_data& from = reader->data;
    if (table != L3_READ_EVENTS) {
      for (std::uint64_t i = 0; i < range->count; ++i)
        write_table_row(from, table, row_at(*range, i), i, columns);
      return 0;
    }
    constexpr std::size_t of_index = 4; // session, run, node, settings
    const std::span wanted(columns, fields_of(table).size());
    const bool reads = wants_any(wanted.subspan(of_index));
    return for_units(from, *range, threads,
                     [&](payload_reader& in, const unit& u, std::uint64_t i, std::uint64_t end) {
                       event_row row;
                       row.in = &u;
                       std::int64_t damaged = 0;
                       for (; i < end; ++i) {
                         if (reads) row = read_event(in, u, index_in(u, *range, i));
                         write_event(from, row, i, columns);
                         damaged += row.damaged ? 1 : 0;
                       }
                       return damaged;
                     });
  });
}

std::int64_t l3_read_lists(const l3_reader* reader, l3_read_table table, const l3_read_range* range,
                           std::uint64_t* offsets, void* const* columns, std::uint64_t room,
                           int threads) {
  return guarded(std::int64_t{-1}, [&] {
    const stored_data& from = reader->data;
    if (table != L3_READ_PHOTONS && table != L3_READ_HITS && table != L3_READ_DECISIONS)
      throw std::invalid_argument("this table has no lists");
    // Each event is read once, in chunks whose rows fit into the caches of one thread.
    const std::uint64_t chunk = threads == 1 ? 256 : 8192;
    std::vector<event_row> rows;
    offsets[0] = 0;
    for (std::uint64_t begin = 0; begin < range->count; begin += chunk) {
      const l3_read_range part{range->first + begin, std::min(chunk, range->count - begin),
                               range->rows == nullptr ? nullptr : range->rows + begin};
      if (rows.size() < part.count) rows.resize(part.count);
      for_units(from, part, threads,
                [&](thread_reader& in, const unit& u, std::uint64_t i, std::uint64_t end) {
                  for (; i < end; ++i) {
                    in.look(u, i + 4,
                            [](const unit&, const auto& event) { fetch(event.summary()); });
                    rows[i] = read_event(in, u, index_in(u, part, i));
                  }
                  return 0;
                });
      for (std::uint64_t i = 0; i < part.count; ++i) {
        std::uint64_t* const at = offsets + begin + i;
        at[1] = at[0] + list_size(rows[i], table);
        if (columns != nullptr && at[1] <= room) write_list(rows[i], table, at[0], columns);
      }
    }
    return static_cast<std::int64_t>(offsets[range->count]);
  });
}

const char* l3_read_text(const l3_reader* reader, l3_read_table table, std::uint64_t row,
                         const char* field, std::size_t* bytes) {
  return guarded(static_cast<const char*>(nullptr), [&] {
    const std::string* const text = table_text(reader->data, table, row, field);
    if (text == nullptr) throw std::invalid_argument("this table has no such text");
    if (bytes != nullptr) *bytes = text->size();
    return text->c_str();
  });
}

const char* l3_read_event_json(const l3_reader* reader, std::uint64_t event, std::size_t* bytes) {
  return guarded(static_cast<const char*>(nullptr), [&] {
    const stored_data& from = reader->data;
    const unit& u = from.unit_of(event);
    const auto* const selection = from.settings()[from.settings_of(u)].selection();
    if (selection == nullptr)
      throw std::runtime_error("the settings of this event are not in the store");
    payload_reader in(from);
    const auto* const found = u.spill || !in.may_read(u)
                                  ? nullptr
                                  : in.event(u, static_cast<std::uint32_t>(event - u.first_event));
    const auto whole =
        found != nullptr ? l3::packed_event_view::parse(found->bytes(), u.codec) : std::nullopt;
    if (!whole) throw std::runtime_error("this event is damaged");
    json_text = event_with_detector_json(
        picture_of(*whole, from.session_of(u).run, selection->what), *selection);
    if (bytes != nullptr) *bytes = json_text.size();
    return json_text.c_str();
  });
}

std::int64_t l3_read_samples(const l3_reader* reader, const l3_read_range* range,
                             const std::uint8_t* channels, std::size_t n_channels,
                             std::uint32_t length, std::uint16_t* samples, std::uint8_t* state,
                             int threads) {
  return guarded(std::int64_t{-1}, [&] {
    const stored_data& from = reader->data;
    const call_plans plans(from, channels_at(channels, n_channels), length);
    constexpr std::size_t caches = std::size_t{32} << 20; // a third-level cache
    const std::size_t all_bytes = range->count * n_channels * length * sizeof *samples;
    const auto where = all_bytes > caches ? l3::koto::store_to::memory : l3::koto::store_to::caches;
    const auto decode = [&](thread_reader& in, const unit& u, std::uint64_t i, std::uint64_t end) {
      const channel_plan& plan = plans.of(from, u);
      const l3::readout& crates = from.settings()[from.settings_of(u)].crates();
      const auto to = [&](std::uint64_t n) -> event_target {
        return {{samples + n * n_channels * length, n_channels * length},
                {state + n * n_channels, n_channels},
                where};
      };
      const auto clear = [&](std::uint64_t n) {
        std::ranges::fill(to(n).state, std::uint8_t{L3_READ_DAMAGED});
        std::ranges::fill(to(n).samples, std::uint16_t{0});
      };
      const auto read = [&](std::uint64_t n, std::uint32_t index) {
        if (u.spill) return decode_record(u, in.payload(u), crates, plan, to(n));
        if (const auto* const event = in.event(u, index))
          return decode_event(*event, in.boards(n, *event, plan), plan, to(n));
        clear(n);
        return false;
      };
      const double boards = u.spill ? 1 : static_cast<double>(plan.boards()) / crates.boards();
      const std::int64_t damaged =
          read_waveforms(in, u, *range, i, end, plans, boards, read, clear);
      std::atomic_thread_fence(std::memory_order_seq_cst); // of store_to::memory
      return damaged;
    };
    return for_units(from, *range, threads, decode);
  });
}

std::int64_t l3_read_pulses(const l3_reader* reader, const l3_read_range* range,
                            const std::uint8_t* channels, std::size_t n_channels,
                            std::uint32_t length, void* const* columns, std::uint8_t* state,
                            int threads) {
  return guarded(std::int64_t{-1}, [&] {
    const stored_data& from = reader->data;
    const auto wanted = channels_at(channels, n_channels);
    const call_plans plans(from, wanted, length);
    const call_plans whole_boards(from, on_boards_of(wanted, length), length);
    const std::size_t rows = n_channels * (length / l3::l2::waveform_samples);
    const auto measure = [&](thread_reader& in, const unit& u, std::uint64_t i,
                             std::uint64_t end) -> std::int64_t {
      const loaded_settings& settings = from.settings()[from.settings_of(u)];
      const l3::loaded_selection* const selection = settings.selection();
      const auto to = [&](std::uint64_t n) -> pulse_target {
        return {columns, n * rows, {state + n * n_channels, n_channels}};
      };
      const auto clear = [&](std::uint64_t n) { clear_pulses(to(n), rows, L3_READ_DAMAGED); };
      if (selection == nullptr) {
        for (; i < end; ++i) clear_pulses(to(i), rows, L3_READ_NO_SETTINGS);
        return 0;
      }
      const channel_plan& plan = plans.of(from, u);
      pulse_measurer by(*selection, plan, whole_boards.of(from, u));
      const auto read = [&](std::uint64_t n, std::uint32_t index) {
        clear(n);
        const auto* const event = in.event(u, index);
        return event != nullptr && by.measure(*event, in.boards(n, *event, plan), to(n));
      };
      const double boards = static_cast<double>(plan.boards()) / settings.crates().boards();
      return read_waveforms(in, u, *range, i, end, plans, boards, read, clear);
    };
    return for_units(from, *range, threads, measure);
  });
}

std::int64_t l3_read_check(const l3_reader* reader, const l3_read_range* range, int threads) {
  return guarded(std::int64_t{-1}, [&] {
    return for_units(reader->data, *range, threads,
                     [&](payload_reader& in, const unit& u, std::uint64_t i, std::uint64_t end) {
                       return in.check(u) ? 0 : static_cast<std::int64_t>(end - i);
                     });
  });
}
