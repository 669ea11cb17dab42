// SPDX-License-Identifier: Apache-2.0
// Checks a file of bare waveforms of the strong codec: its sections and their checksums. Decodes no
// sample.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "gpu/codec/strong_groups.hpp"
#include "tools/command_error.hpp"
#include "tools/info/information.hpp"
#include "tools/pack/strong_file.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

class strong_walk {
public:
  strong_walk(const std::filesystem::path& file, const reading_progress& tell, information& to)
      : in_(open_input(file)), tell_(tell), to_(to) {
    if (!in_.refusal.empty())
      throw command_error(file.string() + " " + in_.refusal, exit_missing_resource);
  }

  /// Returns false if the file is shorter.
  [[nodiscard]] bool read_head() {
    const auto head = next<strong_file_header>();
    if (!head) return damage("its header is truncated");
    if (head->crc != header_crc(*head)) return damage("its header is damaged");
    to_.facts["samples"] = head->samples;
    return true;
  }

  /// Returns false at the end, and at damage behind which no section can be found.
  [[nodiscard]] bool read_section() {
    const std::uint64_t at = at_;
    const auto head = next<strong_section_header>();
    if (!head) return damage("it is truncated: its end header is missing");
    if (head->crc != header_crc(*head) || head->records > max_section_records ||
        head->bytes > strong::max_encoded_bytes(strong::groups_of(head->records)))
      return damage(fmt::format("offset {}: no valid section begins there", at));
    if (head->records == 0) {
      if (head->groups_crc != static_cast<std::uint32_t>(records_))
        damage(fmt::format("its end says {} records, modulo 2^32", head->groups_crc));
      if (at_ != in_.bytes) damage(fmt::format("{} bytes follow its end", in_.bytes - at_));
      return false;
    }
    groups_.resize(head->bytes);
    if (!read(groups_)) return damage(fmt::format("offset {}: the section is truncated", at));
    if (crc32c(groups_) != head->groups_crc)
      damage(fmt::format("offset {}: the section is damaged", at));
    records_ += head->records;
    ++sections_;
    return true;
  }

  void finish() {
    to_.facts["bytes"] = in_.bytes;
    to_.facts["sections"] = sections_;
    to_.facts["records"] = records_;
  }

private:
  [[nodiscard]] bool read(std::span<std::byte> to) {
    std::error_code error;
    const std::size_t bytes = read_up_to(in_.file.get(), at_, to, error);
    if (error) throw command_error(cannot_be_read(error), exit_missing_resource);
    at_ += bytes;
    tell_(std::min(at_, in_.bytes), in_.bytes);
    return bytes == to.size();
  }
  template <class Header>
  [[nodiscard]] std::optional<Header> next() {
    std::byte bytes[sizeof(Header)];
    if (!read(bytes)) return std::nullopt;
    return load<Header>(bytes);
  }
  bool damage(std::string text) {
    to_.damage.push_back(std::move(text));
    return false;
  }

  input_file in_;
  const reading_progress& tell_;
  information& to_;
  std::uint64_t at_ = 0;
  std::uint64_t sections_ = 0;
  std::uint64_t records_ = 0;
  std::vector<std::byte> groups_;
};

} // namespace

void describe_strong_waveforms(const std::filesystem::path& file, const reading_progress& tell,
                               information& to) {
  strong_walk walk(file, tell, to);
  if (walk.read_head())
    while (walk.read_section()) {
    }
  walk.finish();
}

} // namespace l3
