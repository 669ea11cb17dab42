// SPDX-License-Identifier: Apache-2.0
// Kept batches of any bytes, and of tables that are nearly right. What the reader takes is computed
// on the CPU as `koto-l3 replay` does, each table in memory of its own length: nothing beyond them
// is read, every event finds its room, and it does not matter how it is packed.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "gpu/executors/serial.hpp"
#include "selection/engine/basic_engine.hpp"
#include "selection/engine/make_engine.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tests/fuzz/targets/fuzz.hpp"
#include "tests/transport/building/level2.hpp"
#include "transport/file/batch_file.hpp"

namespace l3::test {
namespace {

/// Kept batches: right ones, and ones of which a table was changed, as no daemon writes them.
class any_batch {
public:
  explicit any_batch(fuzz_input& in) : in_(in) {
    for (auto n = in_.below(4); n > 0; --n) add_event();
    add_results();
    spoil(batch_.events);
    spoil(batch_.fragments);
    spoil(batch_.pieces);
    spoil(batch_.boards);
    spoil(batch_.results);
  }
  [[nodiscard]] batch_file&& take() { return std::move(batch_); }

private:
  template <class Rows>
  static std::uint32_t size_of(const Rows& rows) {
    return static_cast<std::uint32_t>(rows.size());
  }

  template <class Rows>
  void spoil(Rows& rows) {
    const auto how = in_.below(8);
    if (how == 7) rows.resize(in_.below(2 * size_of(rows) + 2));
    if (how >= 6) in_.damage(std::as_writable_bytes(std::span(rows)));
  }

  void add_event() {
    event_entry e;
    e.spill = in_.byte();
    e.number = 1U + in_.byte();
    e.first_fragment = size_of(batch_.fragments);
    e.first_board = size_of(batch_.boards);
    e.flags = in_.byte();
    e.reference_time = in_.number<std::uint32_t>();
    for (std::uint8_t crate = 0; crate < 3; ++crate)
      if (in_.below(8) != 7) add_fragment({e.spill, e.number}, crate);
    e.fragments = size_of(batch_.fragments) - e.first_fragment;
    e.boards = size_of(batch_.boards) - e.first_board;
    batch_.events.push_back(e);
  }

  void add_fragment(event_key key, std::uint8_t crate) {
    std::vector<board_recipe> boards(in_.below(4));
    for (std::uint32_t b = 0; b < boards.size(); ++b)
      boards[b] = {3 + b, in_.number<std::uint16_t>(), {}, 0};
    auto content = make_fragment(key, boards);
    in_.damage(content);

    fragment_entry f;
    f.first_piece = size_of(batch_.pieces);
    f.piece_bytes = in_.flag() ? 8000 : 64 + 4 * std::uint32_t{in_.byte()};
    f.bytes = size_of(content);
    f.first_board = size_of(batch_.boards);
    f.crate = crate;
    f.raw = in_.below(4) == 3 ? 1 : 0;
    f.boards = static_cast<std::uint16_t>(f.raw != 0 ? 0 : boards.size());
    for (std::uint32_t b = 0; b < f.boards; ++b) {
      board_entry entry;
      entry.offset = static_cast<std::uint16_t>(l2::fragment_header_bytes + b * l2::board_bytes);
      entry.bytes = l2::board_bytes;
      entry.slot = static_cast<std::uint8_t>(boards[b].slot);
      entry.kind = in_.flag() ? board_kind::sampling_500_mhz : board_kind::sampling_125_mhz;
      entry.opaque = in_.below(8) == 7 ? 1 : 0;
      batch_.boards.push_back(entry);
    }
    lay(content, f.piece_bytes);
    batch_.fragments.push_back(f);
  }

  void lay(const bytes& content, std::uint32_t piece_bytes) {
    for (std::size_t from = 0; from < content.size(); from += piece_bytes) {
      const auto part = std::span(content).subspan(from).first(
          std::min<std::size_t>(piece_bytes, content.size() - from));
      batch_.pieces.push_back(size_of(batch_.input));
      batch_.input.insert(batch_.input.end(), part.begin(), part.end());
      batch_.input.resize(round_up(batch_.input.size(), 4));
    }
  }

  void add_results() {
    if (in_.flag()) return;
    batch_.output.resize(in_.byte());
    for (std::size_t e = 0; e < batch_.events.size(); ++e) {
      stored_result r;
      r.offset = in_.byte();
      r.bytes = in_.byte();
      r.kept = static_cast<std::uint8_t>(in_.below(2));
      batch_.results.push_back(r);
    }
  }

  fuzz_input& in_;
  batch_file batch_;
};

constexpr batch_capacity largest{16, 256, 1024, 256, std::size_t{1} << 20};

bool fits(const batch_file& b) {
  return b.events.size() <= largest.events && b.fragments.size() <= largest.fragments &&
         b.pieces.size() <= largest.pieces && b.boards.size() <= largest.boards &&
         b.input.size() <= largest.bytes;
}

std::optional<batch_file> read(const std::filesystem::path& file) {
  std::optional<batch_file> batch;
  taken_or_refused([&] {
    if (is_batch_file(file)) batch = read_batch_file(file);
  });
  return batch;
}

class computer {
public:
  computer() {
    engine_limits limits;
    limits.batch = largest;
    limits.frames = 1;
    limits.own_input = false;
    compute_settings where;
    where.where = backend::serial;
    keeping_[0] = make_cpu_engine(where, limits, nullptr);
    const auto make_queue = [] { return serial_queue(); };
    keeping_[1] = std::make_unique<basic_engine<serial_queue, packing_plan<keep_each>>>(
        "by board", limits, make_queue);
    auto program = selection_.program();
    program.check_promises = true;
    selecting_ = make_cpu_engine(where, limits, &program);
  }

  void run(batch_file& b) {
    const frame& once = compute(*keeping_[0], b);
    const frame& again = compute(*keeping_[1], b);
    std::uint64_t end = 0;
    for (std::size_t e = 0; e < once.results.size(); ++e) {
      const event_result& r = once.results[e];
      require(r.kept != 0 && r.offset >= end, "every event has its room");
      end = r.offset + r.bytes;
      require(std::ranges::equal(packed(once, e), packed(again, e)),
              "both ways give the same bytes");
    }
    const frame& selected = compute(*selecting_, b);
    for (std::size_t e = 0; e < selected.results.size(); ++e)
      static_cast<void>(packed(selected, e));
  }

private:
  /// Keeps every event like keep_all, but the plan packs in several kernels.
  struct keep_each {
    static constexpr std::uint32_t width = 1;
    struct shared {};
    template <block B>
    void operator()(const B&, shared&, const batch_view&, const frame_columns&) const {}
  };

  static std::span<const std::byte> packed(const frame& f, std::size_t event) {
    const event_result& r = f.results[event];
    require(r.offset + r.bytes <= f.output.size(), "events lie within the output");
    return f.output.subspan(r.offset, r.bytes);
  }

  static const frame& compute(engine& on, batch_file& b) {
    const auto rows = [](const auto& table) { return static_cast<std::uint32_t>(table.size()); };
    frame& f = *on.frames().front();
    f.input = {0,
               b.input,
               b.events,
               b.fragments,
               b.pieces,
               b.boards,
               b.input.size(),
               rows(b.events),
               rows(b.fragments),
               rows(b.pieces),
               rows(b.boards)};
    on.start(f);
    require(on.wait(f), "a CPU computes");
    require(f.results.size() == b.events.size(), "every event has a result");
    return f;
  }

  loaded_selection selection_ = load_selection({built_in, built_in, ""}, readout::koto(), 1);
  std::array<std::unique_ptr<engine>, 2> keeping_;
  std::unique_ptr<engine> selecting_;
};

} // namespace

void fuzz(fuzz_input& in) {
  static const scratch_of_fuzz folder;
  static computer cpu;
  const auto file = std::filesystem::path(folder.path()) / "one.l3batch";
  if (in.flag()) {
    write_file(file, in.rest());
  } else {
    write_batch_file(file, any_batch(in).take());
  }
  if (auto batch = read(file); batch && fits(*batch)) cpu.run(*batch);
}

} // namespace l3::test
