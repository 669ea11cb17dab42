// SPDX-License-Identifier: Apache-2.0
#include "transport/file/batch_file.hpp"

#include <array>
#include <span>
#include <stdexcept>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "transport/format/crc32c.hpp"
#include "transport/format/endian.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {
namespace {

constexpr std::uint32_t max_crates = 64;

bool within(std::uint64_t first, std::uint64_t n, std::uint64_t size) {
  return first <= size && n <= size - first;
}

bool good_pieces(const batch_file& b, const fragment_entry& f) {
  if (f.piece_bytes == 0 || f.piece_bytes % 4 != 0) return false;
  const std::uint64_t pieces = (std::uint64_t{f.bytes} + f.piece_bytes - 1) / f.piece_bytes;
  if (!within(f.first_piece, pieces, b.pieces.size())) return false;
  for (std::uint64_t k = 0; k < pieces; ++k) {
    const piece_offset at = b.pieces[f.first_piece + k];
    const std::uint64_t n = std::min<std::uint64_t>(f.piece_bytes, f.bytes - k * f.piece_bytes);
    if (at % 4 != 0 || !within(at, n, b.input.size())) return false;
  }
  return true;
}

/// Whether the boards look as admission leaves them: each slot once, and no overlapping packets.
bool good_boards(const batch_file& b, const fragment_entry& f) {
  std::uint32_t slot_before = l2::first_slot - 1;
  std::uint32_t end = 0;
  for (std::uint32_t k = 0; k < f.boards; ++k) {
    const board_entry& board = b.boards[f.first_board + k];
    if (board.offset < end || !within(board.offset, board.bytes, f.bytes)) return false;
    if (board.slot <= slot_before || board.slot > l2::last_slot || board.opaque > 1 ||
        board.kind > board_kind::sampling_500_mhz)
      return false;
    slot_before = board.slot;
    end = std::uint32_t{board.offset} + board.bytes;
  }
  return true;
}

bool good_fragment(const batch_file& b, std::uint32_t index, std::uint32_t event) {
  const fragment_entry& f = b.fragments[index];
  if (f.crate >= max_crates || f.raw > 1 || f.bytes > l2::max_fragment_bytes) return false;
  if (index > b.events[event].first_fragment && f.crate <= b.fragments[index - 1].crate)
    return false;
  if ((f.raw != 0 && f.boards != 0) || !within(f.first_board, f.boards, b.boards.size()))
    return false;
  return good_boards(b, f) && good_pieces(b, f);
}

constexpr std::array<char, 4> magic{'K', 'L', '3', 'D'};
constexpr std::uint32_t version = 2;
constexpr std::size_t alignment = 8;
/// Longest file: all kept batches of a daemon together.
constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30;

struct file_header {
  std::array<char, 4> magic = l3::magic;
  std::uint32_t version = l3::version;
  std::uint64_t bytes = 0; ///< of the file
  std::uint32_t sections = 0;
  std::uint32_t crc = 0;
};
static_assert(sizeof(file_header) == 24);

struct section_header {
  std::uint32_t kind = 0;
  std::uint32_t row_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint32_t payload_crc = 0;
  std::uint32_t crc = 0;
};
static_assert(sizeof(section_header) == 24);

/// The batch's sections in the order of the file. Kinds count from 1.
template <class Batch>
auto sections_of(Batch& b) {
  return std::tie(b.about, b.configuration, b.lines, b.detector, b.calibration, b.events,
                  b.fragments, b.pieces, b.boards, b.input, b.results, b.output);
}
constexpr std::uint32_t sections = 12;

template <class... Parts>
[[noreturn]] void fail(const std::filesystem::path& name, fmt::format_string<Parts...> what,
                       Parts&&... parts) {
  throw std::runtime_error(
      fmt::format("{}: {}", name.string(), fmt::format(what, std::forward<Parts>(parts)...)));
}

template <class Header>
Header sealed(Header h) {
  h.crc = header_crc(h);
  return h;
}

/// Reads the file in order, never beyond its end.
class source {
public:
  explicit source(const std::filesystem::path& name) : name_(name), in_(open_input(name)) {
    if (!in_.refusal.empty()) fail(name, "{}", in_.refusal);
    if (in_.bytes > most_bytes)
      fail(name, "has {} bytes; at most {} are read", in_.bytes, most_bytes);
  }

  void read(void* to, std::uint64_t bytes) {
    if (bytes > left()) fail(name_, "ends too early, at offset {}", size());
    if (const auto error =
            read_all(in_.file.get(), at_, {static_cast<std::byte*>(to), std::size_t{bytes}}))
      fail(name_, "{}", cannot_be_read(error));
    at_ += bytes;
  }
  template <class Header>
  Header header(const char* what) {
    const std::uint64_t at = at_;
    Header h;
    read(&h, sizeof h);
    if (h.crc != header_crc(h)) fail(name_, "{} at offset {} is damaged", what, at);
    return h;
  }
  [[nodiscard]] std::uint64_t left() const { return in_.bytes - at_; }
  [[nodiscard]] std::uint64_t size() const { return in_.bytes; }
  [[nodiscard]] std::uint64_t position() const { return at_; }

private:
  std::filesystem::path name_;
  input_file in_;
  std::uint64_t at_ = 0;
};

template <class Rows>
void read_section(source& in, const std::filesystem::path& name, std::uint32_t kind, Rows& rows) {
  using row = typename Rows::value_type;
  const auto at = in.position();
  const auto h = in.header<section_header>("the header of a section");
  if (h.kind != kind || h.row_bytes != sizeof(row) || h.bytes % sizeof(row) != 0)
    fail(name, "section {} at offset {} is unknown to this version", kind, at);
  if (h.bytes > in.left()) fail(name, "section {} at offset {} is truncated", kind, at);
  rows.resize(h.bytes / sizeof(row));
  in.read(rows.data(), h.bytes);
  std::array<std::byte, alignment> padding{};
  in.read(padding.data(), round_up(h.bytes, alignment) - h.bytes);
  if (crc32c(std::as_bytes(std::span(rows))) != h.payload_crc ||
      padding != std::array<std::byte, alignment>{})
    fail(name, "section {} at offset {} is damaged", kind, at);
}

} // namespace

std::string wrong_with(const batch_file& b) {
  std::uint32_t fragments = 0;
  std::uint32_t boards = 0;
  std::uint64_t bytes = 0;
  for (std::uint32_t e = 0; e < b.events.size(); ++e) {
    const event_entry& event = b.events[e];
    const auto invalid = [e] { return fmt::format("entry {} of its event table is invalid", e); };
    if (event.first_fragment != fragments || event.first_board != boards) return invalid();
    if (!within(fragments, event.fragments, b.fragments.size())) return invalid();
    std::uint32_t of_fragments = 0;
    for (std::uint32_t k = 0; k < event.fragments; ++k) {
      const fragment_entry& f = b.fragments[fragments + k];
      if (f.first_board != boards + of_fragments || !good_fragment(b, fragments + k, e))
        return invalid();
      of_fragments += f.boards;
      bytes += f.bytes;
    }
    if (event.boards != of_fragments) return invalid();
    fragments += event.fragments;
    boards += event.boards;
  }
  if (fragments != b.fragments.size() || boards != b.boards.size())
    return "its tables hold more than its events";
  if (bytes > b.input.size()) return "its fragments are longer than its input";
  if (!b.results.empty() && b.results.size() != b.events.size())
    return "its results have another number of events";
  return {};
}

std::uint64_t file_bytes(const batch_file& batch) {
  std::uint64_t bytes = sizeof(file_header);
  std::apply(
      [&](const auto&... rows) {
        ((bytes += sizeof(section_header) +
                   round_up(rows.size() * sizeof(typename std::decay_t<decltype(rows)>::value_type),
                            alignment)),
         ...);
      },
      sections_of(batch));
  return bytes;
}

void write_batch_file(const std::filesystem::path& name, const batch_file& batch) {
  const auto write_all_of_it = [&](int file) {
    std::error_code error;
    const auto write = [&](std::span<const std::byte> bytes) {
      if (!error) error = append_all(file, bytes);
    };
    const auto write_header = [&](const auto& h) { write(std::as_bytes(std::span(&h, 1))); };
    file_header head;
    head.bytes = file_bytes(batch);
    head.sections = sections;
    write_header(sealed(head));
    std::uint32_t kind = 0;
    const auto section = [&](const auto& rows) {
      const auto bytes = std::as_bytes(std::span(rows));
      section_header h;
      h.kind = ++kind;
      h.row_bytes = sizeof(rows[0]);
      h.bytes = bytes.size();
      h.payload_crc = crc32c(bytes);
      write_header(sealed(h));
      write(bytes);
      constexpr std::array<std::byte, alignment> zeros{};
      write(std::span(zeros).first(round_up(bytes.size(), alignment) - bytes.size()));
    };
    std::apply([&](const auto&... rows) { (section(rows), ...); }, sections_of(batch));
    return error;
  };
  if (const auto error = write_anew(name, name.string() + ".new", write_all_of_it))
    fail(name, "cannot be written: {}", error.message());
}

bool is_batch_file(const std::filesystem::path& name) {
  source in(name);
  std::array<char, 4> first{};
  if (in.size() < first.size()) return false;
  in.read(first.data(), first.size());
  return first == magic;
}

batch_file read_batch_file(const std::filesystem::path& name) {
  if (!is_batch_file(name)) fail(name, "is not a .l3batch file");
  source in(name);
  const auto head = in.header<file_header>("the header");
  if (head.version != version || head.sections != sections)
    fail(name, "has version {}, which this program cannot read", head.version);
  if (head.bytes != in.size()) fail(name, "has {} bytes instead of {}", in.size(), head.bytes);
  batch_file batch;
  std::uint32_t kind = 0;
  std::apply([&](auto&... rows) { (read_section(in, name, ++kind, rows), ...); },
             sections_of(batch));
  if (in.left() != 0) fail(name, "continues after its last section");
  if (const std::string wrong = wrong_with(batch); !wrong.empty()) fail(name, "{}", wrong);
  return batch;
}

} // namespace l3
