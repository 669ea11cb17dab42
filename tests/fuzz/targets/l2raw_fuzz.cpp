// SPDX-License-Identifier: Apache-2.0
// Level-2 files of any bytes, and of records that are right with wrong ones between: what is read
// is what stands there, it ends at the first damage and says where, and reads the same twice.
#include <vector>

#include "tests/fuzz/targets/fuzz.hpp"
#include "tests/fuzz/targets/library_reading.hpp"
#include "transport/file/l2raw.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"

namespace l3::test {
namespace {

void append_record(std::vector<std::byte>& file, record_type type, std::uint64_t sequence,
                   std::span<const std::byte> body) {
  const auto h =
      sealed_header(type, 0, sequence, static_cast<std::uint32_t>(body.size()), crc32c(body));
  put(file, h);
  put_bytes(file, body);
}

std::vector<std::byte> any_file(fuzz_input& in) {
  std::vector<std::byte> file;
  if (in.below(8) != 7)
    append_record(file, record_type::hello, 1, hello_bytes(7, {{{4, 1}, {15}}}));
  for (std::uint64_t sequence = 2; !in.empty() && in.below(4) != 3; ++sequence) {
    if (in.below(8) == 7) ++sequence;
    append_record(file, static_cast<record_type>(in.below(8)), sequence, in.bytes(in.byte()));
  }
  in.damage(file);
  if (in.flag()) file.resize(in.number<std::uint16_t>() % (file.size() + 1));
  return file;
}

std::uint64_t read_all(l2raw_reader& from, std::span<const std::byte> file) {
  std::uint64_t records = 0;
  std::uint64_t at = from.position();
  while (const auto record = from.next()) {
    at += sizeof(record_header);
    require(std::ranges::equal(record->body, file.subspan(at, record->header.body_bytes)),
            "a record is what stands in the file");
    at += record->body.size();
    require(from.position() == at, "records follow each other");
    require(!check_header(record->header) && !check_body(record->header, record->body),
            "a record is good");
    ++records;
  }
  require(from.damage() ? from.damage()->offset == at : at == file.size(),
          "it ends at the end, or says where");
  require(!from.next(), "behind the end there is nothing");
  return records;
}

void take(const std::filesystem::path& path, std::span<const std::byte> file) {
  write_file(path, file);
  read_by_library(path);
  l2raw_reader reader(path);
  require(reader.size() == file.size(), "the file is as long as it is");
  if (reader.damage()) { // no good hello
    const auto damage = reader.damage()->offset;
    require(!reader.next(), "a file without a good hello has no records");
    reader.rewind();
    require(!reader.next() && reader.damage()->offset == damage, "and does not get any");
    return;
  }
  const auto records = read_all(reader, file);
  const auto damage = reader.damage();
  reader.rewind();
  require(read_all(reader, file) == records, "it reads the same twice");
  require(reader.damage().has_value() == damage.has_value(), "it ends the same way");
}

} // namespace

void fuzz(fuzz_input& in) {
  static const scratch_of_fuzz folder;
  const auto path = std::filesystem::path(folder.path()) / "one.l2raw";
  if (in.flag()) {
    take(path, in.rest());
  } else {
    take(path, any_file(in));
  }
}

} // namespace l3::test
