// SPDX-License-Identifier: Apache-2.0
// `koto-l3 plan`: how many processors, nodes and network interfaces, how much memory and disk a
// rate needs, with every assumption printed (docs/sizing.md).
#include <memory>
#include <optional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "config/amount.hpp"
#include "tools/command.hpp"
#include "tools/plan/cost_table.hpp"
#include "tools/plan/sizing.hpp"
#include "tools/print.hpp"

namespace l3 {
namespace {

namespace json = boost::json;

constexpr double gigabyte = 1e9;
constexpr double bits = 8;

struct options {
  sizing_wishes wishes;
  std::string rate = "40 Gb/s";
  std::string link = "4 Gb/s";
  std::string interface = "100 Gb/s";
  std::string outage = "10 min";
  std::string outbox = "256 MiB";
  std::uint32_t nodes = 0;
  std::string way = "tcp";
  std::string measured;
  bool json = false;
};

double amount(const char* option, const std::string& text, dimension d) {
  const auto value = read_amount(text, d);
  if (value == 0U || text.starts_with('-'))
    throw command_error(fmt::format("{}: \"{}\" is not above 0", option, text), exit_usage);
  if (!value)
    throw command_error(
        fmt::format("{}: \"{}\" is no number with one of the units {}, or is too large", option,
                    text, units_of(d)),
        exit_usage);
  return static_cast<double>(*value);
}

std::string splitting(const thread_cost& c) {
  const std::uint32_t most = most_processors(c);
  if (most == 1) return {};
  return most == 0 ? "  (splits over processors)"
                   : fmt::format("  (splits over {} processors; more were not measured)", most);
}

void print_table(const sizing& s, const sizing_wishes& w, const cost_table& costs) {
  print_plain("{} nodes, each with {} processors, {} network interfaces in, 1 out\n\n", s.nodes,
              s.processors_needed, s.interfaces);
  print_plain("into a node, in a spill   {:8.3f} GB/s\npacked events out of it   {:8.3f} GB/s\n"
              "out of all, on average    {:8.3f} GB/s of {:.3f}\n\n",
              s.node_input / gigabyte, s.node_output / gigabyte, s.mean_output / gigabyte,
              w.link / gigabyte);
  print_plain("{:<18} {:>6} {:>10} {:>12}\n", "thread", "of", "s/GB", "processors");
  for (const thread_load& t : s.threads)
    print_plain("{:<18} {:>6} {:10.4f} {:12.3f}{}\n", t.cost.name,
                t.cost.input ? "input" : "output", t.cost.seconds_per_gigabyte, t.processors,
                splitting(t.cost));
  print_plain("{:<36} {:12.3f}\n", "busy processors of a node", s.processors);
  if (!s.first_to_saturate.empty())
    print_plain("first to saturate: {}, at {:.2f} GB/s into a node\n", s.first_to_saturate,
                s.saturates_at / gigabyte);
  print_plain(
      "\nwithout a receiver for {:.0f} s, of each node: {:.1f} GB wait, {:.2f} GB of memory, "
      "{:.1f} GB of disk written at up to {:.3f} GB/s",
      w.outage, s.outage_bytes / gigabyte, w.outbox / gigabyte, s.disk_bytes / gigabyte,
      s.disk_rate / gigabyte);
  if (s.drain_seconds)
    print_plain("; it leaves in {:.0f} s", *s.drain_seconds);
  else
    print_plain("; it never leaves: the line is full");
  print_plain(
      "\n\nassumed: {:.1f} % of the events are kept and packed to 1/{:.2f}; the beam is on "
      "{:.1f} % of the time; a thread and an interface may be busy {:.0f} % of the time; "
      "interfaces of {:g} Gb/s; nodes share the input and the line alike; costs grow with "
      "the bytes, and this machine's processors are those of the table; the receiver's machine, "
      "which stores what all nodes send, is not in it\n",
      100 * w.kept, w.ratio, 100 * w.duty, 100 * w.headroom, w.interface * bits / gigabyte);
  print_plain("costs: over {}, {}\n", costs.way, costs.measured);
  for (const std::string& text : s.not_met) print_plain("NOT enough: {}\n", text);
}

json::object to_json(const sizing& s, const sizing_wishes& w, const cost_table& costs) {
  json::array loads;
  for (const thread_load& t : s.threads)
    loads.push_back(json::object{{"thread", t.cost.name}, {"processors", t.processors}});
  return {{"holds", s.not_met.empty()},
          {"nodes", s.nodes},
          {"processors", s.processors_needed},
          {"busy_processors", s.processors},
          {"interfaces", s.interfaces},
          {"node_input", s.node_input},
          {"node_output", s.node_output},
          {"mean_output", s.mean_output},
          {"first_to_saturate", s.first_to_saturate},
          {"saturates_at", s.saturates_at},
          {"outage_bytes", s.outage_bytes},
          {"disk_bytes", s.disk_bytes},
          {"disk_rate", s.disk_rate},
          {"drain_seconds", s.drain_seconds ? json::value(*s.drain_seconds) : json::value()},
          {"threads", std::move(loads)},
          {"not_met", json::array(s.not_met.begin(), s.not_met.end())},
          {"assumed", json::object{{"rate", w.rate},
                                   {"kept", w.kept},
                                   {"ratio", w.ratio},
                                   {"duty", w.duty},
                                   {"link", w.link},
                                   {"interface", w.interface},
                                   {"outage", w.outage},
                                   {"outbox", w.outbox},
                                   {"headroom", w.headroom}}},
          {"table", to_json(costs)}};
}

int plan(const options& o) {
  sizing_wishes w = o.wishes;
  w.rate = amount("--rate", o.rate, dimension::rate) / bits;
  w.link = amount("--link", o.link, dimension::rate) / bits;
  w.interface = amount("--interface", o.interface, dimension::rate) / bits;
  constexpr double nanosecond = 1e-9;
  w.outage = amount("--outage", o.outage, dimension::duration) * nanosecond;
  w.outbox = amount("--outbox", o.outbox, dimension::size);
  if (o.nodes != 0) w.nodes = o.nodes;
  const cost_table costs =
      o.measured.empty() ? built_in_costs(o.way == "udp") : read_cost_table(o.measured);
  const sizing s = size_for(costs, w);
  if (o.json)
    print_json("{}\n", json::serialize(to_json(s, w, costs)));
  else
    print_table(s, w, costs);
  return s.not_met.empty() ? 0 : exit_failure;
}

} // namespace

void add_plan(CLI::App& program, command_body& run) {
  auto o = std::make_shared<options>();
  auto* c =
      program.add_subcommand("plan", "how many nodes, processors, and how much disk a rate needs");
  c->footer("Ends with 1 if the nodes do not suffice. What is computed, and where the costs were "
            "measured, stands in docs/sizing.md.");
  c->add_option("--rate", o->rate, "into all nodes together, in a spill")->capture_default_str();
  c->add_option("--nodes", o->nodes, "so many nodes; 0: as few as can be")
      ->check(CLI::Range(0U, 4096U))
      ->capture_default_str();
  c->add_option("--processors", o->wishes.processors, "that a node has; 0: as many as it needs")
      ->check(CLI::Range(0U, 4096U))
      ->capture_default_str();
  const auto part = [&](const char* name, double& value, const char* what) {
    c->add_option(name, value, what)->check(CLI::Range(0.0, 1.0))->capture_default_str();
  };
  part("--kept", o->wishes.kept, "part of the events that the selection keeps");
  c->add_option("--ratio", o->wishes.ratio, "of the compression")
      ->check(CLI::Range(1.0, 1000.0))
      ->capture_default_str();
  part("--duty", o->wishes.duty, "part of the time that the beam is on");
  c->add_option("--headroom", o->wishes.headroom, "part of the time that a thread may be busy")
      ->check(CLI::Range(0.05, 1.0))
      ->capture_default_str();
  c->add_option("--link", o->link, "out of all nodes together")->capture_default_str();
  c->add_option("--interface", o->interface, "of a node's network interface")
      ->capture_default_str();
  c->add_option("--outage", o->outage, "without a receiver, that nothing may be lost in")
      ->capture_default_str();
  c->add_option("--outbox", o->outbox, "a node's memory for blocks that wait (outbox.memory)")
      ->capture_default_str();
  c->add_option("--way", o->way, "by which level 2 sends")
      ->check(CLI::IsMember({"tcp", "udp"}))
      ->capture_default_str();
  c->add_option("--measured", o->measured,
                "costs of your machine: the report of `koto-l3-bench sizing --json`")
      ->check(CLI::ExistingFile);
  c->add_flag("--json", o->json, "report as JSON");
  c->callback([o, &run] { run = [o] { return plan(*o); }; });
}

} // namespace l3
