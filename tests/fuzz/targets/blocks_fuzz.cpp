// SPDX-License-Identifier: Apache-2.0
// Output blocks and the packed events in them, whoever made them: each is refused, or read without
// touching anything beyond it, and gives fragments of the lengths that it states.
#include "tests/fuzz/targets/fuzz.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/store/block.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/koto_record.hpp"

namespace l3::test {
namespace {

void read_event(std::span<const std::byte> bytes) {
  const auto event = packed_event_view::parse(bytes);
  if (!event) return;
  require(event->bytes().size() <= bytes.size(), "an event lies within its bytes");
  require(event->summary().size() == event->header().summary_bytes, "the summary is whole");
  if (const auto summary = summary_view::parse(event->summary()))
    require(summary->lines.size() == summary->head.lines, "a summary has all its lines");
  std::vector<std::byte> fragment;
  for (std::uint32_t f = 0; f < event->fragments(); ++f) {
    if (!rebuild_fragment(*event, f, fragment)) continue;
    require(kept_records(*event, f).size() == event->fragment(f).boards, "a mask a board");
    for (const std::uint32_t at : absent_words(*event, f)) {
      require(at + 2 <= fragment.size(), "an absent word is one of the fragment");
      require(load_big<std::uint16_t>(&fragment[at]) == 0, "an absent word is 0");
      require(!event->is_whole(), "absent words are in events that are not whole");
    }
    require(fragment.size() == event->fragment(f).bytes, "a fragment is as long as it was");
  }
  for (std::uint32_t b = 0; b < event->header().boards; ++b) (void)unpack_board(*event, b);
}

void read_block(std::vector<std::byte> bytes, bool repair) {
  block_header header;
  if (repair && bytes.size() >= sizeof header) {
    const auto payload = std::span<const std::byte>(bytes).subspan(sizeof header);
    header = load<block_header>(bytes.data());
    const block_header good;
    header.magic = good.magic;
    header.version = good.version;
    header.codec = good.codec;
    header.payload_bytes = static_cast<std::uint32_t>(payload.size());
    header.payload_crc = crc32c(payload);
    seal_header(header);
    store(bytes.data(), header);
    require(check_block(bytes, header) == block_fault::none, "a block with right sums is one");
  }
  if (check_block(bytes, header) != block_fault::none) return;
  event_walk walk(std::span<const std::byte>(bytes).subspan(sizeof header, events_bytes(header)),
                  header);
  std::size_t sum = 0;
  while (const auto event = walk.next()) {
    require(!event->empty(), "a walk goes on");
    sum += event->size();
    read_event(*event);
  }
  require(sum <= events_bytes(header) && walk.has_rest() == (sum < events_bytes(header)),
          "the events of a block are its payload");
}

void read_record(std::span<const std::byte> bytes) {
  const auto length = koto_record_bytes(bytes);
  require(length <= bytes.size(), "a record lies within its bytes");
  waveform samples;
  if (length != 0) unpack_koto_record(bytes.first(length), samples);
}

} // namespace
} // namespace l3::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace l3::test;
  fuzz_input in(data, bytes);
  const auto what = in.below(4);
  const auto all = in.rest();
  // A copy as long as it is: whoever reads on is seen.
  const std::vector<std::byte> copy(all.begin(), all.end());
  if (what == 0) read_record(copy);
  if (what == 1) read_event(copy);
  if (what >= 2) read_block(copy, what == 3);
  return 0;
}
