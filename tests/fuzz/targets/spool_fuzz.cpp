// SPDX-License-Identifier: Apache-2.0
// A spool that starts on files of any bytes: a segment, and the notes of what was released. What it
// says is there can be read, or is an empty block of the same number; the next start finds
// what was appended meanwhile.
#include "tests/fuzz/targets/any_blocks.hpp"
#include "tests/fuzz/targets/scratch_of_fuzz.hpp"
#include "transport/outbox/spool.hpp"
#include "transport/store/store_reader.hpp"

namespace l3::test {
namespace {

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

void take(const std::string& folder, fuzz_input& in) {
  write_file(std::filesystem::path(folder) / "released.kl3r", any_notes(in));
  write_file(store_file_path(folder, 1, store_kind::spool), any_file(in));
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
