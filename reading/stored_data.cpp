// SPDX-License-Identifier: Apache-2.0
#include "reading/stored_data.hpp"

#include <algorithm>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>

#include "transport/file/record_parser.hpp"
#include "transport/format/block_entries.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/store/block.hpp"
#include "transport/store/event_view.hpp"
#include "transport/system/input_file.hpp"

namespace l3::reading {

namespace {

constexpr std::size_t cache_line = 64;

input_file open_regular(const std::filesystem::path& path) {
  input_file in = open_input(path);
  if (!in.refusal.empty()) throw std::runtime_error(path.string() + " " + in.refusal);
  return in;
}

/// Whether the file has level-2 data; throws if it has neither these nor blocks.
bool is_level2(const std::filesystem::path& path) {
  store_file_header head;
  const auto to = std::as_writable_bytes(std::span(&head, 1));
  if (read_all(open_regular(path).file.get(), 0, to))
    throw std::runtime_error(path.string() + " is neither a file of a store nor level-2 data");
  return head.magic == record_magic;
}

} // namespace

stored_data::stored_data(std::filesystem::path path, bool skip_damaged, bool check_all)
    : path_(std::move(path)), skip_damaged_(skip_damaged), check_all_(check_all),
      is_folder_(std::filesystem::is_directory(path_)) {
  if (is_folder_) {
    kind_ = kind_of(path_);
  } else {
    level2_ = is_level2(path_);
    files_.emplace_back();
  }
  if (level2_) read_records();
  refresh();
  if (is_folder_ && files_.empty() && kind_ == store_kind::store &&
      !std::filesystem::exists(path_ / "ledger.json"))
    throw std::runtime_error(path_.string() + " is no store and no spool: it has no block files");
}

void stored_data::refresh() {
  if (level2_) return; // recorded files do not grow
  if (is_folder_) add_files();
  for (std::uint32_t file = 0; file < files_.size(); ++file) read_headers(file);
}

void stored_data::add_files() {
  for (const block_file_name& name : block_files_in(path_, kind_)) {
    const auto known = std::ranges::find(files_, name.number,
                                         [](const block_source& f) { return f.name->number; });
    if (known == files_.end())
      files_.push_back({name});
    else
      known->name = name;
  }
}

void stored_data::read_headers(std::uint32_t file) {
  block_source& f = files_[file];
  if (f.ended) return;
  try {
    if (!f.scan)
      f.name ? f.scan.emplace(path_, *f.name, kind_) : f.scan.emplace(path_, store_kind::store);
  } catch (const std::system_error& e) {
    if (!f.name || e.code() != std::errc::no_such_file_or_directory) throw;
    f.ended = true; // a daemon removed the segment
    return;
  }
  store_file& in = *f.scan;
  while (const auto block = in.next()) {
    if (std::exchange(f.damaged, in.damaged()) < in.damaged()) {
      const bool head = block->offset == f.seen_end;
      report({path_of(file), "bytes that are no block", head ? 0 : f.seen_end,
              head ? sizeof(store_file_header) : block->offset - f.seen_end, 0});
    }
    f.seen_end = block->end();
    add(*block, file);
  }
  if (in.refused()) throw std::system_error(in.refused(), "cannot read " + path_of(file));
  const bool is_complete =
      f.name && (kind_ == store_kind::spool ? &f != &files_.back() : f.name->complete.has_value());
  if (!is_complete) return;
  if (const auto torn = in.torn(); torn && kind_ == store_kind::store)
    report(
        {path_of(file), "the end is not a whole block", in.size() - torn->bytes, torn->bytes, 0});
  f.scan.reset();
  f.ended = true;
}

void stored_data::read_records() {
  const input_file in = open_regular(path_);
  std::uint64_t sequence = 0;
  record_header h;
  std::vector<std::byte> body;
  for (std::uint64_t at = 0; at < in.bytes; at += sizeof h + h.body_bytes) {
    const auto refuse = [&](std::string_view what) {
      report({path_.string(), std::string(what), at, in.bytes - at, 0});
    };
    if (read_all(in.file.get(), at, std::as_writable_bytes(std::span(&h, 1))))
      return refuse("it ends within a record");
    if (const auto fault = check_header(h)) return refuse(name_of(*fault));
    if (h.sequence != ++sequence) return refuse(name_of(refused::stream_sequence));
    if (at + sizeof h + h.body_bytes > in.bytes) return refuse("it ends within a record");
    if (!crates_) {
      hello first;
      body.resize(h.body_bytes);
      if (h.type != record_type::hello || read_all(in.file.get(), at + sizeof h, body) ||
          check_body(h, body) || parse_hello(body, first))
        throw std::runtime_error(path_.string() + " is not a file of level-2 data");
      crates_ = std::move(first.crates);
      static_cast<void>(session_of(0, first.run, 0));
    }
    if (h.type != record_type::event) continue;
    unit& u = units_.emplace_back();
    u.offset = at + sizeof h;
    u.bytes = u.event_bytes = h.body_bytes;
    u.crc = h.body_crc;
    u.events = 1;
    u.first_event = events_++;
    u.spill = h.spill;
    ++sessions_[0].events;
    sessions_[0].bytes += u.bytes;
  }
}

void stored_data::add(const stored_block& block, std::uint32_t file) {
  const block_header& h = block.header;
  unit& u = units_.emplace_back();
  u.file = file;
  u.session = session_of(h.session, h.run, h.node);
  u.offset = block.payload_offset();
  u.bytes = h.payload_bytes;
  u.crc = h.payload_crc;
  u.event_bytes = events_bytes(h);
  u.events = h.events;
  u.first_event = events_;
  u.codec = h.codec;
  events_ += h.events;
  session& s = sessions_[u.session];
  s.begin = s.blocks == 0 ? h.sealed_at : std::min(s.begin, h.sealed_at);
  s.end = std::max(s.end, h.sealed_at);
  ++s.blocks;
  s.events += h.events;
  s.left_out += h.repeated;
  s.bytes += u.event_bytes;
  if (h.settings_bytes == 0) return;
  if (s.with_settings.empty()) s.settings = session::unread; // they come late
  s.with_settings.push_back(&u);
}

std::uint32_t stored_data::session_of(std::uint64_t number, std::uint32_t run, std::uint32_t node) {
  const auto [place, is_new] = session_places_.try_emplace(
      {number, run, node}, static_cast<std::uint32_t>(sessions_.size()));
  if (is_new) {
    session& s = sessions_.emplace_back();
    s.number = number;
    s.run = run;
    s.node = node;
  }
  return place->second;
}

const unit& stored_data::unit_of(std::uint64_t event) const {
  if (event >= events_)
    throw std::out_of_range(
        fmt::format("there is no event {}: {} has {}", event, path_.string(), events_));
  return *std::prev(std::ranges::upper_bound(units_, event, {}, &unit::first_event));
}

file_descriptor stored_data::opened(std::uint32_t file) const {
  return open_regular(path_of(file)).file;
}

std::string stored_data::path_of(std::uint32_t file) const {
  const block_source& f = files_[file];
  return f.name ? find_store_file(path_, *f.name, kind_).string() : path_.string();
}

// The settings.

void stored_data::read_settings() const {
  const std::lock_guard lock(settings_mutex_);
  for (const session& s : sessions_)
    if (s.settings == session::unread) s.settings = settings_index(s);
}

/// Tries the copies in turn. Without one the readout is unknown: it is taken for KOTO's.
std::uint32_t stored_data::settings_index(const session& s) const {
  std::string bytes;
  recorded_settings recorded;
  recorded.crates = crates_.value_or(readout::koto());
  for (const unit* const u : s.with_settings) {
    payload_reader in(*this);
    if (!in.load_quietly(*u)) continue;
    const auto entries = in.part(*u, u->event_bytes, u->bytes - u->event_bytes);
    const auto settings = entries.first(settings_length(entries));
    auto decoded = decode_settings(settings);
    if (!decoded) continue;
    bytes.assign(reinterpret_cast<const char*>(settings.data()), settings.size());
    recorded = std::move(*decoded);
    break;
  }
  const auto [place, is_new] =
      known_settings_.try_emplace(bytes, static_cast<std::uint32_t>(settings_.size()));
  if (is_new)
    settings_.emplace_back(std::move(recorded),
                           fmt::format("the settings of session {:016x}", s.number), s.run);
  return place->second;
}

const std::deque<loaded_settings>& stored_data::settings() const {
  read_settings();
  return settings_;
}

std::uint32_t stored_data::settings_of(const unit& u) const {
  return sessions_[u.session].settings;
}

// Damage.

void stored_data::report(damage found) const {
  if (!skip_damaged_)
    throw std::runtime_error(
        fmt::format("{} is damaged at offset {}: {} ({} bytes); skip damage to read the rest",
                    found.file, found.offset, found.what, found.bytes));
  const std::lock_guard lock(damage_mutex_);
  damage_.push_back(std::move(found));
}

void stored_data::report(const unit& u, const char* what, std::uint64_t events) const {
  report({path_of(u.file), what, u.offset, u.bytes, events});
}

std::size_t stored_data::damages() const {
  const std::lock_guard lock(damage_mutex_);
  return damage_.size();
}

const damage& stored_data::damage_at(std::size_t row) const {
  const std::lock_guard lock(damage_mutex_);
  return damage_.at(row);
}

// Payloads.

std::vector<std::byte> stored_data::take_memory() const {
  const std::lock_guard lock(memory_mutex_);
  memory_.reserve(++readers_); // so that giving back cannot fail
  if (memory_.empty()) return {};
  auto last = std::move(memory_.back());
  memory_.pop_back();
  return last;
}

void stored_data::give_back(std::vector<std::byte> memory) const {
  const std::lock_guard lock(memory_mutex_);
  --readers_;
  memory_.push_back(std::move(memory));
}

/// Returns false if the file ends before.
bool payload_reader::read(const unit& u, std::uint32_t at, std::span<std::byte> to) {
  if (file_number_ != u.file) {
    file_ = from_.opened(u.file);
    file_number_ = u.file;
  }
  const auto error = read_all(file_.get(), u.offset + at, to);
  if (error && error != std::errc::result_out_of_range)
    throw std::system_error(error, "cannot read " + from_.path_of(u.file));
  return !error;
}

void payload_reader::begin(const unit& u) {
  if (loaded_ == &u) return;
  loaded_ = &u;
  begun_ = true;
  if (payload_.size() < u.bytes) payload_.resize(u.bytes);
  filled_ = crc_ = 0;
  places_.clear();
}

/// Reads the unit that was begun up to this place, at least. Returns false if the file ends before.
bool payload_reader::fill(const unit& u, std::uint32_t end) {
  constexpr std::uint32_t step = 128U << 10; // a part of the second-level cache
  while (filled_ < end) {
    const auto part = std::span(payload_).subspan(filled_, std::min(u.bytes - filled_, step));
    if (!read(u, filled_, part)) return false;
    if (u.checked != unit::sum::right) crc_ = crc32c(part, crc_);
    filled_ += static_cast<std::uint32_t>(part.size());
  }
  return true;
}

bool payload_reader::load_quietly(const unit& u) {
  begin(u);
  begun_ = false;
  if (fill(u, u.bytes) && (u.checked == unit::sum::right || crc_ == u.crc)) return true;
  loaded_ = nullptr;
  return false;
}

bool payload_reader::load(const unit& u) {
  if (load_quietly(u)) {
    u.checked = unit::sum::right;
    return true;
  }
  const bool is_new = u.checked.exchange(unit::sum::wrong) != unit::sum::wrong;
  if (is_new || !from_.skips_damaged())
    from_.report(u, "the checksum of this block is wrong", u.events);
  return false;
}

std::span<const std::byte> payload_reader::part(const unit& u, std::uint32_t at,
                                                std::uint32_t bytes,
                                                std::vector<std::byte>& buffer) {
  if (loaded_ == &u) {
    if (!fill(u, at + bytes)) return {};
    return std::span<const std::byte>(payload_).subspan(at, bytes);
  }
  if (buffer.size() < bytes) buffer.resize(bytes);
  const auto to = std::span(buffer).first(bytes);
  return read(u, at, to) ? to : std::span<std::byte>();
}

/// The bytes of the event that begins here, up to the end of its tables or a bit further; empty if
/// none begins here. The first read takes as many as the event before needed.
std::span<const std::byte> payload_reader::front(const unit& u, std::uint32_t at) {
  const std::uint32_t left = u.event_bytes - at;
  if (left < sizeof(packed_event)) return {};
  const auto front = part(u, at, std::min(left, front_bytes_), front_);
  if (front.empty()) return {};
  const auto head = l3::load<packed_event>(front.data());
  if (head.bytes < sizeof(packed_event) || head.bytes > left) return {};
  const auto wanted = static_cast<std::uint32_t>(
      std::min<std::size_t>(packed_event_view::data_offset(head), head.bytes));
  front_bytes_ = wanted + 256; // events of a run have about the same tables
  return wanted <= front.size() ? front.first(wanted) : part(u, at, wanted, front_);
}

void payload_reader::walk(const unit& u) {
  std::vector<event_place> places;
  std::vector<std::byte> fronts;
  std::vector<std::size_t> ends;
  for (std::uint32_t at = 0; places.size() < u.events; at += places.back().bytes) {
    const auto bytes = front(u, at);
    if (bytes.empty()) break;
    if (places.empty()) {
      const std::size_t most = u.event_bytes / sizeof(packed_event);
      places.reserve(std::min<std::size_t>(u.events, most));
      fronts.reserve(std::min<std::size_t>(std::size_t{u.events} * front_bytes_, u.event_bytes));
    }
    places.push_back({at, l3::load<packed_event>(bytes.data()).bytes});
    fronts.insert(fronts.end(), bytes.begin(), bytes.end());
    ends.push_back(fronts.size());
  }
  const std::size_t there = places.size();
  if (there != u.events || places.empty() ||
      places.back().at + places.back().bytes != u.event_bytes)
    from_.report(u, "this block has not the events that its header says", u.events - there);
  if (from_.has_room(fronts.capacity() + there * sizeof u.tables[0])) {
    u.fronts = std::move(fronts);
    u.tables.reserve(there);
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      const auto of_event = std::span<const std::byte>(u.fronts).subspan(begin, end - begin);
      u.tables.push_back(packed_event_view::parse_tables(of_event, u.codec));
      begin = end;
    }
  }
  u.places = std::move(places);
}

event_place payload_reader::place(const unit& u, std::uint32_t index) {
  if (u.spill) return {0, u.bytes};
  if (is_begun(u)) {
    while (places_.size() <= index) {
      const std::uint32_t at = places_.empty() ? 0 : places_.back().at + places_.back().bytes;
      const auto bytes = front(u, at);
      if (bytes.empty()) return {};
      places_.push_back({at, l3::load<packed_event>(bytes.data()).bytes});
    }
    return places_[index];
  }
  if (!u.walked.load(std::memory_order_acquire)) {
    const std::lock_guard alone(u.walking);
    if (!u.walked.load(std::memory_order_relaxed)) {
      walk(u);
      u.walked.store(true, std::memory_order_release);
    }
  }
  return index < u.places.size() ? u.places[index] : event_place{};
}

std::optional<packed_event_view> payload_reader::tables(const unit& u, std::uint32_t index) {
  const event_place of = place(u, index);
  if (of.bytes == 0) return std::nullopt;
  if (!is_begun(u) && !u.tables.empty()) {
    // The next ones, which are probably wanted next, come from memory meanwhile.
    if (index + 1 < u.tables.size() && u.tables[index + 1])
      for (std::size_t at = 0; at < u.tables[index + 1]->bytes().size(); at += cache_line)
        __builtin_prefetch(u.tables[index + 1]->bytes().data() + at);
    return u.tables[index];
  }
  return packed_event_view::parse_tables(front(u, of.at), u.codec);
}

} // namespace l3::reading
