// SPDX-License-Identifier: Apache-2.0
#include "daemon/monitor/trouble_rules.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/words.hpp"
#include "monitor/in_words.hpp"
#include "monitor/log.hpp"

namespace l3 {
namespace {

using rules::found;
using rules::snap;

/// From this share on a loss is a warning, and from that one it is critical.
constexpr double warning_share = 0.01;
constexpr double critical_share = 0.25;
/// Fewer events or datagrams do not make a share.
constexpr std::uint64_t few = 10;
constexpr double told_for = 600; ///< s after a start: how long losses before it are shown

std::uint64_t rise(std::uint64_t before, std::uint64_t now) { return now - std::min(now, before); }

double ratio(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

double rate_of(const snap& s, std::string_view name) {
  const auto at = std::ranges::find(s.rates, name, [](const auto& r) { return r.first; });
  return at == s.rates.end() ? 0 : at->second;
}

std::uint64_t count_in(const reason_counts& counts, std::string_view reason) {
  const auto at = counts.find(reason);
  return at == counts.end() ? 0 : at->second;
}

severity severity_of(double share, std::uint64_t all) {
  if (share < warning_share) return severity::note;
  return share >= critical_share && all >= few ? severity::critical : severity::warning;
}

finding warning(std::string text) { return {severity::warning, std::move(text)}; }
finding critical(std::string text) { return {severity::critical, std::move(text)}; }
finding all_lost(std::string text) { return {severity::critical, std::move(text), losing::now, 1}; }
finding note(std::string text) { return {severity::note, std::move(text)}; }

bool runs(const snap& s) { return !s.account.sessions.empty(); }

std::uint64_t shed_since(const snap& before, const snap& now, shed reason) {
  return rise(count_in(before.account.events.shed, name_of(reason)),
              count_in(now.account.events.shed, name_of(reason)));
}

/// Events lost by shedding for this reason since the last look; the trouble is critical then.
bool add_shed(finding& f, const snap& before, const snap& now, shed reason) {
  f.events = shed_since(before, now, reason);
  if (f.events == 0) return false;
  const std::uint64_t admitted = rise(before.account.events.admitted, now.account.events.admitted);
  f.how_bad = severity::critical;
  f.loses = losing::now;
  f.share = ratio(f.events, std::max(admitted, f.events));
  return true;
}

/// For a trouble that loses no event until memory and disk are full.
std::string_view while_there_is_room(const snap& s) {
  const bool may_lose = s.parts.sheds || s.parts.waits_for_outbox || s.state.now == phase::draining;
  return may_lose ? "" : "; this loses no event now";
}

/// A trouble because of which memory and disk fill up.
finding fills(finding f, const snap& s, bool disk_takes) {
  constexpr double urgent = 1800; // s
  f.seconds_left = disk_takes && s.spool ? s.spool->seconds_left : s.outbox_seconds_left;
  f.text += f.seconds_left ? "" : while_there_is_room(s);
  if (!f.seconds_left) return f;
  const bool is_urgent = *f.seconds_left < urgent;
  f.loses = losing::soon;
  if (is_urgent) f.how_bad = severity::critical;
  f.text += *f.seconds_left < 1
                ? "; there is no room left"
                : fmt::format("; at this rate {} {}",
                              is_urgent ? "events are lost in" : "nothing is lost for",
                              in_words(*f.seconds_left));
  return f;
}

// --- why data are dropped ---

struct cause {
  std::string_view reason;
  std::string_view said; ///< after a number
  std::string_view why;
  std::string_view action;
};

constexpr std::string_view begin_anew = "begin a new run (`koto-l3 run stop`, then `koto-l3 run "
                                        "start`; without run control restart the daemon)";
constexpr std::string_view compare_sizes =
    "set building.chunk_bytes to the chunk size of level 2 and restart the daemon";

constexpr std::array causes{
    cause{"duplicate", "fragments repeat event numbers of this run",
          "a sender was restarted or level 2 was reset, so that its numbers begin again, or its "
          "spill counter stands still",
          begin_anew},
    cause{"late", "fragments came after their events had ended",
          "a sender is out of step, or level 2's counters went back", begin_anew},
    cause{"incomplete", "fragments belong to events that lack others",
          "crates or the network lose datagrams", "check crates and switches"},
    cause{"wrong_spill", "datagrams belong to a spill far from the current one",
          "level 2 was reset, or the spill counter of crates is wrong", begin_anew},
    cause{"malformed", "fragments have wrong content",
          "readout.crates or building.chunk_bytes differs from level 2",
          "compare readout.crates and building.chunk_bytes with level 2"},
    cause{"kernel_drops", "datagrams were dropped by the kernel",
          "this machine does not keep up: receive threads or socket buffers are too small",
          "look for other load on this machine; compare udp.socket_buffer with net.core.rmem_max"},
    cause{
        "source", "datagrams or connections came from machines that may not send",
        "udp.allow or tcp.allow does not list the senders",
        "add the senders to udp.allow or tcp.allow and restart the daemon, or stop the strangers"},
    cause{"too_long", "datagrams are too long", "building.chunk_bytes differs from level 2",
          compare_sizes},
    cause{"chunk_length", "datagrams have a wrong length",
          "building.chunk_bytes differs from level 2", compare_sizes},
    cause{"chunk_index", "datagrams have a chunk number that is too large",
          "building.chunk_bytes differs from level 2", compare_sizes},
    cause{"fragment_id", "datagrams have event numbers that are 0 or too large",
          "building.max_events_per_spill is too small, or level 2 does not reset its event counter "
          "between spills",
          "compare building.max_events_per_spill and readout.crates with level 2"},
    cause{"discriminator", "datagrams name crates that the readout does not have",
          "level 2 numbers its crates differently", "compare readout.crates with level 2"},
    cause{"stream_content", "records do not fit the run or the readout",
          "the sender sends for another run number, or for another readout",
          "compare run number and readout of sender and daemon"},
    cause{"stream_conflict", "events have numbers of earlier events, but other bytes",
          "two senders use the same numbers, or a file of another run is sent as this run",
          "stop one of the senders, or send it under another run number"},
    cause{"connection_limit", "connections came beyond tcp.max_connections",
          "more senders connect than it allows",
          "stop needless senders, or raise tcp.max_connections and restart the daemon"},
};
constexpr cause other_cause{"", "datagrams or records were refused",
                            "they are damaged, or not level-2 data",
                            "find out which machine sends them"};

cause cause_of(std::string_view reason) {
  const auto at = std::ranges::find(causes, reason, &cause::reason);
  return at == causes.end() ? other_cause : *at;
}

struct dropped {
  std::string reason;
  std::uint64_t count = 0;
};

/// Refused datagrams and records between two accounts, the most frequent reason first.
std::vector<dropped> refused_between(const ledger& before, const ledger& now) {
  std::vector<dropped> all;
  for (const auto& [reason, count] : now.datagrams.malformed)
    if (const auto n = rise(count_in(before.datagrams.malformed, reason), count); n != 0)
      all.push_back({reason, n});
  std::ranges::stable_sort(all, std::ranges::greater(), &dropped::count);
  return all;
}

/// The same for all data that were dropped.
std::vector<dropped> dropped_between(const ledger& before, const ledger& now) {
  std::vector<dropped> all = refused_between(before, now);
  const fragment_account& was = before.fragments;
  const fragment_account& is = now.fragments;
  all.push_back({"duplicate", rise(was.duplicate, is.duplicate)});
  all.push_back({"late", rise(was.late, is.late)});
  all.push_back({"malformed", rise(sum_of(was.malformed), sum_of(is.malformed))});
  all.push_back({"incomplete", rise(was.incomplete, is.incomplete)});
  all.push_back({"kernel_drops", rise(before.datagrams.kernel_drops, now.datagrams.kernel_drops)});
  std::erase_if(all, [](const dropped& d) { return d.count == 0; });
  std::ranges::stable_sort(all, std::ranges::greater(), &dropped::count);
  return all;
}

std::uint64_t total_of(const std::vector<dropped>& all) {
  return std::accumulate(all.begin(), all.end(), std::uint64_t{0},
                         [](std::uint64_t s, const dropped& d) { return s + d.count; });
}

/// Whether at least a quarter of the data were dropped: a single crate that is out of step keeps
/// events from being admitted, too.
bool is_much_dropped(const ledger& before, const ledger& now) {
  const fragment_account& was = before.fragments;
  const fragment_account& is = now.fragments;
  const std::uint64_t fragments = rise(was.duplicate + was.late + sum_of(was.malformed),
                                       is.duplicate + is.late + sum_of(is.malformed));
  const std::uint64_t others = total_of(refused_between(before, now)) +
                               rise(before.datagrams.kernel_drops, now.datagrams.kernel_drops);
  return (fragments != 0 && 4 * fragments >= rise(was.seen, is.seen)) ||
         (others != 0 && 4 * others >= rise(before.datagrams.received, now.datagrams.received));
}

/// "fragments repeat event numbers of this run: 1320".
std::string sign_of(const dropped& d) {
  const cause c = cause_of(d.reason);
  return fmt::format("{}{}: {}", c.said, c.reason.empty() ? fmt::format(" ({})", d.reason) : "",
                     d.count);
}

/// "fragments repeat …: 1320; likely cause: …".
std::string text_of(const dropped& d, const snap& s) {
  const cause c = cause_of(d.reason);
  std::string text = fmt::format("{}; likely cause: {}", sign_of(d), c.why);
  const bool about_size = c.action == compare_sizes || c.reason == "malformed";
  std::uint64_t longest = 0;
  for (const input_snapshot& i : s.inputs) longest = std::max<std::uint64_t>(longest, i.longest);
  if (about_size && longest != 0 && longest != s.named.chunk_bytes)
    text += fmt::format(": level 2 sends chunks of {} bytes, and building.chunk_bytes is {} here{}",
                        longest, s.named.chunk_bytes,
                        s.account.events.admitted == 0
                            ? ""
                            : "; events were admitted before, so level 2 has changed");
  return text;
}

/// The action against the first of them, and the others as further causes.
std::string action_of(const std::vector<dropped>& all) {
  std::string text(cause_of(all[0].reason).action);
  for (std::size_t n = 1; n < std::min<std::size_t>(all.size(), 4); ++n)
    text += (n == 1 ? "; other signs: " : ", ") + sign_of(all[n]);
  return text;
}

/// Estimates the events in a number of datagrams, by the needs of this run or the longest events.
std::uint64_t events_in(std::uint64_t datagrams, const ledger& so_far, const snap& s) {
  const std::uint64_t each = so_far.events.admitted == 0
                                 ? s.named.most_datagrams
                                 : so_far.datagrams.received / so_far.events.admitted;
  return datagrams / std::max<std::uint64_t>(each, 1);
}

struct spill_loss {
  std::uint64_t lost = 0;
  std::uint64_t all = 0;
  bool of_last = false; ///< of the last spill, as the current one has hardly begun
  [[nodiscard]] double share() const { return ratio(lost, all); }
};

/// Events that lack fragments, of the current or of the last spill: the larger share of the two.
/// An incomplete event is given up only some time after it came, so a spill begins without losses.
spill_loss loss_in(const snap& s) {
  const auto loss_of = [&](std::uint64_t incomplete, std::uint64_t admitted, bool is_last) {
    return spill_loss{
        incomplete, std::max(admitted + (s.named.incomplete_are_kept ? 0 : incomplete), incomplete),
        is_last};
  };
  const spill_loss current =
      loss_of(s.this_spill.incomplete, s.this_spill.admitted, s.this_spill.ended);
  const auto last_with_events =
      std::find_if(s.latest_spills.rbegin(), s.latest_spills.rend(),
                   [](const spill_account& a) { return a.admitted + a.incomplete != 0; });
  if (last_with_events == s.latest_spills.rend()) return current;
  const spill_loss last = loss_of(last_with_events->incomplete, last_with_events->admitted, true);
  const bool is_ended = s.this_spill.ended && current.all != 0;
  return !is_ended && (current.all < few || last.share() > current.share()) ? last : current;
}

std::string text_of(const spill_loss& l, const snap& s) {
  return fmt::format(
      "{} of {} events of {} spill {}", l.lost, l.all, l.of_last ? "the last" : "this",
      s.named.incomplete_are_kept ? "lack fragments and are kept with a flag" : "are lost");
}

struct missing_fragments {
  std::string text;       ///< "crate 11 in 58, crate 3 in 2"
  std::string most;       ///< the crate that has most of them by far
  bool explained = false; ///< a crate_fault already names each such crate
};

/// The crates whose fragments were missing or malformed lately.
missing_fragments missing_lately(const snap& s) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all; // events, crate
  std::uint64_t most_of_good = 0;
  for (std::size_t c = 0; c < s.account.crates.size(); ++c) {
    const crate_account& is = s.account.crates[c];
    const crate_account was = c < s.lately.crates.size() ? s.lately.crates[c] : crate_account();
    const auto n = rise(was.missing + sum_of(was.malformed), is.missing + sum_of(is.malformed));
    if (n != 0) all.emplace_back(n, is.crate);
    const bool says_losses = s.crates[c].fault && s.crates[c].lost != 0;
    if (!says_losses) most_of_good = std::max(most_of_good, n);
  }
  std::ranges::stable_sort(all, std::ranges::greater());
  missing_fragments m;
  m.explained = !all.empty() && 2 * most_of_good < all[0].first;
  constexpr std::size_t most_named = 3;
  for (std::size_t n = 0; n < std::min(all.size(), most_named); ++n)
    m.text += fmt::format("{}crate {} in {}", n == 0 ? "" : ", ", all[n].second, all[n].first);
  if (all.size() > most_named)
    m.text += fmt::format(" and {} more crates", all.size() - most_named);
  if (!all.empty() && (all.size() == 1 || all[0].first > 2 * all[1].first + few))
    m.most = fmt::to_string(all[0].second);
  return m;
}

/// Changes accumulate in a run: another line in the log is for twice as many.
found changed(std::uint64_t reference_report::*count, std::string_view what,
              std::string reference_report::*which, const snap& s) {
  const auto number = s.since_reference ? (*s.since_reference).*count : 0;
  if (number == 0) return std::nullopt;
  finding f = warning(fmt::format("{} {} differ from the reference {}: {}", number, what,
                                  s.named.reference, (*s.since_reference).*which));
  f.what = fmt::to_string(std::bit_width(number));
  return f;
}

/// A trouble of the receiver says that memory and disk fill up.
bool lacks_receiver(const snap& s) {
  const part_states& p = s.parts;
  return p.receiver_absent || p.receiver_slow || p.receiver_refuses || p.receiver_wrong;
}

/// A node that is cut off knows only what the farm once was.
bool knows_farm(const snap& now) { return now.farm && now.farm->state == farm_state::joined; }

/// The last spill, if it ended lately and lacks whole events.
const spill_account* spill_with_missing(const snap& s) {
  constexpr double longest_cycle = 6; // s
  if (s.latest_spills.empty() || s.spill_age.value_or(longest_cycle) >= longest_cycle)
    return nullptr;
  const spill_account& last = s.latest_spills.back();
  // A first spill without events began before the daemon: only its end has come.
  if (s.ended_spills.spills == 1 && last.admitted + last.incomplete == 0) return nullptr;
  return last.missing == 0 ? nullptr : &last;
}

std::uint64_t sent_in(const spill_account& s) {
  return s.expected.value_or(s.admitted + s.incomplete + s.missing);
}

std::string missing_text(const spill_account& s) {
  return fmt::format("{} of {} events of spill {} did not arrive at all, according to the ends of "
                     "spill",
                     s.missing, sent_in(s), s.spill);
}

/// Datagrams that the kernel dropped in the last seconds.
std::uint64_t drops_lately(const snap& s) {
  return rise(s.lately.datagrams.kernel_drops, s.account.datagrams.kernel_drops);
}

} // namespace
namespace rules {

// --- input ---

found nothing_admitted(const snap& before, const snap& now) {
  if (!runs(now) || now.state.now != phase::receiving) return std::nullopt;
  if (rise(before.account.events.admitted, now.account.events.admitted) != 0) return std::nullopt;
  auto all = dropped_between(now.at_admission, now.account);
  // Events lack fragments because these were refused.
  if (4 * total_of(refused_between(now.at_admission, now.account)) >=
      rise(now.at_admission.datagrams.received, now.account.datagrams.received))
    std::erase_if(all, [](const dropped& d) { return d.reason == "incomplete"; });
  const auto latest = dropped_between(before.account, now.account);
  // From its second repeat on, only the chunks of a fragment are counted.
  const bool goes_on = !latest.empty() || before.building.late_chunks != now.building.late_chunks;
  // Two looks in a row: a few stray data after the last event are no trouble. Events that lack
  // fragments are a trouble of their own, and their other fragments come late.
  if (!goes_on || total_of(all) < 2 * few || total_of(all) == total_of(latest) ||
      all[0].reason == "incomplete" ||
      (all[0].reason == "late" &&
       now.account.fragments.incomplete > now.at_admission.fragments.incomplete) ||
      !is_much_dropped(now.at_admission, now.account))
    return std::nullopt;
  finding f = all_lost(fmt::format(
      "data arrive, but no event is admitted: in {}, {}",
      now.event_age ? "the last " + in_words(*now.event_age) : "this run", text_of(all[0], now)));
  f.action = action_of(all);
  f.what = all[0].reason;
  f.events = events_in(rise(before.account.datagrams.received, now.account.datagrams.received),
                       now.at_admission, now);
  return f;
}

found crate_fault(const snap&, const snap& now) {
  const crate_report* worst = worst_of(now.crates);
  if (worst == nullptr) return std::nullopt;
  for (const crate_report& r : now.crates)
    if (r.fault && r.lost > worst->lost) worst = &r;
  const auto is_bad = [](const crate_report& r) { return r.fault.has_value(); };
  const auto others = std::ranges::count_if(now.crates, is_bad) - 1;
  finding f = warning(worst->text);
  const std::size_t number = std::string_view("crate ").size();
  f.what = fmt::format("{} {} {}", worst->text.substr(0, worst->text.find(' ', number)),
                       name_of(*worst->fault), others);
  if (others != 0) f.text += fmt::format(" ({} more crate{} too)", others, others == 1 ? "" : "s");
  const spill_loss l = loss_in(now);
  if (worst->lost == 0 || l.lost == 0) return f;
  f.text = fmt::format("{}: {}", text_of(l, now), f.text);
  if (now.named.incomplete_are_kept) return f;
  f.loses = losing::now;
  f.share = l.share();
  if (l.share() >= warning_share) f.how_bad = severity::critical;
  f.events = worst->lost_now;
  return f;
}

found events_incomplete(const snap& before, const snap& now) {
  const std::uint64_t more =
      rise(before.building.events_incomplete, now.building.events_incomplete);
  const missing_fragments missing = missing_lately(now);
  if (missing.explained || nothing_admitted(before, now)) return finding{.is_said = true};
  if (more == 0) {
    const auto overdue = [](const snap& s) {
      return std::transform_reduce(s.account.crates.begin(), s.account.crates.end(),
                                   std::uint64_t{0}, std::plus(),
                                   [](const crate_account& c) { return c.overdue; });
    };
    return rise(overdue(before), overdue(now)) == 0 ? std::nullopt
                                                    : found(finding{.only_lasts = true});
  }
  const spill_loss l = loss_in(now);
  finding f;
  f.how_bad = severity_of(l.share(), l.all);
  f.what = missing.most;
  f.text =
      fmt::format("{}: they lack fragments{}", text_of(l, now),
                  missing.text.empty() ? "" : fmt::format(" (in the last 4 s: {})", missing.text));
  if (now.named.incomplete_are_kept) {
    f.how_bad = std::min(f.how_bad, severity::warning);
  } else {
    f.loses = losing::now;
    f.share = l.share();
    f.events = more;
  }
  auto causes = dropped_between(now.lately, now.account);
  std::erase_if(causes, [](const dropped& d) {
    return d.reason == "incomplete" || d.reason == "late" || d.reason == "duplicate" ||
           d.reason == "source";
  });
  if (!causes.empty() && 2 * total_of(causes) > more) {
    f.text += "; " + text_of(causes[0], now);
    f.action = action_of(causes);
  } else if (missing.most.empty()) {
    f.text += "; the losses are spread over crates, and nothing was dropped here; likely cause: "
              "the network "
              "between level 2 and this node loses datagrams";
    f.action = "check what all crates share: the switch, its uplink and this node's network card";
  }
  return f;
}

found events_missing(const snap& before, const snap& now) {
  const spill_account* const last = spill_with_missing(now);
  if (last == nullptr) return std::nullopt;
  const std::uint64_t dropped = events_in(drops_lately(now), before.account, now);
  if (2 * dropped >= last->missing) return finding{.is_said = true}; // by kernel_drops
  finding f = warning(missing_text(*last));
  f.loses = losing::now;
  f.share = ratio(last->missing, sent_in(*last));
  f.how_bad = std::max(severity_of(f.share, sent_in(*last)), severity::warning);
  f.events = rise(before.ended_spills.missing, now.ended_spills.missing);
  f.only_lasts = f.events == 0;
  return f;
}

found no_ends_of_spill(const snap&, const snap& now) {
  const auto& all = now.latest_spills;
  const auto lacks_ends = [](const spill_account& s) {
    return !s.expected && s.admitted + s.incomplete != 0;
  };
  if (now.account.datagrams.data == 0 || all.size() < 2 || !lacks_ends(all.end()[-1]) ||
      !lacks_ends(all.end()[-2]))
    return std::nullopt;
  return warning("no crate sends an end of spill: events of which no datagram comes cannot be "
                 "counted as missing");
}

found datagrams_refused(const snap& before, const snap& now) {
  const auto all = refused_between(before.account, now.account);
  if (all.empty()) return std::nullopt;
  if (nothing_admitted(before, now)) return finding{.is_said = true};
  const std::uint64_t came =
      rise(before.account.datagrams.received, now.account.datagrams.received);
  const bool turned_away = std::ranges::any_of(all, [](const dropped& d) {
    return d.reason.starts_with("stream_") || d.reason == name_of(refused::connection_limit);
  });
  finding f = warning(text_of(refused_between(now.lately, now.account).front(), now));
  if (!turned_away && ratio(total_of(all), came) < warning_share) f.how_bad = severity::note;
  f.action = action_of(all);
  f.what = all[0].reason;
  return f;
}

found kernel_drops(const snap& before, const snap& now) {
  if (rise(before.account.datagrams.kernel_drops, now.account.datagrams.kernel_drops) == 0)
    return std::nullopt;
  const std::uint64_t drops = drops_lately(now);
  const std::uint64_t all =
      drops + rise(now.lately.datagrams.received, now.account.datagrams.received);
  finding f = warning(
      fmt::format("the kernel dropped {} of {} datagrams: the daemon did not keep up", drops, all));
  f.loses = losing::now;
  f.share = ratio(drops, all);
  f.how_bad = std::max(severity_of(f.share, all), severity::warning);
  if (const spill_account* const last = spill_with_missing(now)) {
    f.text += "; " + missing_text(*last);
    f.share = std::max(f.share, ratio(last->missing, sent_in(*last)));
    f.how_bad = std::max(f.how_bad, severity_of(f.share, sent_in(*last)));
  }
  return f;
}

found conflicting_events(const snap& before, const snap& now) {
  const auto streams = [](const snap& s) {
    return count_in(s.account.datagrams.malformed, name_of(refused::stream_conflict));
  };
  const auto over_udp = [](const snap& s) {
    return count_in(s.account.fragments.malformed, name_of(malformed::conflicting_chunks)) +
           s.building.fragments_conflicting;
  };
  if (const auto n = rise(streams(before), streams(now)); n != 0)
    return critical(fmt::format("{} times a sender over TCP sent an event with a used number and "
                                "other bytes; it was refused, and the first event stays",
                                n));
  if (const auto n = rise(over_udp(before), over_udp(now)); n != 0)
    return warning(fmt::format("{} fragments came twice with different bytes", n));
  return std::nullopt;
}

found duplicates(const snap& before, const snap& now) {
  const fragment_account& was = before.account.fragments;
  const fragment_account& is = now.account.fragments;
  const std::uint64_t n = rise(was.duplicate, is.duplicate);
  if (n == 0) return std::nullopt;
  if (nothing_admitted(before, now)) return finding{.is_said = true};
  const double share = ratio(n, rise(was.seen, is.seen));
  return finding{
      .how_bad = share < 0.1 ? severity::note : severity::warning,
      .text = fmt::format(
          "{} fragments of events that were already accepted came again and were dropped", n)};
}

found data_without_run(const snap& before, const snap& now) {
  if (runs(now) || now.run.state != "configured" || now.run.beam_without_run <= 0)
    return std::nullopt;
  finding f = all_lost(fmt::format("data arrive, but no run is active: {} datagrams were dropped "
                                   "since the daemon started {} ago",
                                   now.run.datagrams_without_run, in_words(now.uptime)));
  f.events = events_in(rise(before.run.datagrams_without_run, now.run.datagrams_without_run),
                       before.account, now);
  return f;
}

found no_pause(const snap&, const snap& now) {
  constexpr double longest = 10; // s
  if (std::max(runs(now) ? 0 : now.run.beam_without_run, now.run.waits) < longest)
    return std::nullopt;
  finding f = warning("crates send without a pause of 0.4 s: a run waits for one for a minute, and "
                      "then begins or ends within a spill");
  if (now.run.state == "armed") {
    f.how_bad = severity::critical;
    f.loses = losing::now;
    f.share = 1;
  }
  return f;
}

found no_data(const snap&, const snap& now) {
  constexpr double long_ago = 300; // s
  const double age = now.data_age.value_or(now.uptime);
  if (!runs(now) || !now.state.ready() || age < long_ago) return std::nullopt;
  return note(fmt::format("no data have arrived for {}", in_words(age)));
}

// --- computing ---

found no_frame(const snap& before, const snap& now) {
  const auto is_free = [](const snap& s) {
    return s.frames[static_cast<std::size_t>(frame_state::free)] != 0 ||
           std::accumulate(s.frames.begin(), s.frames.end(), 0U) == 0;
  };
  finding f = warning("every frame is busy: TCP senders wait");
  if (add_shed(f, before, now, shed::no_frame))
    f.text = fmt::format("every frame is busy: {} events were shed", f.events);
  else if (is_free(before) || is_free(now))
    return std::nullopt;
  return f;
}

found engine_error(const snap& before, const snap& now) {
  if (!now.state.engine_failed) return std::nullopt;
  finding f = all_lost("not even the CPU can compute events: the kernels failed");
  f.events = shed_since(before, now, shed::engine);
  return f;
}

found wrong_results(const snap&, const snap& now) {
  const std::uint64_t frames = now.engine.failures[engine_failure::wrong];
  if (frames == 0) return std::nullopt;
  return critical(fmt::format("wrong results in {} frame{}: {} of {} checked events were packed or "
                              "decided wrong",
                              frames, frames == 1 ? "" : "s", now.engine.events_wrong.get(),
                              now.engine.events_verified.get()));
}

found engine_fails(const snap& before, const snap& now) {
  const std::uint64_t all = now.engine.failures.sum();
  if (now.engine.bypassed) return finding{.is_said = true};
  if (rise(before.engine.failures.sum(), all) == 0) return std::nullopt;
  constexpr std::uint64_t many = 3;
  finding f =
      note(fmt::format("the device failed on {} frame{} of this run, which the CPU computed", all,
                       all == 1 ? "" : "s"));
  if (all >= many) f.how_bad = severity::warning;
  return f;
}

found events_not_judged(const snap& before, const snap& now) {
  const std::uint64_t n = rise(before.events_not_judged, now.events_not_judged);
  const std::uint64_t all = rise(before.account.events.admitted, now.account.events.admitted);
  const std::uint64_t boards = rise(before.outcomes.boards_damaged, now.outcomes.boards_damaged);
  if (std::max(n, boards) < few || ratio(std::max(n, boards), all) < warning_share)
    return std::nullopt;
  if (n >= boards)
    return warning(part_of(n, all, "event") + " have too many hits or clusters to be judged");
  finding f = warning(fmt::format("{} boards of {} events cannot be decoded: they are stored as "
                                  "they came, but the selection does not see their signals",
                                  boards, all));
  f.action = "find these boards (`koto-l3 inspect STORE --event SPILL/NUMBER`), and tell the "
             "level-2 expert";
  return f;
}

found hot_inputs(const snap&, const snap& now) {
  if (!now.hot_inputs || now.hot_inputs->empty()) return std::nullopt;
  finding f = warning(fmt::format(
      "{} inputs are hot: {}: more than {} % of their waveforms in a spill have a pulse",
      now.hot_inputs->size(), first_names(*now.hot_inputs), now.named.hot_above));
  f.action = fmt::format("tell the detector's expert; the line {},,,,1 in selection.calibration "
                         "excludes the first one from the next run on",
                         now.hot_inputs->front());
  f.what = first_names(*now.hot_inputs);
  return f;
}

// --- output ---

found outbox_full(const snap& before, const snap& now) {
  constexpr double nearly = 0.8;
  if (now.parts.waits_for_outbox) {
    finding f = warning("the outbox is full, and frames wait: TCP senders wait, and events over "
                        "UDP are shed when no frame is free");
    f.loses = losing::soon;
    f.seconds_left = 0;
    static_cast<void>(add_shed(f, before, now, shed::no_frame));
    return f;
  }
  if (now.spool || ratio(now.outbox_bytes, now.outbox_capacity) < nearly) return std::nullopt;
  return fills(warning(fmt::format("the outbox is {:.0f} % full",
                                   100 * ratio(now.outbox_bytes, now.outbox_capacity))),
               now, false);
}

found shedding(const snap& before, const snap& now) {
  finding f = warning("");
  if (!add_shed(f, before, now, shed::priority) && !now.parts.sheds) return std::nullopt;
  f.loses = losing::now; // also between two events, and when a spill begins
  const auto share_of = [](const spill_counts& s) { return ratio(s.shed, s.admitted); };
  f.share = std::max(f.share, share_of(now.this_spill));
  if (!now.spill_outcomes.empty() && now.spill_outcomes.back())
    f.share = std::max(f.share, share_of(*now.spill_outcomes.back()));
  std::uint8_t top = 0;
  for (const line_snapshot& l : now.lines) top = std::max(top, l.priority);
  bool top_is_prescaled = now.lines.empty();
  std::vector<std::string> kept;
  const auto none = std::ranges::count(now.lines, 0U, &line_snapshot::shed_prescale);
  for (const line_snapshot& l : now.lines) {
    if (l.shed_prescale != 1) top_is_prescaled = top_is_prescaled || l.priority == top;
    if (l.shed_prescale > 1) kept.push_back(fmt::format("1 in {} of {}", l.shed_prescale, l.name));
  }
  if (none != 0) kept.push_back(fmt::format("nothing of {} line{}", none, none == 1 ? "" : "s"));
  f.text =
      fmt::format("events are shed for lack of room: {} of this spill, {} of the run; {}{}",
                  now.this_spill.shed, count_in(now.account.events.shed, name_of(shed::priority)),
                  top_is_prescaled ? "events of the highest priority are lost"
                                   : "no event of the highest priority is lost yet",
                  kept.empty() ? "" : "; kept: " + first_names(kept));
  f.how_bad = top_is_prescaled ? severity::critical : severity::warning;
  f.what = first_names(kept);
  return f;
}

found lost_at_run_end(const snap&, const snap& now) {
  const std::uint64_t events = count_in(now.ended_run.lost, name_of(shed::drain));
  if (events == 0 || (now.ended_run.before_start && now.uptime >= told_for)) return std::nullopt;
  finding f = warning(fmt::format(
      "{} events of run {} were shed at its end, because the receiver had not stored them", events,
      now.ended_run.run));
  f.what = fmt::to_string(now.ended_run.run);
  return f;
}

found ledger_missing(const snap&, const snap& now) {
  return now.ledger_error.empty() ? std::nullopt : found(warning(now.ledger_error));
}

found receiver_absent(const snap&, const snap& now) {
  if (!now.parts.receiver_absent)
    return now.parts.receiver_slow ? found(finding{.only_lasts = true}) : std::nullopt;
  if (now.unknown) {
    finding f = warning(fmt::format("the name in {} ({}) has no address on this machine: {}",
                                    now.unknown->endpoint, now.unknown->key, now.unknown->why));
    f.action = "correct the name, or the machine's name service (/etc/hosts, DNS)";
    return fills(f, now, true);
  }
  const bool silent = now.parts.receiver_silent;
  const std::string why =
      silent ? "the receiver at " + now.receiver + " was connected, but has not answered for two " +
                   "seconds or longer: its disk is slow, it is stopped, or the link is cut"
      : now.blocks_stored != 0
          ? "the receiver at " + now.receiver + " no longer answers, or refuses this daemon"
          : "no receiver answers at " + now.receiver + ", or it refuses this daemon, and " +
                "none has answered in this run";
  finding f = warning(why + "; events wait in memory" + (now.spool ? ", then on disk" : ""));
  if (silent) f.action = "look at the page of the receiver, the disk of its store and the network";
  return fills(f, now, true);
}

found spool_fills_up(const snap&, const snap& now) {
  constexpr double soon = 1800;     // s
  constexpr double very_soon = 600; // s
  if (lacks_receiver(now) || now.parts.spool_full || !now.spool || !now.spool->seconds_left ||
      *now.spool->seconds_left >= soon)
    return std::nullopt;
  const double left = *now.spool->seconds_left;
  finding f = warning(fmt::format("the disk of the spool {}, with {} events on it",
                                  left < 1 ? "is full" : "will be full in " + in_words(left),
                                  now.spool->events));
  if (left < very_soon) f.how_bad = severity::critical;
  f.loses = losing::soon;
  f.seconds_left = now.spool->seconds_left;
  return f;
}

found spool_waits(const snap&, const snap& now) {
  if (runs(now) || !now.spool || now.spool->events == 0) return std::nullopt;
  return warning(fmt::format("{} events on disk (spool.folder) wait for the next run, which sends "
                             "them to the receiver at {}; nothing is lost meanwhile",
                             now.spool->events, now.receiver));
}

/// Also what this start has found.
found lost_on_disk(const snap& before, const snap& now, std::uint64_t spool_totals::*what,
                   std::string_view is) {
  const auto of = [&](const snap& s) { return s.spool ? (*s.spool).*what : 0; };
  const std::uint64_t blocks = rise(of(before), of(now));
  if (blocks == 0) return std::nullopt;
  finding f = critical(fmt::format("{} blocks on disk are {}: their events are lost", blocks, is));
  f.loses = losing::now;
  return f;
}

found spool_damaged(const snap& before, const snap& now) {
  found f = lost_on_disk(before, now, &spool_totals::damaged, "damaged");
  if (f) static_cast<void>(add_shed(*f, before, now, shed::spool));
  return f;
}

found spool_missing(const snap& before, const snap& now) {
  return lost_on_disk(before, now, &spool_totals::missing, "missing");
}

// --- the process and its farm ---

found crashed_before(const snap&, const snap& now) {
  if (!now.last_run_crashed || now.uptime >= told_for) return std::nullopt;
  finding f = note(fmt::format(
      "the daemon was started after a crash: up to {} events were in memory", now.last_run_lost));
  if (now.last_run_lost != 0) f.how_bad = severity::warning;
  return f;
}

found farm_cut_off(const snap&, const snap& now) {
  if (!now.farm || now.farm->text.empty() || now.farm->state == farm_state::left)
    return std::nullopt;
  return warning(now.farm->text);
}

found farm_node_missing(const snap&, const snap& now) {
  if (!knows_farm(now)) return std::nullopt;
  std::vector<std::uint32_t> nodes;
  for (const farm_node_report& n : now.farm->nodes)
    if (n.stands == farm_standing::missing) nodes.push_back(n.node);
  if (nodes.empty()) return std::nullopt;
  finding f = warning(fmt::format(
      "node {} of the farm {} not connected to etcd: meanwhile no run begins on all nodes",
      fmt::join(nodes, ", "), nodes.size() == 1 ? "is" : "are"));
  f.what = fmt::format("{}", fmt::join(nodes, " "));
  return f;
}

found farm_not_one_run(const snap& before, const snap& now) {
  if (!knows_farm(now)) return std::nullopt;
  const auto changes = [](const snap& s) {
    return s.run.waits > 0 || s.run.state == "armed" || s.run.state == "draining";
  };
  std::vector<std::string> apart;
  for (const farm_node_report& n : now.farm->nodes) {
    if (n.node == now.node && !n.failure.empty())
      return critical("this node is not in the farm's run: " + n.failure);
    if (n.stands == farm_standing::apart &&
        (!n.failure.empty() || !(changes(before) || changes(now))))
      apart.push_back(fmt::format("{}{}", n.node, n.failure.empty() ? "" : " (" + n.failure + ")"));
  }
  if (apart.empty()) return std::nullopt;
  return warning(fmt::format("these nodes are not in the farm's run: {}", first_names(apart)));
}

// --- states ---

found stuck(const snap&, const snap& now) {
  if (now.parts.stuck.empty()) return std::nullopt;
  return all_lost("no progress: the thread " + now.parts.stuck + " stands still");
}

found receiver_refuses(const snap&, const snap& now) {
  if (!now.parts.receiver_refuses) return std::nullopt;
  return fills(warning(fmt::format("the receiver at {} answers, but stores nothing", now.receiver)),
               now, true);
}

found receiver_wrong(const snap&, const snap& now) {
  if (!now.parts.receiver_wrong) return std::nullopt;
  return fills(critical(fmt::format("the receiver at {} claims to have blocks that were never sent "
                                    "to it; the daemon keeps its blocks",
                                    now.receiver)),
               now, true);
}

found backlog_on_disk(const snap&, const snap& now) {
  if (lacks_receiver(now)) return finding{.is_said = true};
  if (!now.parts
           .spilling) // copies of what is in memory, or blocks of an earlier start, are no sign
    return now.spool && now.spool->blocks != 0 ? found(finding{.only_lasts = true}) : std::nullopt;
  const bool at_limit = now.output_rate > 0 && rate_of(now, "bytes_sent") > 0.9 * now.output_rate;
  finding f = warning("memory has filled up, and events wait on disk");
  if (at_limit)
    f.text += fmt::format(": forward.rate limits the output to {:.4g} MB/s", now.output_rate / 1e6);
  else
    f.text += fmt::format(" until the receiver at {} accepts more", now.receiver);
  if (at_limit) f.action = "raise forward.rate if the link allows it, or keep fewer events";
  f.text += while_there_is_room(now);
  return f;
}

found spool_full(const snap&, const snap& now) {
  if (!now.parts.spool_full) return std::nullopt;
  finding f = critical("there is no room on disk (spool.size, spool.floor, or the disk itself)");
  f.loses = losing::soon;
  f.seconds_left = now.outbox_seconds_left;
  return f;
}

found spool_fails(const snap&, const snap& now) {
  if (!now.parts.spool_fails) return std::nullopt;
  finding f = critical(
      fmt::format("the disk of spool.folder refuses blocks, but not for lack of room: {} so far",
                  now.spool ? now.spool->write_errors : 0));
  f.loses = losing::soon;
  f.seconds_left = now.outbox_seconds_left;
  return f;
}

found device_lost(const snap&, const snap& now) {
  if (const std::uint32_t n = now.engine.devices_left_out; n != 0 && !now.parts.device_lost)
    return warning(fmt::format("{} device{} failed when the daemon started, and compute{} nothing",
                               n, n == 1 ? "" : "s", n == 1 ? "s" : ""));
  if (!now.parts.device_lost) return std::nullopt;
  return warning("this process has lost the device; the CPU computes, with the same results");
}

found engine_bypassed(const snap&, const snap& now) {
  if (!now.engine.bypassed) return std::nullopt;
  return warning(fmt::format(
      "the device ({}) failed {} times in this run, and the CPU computes instead: {} frames "
      "so far; nothing is lost while it keeps up",
      now.device, now.engine.failures.sum(), now.engine.frames_bypassed.get()));
}

found inputs_changed(const snap&, const snap& now) {
  return changed(&reference_report::inputs, "inputs", &reference_report::which_inputs, now);
}

found histograms_changed(const snap&, const snap& now) {
  return changed(&reference_report::histograms, "histograms", &reference_report::which_histograms,
                 now);
}

found reload_refused(const snap&, const snap& now) {
  if (!now.last_reload_refused) return std::nullopt;
  return warning("the configuration was reloaded and refused; the settings stay as they were");
}

} // namespace rules
} // namespace l3
