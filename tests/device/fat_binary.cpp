// SPDX-License-Identifier: Apache-2.0
#include "tests/device/fat_binary.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include <zstd.h>

namespace l3::ptx {

namespace {

struct container_head {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t head_bytes;
  std::uint64_t bytes; ///< of the parts behind the head
};

struct part_head {
  std::uint16_t kind; ///< 1: PTX, 2: machine code
  std::uint16_t reserved;
  std::uint32_t head_bytes;
  std::uint64_t bytes; ///< behind the head
  std::uint32_t compressed_bytes;
  std::uint32_t reserved_2;
  std::uint16_t minor;
  std::uint16_t major;
  std::uint32_t architecture;
  std::uint32_t name_offset;
  std::uint32_t name_bytes;
  std::uint64_t flags;
  std::uint64_t reserved_3;
  std::uint64_t whole_bytes; ///< before compression
};

constexpr std::uint32_t container_magic = 0xBA55ED50;
constexpr std::uint16_t ptx_kind = 1;
constexpr std::uint64_t lz4_flag = 0x2000;
constexpr std::uint64_t zstd_flag = 0x8000;

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

std::string text_of(const part_head& head, const std::byte* content) {
  const auto* const chars = reinterpret_cast<const char*>(content);
  if ((head.flags & lz4_flag) != 0)
    throw std::runtime_error("PTX is compressed with lz4; build it with zstd");
  if ((head.flags & zstd_flag) == 0) return {chars, std::strlen(chars)};
  std::string text(head.whole_bytes, '\0');
  const std::size_t made =
      ZSTD_decompress(text.data(), text.size(), content, head.compressed_bytes);
  if (ZSTD_isError(made) != 0)
    throw std::runtime_error("PTX in a fat binary cannot be decompressed");
  text.resize(std::strlen(text.c_str()));
  return text;
}

} // namespace

std::vector<ptx_text> read_fat_binary(const void* begin) {
  const auto* at = static_cast<const std::byte*>(begin);
  const auto head = read<container_head>(at);
  if (head.magic != container_magic) throw std::runtime_error("no fat binary");
  at += head.head_bytes;
  std::vector<ptx_text> found;
  for (const std::byte* const end = at + head.bytes; at < end;) {
    const auto part = read<part_head>(at);
    if (part.kind == ptx_kind)
      found.push_back({part.architecture, text_of(part, at + part.head_bytes)});
    at += part.head_bytes + part.bytes;
  }
  return found;
}

} // namespace l3::ptx
