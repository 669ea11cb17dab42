// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/build_id.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include <elf.h>
#include <link.h>

namespace l3 {
namespace {

constexpr std::size_t note_alignment = 4;

std::size_t padded(std::size_t n) {
  return (n + note_alignment - 1) / note_alignment * note_alignment;
}

/// The build id among the notes of a segment; empty if there is none.
std::string id_among(std::span<const std::byte> notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    notes = notes.subspan(sizeof note);
    const std::size_t name = padded(note.n_namesz);
    const std::size_t content = padded(note.n_descsz);
    if (notes.size() < name + content) break;
    if (note.n_type == NT_GNU_BUILD_ID) {
      std::string text;
      for (const std::byte b : notes.subspan(name, note.n_descsz)) {
        constexpr const char* digits = "0123456789abcdef";
        text += digits[std::to_integer<unsigned>(b) >> 4];
        text += digits[std::to_integer<unsigned>(b) & 0xf];
      }
      return text;
    }
    notes = notes.subspan(name + content);
  }
  return {};
}

} // namespace

std::string build_id() {
  std::string id;
  // The program itself comes first; libraries are skipped.
  dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void* to) {
        for (const ElfW(Phdr) & segment : std::span(program->dlpi_phdr, program->dlpi_phnum)) {
          if (segment.p_type != PT_NOTE) continue;
          const auto* const at =
              reinterpret_cast<const std::byte*>( // NOLINT(performance-no-int-to-ptr): an address
                  program->dlpi_addr + segment.p_vaddr);
          if (std::string found = id_among({at, segment.p_memsz}); !found.empty())
            *static_cast<std::string*>(to) = std::move(found);
        }
        return 1;
      },
      &id);
  return id;
}

} // namespace l3
