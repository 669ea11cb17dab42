// SPDX-License-Identifier: Apache-2.0
#include "tools/reprocess/file_reprocessor.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "selection/trigger/parse_selection.hpp"
#include "selection/trigger/recorded_settings.hpp"
#include "tools/evaluate/stored_readout.hpp"
#include "tools/verify/line_names.hpp"
#include "tools/verify/payload_words.hpp"
#include "tools/verify/store_folder.hpp"
#include "transport/format/crc32c.hpp"
#include "transport/format/prescale.hpp"
#include "transport/store/block.hpp"
#include "transport/store/file_contents.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/input_file.hpp"

namespace l3 {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void fail(const std::string& what, const fs::path& file) {
  throw std::system_error(last_error(), what + " " + file.string());
}

/// What killed processes left of this task; also what another process is writing, which then finds
/// that the task is done.
void remove_leftovers(const reprocess_folder& folder, const std::string& name) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder.own(), ignored)) {
    const std::string file = entry.path().filename().string();
    if (file.starts_with(name + "-") && file.ends_with(".new"))
      (void)::unlink(entry.path().c_str());
  }
}

} // namespace

std::uint64_t session_made_of(std::uint64_t session, const reprocess_plan& plan) {
  constexpr std::uint64_t reprocessed = 0x6b6f746f; // any number that is not 0
  const std::uint64_t by = reprocessed + (plan.codec ? static_cast<unsigned>(*plan.codec) : 0U);
  const std::uint64_t made = mix_bits(session ^ mix_bits(by << 32 | plan.settings));
  return made == 0 ? 1 : made;
}

recorded_file look_through(const fs::path& file, const stop_question& stop) {
  const input_file in = open_input(file);
  if (!in.refusal.empty()) throw command_error(file.string() + " " + in.refusal);
  recorded_file seen;
  seen.name = file.filename().string();
  seen.bytes = in.bytes;
  constexpr std::uint64_t step = std::uint64_t{1} << 20;
  std::vector<std::byte> part;
  for (std::uint64_t at = 0; at < in.bytes; at += part.size()) {
    if (stop && stop()) throw scan_stopped();
    const std::uint64_t data = next_data(in.file.get(), at, in.bytes);
    seen.crc = crc32c_of_zeros(data - at, seen.crc);
    at = data;
    part.resize(std::min(step, in.bytes - at));
    if (const auto error = read_all(in.file.get(), at, part))
      throw std::system_error(error, "cannot read " + file.string());
    seen.crc = crc32c(part, seen.crc);
  }
  return seen;
}

namespace {

/// A complete file ends with a block.
bool is_cut(const fs::path& file, const task_record& r) {
  const auto name = block_file_name::read(file.filename().string());
  return name && name->complete && r.unreadable.torn_bytes > 0;
}

} // namespace

/// It gets its name when it is whole and on the disk, after its sidecar.
class file_reprocessor::output_file {
public:
  output_file(const reprocess_folder& folder, std::uint64_t number)
      : folder_(folder), number_(number), stem_(fmt::format("task-{:06}", number)),
        path_(folder.pending(stem_)), file_(create_file(path_, O_WRONLY | O_TRUNC)),
        contents_(head()) {
    if (!file_) fail("cannot write", path_);
    write(head_);
  }
  ~output_file() {
    if (!finished_) (void)::unlink(path_.c_str());
  }
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

  void add(std::span<const std::byte> block, const block_header& header) {
    write(block);
    contents_.add(block, header);
    ++blocks_;
    events_ += header.events;
  }

  /// Nothing has this name yet but a file of an earlier time, which it replaces, or one of another
  /// process that does the same task now and has removed this one's as left over.
  recorded_file finish(const std::string& software) {
    if (contents_.is_empty()) return {};
    if (::fsync(file_.get()) != 0) fail("cannot flush", path_);
    const file_owner owner = contents_.owner();
    const fs::path name = folder_.store() / complete_file_name(number_, owner);
    write_whole(folder_, folder_.store() / sidecar_name(number_, owner),
                contents_.sidecar(number_, software));
    if (::rename(path_.c_str(), name.c_str()) != 0) {
      const std::error_code error = last_error();
      if (error != std::errc::no_such_file_or_directory || !is_written(name))
        throw std::system_error(error, "cannot name " + name.string());
    }
    finished_ = true;
    return {name.filename().string(), contents_.bytes(), contents_.crc(), blocks_, events_};
  }
  /// Of an earlier time, and of another run or node.
  void remove_others(const std::string& but) const {
    for (const auto& f : block_files_in(folder_.store()))
      if (f.number == number_ && f.text() != but) {
        (void)::unlink((folder_.store() / f.text()).c_str());
        if (f.complete)
          (void)::unlink((folder_.store() / sidecar_name(number_, *f.complete)).c_str());
      }
    remove_leftovers(folder_, stem_);
  }

private:
  std::span<const std::byte> head() {
    store_file_header h;
    h.reserved[0] = 1;
    h.number = number_;
    std::memcpy(head_, &h, sizeof h);
    return head_;
  }
  /// Another process has written the same bytes.
  [[nodiscard]] bool is_written(const fs::path& name) const {
    if (!fs::exists(name)) return false;
    const recorded_file there = look_through(name, {});
    return there.bytes == contents_.bytes() && there.crc == contents_.crc();
  }
  void write(std::span<const std::byte> bytes) {
    if (const auto error = append_all(file_.get(), bytes))
      throw std::system_error(error, "cannot write " + path_.string());
  }

  const reprocess_folder& folder_;
  std::uint64_t number_;
  std::string stem_;
  fs::path path_;
  file_descriptor file_;
  std::byte head_[sizeof(store_file_header)]{};
  file_contents contents_;
  std::uint64_t blocks_ = 0;
  std::uint64_t events_ = 0;
  bool finished_ = false;
};

file_reprocessor::file_reprocessor(const reprocess_folder& folder, const reprocess_plan& plan,
                                   const selection_options& how, std::string software,
                                   stop_question stop)
    : folder_(folder), plan_(plan), how_(how), software_(std::move(software)),
      stop_(std::move(stop)) {
  how_.files = plan.files;
  const auto is = load_selection(how_, plan_.crates, std::nullopt).tables.constants.settings;
  if (is != plan_.settings)
    throw command_error(
        fmt::format("what decides is not what the plan was made with (settings {:08x}, and not "
                    "{:08x}): a file in {} was changed, or this is another version of koto-l3",
                    is, plan_.settings, folder_.own().string()),
        exit_bad_configuration);
}

file_reprocessor::~file_reprocessor() = default;

block_selector& file_reprocessor::selector_of(std::uint32_t run, codec_id codec) {
  if (!selector_ || selector_->run() != run || selector_->codec() != codec) {
    selector_.reset();
    selector_ = std::make_unique<block_selector>(how_, plan_.crates, run, codec);
    if (!totals_) totals_.emplace(selector_->selection().line_names().size());
  }
  return *selector_;
}

task_record file_reprocessor::run(const reprocess_task& task) {
  const fs::path path = task.path();
  task_record r;
  r.task = task.number;
  r.settings = plan_.settings;
  r.software = software_;
  r.store = task.store;
  r.input = look_through(path, stop_);
  totals_.reset();
  limited_ = {};
  lines_ = line_names(default_selection());
  if (selector_) totals_.emplace(selector_->selection().line_names().size());

  output_file out(folder_, task.number);
  store_file in = listed_file(path, task.kind, stop_);
  std::vector<std::byte> payload;
  while (const auto block = in.next()) {
    if (block->end() > r.input.bytes) break; // it came after the look
    ++r.input.blocks;
    r.input.events += block->header.events;
    read_settings(path, in, *block);
    if (in.read_payload(*block, payload)) {
      take_block(*block, payload, r, out);
    } else {
      ++r.unreadable.blocks;
      r.unreadable.events += block->header.events;
    }
  }
  r.unreadable.places = in.damaged();
  if (const auto torn = in.torn()) r.unreadable.torn_bytes = torn->bytes;
  if (is_cut(path, r)) ++r.unreadable.places;

  if (totals_) {
    r.kept = totals_->kept;
    r.rejected = totals_->events - totals_->kept;
    r.not_judged = totals_->not_judged;
    r.lines = lines_to_json(*totals_, selector_->selection());
  }
  r.limited = limited_.events();
  r.left_out = json_of(limited_, lines_);
  r.output = out.finish(software_);
  out.remove_others(r.output.name);
  if (!r.balanced())
    throw command_error(fmt::format("{}: {} events, of which {} were kept, {} rejected, {} "
                                    "limited, {} not readable: these do not add up",
                                    path.string(), r.input.events, r.kept, r.rejected, r.limited,
                                    r.unreadable.events));
  write_whole(folder_, folder_.record(task.number), in_lines(to_json(r)) + "\n");
  return r;
}

void file_reprocessor::take_block(const stored_block& block, std::span<const std::byte> payload,
                                  task_record& to, output_file& out) {
  block_header header = block.header;
  header.codec = plan_.codec.value_or(header.codec);
  block_selector& with = selector_of(header.run, header.codec);
  header.session = session_made_of(header.session, plan_);
  const bool is_first = std::ranges::find(to.sessions, header.session) == to.sessions.end();
  if (is_first) to.sessions.push_back(header.session);
  to.last_run = header.run;

  std::vector<std::byte> made(sizeof header);
  const std::uint64_t kept_before = totals_->kept;
  event_walk walk(payload, block.header);
  while (const auto bytes = walk.next()) {
    const auto event = packed_event_view::parse(*bytes, block.header.codec);
    if (!event) {
      ++to.unreadable.events;
      continue;
    }
    if (!event->is_whole()) {
      limited_.add(*event);
      continue;
    }
    if (!with.add(*event)) ++to.unreadable.events;
    if (with.is_full()) decide(with, made);
  }
  decide(with, made);
  // A header may promise what is not there, and the other way round.
  const std::uint32_t walked = walk.events();
  if (!walk.complete()) ++to.unreadable.places;
  if (walked < header.events) to.unreadable.events += header.events - walked;
  if (walked > header.events) to.input.events += walked - header.events;

  const std::span<const std::byte> packed = std::span(made).subspan(sizeof header);
  if (packed.size() > max_block_payload)
    throw command_error(fmt::format("{}: a block would be longer than any may be", to.input.name));
  header.payload_bytes = static_cast<std::uint32_t>(packed.size());
  header.events = static_cast<std::uint32_t>(totals_->kept - kept_before);
  header.payload_crc = crc32c(packed);
  set_settings(header, 0);
  seal_header(header);
  std::memcpy(made.data(), &header, sizeof header);
  if (is_first) {
    made = with_settings(made, header, settings_of(with));
    (void)read_block_header(made, header);
  }
  out.add(made, header);
}

std::vector<std::byte> file_reprocessor::settings_of(const block_selector& with) const {
  recorded_settings all = with.selection().recorded;
  all.software = software_;
  auto bytes = encode(all);
  if (bytes.size() > max_settings_bytes)
    throw command_error(fmt::format("selection, detector and calibration have {} bytes together; "
                                    "a store has room for {}: make them shorter",
                                    bytes.size(), max_settings_bytes),
                        exit_bad_configuration);
  return bytes;
}

/// Adds the names of the lines in the settings that the block has, if any. Throws command_error if
/// they are of another readout.
void file_reprocessor::read_settings(const fs::path& path, const store_file& in,
                                     const stored_block& block) {
  std::vector<std::byte> bytes;
  if (block.header.settings_bytes == 0 || !in.read_settings(block, bytes)) return;
  const auto settings = decode_settings(bytes);
  if (!settings) return;
  if (!(settings->crates == plan_.crates))
    throw command_error(fmt::format("{}: its readout is {}, and {} was begun with {}: reprocess it "
                                    "into another folder",
                                    path.string(), in_words(settings->crates),
                                    folder_.store().string(), in_words(plan_.crates)),
                        exit_bad_configuration);
  lines_.merge(line_names(settings->lines));
}

void file_reprocessor::decide(block_selector& with, std::vector<std::byte>& block) {
  if (stop_ && stop_()) throw scan_stopped();
  with.decide([&](const decided_event& e) {
    totals_->add(e.summary);
    block.insert(block.end(), e.packed.begin(), e.packed.end());
  });
}

} // namespace l3
