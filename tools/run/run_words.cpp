// SPDX-License-Identifier: Apache-2.0
#include "tools/run/run_words.hpp"

#include <string_view>

#include <fmt/format.h>

#include "transport/format/plain_text.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

std::string text_at(const json::value& of, const char* key) {
  const json::value& v = of.at(key);
  return v.is_string() ? peer_text(std::string_view(v.as_string())) : std::string();
}

/// "run 12 (menu file, a comment)"
std::string words_of(const json::value& run) {
  std::string more = text_at(run, "menu");
  const std::string comment = text_at(run, "comment");
  if (!comment.empty()) more += (more.empty() ? "" : ", ") + comment;
  return fmt::format("run {}{}", run.at("number").to_number<std::uint32_t>(),
                     more.empty() ? "" : " (" + more + ")");
}

bool ended_well(const json::object& status) { return status.at("last").at("well").as_bool(); }

/// Nodes in a wrong state, as text; sets `waits` if one is only slow.
std::string nodes_apart(const json::object& farm, bool& waits) {
  std::string text;
  for (const json::value& n : farm.at("nodes").as_array()) {
    const std::string stands = text_at(n, "stands");
    const std::string failure = text_at(n, "failure");
    if (stands == "in_order") continue;
    std::string why;
    if (stands == "missing")
      why = "is missing: it follows the farm when it is back";
    else if (!failure.empty())
      why = "does not follow: " + failure;
    else
      waits = true;
    if (!why.empty())
      text += fmt::format("{}node {} {}", text.empty() ? "" : "; ",
                          n.at("node").to_number<std::uint32_t>(), why);
  }
  return text;
}

/// A node's latest run that did not end well.
std::optional<std::uint32_t> not_well(const json::value& node) {
  const json::value& run = node.at("not_well");
  return run.is_number() ? std::optional(run.to_number<std::uint32_t>()) : std::nullopt;
}

std::string node_words(const json::value& n) {
  const auto run = n.at("run").is_number()
                       ? fmt::format(", run {}", n.at("run").to_number<std::uint32_t>())
                       : std::string();
  const std::string failure = text_at(n, "failure");
  const std::string state = text_at(n, "state");
  const auto ended = not_well(n);
  return fmt::format("node {} {}: {}{}{}{}", n.at("node").to_number<std::uint32_t>(),
                     text_at(n, "host"), state.empty() ? "missing" : state, run,
                     failure.empty() ? "" : "; " + failure,
                     ended ? fmt::format("; run {} did not end well: its log", *ended) : "");
}

} // namespace

std::string table_of(const json::object& status) {
  const json::value all(status);
  std::string text = text_at(all, "state") + "\n";
  const auto line = [&](std::string_view what, const std::string& words) {
    text += fmt::format("  {:<12}{}\n", what, words);
  };
  const bool stopping = status.at("stopping").as_bool();
  if (const auto& current = status.at("current"); current.is_object())
    line("current", words_of(current) + (stopping ? ", ends when the beam pauses" : ""));
  if (const auto& next = status.at("next"); next.is_object())
    line("next", words_of(next) + ", begins when the beam pauses");
  if (status.at("failure").is_string()) line("failure", text_at(all, "failure"));
  if (const auto& last = status.at("last"); last.is_object()) {
    line("last", fmt::format("run {}: events {}{}", last.at("number").to_number<std::uint32_t>(),
                             text_at(last, "events"),
                             ended_well(status) ? "" : "; it did not end well: the daemon's log"));
    if (const std::string ledger = text_at(last, "ledger"); !ledger.empty()) line("", ledger);
  }
  if (is_of_a_farm(status)) {
    const json::value& farm = status.at("farm");
    const std::string wrong = text_at(farm, "text");
    line("farm", text_at(farm, "state") + (wrong.empty() ? "" : ": " + wrong));
    if (const std::string failure = text_at(farm, "failure"); !failure.empty()) line("", failure);
    for (const json::value& n : farm.at("nodes").as_array()) line("", node_words(n));
  }
  const auto dropped = status.at("datagrams_without_run").to_number<std::uint64_t>();
  if (dropped != 0) line("no run", fmt::format("datagrams dropped: {}", dropped));
  return text;
}

bool is_of_a_farm(const json::object& status) { return status.at("farm").is_object(); }

std::optional<std::uint32_t> number_of_run(const json::object& status, const char* which) {
  const json::value& run = status.at(which);
  if (!run.is_object()) return std::nullopt;
  return run.at("number").to_number<std::uint32_t>();
}

std::optional<run_outcome> outcome_of_start(const json::object& status, std::uint32_t number) {
  if (number_of_run(status, "next") == number) return std::nullopt;
  const bool failed = status.at("failure").is_string();
  if (number_of_run(status, "current") == number) {
    if (status.at("state").as_string() == "running") return run_outcome{};
    return std::nullopt; // drained again, because its ledger cannot be written
  }
  if (failed)
    return run_outcome{
        fmt::format("run {} did not begin: {}", number, text_at(json::value(status), "failure"))};
  if (number_of_run(status, "last") == number) return run_outcome{}; // it has begun and ended
  return run_outcome{
      fmt::format("run {} did not begin: it was stopped, or another one took its place", number)};
}

std::optional<run_outcome> outcome_of_stop(const json::object& status, std::uint32_t number) {
  if (number_of_run(status, "current") == number) return std::nullopt;
  if (number_of_run(status, "last") == number && !ended_well(status))
    return run_outcome{fmt::format("run {} did not end well: see the daemon's log", number)};
  return run_outcome{};
}

std::optional<run_outcome> outcome_of_start_of_all(const json::object& status,
                                                   std::uint32_t number) {
  const json::object& farm = status.at("farm").as_object();
  if (number_of_run(farm, "order") == number || number_of_run(status, "next") == number)
    return std::nullopt;
  const bool holds = number_of_run(farm, "run") == number;
  const std::string failure = text_at(farm, "failure");
  // A resumed run is the farm's run before its order, too.
  if (!holds ? !failure.empty() : failure.starts_with(fmt::format("run {}: ", number)))
    return run_outcome{failure + ": it did not begin on any node"};
  if (!holds)
    return run_outcome{fmt::format(
        "run {} did not begin on any node: it was stopped, or another one took its place", number)};
  bool waits = false;
  const std::string apart = nodes_apart(farm, waits);
  if (waits) return std::nullopt;
  return run_outcome{apart.empty() ? apart
                                   : fmt::format("run {} has begun, but {}", number, apart)};
}

std::optional<std::uint32_t> run_of_farm(const json::object& status) {
  return number_of_run(status.at("farm").as_object(), "run");
}

std::optional<run_outcome> outcome_of_stop_of_all(const json::object& status,
                                                  std::optional<std::uint32_t> number) {
  const json::object& farm = status.at("farm").as_object();
  const std::string failure = text_at(farm, "failure");
  if (farm.at("run").is_object())
    return failure.empty() ? std::nullopt : std::optional(run_outcome{failure});
  bool waits = false;
  const std::string apart = nodes_apart(farm, waits);
  if (waits) return std::nullopt;
  auto here = number ? outcome_of_stop(status, *number) : run_outcome{};
  if (!here) return here;
  std::string wrong = apart;
  for (const json::value& n : farm.at("nodes").as_array())
    if (const auto run = not_well(n); run && run == number)
      wrong +=
          fmt::format("{}run {} did not end well on node {}: see its log",
                      wrong.empty() ? "" : "; ", *run, n.at("node").to_number<std::uint32_t>());
  return wrong.empty() ? here : run_outcome{fmt::format("the run has ended, but {}", wrong)};
}

} // namespace l3
