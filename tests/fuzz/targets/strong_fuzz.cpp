// SPDX-License-Identifier: Apache-2.0
// Groups and files of the strong codec of any bytes: the decoder keeps to its limits, what it takes
// comes back when it is encoded again, a file is unpacked or refused with its name, and any samples
// come back. Every form of encoder and decoder that this processor has gives the same.
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/codec/strong_groups.hpp"
#include "tests/fuzz/targets/fuzz.hpp"
#include "tools/pack/byte_stream.hpp"
#include "transport/format/crc32c.hpp"

namespace l3::test {
namespace {

using strong::group_samples;
using strong::shape;

void encode_and_decode(const std::vector<std::uint16_t>& samples, shape of) {
  const auto forms = strong::group_codecs();
  std::vector<std::byte> groups(strong::max_encoded_bytes(samples.size() / group_samples));
  groups.resize(forms.back().encode(samples, of, groups));
  for (const strong::group_codec& form : forms) {
    std::vector<std::byte> again(strong::max_encoded_bytes(samples.size() / group_samples));
    again.resize(form.encode(samples, of, again));
    require(again == groups, "every form writes the same bytes");
    std::vector<std::uint16_t> back(samples.size());
    const auto r = form.decode(groups, of, back);
    require(!r.damaged && r.bytes == groups.size() && back == samples, "any samples come back");
  }
}

void decode_any(std::span<const std::byte> groups, shape of) {
  const auto forms = strong::group_codecs();
  std::vector<std::uint16_t> samples(4 * group_samples);
  const auto r = forms.back().decode(groups, of, samples);
  require(r.bytes <= groups.size() && r.groups <= 4, "it keeps to the limits");
  samples.resize(r.groups * group_samples);
  for (const strong::group_codec& form : forms) {
    std::vector<std::uint16_t> other(4 * group_samples);
    const auto o = form.decode(groups, of, other);
    require(o.groups == r.groups && o.bytes == r.bytes && o.damaged == r.damaged,
            "every form takes the same groups for good");
    other.resize(samples.size());
    require(other == samples, "every form decodes the same samples");
  }
  encode_and_decode(samples, of);
}

/// A group has its length in its first two bytes: that of the input, so that more is decoded.
void decode_groups(fuzz_input& in, shape of) {
  const bool fits = in.flag();
  const auto any = in.rest();
  std::vector<std::byte> groups(any.begin(), any.end());
  if (fits && groups.size() > 2) {
    const auto length = static_cast<std::uint32_t>(groups.size() - 2);
    const auto word = load<std::uint16_t>(groups.data());
    store(groups.data(), static_cast<std::uint16_t>((word & 0xf800) | (length & 0x7ff)));
  }
  decode_any(groups, of);
}

void encode_samples(fuzz_input& in, shape of) {
  std::vector<std::uint16_t> samples(2 * group_samples);
  const auto any = in.rest();
  for (std::size_t i = 0; i < samples.size() && !any.empty(); ++i)
    samples[i] = static_cast<std::uint16_t>(std::to_integer<unsigned>(any[i % any.size()]) << 8 |
                                            std::to_integer<unsigned>(any[i / 5 % any.size()]));
  encode_and_decode(samples, of);
}

/// With good checksums, if wanted, so that what they guard is reached.
void unpack_file(fuzz_input& in, const std::string& folder) {
  const bool good = in.flag();
  strong_file_header head;
  head.samples = 64 * in.below(5);
  head.crc = crc32c(std::as_bytes(std::span(&head, 1)).first(12));
  strong_section_header section;
  section.records = in.number<std::uint16_t>();
  const auto any = in.rest();
  section.bytes = static_cast<std::uint32_t>(any.size());
  section.groups_crc = crc32c(any);
  section.crc = crc32c(std::as_bytes(std::span(&section, 1)).first(12));
  std::vector<std::byte> file;
  if (good) put(file, head);
  if (good) put(file, section);
  put_bytes(file, any);
  const std::string name = folder + "/file";
  write_file(name, file);
  try {
    byte_input from(name);
    byte_output to(folder + "/samples", from);
    unpack_strong(from, to, std::nullopt, [](std::uint64_t) {});
    to.close();
  } catch (const std::runtime_error& e) {
    require(std::string(e.what()).starts_with(name), "a refusal names the file");
  }
}

} // namespace

void fuzz(fuzz_input& in) {
  static const scratch_of_fuzz folder;
  const auto of = in.flag() ? l3::strong::shape::long_ones : l3::strong::shape::short_ones;
  switch (in.below(3)) {
  case 0: decode_groups(in, of); break;
  case 1: encode_samples(in, of); break;
  default: unpack_file(in, folder.path()); folder.clear();
  }
}

} // namespace l3::test
