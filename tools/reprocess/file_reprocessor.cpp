// SPDX-License-Identifier: Apache-2.0
#include "tools/reprocess/file_reprocessor.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "selection/trigger/parse_selection.hpp"
#include "selection/trigger/recorded_settings.hpp"
#include "tools/pending_file.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/prescale.hpp"
#include "transport/store/block.hpp"
#include "transport/store/event_view.hpp"
#include "transport/store/file_contents.hpp"

namespace l3 {

namespace fs = std::filesystem;

namespace {

/// The settings of the first block with settings; nothing if none can be read.
std::optional<std::vector<std::byte>> first_settings(store_file in) {
  std::vector<std::byte> bytes;
  while (const auto block = in.next())
    if (block->header.settings_bytes != 0 && in.read_settings(*block, bytes)) return bytes;
  return std::nullopt;
}

/// KOTO's readout if the block with settings is damaged: other blocks stay readable.
readout readout_in(const fs::path& file, const stop_question& stop) {
  const auto bytes = first_settings(store_file(file, store_kind::store, stop));
  const auto settings = bytes ? decode_settings(*bytes) : std::nullopt;
  return settings ? settings->crates : readout::koto();
}

} // namespace

class file_reprocessor::output_file {
public:
  output_file(const fs::path& path, std::uint64_t number)
      : path_(path), number_(number), file_(path), contents_(head()) {
    file_.write(head_);
  }

  void add(std::span<const std::byte> block, const block_header& header) {
    file_.write(block);
    contents_.add(block, header);
  }
  /// Writes the sidecar first: a file with its final name is complete.
  void finish(const std::string& software) {
    whole_file sidecar(fs::path(path_).replace_extension(".json"));
    const std::string text = contents_.sidecar(number_, software);
    sidecar.write(std::as_bytes(std::span(text)));
    sidecar.flush_to_disk();
    sidecar.finish();
    file_.flush_to_disk();
    file_.finish();
  }
  [[nodiscard]] bool is_empty() const { return contents_.is_empty(); }
  [[nodiscard]] std::uint64_t bytes() const { return contents_.bytes(); }

private:
  std::span<const std::byte> head() {
    store_file_header h;
    h.reserved[0] = 1; // as in every store file
    h.number = number_;
    std::memcpy(head_, &h, sizeof h);
    return head_;
  }

  fs::path path_;
  std::uint64_t number_;
  whole_file file_;
  std::byte head_[sizeof(store_file_header)]{};
  file_contents contents_;
};

file_reprocessor::file_reprocessor(fs::path in, reprocessing by, stop_question stop)
    : in_(std::move(in)), by_(std::move(by)), stop_(std::move(stop)),
      crates_(readout_in(in_, stop_)), selection_(load_selection(by_.how, crates_, std::nullopt)),
      totals_(selection_.line_names().size()) {
  if (!selection_.tables.packed_payloads.empty())
    throw command_error("the menu limits the payload of events, but reprocessing keeps all of it: "
                        "remove payload from its lines",
                        exit_bad_configuration);
}

file_reprocessor::~file_reprocessor() = default;

std::uint64_t file_reprocessor::session_made_of(std::uint64_t session) const {
  constexpr std::uint64_t reprocessed = 0x6b6f746f; // any number other than 0
  const std::uint64_t by = reprocessed + (by_.codec ? static_cast<unsigned>(*by_.codec) : 0U);
  const std::uint64_t made =
      mix_bits(session ^ mix_bits(by << 32 | selection_.tables.constants.settings));
  return made == 0 ? 1 : made;
}

std::vector<std::byte> file_reprocessor::settings() const {
  recorded_settings all = selection_.recorded;
  all.software = by_.software;
  auto bytes = encode(all);
  if (bytes.size() > max_settings_bytes)
    throw command_error(fmt::format("selection, detector and calibration together have {} bytes; a "
                                    "store has room for {}: make them shorter",
                                    bytes.size(), max_settings_bytes),
                        exit_bad_configuration);
  return bytes;
}

bool file_reprocessor::has_made(const fs::path& out) const {
  store_file in(in_, store_kind::store, stop_);
  store_file made(out, store_kind::store, stop_);
  const auto first = made.next();
  if (!first) return false;
  auto from = in.next();
  while (from && (first->header.session != session_made_of(from->header.session) ||
                  first->header.sequence != from->header.sequence))
    from = in.next();
  if (!from) return false;
  while (made.next()) continue;
  return made.damaged() == 0 && !made.torn() &&
         first_settings(store_file(out, store_kind::store, stop_)) == settings() &&
         fs::exists(fs::path(out).replace_extension(".json"));
}

block_selector& file_reprocessor::selector_of(std::uint32_t run, codec_id codec) {
  if (!selector_ || selector_->run() != run || selector_->codec() != codec) {
    selector_.reset();
    selector_ = std::make_unique<block_selector>(by_.how, crates_, run, codec);
  }
  return *selector_;
}

reprocess_account
file_reprocessor::run(const fs::path& out,
                      const std::function<bool(const reprocess_account&)>& accept) {
  account_ = {};
  account_.names = line_names(default_selection());
  store_file in(in_, store_kind::store, stop_);
  output_file to(out, in.number());
  std::vector<std::byte> payload;
  while (const auto block = in.next()) {
    account_.events += block->header.events;
    take_settings(in, *block);
    if (in.read_payload(*block, payload)) {
      take_block(*block, payload, to);
    } else {
      ++account_.damaged_blocks;
      account_.unreadable += block->header.events;
    }
  }
  if (to.is_empty()) throw command_error(in_.string() + " holds no block that can be read");
  account_.damaged_places += in.damaged() + (in.torn() ? 1 : 0);
  account_.kept = totals_.kept;
  account_.rejected = totals_.events - totals_.kept;
  account_.lines = lines_to_json(totals_, selection_);
  account_.bytes_in = in.size();
  account_.bytes_out = to.bytes();
  if (accept(account_)) to.finish(by_.software);
  return account_;
}

void file_reprocessor::take_block(const stored_block& block, std::span<const std::byte> payload,
                                  output_file& out) {
  block_header header = block.header;
  header.codec = by_.codec.value_or(header.codec);
  block_selector& with = selector_of(header.run, header.codec);
  header.session = session_made_of(header.session);
  const bool is_first = std::ranges::find(sessions_, header.session) == sessions_.end();
  if (is_first) sessions_.push_back(header.session);

  std::vector<std::byte> made(sizeof header);
  const std::uint64_t kept_before = totals_.kept;
  event_walk walk(payload, block.header);
  while (const auto bytes = walk.next()) {
    const auto event = packed_event_view::parse(*bytes, block.header.codec);
    if (!event) {
      ++account_.unreadable;
      continue;
    }
    if (!event->is_whole()) {
      account_.limited.add(*event);
      continue;
    }
    if (!with.add(*event)) ++account_.unreadable;
    if (with.is_full()) decide(with, made);
  }
  decide(with, made);
  if (!walk.complete()) ++account_.damaged_places;
  const std::uint32_t walked = walk.events();
  if (walked < header.events) account_.unreadable += header.events - walked;
  if (walked > header.events) account_.events += walked - header.events;

  const std::span<const std::byte> packed = std::span(made).subspan(sizeof header);
  if (packed.size() > max_block_payload)
    throw command_error(in_.string() + ": a block would exceed the maximum size");
  header.payload_bytes = static_cast<std::uint32_t>(packed.size());
  header.events = static_cast<std::uint32_t>(totals_.kept - kept_before);
  header.payload_crc = crc32c(packed);
  set_settings(header, 0);
  seal_header(header);
  std::memcpy(made.data(), &header, sizeof header);
  if (is_first) {
    made = with_settings(made, header, settings());
    (void)read_block_header(made, header);
  }
  out.add(made, header);
}

/// Adds the line names of the block's settings, if it has any. Throws command_error if they have
/// another readout.
void file_reprocessor::take_settings(const store_file& in, const stored_block& block) {
  std::vector<std::byte> bytes;
  if (block.header.settings_bytes == 0 || !in.read_settings(block, bytes)) return;
  const auto settings = decode_settings(bytes);
  if (!settings) return;
  if (!(settings->crates == crates_))
    throw command_error(in_.string() +
                            " holds runs with two readouts: one selection cannot decide both",
                        exit_bad_configuration);
  account_.names.merge(line_names(settings->lines));
}

void file_reprocessor::decide(block_selector& with, std::vector<std::byte>& block) {
  if (stop_ && stop_()) throw scan_stopped();
  with.decide([&](const decided_event& e) {
    totals_.add(e.summary);
    block.insert(block.end(), e.packed.begin(), e.packed.end());
  });
}

} // namespace l3
