// SPDX-License-Identifier: Apache-2.0
#include "tools/verify/objections.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tools/verify/agreement.hpp"

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

} // namespace l3
