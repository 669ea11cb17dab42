// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/cost_table.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <boost/json.hpp>

#include "tools/command_error.hpp"
#include "transport/system/input_file.hpp"
#include "transport/system/reason_of.hpp"

namespace l3 {

namespace json = boost::json;

namespace {

constexpr std::uint64_t longest_table = 1 << 20;
constexpr std::size_t most_threads = 256;

double figure_at(const json::value& v, const char* key) {
  const double figure = v.at(key).to_number<double>();
  constexpr double most = 1e6;
  if (!std::isfinite(figure) || figure < 0 || figure > most)
    throw std::runtime_error(std::string(key) + " is none");
  return figure;
}

} // namespace

thread_cost kind_of_thread(const std::string& name) {
  const bool by_output = name == "drain" || name == "forwarder" || name == "backlog" ||
                         name == "spool" || name.starts_with("ZMQ");
  const bool splits = name == "udp" || name == "koto-l3d" || name == "compute";
  return {name, !by_output, splits, 0, 0};
}

std::uint32_t most_processors(const thread_cost& c) {
  constexpr std::uint32_t measured_of_udp = 2;
  if (!c.splits) return 1;
  return c.name == "udp" ? measured_of_udp : 0;
}

json::value to_json(const cost_table& t) {
  json::array threads;
  for (const thread_cost& c : t.threads)
    threads.push_back(json::object{{"thread", c.name},
                                   {"of", c.input ? "input" : "output"},
                                   {"splits", c.splits},
                                   {"seconds_per_gigabyte", c.seconds_per_gigabyte},
                                   {"idle", c.idle}});
  return json::object{{"measured", t.measured}, {"way", t.way}, {"threads", std::move(threads)}};
}

cost_table read_cost_table(const std::string& file) {
  const input_text in = read_input(file, longest_table);
  if (!in.refusal.empty()) throw command_error(file + " " + in.refusal, exit_missing_resource);
  try {
    const json::value all = json::parse(in.text);
    const json::object& o = all.as_object();
    const json::value& table = o.contains("table") ? o.at("table") : all;
    cost_table t;
    t.measured = std::string(table.at("measured").as_string());
    t.way = std::string(table.at("way").as_string());
    if (t.way != "udp" && t.way != "tcp") throw std::runtime_error("way is neither udp nor tcp");
    const json::array& threads = table.at("threads").as_array();
    if (threads.size() > most_threads) throw std::runtime_error("it has more than 256 threads");
    for (const json::value& v : threads) {
      const std::string of(v.at("of").as_string());
      if (of != "input" && of != "output") throw std::runtime_error("of is no input or output");
      t.threads.push_back({std::string(v.at("thread").as_string()), of == "input",
                           v.at("splits").as_bool(), figure_at(v, "seconds_per_gigabyte"),
                           figure_at(v, "idle")});
    }
    return t;
  } catch (const std::exception& e) {
    throw command_error(file + " is no table of costs: " + reason_of(e));
  }
}

} // namespace l3
