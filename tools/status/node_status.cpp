// SPDX-License-Identifier: Apache-2.0
#include "tools/status/node_status.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "monitor/in_words.hpp"
#include "transport/format/plain_text.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

const json::value* at(const json::value& v, std::string_view pointer) {
  json::error_code error;
  return v.find_pointer({pointer.data(), pointer.size()}, error);
}

std::string text_at(const json::value& v, std::string_view pointer) {
  const json::value* found = at(v, pointer);
  return found != nullptr && found->is_string() ? peer_text(std::string_view(found->as_string()))
                                                : std::string();
}

std::optional<double> number_at(const json::value& v, std::string_view pointer) {
  const json::value* found = at(v, pointer);
  if (found == nullptr || !found->is_number()) return std::nullopt;
  return found->to_number<double>();
}

std::optional<std::uint64_t> count_at(const json::value& v, std::string_view pointer) {
  const auto number = number_at(v, pointer);
  constexpr double most = 9e15; // largest count exact in a double
  if (!number || *number < 0 || *number > most) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

template <class Each>
void each_object(const json::value& v, std::string_view pointer, const Each& each) {
  const json::value* found = at(v, pointer);
  if (found == nullptr || !found->is_array()) return;
  for (const json::value& element : found->as_array())
    if (element.is_object()) each(element);
}

bool true_at(const json::value& v, std::string_view pointer) {
  const json::value* found = at(v, pointer);
  return found != nullptr && ((found->is_bool() && found->as_bool()) || *found == 1);
}

/// The faulty crate, with several the one with the most missing fragments.
std::string worst_crate(const json::value& v) {
  std::string worst;
  double most = -1;
  std::size_t others = 0;
  each_object(v, "/crates", [&](const json::value& crate) {
    const std::string fault = text_at(crate, "/fault");
    const std::string number = text_at(crate, "/crate");
    if (fault.empty() || number.empty()) return;
    const double missing = number_at(crate, "/missing").value_or(0);
    others += worst.empty() ? 0 : 1;
    if (missing <= most) return;
    most = missing;
    worst = fmt::format("{}: {}", number, fault);
  });
  return others == 0 ? worst : fmt::format("{}, {} more", worst, others);
}

template <class Enum>
Enum named(const std::string& name, Enum otherwise) {
  const auto& names = names_of<Enum>;
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? otherwise : static_cast<Enum>(found - names.begin());
}

/// ", losing 58 % of the events"; ", 3 min left".
std::string loss_of(const node_trouble& t) {
  constexpr double percent = 100;
  if (t.loses == losing::now)
    return t.share > 0 ? fmt::format(", losing {:.3g} % of the events", percent * t.share)
                       : ", losing events";
  if (t.loses == losing::no || t.seconds_left.value_or(0) < 1) return {};
  return fmt::format(", {} left", in_words(*t.seconds_left));
}

void add_trouble(const json::value& v, node_status& to) {
  node_trouble t;
  t.how_bad = named(text_at(v, "/severity"), severity::warning);
  t.loses = named(text_at(v, "/losing"), losing::no);
  t.share = number_at(v, "/share").value_or(0);
  t.seconds_left = number_at(v, "/seconds_left");
  t.text = fmt::format("{}{}: {}; {}", text_at(v, "/name"), loss_of(t), text_at(v, "/text"),
                       text_at(v, "/action"));
  t.all = v.as_object();
  t.all["url"] = to.url;
  to.troubles.push_back(std::move(t));
}

void add_trouble(std::string_view name, severity how_bad, std::string_view text,
                 std::string_view action, node_status& to) {
  add_trouble(
      json::object{
          {"name", name}, {"severity", name_of(how_bad)}, {"text", text}, {"action", action}},
      to);
}

/// The next step for the operator of a daemon that is healthy but waits for a person.
void add_wait(const std::string& run_state, node_status& to) {
  if (run_state == "configured")
    add_trouble("waits", severity::note, "no run is active; incoming data are dropped",
                "`koto-l3 run start` on that node begins one", to);
  if (run_state == "armed")
    add_trouble("waits", severity::note,
                "a run waits for a pause of the beam; data until then are dropped", "wait", to);
}

void read_daemon(const json::value& v, node_status& to) {
  to.state = text_at(v, "/state/now");
  const std::string run_state = text_at(v, "/run_state");
  if (run_state != "configured" && run_state != "armed") to.run = count_at(v, "/run");
  to.session = text_at(v, "/session");
  to.node = count_at(v, "/node");
  to.worst_crate = worst_crate(v);
  if (to.troubles.empty()) add_wait(run_state, to);
  to.disk_seconds_left = number_at(v, "/spool/seconds_left");
  to.disk_room = number_at(v, "/spool/room");
  to.events = number_at(v, "/events/admitted").value_or(0);
  each_object(v, "/links", [&](const json::value& link) {
    to.bytes_in += number_at(link, "/bytes").value_or(0);
  });
  to.bytes_out = number_at(v, "/bytes/sent").value_or(0);
}

void read_receiver(const json::value& v, node_status& to) {
  to.state = "receiving";
  std::size_t gone = 0;
  std::size_t daemons = 0;
  each_object(v, "/daemons", [&](const json::value& daemon) {
    ++daemons;
    gone += true_at(daemon, "/connected") ? 0 : 1;
  });
  to.state += fmt::format(", {} of {} daemons", daemons - gone, daemons);
  to.disk_seconds_left = number_at(v, "/disk/seconds_left");
  to.disk_room = number_at(v, "/disk/free");
  to.events = number_at(v, "/events").value_or(0);
  to.bytes_in = number_at(v, "/bytes").value_or(0);
}

std::string rate_text(const std::optional<node_rates>& rates, double node_rates::*which,
                      double unit) {
  return rates ? fmt::format("{:.{}f}", (*rates).*which / unit, unit > 1 ? 1 : 0) : "–";
}

std::string disk_text(const node_status& s) {
  if (s.disk_seconds_left) return "full in " + in_words(*s.disk_seconds_left);
  return s.disk_room ? fmt::format("{:.1f} GB", *s.disk_room / 1e9) : "–";
}

/// Counts characters, not bytes: "–" is one.
std::size_t width_of(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xc0U) != 0x80 ? 1 : 0;
  return width;
}

/// The troubles of all nodes.
std::vector<node_trouble> urgent_first(const std::vector<node_row>& rows) {
  std::vector<node_trouble> all;
  for (const node_row& row : rows)
    all.insert(all.end(), row.status.troubles.begin(), row.status.troubles.end());
  std::ranges::stable_sort(all, {}, urgency);
  return all;
}

std::vector<std::string> cells_of(const node_row& row) {
  constexpr double mega = 1e6;
  const node_status& s = row.status;
  const bool bad = s.worst().value_or(severity::note) != severity::note;
  if (!s.failure.empty()) return {s.url, "–", "no answer", "–", "–", "–", "–", "–", "–"};
  return {s.url,
          s.node ? fmt::to_string(*s.node) : "–",
          s.state + (bad ? fmt::format(", {}", name_of(*s.worst())) : "") +
              (s.ready ? "" : ", not ready"),
          s.run ? fmt::to_string(*s.run) : "–",
          rate_text(row.rates, &node_rates::events, 1),
          rate_text(row.rates, &node_rates::bytes_in, mega),
          s.program == "koto-l3d" ? rate_text(row.rates, &node_rates::bytes_out, mega) : "–",
          s.worst_crate.empty() ? "–" : s.worst_crate,
          disk_text(s)};
}

template <class T>
json::value value_or_null(const std::optional<T>& v) {
  return v ? json::value(*v) : json::value(nullptr);
}

} // namespace

node_status read_status(const std::string& url, std::string_view body) {
  node_status s;
  s.url = url;
  json::error_code error;
  const json::value v = json::parse({body.data(), body.size()}, error);
  if (error || !v.is_object())
    return no_answer(url,
                     "its /status is not a JSON object: it is not a daemon or receiver of koto-l3");
  s.program = text_at(v, "/program");
  s.ready = true_at(v, "/state/ready");
  s.uptime = number_at(v, "/uptime").value_or(0);
  each_object(v, "/troubles", [&](const json::value& t) { add_trouble(t, s); });
  if (const std::string text = text_at(v, "/problem/text"); s.troubles.empty() && !text.empty())
    add_trouble(text_at(v, "/problem/name"), severity::warning, text, "open its page", s);
  if (s.program == "koto-l3 receive")
    read_receiver(v, s);
  else if (s.program == "koto-l3d")
    read_daemon(v, s);
  else
    return no_answer(url, "its /status is not that of a daemon or a receiver of koto-l3");
  return s;
}

node_status no_answer(const std::string& url, const std::string& failure) {
  node_status s;
  s.url = url;
  s.failure = failure;
  add_trouble("no_answer", severity::critical, failure,
              "check its service, its machine and the network", s);
  return s;
}

std::optional<node_rates> rates_between(const node_status& before, const node_status& after) {
  const double seconds = after.uptime - before.uptime;
  if (!before.failure.empty() || !after.failure.empty() || seconds <= 0) return std::nullopt;
  if (before.session != after.session) return std::nullopt; // counts restart at 0 with each run
  return node_rates{(after.events - before.events) / seconds,
                    (after.bytes_in - before.bytes_in) / seconds,
                    (after.bytes_out - before.bytes_out) / seconds};
}

std::string table_of(const std::vector<node_row>& rows) {
  std::vector<std::vector<std::string>> cells{{"address", "node", "state", "run", "events/s",
                                               "in MB/s", "out MB/s", "worst crate", "disk"}};
  for (const node_row& row : rows) cells.push_back(cells_of(row));
  std::vector<std::size_t> widths(cells[0].size(), 0);
  for (const auto& line : cells)
    for (std::size_t c = 0; c < line.size(); ++c)
      widths[c] = std::max(widths[c], width_of(line[c]));
  std::string text;
  for (const auto& line : cells) {
    std::string shown;
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string blanks(widths[c] - width_of(line[c]), ' ');
      const bool number = c == 1 || (c >= 3 && c <= 6);
      shown += (c == 0 ? "" : "  ") + (number ? blanks + line[c] : line[c] + blanks);
    }
    text += shown.substr(0, shown.find_last_not_of(' ') + 1) + "\n";
  }
  for (const node_trouble& t : urgent_first(rows))
    text += fmt::format("{}: {}, {}\n", text_at(t.all, "/url"), name_of(t.how_bad), t.text);
  return text;
}

json::object json_of(const std::vector<node_row>& rows) {
  json::array nodes;
  bool good = true;
  for (const node_row& row : rows) {
    const node_status& s = row.status;
    good = good && s.good();
    json::object& o = nodes.emplace_back(json::object{{"url", s.url}}).as_object();
    o["good"] = s.good();
    o["failure"] = s.failure.empty() ? json::value(nullptr) : json::value(s.failure);
    if (!s.failure.empty()) continue;
    o["program"] = s.program;
    o["state"] = s.state;
    o["ready"] = s.ready;
    o["run"] = value_or_null(s.run);
    o["node"] = value_or_null(s.node);
    o["events_per_second"] = row.rates ? json::value(row.rates->events) : json::value(nullptr);
    o["bytes_in_per_second"] = row.rates ? json::value(row.rates->bytes_in) : json::value(nullptr);
    o["bytes_out_per_second"] =
        row.rates ? json::value(row.rates->bytes_out) : json::value(nullptr);
    o["worst_crate"] = s.worst_crate.empty() ? json::value(nullptr) : json::value(s.worst_crate);
    o["disk_seconds_left"] = value_or_null(s.disk_seconds_left);
    o["disk_room"] = value_or_null(s.disk_room);
  }
  json::array troubles;
  for (node_trouble& t : urgent_first(rows)) troubles.push_back(std::move(t.all));
  return {{"good", good}, {"troubles", std::move(troubles)}, {"nodes", std::move(nodes)}};
}

} // namespace l3
