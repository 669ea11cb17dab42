// SPDX-License-Identifier: Apache-2.0
#include "tools/reprocess/task_record.hpp"

#include <stdexcept>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "transport/accounting/ledger.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

namespace json = boost::json;

namespace {

json::object to_json(const recorded_file& f) {
  return {{"file", f.name.empty() ? json::value(nullptr) : json::value(f.name)},
          {"bytes", f.bytes},
          {"crc32c", fmt::format("{:08x}", f.crc)},
          {"blocks", f.blocks},
          {"events", f.events}};
}

std::uint64_t number_at(const json::value& v, const char* key) {
  return v.at(key).to_number<std::uint64_t>();
}

std::uint64_t hexadecimal_at(const json::value& v, const char* key) {
  return std::stoull(std::string(v.at(key).as_string()), nullptr, 16);
}

recorded_file file_at(const json::value& v, const char* key) {
  const json::value& f = v.at(key);
  return {f.at("file").is_null() ? std::string() : std::string(f.at("file").as_string()),
          number_at(f, "bytes"), static_cast<std::uint32_t>(hexadecimal_at(f, "crc32c")),
          number_at(f, "blocks"), number_at(f, "events")};
}

task_record record_of(const json::value& v) {
  task_record r;
  r.task = number_at(v, "task");
  r.settings = static_cast<std::uint32_t>(hexadecimal_at(v, "settings"));
  r.software = std::string(v.at("software").as_string());
  r.store = std::string(v.at("store").as_string());
  r.input = file_at(v, "input");
  r.output = file_at(v, "output");
  r.kept = number_at(v, "kept");
  r.rejected = number_at(v, "rejected");
  r.not_judged = number_at(v, "not_judged");
  if (const json::value* const limited = v.as_object().if_contains("limited")) {
    r.limited = limited->to_number<std::uint64_t>(); // earlier versions left out none
    r.left_out = v.at("left_out").as_object();
  }
  const json::value& u = v.at("unreadable");
  r.unreadable = {number_at(u, "places"), number_at(u, "blocks"), number_at(u, "events"),
                  number_at(u, "torn_bytes")};
  r.last_run = v.at("last_run").to_number<std::uint32_t>();
  for (const json::value& s : v.at("sessions").as_array())
    r.sessions.push_back(std::stoull(std::string(s.as_string()), nullptr, 16));
  r.lines = v.at("lines").as_array();
  return r;
}

} // namespace

json::value to_json(const task_record& r) {
  json::array sessions;
  for (const std::uint64_t s : r.sessions) sessions.emplace_back(session_text(s));
  return json::object{{"task", r.task},
                      {"settings", fmt::format("{:08x}", r.settings)},
                      {"store", r.store},
                      {"input", to_json(r.input)},
                      {"output", to_json(r.output)},
                      {"kept", r.kept},
                      {"rejected", r.rejected},
                      {"not_judged", r.not_judged},
                      {"limited", r.limited},
                      {"left_out", r.left_out},
                      {"unreadable", json::object{{"places", r.unreadable.places},
                                                  {"blocks", r.unreadable.blocks},
                                                  {"events", r.unreadable.events},
                                                  {"torn_bytes", r.unreadable.torn_bytes}}},
                      {"lines", r.lines},
                      {"last_run", r.last_run},
                      {"sessions", std::move(sessions)},
                      {"software", r.software}};
}

std::optional<task_record> read_record(const reprocess_folder& folder, std::uint64_t task) {
  const auto file = folder.record(task);
  const auto value = read_json(file);
  if (!value) return std::nullopt;
  try {
    task_record r = record_of(*value);
    if (r.task != task) throw std::runtime_error("it is of another task");
    return r;
  } catch (const std::exception& e) {
    throw std::runtime_error(file.string() + " is no record: " + reason_of(e) +
                             "; remove it, and run again");
  }
}

} // namespace l3
