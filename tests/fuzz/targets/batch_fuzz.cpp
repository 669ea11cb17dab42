// SPDX-License-Identifier: Apache-2.0
// Kept batches of any bytes, and of tables that are nearly right. What the reader takes is computed
// on the CPU as `koto-l3 replay` does, each table in memory of its own length: nothing beyond them
// is read, every event finds its room, and it does not matter how it is packed.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "selection/engine/make_engine.hpp"
#include "selection/trigger/load_selection.hpp"
#include "tests/fuzz/targets/any_batch.hpp"
#include "tests/fuzz/targets/scratch_of_fuzz.hpp"

namespace l3::test {
namespace {

constexpr batch_capacity largest{16, 256, 1024, 256, std::size_t{1} << 20};

bool fits(const batch_file& b) {
  return b.events.size() <= largest.events && b.fragments.size() <= largest.fragments &&
         b.pieces.size() <= largest.pieces && b.boards.size() <= largest.boards &&
         b.input.size() <= largest.bytes;
}

std::optional<batch_file> read(const std::filesystem::path& file) {
  try {
    if (is_batch_file(file)) return read_batch_file(file);
  } catch (const std::runtime_error& e) {
    require(*e.what() != '\0', "a refusal says why");
  }
  return std::nullopt;
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
    limits.packing = packing_form::one_pass;
    keeping_[0] = make_cpu_engine(where, limits, nullptr);
    limits.packing = packing_form::two_passes;
    keeping_[1] = make_cpu_engine(where, limits, nullptr);
    auto program = selection_.program();
    program.check_promises = true;
    selecting_ = make_cpu_engine(where, limits, &program);
  }

  void run(batch_file& b) {
    const frame& once = compute(*keeping_[0], b);
    const frame& again = compute(*keeping_[1], b);
    std::uint64_t end = 0;
    for (const event_result& r : once.results) {
      require(r.kept && !r.no_room && r.offset == end, "every event has its room");
      end += r.bytes;
    }
    require(end == once.output.size(), "there is no other output");
    require(std::ranges::equal(once.output, again.output), "both ways give the same bytes");
    for (const event_result& r : compute(*selecting_, b).results)
      require(!r.no_room, "what is selected has its room");
  }

private:
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
} // namespace l3::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3;
  using namespace l3::test;
  static const scratch_of_fuzz folder;
  static computer cpu;
  const auto file = std::filesystem::path(folder.path()) / "one.l3batch";
  fuzz_input in(data, bytes);
  if (in.flag()) {
    write_file(file, in.rest());
  } else {
    write_batch_file(file, any_batch(in).take());
  }
  if (auto batch = read(file); batch && fits(*batch)) cpu.run(*batch);
  return 0;
}
