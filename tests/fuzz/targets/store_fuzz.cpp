// SPDX-License-Identifier: Apache-2.0
// A store's file of any bytes, and a writer that starts on it: what a reader finds before, it finds
// after, nothing is torn any more, what is written then is there, and what it asks for is not there
// yet.
#include <algorithm>

#include "tests/fuzz/targets/any_blocks.hpp"
#include "tests/fuzz/targets/scratch_of_fuzz.hpp"
#include "transport/store/block.hpp"
#include "transport/store/event_index.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/store/store_writer.hpp"

namespace l3::test {
namespace {

struct found {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> good; ///< session and sequence
  std::size_t torn = 0;
};

found read_all(const std::string& folder) {
  found f;
  store_reader reader(folder);
  std::vector<std::byte> payload;
  while (const auto block = reader.next()) {
    if (reader.read_payload(*block, payload)) {
      require(payload.size() == block->header.payload_bytes, "a payload is whole");
      f.good.emplace_back(block->header.session, block->header.sequence);
    }
  }
  f.torn = reader.torn_ends().size();
  return f;
}

void take(const std::string& folder, fuzz_input& in) {
  write_file(store_file_path(folder, 1), any_file(in));
  found before;
  try {
    before = read_all(folder);
    const event_index index(folder);
    event_reader events(folder);
    for (const auto& at : index.entries())
      require(events.read(at).has_value(), "what is in the index can be read");
  } catch (const std::runtime_error&) {
    return; // not a store of ours: it says so
  }
  const auto is_good = [&](std::uint64_t sequence) {
    return std::ranges::find(before.good, std::pair(std::uint64_t{1}, sequence)) !=
           before.good.end();
  };
  std::uint64_t sequence = 0;
  std::uint64_t last = 0;
  {
    store_writer writer({folder});
    sequence = writer.last_stored(1) + 1;
    if (sequence == 0) return;
    require(!is_good(sequence), "what is asked for next is not there yet");
    block_header h;
    h.session = 1;
    h.sequence = sequence;
    seal_header(h);
    require(!writer.append(std::as_bytes(std::span(&h, 1)), h), "there is room");
    require(!writer.commit(), "there is room");
    last = writer.last_stored(1);
    require(last == sequence || (last > sequence && is_good(last)), "what was appended is stored");
  }
  require(store_writer({folder}).last_stored(1) == last, "the next start says the same");
  before.good.emplace_back(1, sequence);
  const found after = read_all(folder);
  require(after.good == before.good, "a start of the writer loses nothing and adds nothing");
  require(after.torn == 0, "torn ends are set aside");
}

} // namespace
} // namespace l3::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3::test;
  static const scratch_of_fuzz folder;
  fuzz_input in(data, bytes);
  take(folder.path(), in);
  folder.clear();
  return 0;
}
