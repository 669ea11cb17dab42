// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/batch_dumps.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "monitor/log.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {
namespace {

constexpr const char* ending = ".l3batch";

template <class T>
std::vector<T> copy(std::span<T> rows, std::size_t used) {
  return {rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(used)};
}

/// Stores the results, and the packed events without the gaps between their extents. An entry that
/// points outside the output keeps its offset.
void store_results(const frame& f, batch_file& to) {
  to.results.reserve(f.results.size());
  for (const event_result& r : f.results) {
    stored_result s;
    s.offset = r.offset;
    if (r.offset <= f.output.size() && r.bytes <= f.output.size() - r.offset) {
      s.offset = to.output.size();
      const auto packed = f.output.subspan(r.offset, r.bytes);
      to.output.insert(to.output.end(), packed.begin(), packed.end());
    }
    s.bytes = r.bytes;
    s.original_bytes = r.original_bytes;
    s.flags = r.flags;
    s.boards_damaged = r.boards_damaged;
    s.boards_opaque = r.boards_opaque;
    s.kept = r.kept;
    to.results.push_back(s);
  }
}

std::int64_t seconds_since_epoch() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

} // namespace

batch_dumps::batch_dumps(std::string folder, dump_origin origin, dump_limits limits)
    : folder_(std::move(folder)), origin_(std::move(origin)), limits_(limits),
      writer_([this](const std::stop_token& stop) { write_until_stopped(stop); }) {}

batch_dumps::~batch_dumps() = default;

void batch_dumps::offer(std::string_view kind, std::string_view reason, const frame& f) {
  if (folder_.empty()) return;
  const auto now = steady_clock::now();
  const bool too_soon = last_offer_ && now - *last_offer_ < limits_.interval;
  {
    const std::lock_guard lock(mutex_);
    if (too_soon || waiting_) return skipped_by_owner_.add();
  }
  // Only this thread hands over batches, so the place is still empty.
  try {
    batch_file batch = copy_of(kind, reason, f);
    const std::lock_guard lock(mutex_);
    name_ = fmt::format("run{}-node{}-{}-batch{}-{}{}", origin_.run, origin_.node,
                        seconds_since_epoch(), f.input.serial, kind, ending);
    waiting_ = std::move(batch);
  } catch (const std::bad_alloc&) {
    return skipped_by_owner_.add();
  }
  last_offer_ = now;
  changed_.notify_one();
}

batch_file batch_dumps::copy_of(std::string_view kind, std::string_view reason,
                                const frame& f) const {
  batch_file b;
  const input_batch& in = f.input;
  b.about = boost::json::serialize(boost::json::object{{"program", "koto-l3d"},
                                                       {"version", origin_.version},
                                                       {"build", origin_.build},
                                                       {"executor", origin_.executor},
                                                       {"run", origin_.run},
                                                       {"node", origin_.node},
                                                       {"batch", in.serial},
                                                       {"failure", kind},
                                                       {"reason", reason},
                                                       {"time", seconds_since_epoch()}});
  b.configuration = origin_.configuration;
  b.lines = origin_.lines;
  b.detector = origin_.detector;
  b.calibration = origin_.calibration;
  b.events = copy(in.events, in.used_events);
  b.fragments = copy(in.fragments, in.used_fragments);
  b.pieces = copy(in.pieces, in.used_pieces);
  b.boards = copy(in.boards, in.used_boards);
  b.input = copy(in.bytes, in.used_bytes);
  store_results(f, b);
  return b;
}

void batch_dumps::write_until_stopped(const std::stop_token& stop) {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return waiting_.has_value(); })) return;
    }
    const bool kept = write(*waiting_); // only this thread touches a waiting batch
    const std::lock_guard lock(mutex_);
    waiting_.reset();
    (kept ? written_ : skipped_by_writer_).add();
  }
}

bool batch_dumps::write(const batch_file& batch) const {
  try {
    if (is_full()) {
      log_warning("compute: a failed batch is not kept: {} already holds the maximum number of "
                  "batches; move them away",
                  folder_.string());
      return false;
    }
    write_batch_file(folder_ / name_, batch);
    log_warning("compute: the failed batch is kept in {}: `koto-l3 rerun FILE` computes it again",
                (folder_ / name_).string());
    return true;
  } catch (const std::exception& e) {
    log_warning("compute: a failed batch is not kept: {}", reason_of(e));
    return false;
  }
}

bool batch_dumps::is_full() const {
  const auto is_batch = [](const auto& entry) { return entry.path().extension() == ending; };
  const std::filesystem::directory_iterator all(folder_);
  return std::count_if(begin(all), end(all), is_batch) >= limits_.files;
}

} // namespace l3
