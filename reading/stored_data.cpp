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

#include <sys/mman.h>

namespace l3::reading {

namespace {

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
    u.place = units_.size() - 1;
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
  u.place = units_.size() - 1;
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

file_mapping::file_mapping(int file, std::size_t length, const std::string& path) : size_(length) {
  void* const at = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) throw std::system_error(last_error(), "cannot map " + path);
  data_ = static_cast<const std::byte*>(at);
}

file_mapping::~file_mapping() { ::munmap(const_cast<std::byte*>(data_), size_); }

std::span<const std::byte> stored_data::payload_of(const unit& u) const {
  const block_source& f = files_[u.file];
  const std::uint64_t end = u.offset + u.bytes;
  const std::lock_guard lock(mapping_mutex_);
  if (f.mapped < end) {
    const std::string path = path_of(u.file);
    const input_file in = open_regular(path);
    if (in.bytes < end) return {};
    if (f.mappings.empty() || f.mappings.back().size() < in.bytes)
      f.mappings.emplace_back(in.file.get(), f.ended ? in.bytes : 2 * in.bytes, path);
    f.mapped = in.bytes;
  }
  return {f.mappings.back().data() + u.offset, u.bytes};
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
    const auto entries = in.payload(*u).subspan(u->event_bytes);
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

std::span<const std::byte> payload_reader::payload(const unit& u) {
  if (unit_ != &u) {
    payload_ = from_.payload_of(u);
    unit_ = &u;
  }
  return payload_;
}

void payload_reader::begin(const unit& u) {
  begun_ = &u;
  summed_ = crc_ = 0;
}

/// Up to this place, at least.
void payload_reader::sum(const unit& u, std::uint32_t end) {
  constexpr std::uint32_t step = 128U << 10; // a part of the second-level cache
  if (u.checked == unit::sum::right) return;
  while (summed_ < end) {
    const auto part = payload(u).subspan(summed_, std::min(u.bytes - summed_, step));
    crc_ = crc32c(part, crc_);
    summed_ += static_cast<std::uint32_t>(part.size());
  }
}

bool payload_reader::load_quietly(const unit& u) {
  if (begun_ != &u) begin(u);
  begun_ = nullptr;
  if (payload(u).size() != u.bytes) return false;
  sum(u, u.bytes);
  return u.checked == unit::sum::right || crc_ == u.crc;
}

bool payload_reader::load(const unit& u) {
  if (load_quietly(u)) {
    u.checked = unit::sum::right;
    return true;
  }
  const bool is_new = u.checked.exchange(unit::sum::wrong) != unit::sum::wrong;
  if (is_new || !from_.skips_damaged())
    from_.report(u,
                 payload(u).empty() ? "the file ends within this block"
                                    : "the checksum of this block is wrong",
                 u.events);
  return false;
}

bool payload_reader::check(const unit& u) {
  if (u.checked == unit::sum::right) return true;
  return (u.checked == unit::sum::unknown || !from_.skips_damaged()) && load(u);
}

bool payload_reader::may_read(const unit& u) {
  const bool is_known = u.checked != unit::sum::wrong && !payload(u).empty();
  return (is_known && !from_.checks_all()) || check(u);
}

/// The event at the start of `bytes`; empty if it is cut off or its length is wrong.
static std::span<const std::byte> event_at(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(packed_event)) return {};
  const auto length = l3::load<packed_event>(bytes.data()).bytes;
  return length < sizeof(packed_event) || length > bytes.size() ? std::span<const std::byte>()
                                                                : bytes.first(length);
}

void payload_reader::walk(const unit& u) {
  std::vector<event_place> places;
  auto left = payload(u).first(u.event_bytes);
  places.reserve(std::min<std::size_t>(u.events, left.size() / sizeof(packed_event)));
  while (places.size() < u.events) {
    const auto event = event_at(left);
    if (event.empty()) break;
    fetch(event.first(std::min<std::size_t>(
        event.size(), packed_event_view::data_offset(l3::load<packed_event>(event.data())))));
    places.push_back({static_cast<std::uint32_t>(u.event_bytes - left.size()),
                      static_cast<std::uint32_t>(event.size())});
    left = left.subspan(event.size());
  }
  if ((places.size() != u.events || !left.empty()) && check(u))
    from_.report(u, "this block does not have the events that its header states",
                 u.events - places.size());
  if (from_.has_room(places.size() * sizeof u.views[0])) {
    u.views.reserve(places.size());
    for (const event_place& p : places) u.views.push_back(parse(u, p));
  }
  u.places = std::move(places);
}

std::optional<packed_event_view> payload_reader::parse(const unit& u, event_place of) {
  const bool is_same_codec = like_ && like_codec_ == u.codec;
  auto found = packed_event_view::parse_tables(payload(u).subspan(of.at, of.bytes), u.codec,
                                               is_same_codec ? &*like_ : nullptr);
  if (found) {
    like_ = found;
    like_codec_ = u.codec;
  }
  return found;
}

bool payload_reader::has(const unit& u, std::uint32_t index) {
  if (!u.walked.load(std::memory_order_acquire)) {
    const std::lock_guard alone(u.walking);
    if (!u.walked.load(std::memory_order_relaxed)) {
      walk(u);
      u.walked.store(true, std::memory_order_release);
    }
  }
  return index < u.places.size();
}

const packed_event_view* payload_reader::event(const unit& u, std::uint32_t index) {
  if (!has(u, index)) return nullptr;
  const event_place of = u.places[index];
  if (begun_ == &u) sum(u, of.at + of.bytes);
  if (u.views.empty()) event_ = parse(u, of);
  const auto& found = u.views.empty() ? event_ : u.views[index];
  return found ? &*found : nullptr;
}

} // namespace l3::reading
