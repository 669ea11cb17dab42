// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/run_record.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "transport/format/time.hpp"
#include "transport/system/file_io.hpp"
#include "transport/system/threads.hpp"

namespace l3 {
namespace {

// The record is written as it lies in memory. It fits one sector, which a power cut leaves whole or
// untouched, so it has no checksum.
static_assert(std::endian::native == std::endian::little);
constexpr std::size_t sector = 512;
constexpr int owner_and_group = 0640;
static_assert(sizeof(run_record) == 11 * sizeof(std::uint64_t) && sizeof(run_record) <= sector);

} // namespace

run_record record_of(const ledger& account) {
  run_record r;
  r.magic = run_record::right_magic;
  r.session = account.sessions.empty() ? 0 : account.sessions.front();
  r.run = account.run;
  r.noted = nanoseconds_since_1970();
  r.admitted = account.events.admitted;
  r.forwarded = account.events.forwarded;
  r.rejected = account.events.rejected;
  r.shed = sum_of(account.events.shed);
  r.on_disk = account.spool ? account.spool->waiting : 0;
  return r;
}

std::uint64_t in_memory(const run_record& r) {
  const std::uint64_t known = r.forwarded + r.rejected + r.shed + r.on_disk;
  return r.admitted - std::min(r.admitted, known);
}

std::string describe_crash(const run_record& r) {
  return fmt::format(
      "the last run (session {:016x}, run {}) did not end properly, shortly after {}: of {} events "
      "admitted, {} forwarded, {} rejected, {} shed, {} written to disk; up to {} were in memory: "
      "lost if they came over UDP, sent again by senders over TCP; events of the last half second "
      "before that are not counted here",
      r.session, r.run, utc_text(r.noted), r.admitted, r.forwarded, r.rejected, r.shed, r.on_disk,
      in_memory(r));
}

run_record_file::run_record_file(std::string file, const run_record& now)
    : file_(std::move(file)), started_(nanoseconds_since_1970()) {
  open();
  if (descriptor_ < 0) return;
  next_ = now;
  next_->started = started_;
  write(*next_); // now, to allocate the file's block, even if the disk fills up later
  writer_ = std::jthread([this](const std::stop_token& stop) { write_when_told(stop); });
}

run_record_file::~run_record_file() {
  if (writer_.joinable()) {
    writer_.request_stop();
    writer_.join();
  }
  if (descriptor_ >= 0) ::close(descriptor_);
}

void run_record_file::open() {
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
                       owner_and_group);
  if (descriptor_ < 0) return set_error(last_error().message());
  // The daemon that owns the file is alive, so it has not crashed. A file system may have no locks.
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(std::exchange(descriptor_, -1));
    return set_error("it belongs to another daemon (run.ledger)");
  }
  run_record before;
  if (pread(descriptor_, &before, sizeof before, 0) != static_cast<ssize_t>(sizeof before)) return;
  if (before.magic == run_record::right_magic && before.ended == 0) crashed_ = before;
}

void run_record_file::note(run_record now) {
  now.started = started_;
  {
    const std::lock_guard lock(mutex_);
    waits_ = next_ ? waits_ + 1 : 0;
    next_ = now;
  }
  told_.notify_one();
}

void run_record_file::write_when_told(const std::stop_token& stop) {
  name_this_thread("run record");
  while (true) {
    std::unique_lock lock(mutex_);
    told_.wait(lock, stop, [this] { return next_.has_value(); });
    if (!next_) return; // a stop with nothing left to write
    const run_record now = *std::exchange(next_, std::nullopt);
    lock.unlock();
    write(now); // the next one makes up for a failed one
  }
}

void run_record_file::write(const run_record& r) {
  constexpr auto slow = std::chrono::seconds(4);
  const auto began = steady_clock::now();
  const bool well = pwrite(descriptor_, &r, sizeof r, 0) == static_cast<ssize_t>(sizeof r);
  const bool in_time = steady_clock::now() - began < slow;
  set_error(!well ? last_error().message() : in_time ? "" : "its disk is slow");
}

void run_record_file::set_error(std::string why) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(why);
}

std::string run_record_file::error() const {
  constexpr int many = 10; // notes come twice a second
  const std::lock_guard lock(mutex_);
  const std::string why = waits_ < many ? error_ : "its disk is slow";
  return why.empty() ? why : file_ + ": " + why + ": losses in a crash will be unknown";
}

} // namespace l3
