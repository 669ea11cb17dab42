// SPDX-License-Identifier: Apache-2.0
// Output blocks and the packed events in them, whoever made them: each is refused, or read without
// touching anything beyond it, and gives fragments of the lengths that it states.
//
// A store's file of any bytes, and a writer that starts on it: what a reader finds before, it finds
// after, nothing is torn any more, what is written then is there, and what it asks for is not there
// yet.
// The C library for readers takes the same files, or says why not.
//
// A spool that starts on files of any bytes: a segment, and the notes of what was released. What it
// says is there can be read, or is an empty block of the same number; the next start finds
// what was appended meanwhile.
#include <algorithm>

#include "gpu/codec/decode_all.hpp"
#include "tests/fuzz/targets/fuzz.hpp"
#include "tests/fuzz/targets/library_reading.hpp"
#include "transport/format/block.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/outbox/spool.hpp"
#include "transport/store/block.hpp"
#include "transport/store/event_index.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/koto_record.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/store/store_writer.hpp"

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
    if (!rebuild_fragment(*event, f, fragment, strong::decode_all)) continue;
    require(kept_records(*event, f).size() == event->fragment(f).boards, "a mask a board");
    for (const std::uint32_t at : absent_words(*event, f)) {
      require(at + 2 <= fragment.size(), "an absent word is one of the fragment");
      require(load_big<std::uint16_t>(&fragment[at]) == 0, "an absent word is 0");
      require(!event->is_whole(), "absent words are in events that are not whole");
    }
    require(fragment.size() == event->fragment(f).bytes, "a fragment is as long as it was");
  }
  for (std::uint32_t b = 0; b < event->header().boards; ++b)
    (void)unpack_board(*event, b, strong::decode_all);
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

constexpr std::size_t most_payload = 512;

void append_block(std::vector<std::byte>& to, fuzz_input& in) {
  block_header h;
  h.session = 1 + in.below(2);
  h.sequence = in.byte();
  h.events = in.byte();
  const auto payload = in.bytes(in.number<std::uint16_t>() % most_payload);
  h.payload_bytes = static_cast<std::uint32_t>(payload.size());
  h.payload_crc = crc32c(payload);
  seal_header(h);
  put(to, h);
  put_bytes(to, payload);
}

/// Of a store or of a spool: their files are alike.
std::vector<std::byte> any_file(fuzz_input& in) {
  std::vector<std::byte> file;
  store_file_header head;
  head.number = 1;
  put(file, head);
  while (!in.empty() && in.below(4) != 3) {
    if (in.flag()) {
      append_block(file, in);
    } else {
      put_bytes(file, in.bytes(in.byte()));
    }
  }
  in.damage(file);
  if (in.flag()) file.resize(in.number<std::uint16_t>() % (file.size() + 1));
  return file;
}

constexpr std::uint64_t most_numbers = 64; // of a lane: it may leave out any number of them
constexpr std::uint64_t own = 1;

/// 0: there is none.
std::uint64_t last_of(const spool& disk) {
  const auto lane = disk.lane(own);
  return lane ? lane->last : 0;
}

spool_settings settings(const std::string& folder) {
  spool_settings s;
  s.folder = folder;
  s.size = mebibytes(8);
  s.floor = {};
  s.segment = {std::uint64_t{64} << 10};
  return s;
}

void read_lane(spool& from, std::uint64_t session) {
  const auto lane = from.lane(session);
  if (!lane) return;
  require(lane->first <= lane->last && lane->first > 0,
          "a lane begins where it begins and ends behind that");
  std::vector<std::byte> bytes;
  for (auto n = lane->first; n <= lane->last && n - lane->first < most_numbers; ++n) {
    const auto result = from.read(session, n, bytes);
    require(!result.error, "what is there can be read");
    block_header h;
    require(check_block(bytes, h) == block_fault::none, "what is read is a block");
    require(h.session == session && h.sequence == n, "it is the one that was asked for");
    require(result.whole || (h.payload_bytes == 0 && h.events == 0), "damaged ones become empty");
  }
}

std::vector<std::byte> any_notes(fuzz_input& in) {
  const auto n = in.byte();
  const auto any = in.bytes(n);
  return {any.begin(), any.end()};
}

void take_spool(const std::string& folder, fuzz_input& in) {
  write_file(std::filesystem::path(folder) / "released.kl3r", any_notes(in));
  write_file(store_file_path(folder, 1, store_kind::spool), any_file(in));
  read_by_library(folder);
  std::uint64_t last = 0;
  try {
    spool on(settings(folder));
    for (const auto& found : on.found().lanes) read_lane(on, found.session);
    block_header h;
    h.session = own;
    h.sequence = last_of(on) + 1;
    if (!can_be_sent(h)) return;
    seal_header(h);
    require(!on.append(std::as_bytes(std::span(&h, 1))), "there is room");
    last = last_of(on); // none if that number was noted as released
    require(last == 0 || last == h.sequence, "what was appended is the last");
    if (in.flag()) on.release(own, h.sequence - 1);
  } catch (const std::runtime_error&) {
    return; // not a spool of ours: it says so
  }
  spool again(settings(folder));
  // It may find more than was there: older segments are known by their headers until they are read.
  require(last_of(again) >= last, "what was appended is there after a start");
  read_lane(again, own);
}

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

void take_store(const std::string& folder, fuzz_input& in) {
  write_file(store_file_path(folder, 1), any_file(in));
  read_by_library(folder);
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

void take_block(fuzz_input& in) {
  const auto what = in.below(4);
  const auto all = in.rest();
  // A copy as long as it is: whoever reads on is seen.
  const std::vector<std::byte> copy(all.begin(), all.end());
  if (what == 0) read_record(copy);
  if (what == 1) read_event(copy);
  if (what >= 2) read_block(copy, what == 3);
}

} // namespace

void fuzz(fuzz_input& in) {
  static const scratch_of_fuzz folder;
  switch (in.below(3)) {
  case 0: take_block(in); return;
  case 1: take_store(folder.path(), in); break;
  default: take_spool(folder.path(), in);
  }
  folder.clear();
}

} // namespace l3::test
