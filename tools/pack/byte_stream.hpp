// SPDX-License-Identifier: Apache-2.0
// Reads and writes a file or a pipe in large pieces. "-" is the standard input or output. System
// errors are std::runtime_error with the file's name.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/command_line.hpp"
#include "tools/pending_file.hpp"
#include "transport/format/block.hpp"
#include "transport/format/l2.hpp"
#include "transport/system/file_descriptor.hpp"

namespace l3 {

class byte_input {
public:
  explicit byte_input(std::string name);

  /// The bytes read but not taken yet, at least `wanted` if the input has them. Valid until the
  /// next call.
  [[nodiscard]] std::span<const std::byte> peek(std::size_t wanted);
  void take(std::size_t bytes) { begin_ += bytes; }

  /// The offset of the next byte to take.
  [[nodiscard]] std::uint64_t offset() const { return read_ - (end_ - begin_); }
  /// The size of a regular file.
  [[nodiscard]] std::optional<std::uint64_t> size() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int descriptor() const { return file_.get(); }

private:
  std::string name_;
  file_descriptor file_;
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t read_ = 0;
};

/// A file gets its name when it is complete: until close() it is NAME.new, even if the program is
/// killed. If NAME is a link, its target is replaced; pipes and devices are written directly.
class byte_output {
public:
  /// Throws std::invalid_argument if `in` reads the same file.
  byte_output(std::string name, const byte_input& in);

  /// Room for `bytes`; call added() with the number used.
  [[nodiscard]] std::byte* room(std::size_t bytes);
  void added(std::size_t bytes) { used_ += bytes; }
  void close();

  [[nodiscard]] std::uint64_t written() const { return written_ + used_; }

private:
  void flush();
  [[noreturn]] void fail() const;

  std::string name_;                ///< for messages
  std::optional<pending_file> new_; ///< nothing: written directly
  file_descriptor file_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
  std::uint64_t written_ = 0;
};

/// Error messages about an input of pack or unpack, with its name and the offset of the fault.
template <class... Parts>
[[noreturn]] void refuse(const byte_input& in, std::uint64_t offset,
                         fmt::format_string<Parts...> what, Parts&&... parts) {
  throw std::runtime_error(fmt::format("{}: offset {}: {}", in.name(), offset,
                                       fmt::format(what, std::forward<Parts>(parts)...)));
}

[[noreturn]] inline void refuse_rest(const byte_input& in, std::uint64_t offset, std::uint64_t rest,
                                     std::uint32_t samples) {
  refuse(in, offset, "{} bytes are left, not a whole waveform of {} samples", rest, samples);
}

// Converts bare waveforms to bare KOTO records and back (docs/formats.md, section 5).

/// Called with the number of processed input bytes.
using packing_progress = std::function<void(std::uint64_t)>;

/// `samples` per waveform: a multiple of 64. These throw std::runtime_error with the offset of a
/// fault in the input. They do not close the output.
void pack_stream(byte_input& in, byte_output& out, std::uint32_t samples,
                 const packing_progress& tell);
void unpack_stream(byte_input& in, byte_output& out, std::uint32_t samples,
                   const packing_progress& tell);

/// Converts bare waveforms to a file of the strong codec and back (docs/formats.md, section 5): a
/// head, sections of groups with a checksum each, and an end, so that a truncated or damaged file
/// is always detected.
struct strong_file_header {
  std::array<char, 4> magic{'K', 'L', '3', 'W'};
  std::uint8_t version = 1;
  codec_id codec = codec_id::strong;
  std::uint16_t reserved = 0;
  std::uint32_t samples = 0; ///< of a waveform
  std::uint32_t crc = 0;     ///< of the 12 bytes before it
};
static_assert(sizeof(strong_file_header) == 16);

struct strong_section_header {  // followed by the groups
  std::uint32_t records = 0;    ///< runs of 64 samples, 1 to 4096; 0 ends the file
  std::uint32_t bytes = 0;      ///< of the groups
  std::uint32_t groups_crc = 0; ///< in the final header: number of all records modulo 2^32
  std::uint32_t crc = 0;        ///< of the 12 bytes before it
};
static_assert(sizeof(strong_section_header) == 16);
inline constexpr std::uint32_t max_section_records = 4096;

/// The equivalents of pack_stream and unpack_stream. The file has its number of samples per
/// waveform; a different `samples` is refused.
void pack_strong(byte_input& in, byte_output& out, std::uint32_t samples,
                 const packing_progress& tell);
void unpack_strong(byte_input& in, byte_output& out, std::optional<std::uint32_t> samples,
                   const packing_progress& tell);

/// The --samples option of commands that read bare waveforms.
inline option add_samples(command_line command, std::uint32_t& samples) {
  return command.add_option("--samples", samples, "samples per waveform: a multiple of 64")
      .check([](const std::string& text) -> std::string {
        constexpr std::uint32_t least = l2::waveform_samples;
        constexpr auto most = std::numeric_limits<std::uint32_t>::max() / least * least;
        std::uint32_t n = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), n);
        const bool whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
        return whole && n > 0 && n % least == 0
                   ? ""
                   : fmt::format("{} is not a multiple of {} from {} to {}", text, least, least,
                                 most);
      })
      .capture_default_str();
}

} // namespace l3
