// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tools/verify/agreement.hpp"
#include "tools/verify/comparison.hpp"

namespace l3 {

namespace {

/// Whether the ledger was written at a program's start, before any data, or by a daemon that had
/// only the blocks of earlier ones on disk.
bool says_nothing(const ledger& l) {
  return l.events.admitted == 0 && (!l.ended || l.program == daemon_program);
}

class objecting {
public:
  explicit objecting(const compared_data& data) : data_(data) {
    for (const auto& s : data.stored) {
      run_of_.emplace(s.number, s.run);
      runs_.insert(s.run);
    }
  }

  void look_at(const given_ledger& given) {
    const ledger& l = given.content;
    if (given.of_folder && data_.kind == store_kind::store && !is_of_store(l))
      object("{} was written by `{}`: the ledger of a store must be its receiver's", given.path,
             l.program);
    if (l.program == replay_program) look_at_run_of_replay(given);
    if (l.program == daemon_program) look_at_daemon(given);
    if (is_of_store(l)) look_at_receiver(given);
  }

  std::vector<std::string> finish() {
    const bool of_store = data_.kind == store_kind::store && !data_.stored.empty();
    if (of_store && !receiver_)
      object("{} has no ledger of its receiver: whether it lost acknowledged events is unknown; if "
             "the receiver wrote its ledger elsewhere, give it by --ledger",
             data_.folder);
    return std::move(objections_);
  }

private:
  template <class... Values>
  void object(fmt::format_string<Values...> text, Values&&... values) {
    objections_.push_back(fmt::format(text, std::forward<Values>(values)...));
  }

  void look_at_run_of_replay(const given_ledger& given) {
    const ledger& l = given.content;
    if (l.run != data_.run_sent && !says_nothing(l))
      object("{} is of run {}, but the sent file is of run {}", given.path, l.run, data_.run_sent);
  }

  /// Over UDP a daemon's run may differ from the file's: it is the run of its blocks.
  void look_at_daemon(const given_ledger& given) {
    const ledger& l = given.content;
    bool has_stored = false;
    for (const auto session : l.sessions) {
      const auto [first, is_new] = path_of_.emplace(session, given.path);
      if (!is_new)
        object("{} and {} are of the same start of a daemon, session {}", first->second, given.path,
               session_text(session));
      const auto stored = run_of_.find(session);
      if (stored == run_of_.end()) continue;
      has_stored = true;
      if (stored->second != l.run)
        object("{} is of run {}, but its session {} is stored with run {}", given.path, l.run,
               session_text(session), stored->second);
    }
    if (!has_stored) look_at_run_of_all(given);
    if (data_.runs_not_compared.contains(l.run))
      object("{} is of run {}, which is not compared: leave it out", given.path, l.run);
    if (data_.kind == store_kind::spool) look_at_disk(given);
  }

  void look_at_receiver(const given_ledger& given) {
    const ledger& l = given.content;
    receiver_ = true;
    const std::set<std::uint64_t> named(l.sessions.begin(), l.sessions.end());
    const auto unnamed = std::ranges::count_if(
        data_.stored, [&](const auto& s) { return !named.contains(s.number); });
    if (l.ended && unnamed > 0)
      object("{} does not name {} of the stored sessions: it belongs to another store, or is older",
             given.path, unnamed);
    look_at_run_of_all(given);
  }

  void look_at_run_of_all(const given_ledger& given) {
    const std::uint32_t run = given.content.run;
    if (!says_nothing(given.content) && !runs_.empty() && !runs_.contains(run))
      object("{} is of run {}, but no block of run {} is stored", given.path, run, run);
  }

  /// Released blocks stay in a segment as long as other blocks in it wait.
  void look_at_disk(const given_ledger& given) {
    const ledger& l = given.content;
    std::uint64_t found = 0;
    for (const auto& s : data_.stored)
      if (std::ranges::find(l.sessions, s.number) != l.sessions.end()) found += s.events;
    if (l.spool && l.spool->waiting > found)
      object("{}: {} events wait on disk, but {} holds {} of them", given.path, l.spool->waiting,
             data_.folder, found);
  }

  const compared_data& data_;
  std::map<std::uint64_t, std::uint32_t> run_of_; ///< of stored sessions
  std::set<std::uint32_t> runs_;
  std::map<std::uint64_t, std::string> path_of_; ///< path of a daemon's ledger, by session
  bool receiver_ = false;
  std::vector<std::string> objections_;
};

} // namespace

std::vector<std::string> objections_to(std::span<const given_ledger> ledgers,
                                       const compared_data& data) {
  objecting all(data);
  for (const auto& given : ledgers) all.look_at(given);
  return all.finish();
}

namespace {

/// Sums over all daemons.
struct daemon_sums {
  std::uint64_t admitted = 0;
  std::uint64_t shed = 0;
  std::uint64_t shed_at_stop = 0;
  std::uint64_t rejected = 0;
  std::uint64_t left = 0;
  std::uint64_t incomplete = 0;
};

/// Events that were not admitted because of incomplete fragments. If incomplete events are
/// forwarded, it is unknown which of them were.
std::uint64_t given_up_as_incomplete(const ledger& l) {
  if (l.crates.empty() || l.fragments.admitted != l.events.admitted * l.crates.size()) return 0;
  std::uint64_t events = l.earlier_spills.incomplete;
  for (const spill_account& s : l.spills) events += s.incomplete;
  return events;
}

daemon_sums sums_of(std::span<const ledger> ledgers) {
  daemon_sums sums;
  for (const auto& l : ledgers) {
    if (l.program != daemon_program) continue;
    const auto at_stop = l.events.shed.find(name_of(shed::drain));
    sums.admitted += l.events.admitted;
    sums.shed += sum_of(l.events.shed);
    if (at_stop != l.events.shed.end()) sums.shed_at_stop += at_stop->second;
    sums.rejected += l.events.rejected;
    sums.incomplete += given_up_as_incomplete(l);
    sums.left += l.events.in_flight - std::min(l.events.in_flight, delivered_later(ledgers, l));
  }
  return sums;
}

} // namespace

std::optional<event_fates> fates_of(std::span<const ledger> ledgers,
                                    std::span<const event_index::session> stored,
                                    const comparison& compared, bool selected) {
  if (std::ranges::none_of(ledgers, [](const ledger& l) { return l.program == daemon_program; }))
    return std::nullopt;
  const daemon_sums sums = sums_of(ledgers);
  event_fates fates;
  fates.shed = sums.shed;
  fates.rejected = selected ? 0 : sums.rejected;
  fates.left = sums.left;

  // Lost events that are not missing came again, or the ledgers belong to another store.
  const std::uint64_t lost = fates.shed + fates.rejected + fates.left;
  const std::uint64_t shed_and_again = lost - std::min(lost, compared.missing);
  std::uint64_t stored_and_again = compared.repeated;
  for (const auto& s : stored) stored_and_again += s.repeated;
  if (sessions_without_ledger(ledgers, stored) == 0 && shed_and_again <= sums.shed_at_stop &&
      sums.admitted == compared.sent + shed_and_again + stored_and_again) {
    fates.shed -= shed_and_again;
    fates.shed_and_again = shed_and_again;
    fates.stored_and_again = stored_and_again;
  }

  const std::uint64_t admitted = fates.shed + fates.rejected + fates.left;
  const std::uint64_t others = compared.missing - std::min(compared.missing, admitted);
  fates.incomplete = std::min(others, sums.incomplete);
  fates.unknown = others - fates.incomplete;
  return fates;
}

} // namespace l3
