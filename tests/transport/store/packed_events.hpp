// SPDX-License-Identifier: Apache-2.0
// A packer of its own for tests of the reader's side: it makes random events and packs them
// straight from the words of docs/formats.md, bit by bit, sharing nothing with kernels or reader
// but the encoder of the strong codec.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/format/event_key.hpp"

namespace l3::test {

using bytes = std::vector<std::byte>;

/// The record of 64 samples (docs/formats.md, section 5).
[[nodiscard]] bytes pack_record(const std::vector<std::uint16_t>& samples);

struct packed_and_original {
  bytes packed;
  std::vector<bytes> fragments; ///< as they were
};

/// What a random event may contain.
struct event_recipe {
  event_key key;
  std::uint32_t fragments = 3;
  std::uint32_t boards = 2;      ///< of each fragment
  std::uint32_t sample_bits = 6; ///< of the noise
  bool oddities =
      true; ///< opaque and raw boards, raw fragments, stored headers and footers, a summary
  codec_id codec = codec_id::koto;
};

[[nodiscard]] packed_and_original make_event(const event_recipe& recipe, std::mt19937& random);

/// The run of blocks of which a test does not say another.
constexpr std::uint32_t usual_run = 7;

/// A whole block of these packed events.
[[nodiscard]] bytes make_block(const std::vector<bytes>& events, std::uint64_t session,
                               std::uint64_t sequence, std::uint32_t run = usual_run);

[[nodiscard]] bytes read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::span<const std::byte> data);
void edit_file(const std::filesystem::path& path, const std::function<void(bytes&)>& change);

/// A folder that vanishes with the object.
class scratch_folder {
public:
  scratch_folder();
  ~scratch_folder();
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

private:
  std::string path_;
};

} // namespace l3::test
