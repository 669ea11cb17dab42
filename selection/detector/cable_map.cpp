// SPDX-License-Identifier: Apache-2.0
#include "selection/detector/cable_map.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "config/toml/complaints.hpp"
#include "config/toml/value.hpp"
#include "selection/detector/table_rows.hpp"

namespace l3 {
namespace {

constexpr std::string_view header = "input,detector,module,end,x,y,size";
constexpr std::size_t fields = 7;
constexpr std::uint32_t most_modules = 65535;
constexpr double most_place = 3200; // mm off the axis: the limit of 16 bits
constexpr double may_overlap = 1;   // mm: for measured places
constexpr std::size_t most_holes_told = 5;

struct known_input {
  std::uint32_t line = 0;
};

cable crystal_in(table_rows& rows, cable c) {
  const auto needed = [&](std::size_t n, std::string_view what, double least) {
    const auto v = rows.number(n, what, least, most_place);
    if (!v) refuse_field("a crystal needs its {}; write x, y and size in mm", what);
    return *v;
  };
  if (!rows.field(3).empty()) refuse_field("a crystal has no end; leave the field empty");
  c.size = needed(6, "size", 1);
  c.y = needed(5, "y", -most_place);
  c.x = needed(4, "x", -most_place);
  c.place = rows.place();
  return c;
}

cable module_in(table_rows& rows, cable c) {
  for (std::size_t n = fields; n-- > 4;)
    if (!rows.field(n).empty()) c.needless = rows.place();
  c.end = rows.count(3, "end", 1).value_or(0);
  c.place = rows.place();
  return c;
}

void tell_holes(const std::vector<std::string>& holes, const std::string& file,
                std::string_view what, complaints& wrong) {
  for (std::size_t n = 0; n < std::min(holes.size(), most_holes_told); ++n)
    wrong.add({file}, "{} has no input; add a line for it, or {}", holes[n], what);
  if (holes.size() > most_holes_told)
    wrong.add({file}, "and {} more have no input", holes.size() - most_holes_told);
}

} // namespace

std::optional<input_address> parse_input(std::string_view text, std::size_t parts) {
  std::array<std::uint8_t, 3> n{};
  const char* p = text.data();
  const char* const end = p + text.size();
  for (std::size_t i = 0; i < parts; ++i) {
    if (i > 0 && (p == end || *p++ != '/')) return std::nullopt;
    const auto r = std::from_chars(p, end, n[i]);
    if (r.ec != std::errc{}) return std::nullopt;
    p = r.ptr;
  }
  if (p != end) return std::nullopt;
  return input_address{n[0], n[1], n[2]};
}

cable_map cable_map::parse(std::string_view text, const std::string& name, const detector& d,
                           complaints& wrong) {
  cable_map map;
  map.name_ = name;
  table_rows rows(text, name);
  if (!rows.next() || rows.row() != header) {
    wrong.add(rows.row().empty() ? source_place{name} : rows.place(),
              "the table must begin with its header; write {}", header);
    return map;
  }
  std::map<input_address, known_input> seen;
  const auto take = [&] {
    if (rows.size() != fields)
      refuse_field("a line has {} fields, this one {}; leave unused fields empty", fields,
                   rows.size());
    cable c;
    const std::string_view input = rows.field(0);
    const auto at = parse_input(input);
    if (!at)
      refuse_field("{} is not an input; write crate/slot/channel, such as 0/3/7", quote(input));
    if (!d.exists(*at)) refuse_field("the readout has no input {}; correct it", input);
    const auto [known, fresh] = seen.try_emplace(*at, known_input{rows.line()});
    if (!fresh) refuse_field("input {} already has line {}; remove one", input, known->second.line);
    c.at = *at;
    const auto module = rows.count(2, "module", most_modules);
    if (!module) refuse_field("the module is missing; write its number, from 0");
    c.module = *module;
    c.module_place = rows.place();
    const std::string part(rows.field(1));
    if (part.empty()) refuse_field("the detector is missing; write its name");
    map.first_.try_emplace(part, rows.place());
    map.of_[part].push_back(part == calorimeter_name ? crystal_in(rows, c) : module_in(rows, c));
  };
  while (rows.next() && !wrong.full()) {
    try {
      take();
    } catch (const std::runtime_error& e) {
      wrong.add(rows.place(), "{}", e.what());
    }
  }
  return map;
}

std::vector<input_address> cable_map::inputs_of(const std::string& counter, std::uint32_t modules,
                                                std::uint32_t ends, complaints& wrong) const {
  std::vector<std::optional<input_address>> found(std::size_t{modules} * ends);
  if (const auto rows = of_.find(counter); rows != of_.end()) {
    for (const cable& c : rows->second) {
      if (c.module >= modules) {
        wrong.add(c.module_place,
                  "{} has {} modules, from 0 to {}; correct the number or `modules`", counter,
                  modules, modules - 1);
      } else if (c.end >= ends) {
        wrong.add(c.place, "{} is read at one end, 0; correct the end, or write `ends = 2`",
                  counter);
      } else if (auto& place = found[c.module * ends + c.end]; place) {
        wrong.add(c.module_place, "{} module {} end {} has input {} already; remove one", counter,
                  c.module, c.end, to_string(*place));
      } else {
        place = c.at;
      }
    }
  }
  std::vector<input_address> inputs;
  std::vector<std::string> holes;
  for (std::size_t n = 0; n < found.size(); ++n) {
    inputs.push_back(found[n].value_or(input_address{}));
    if (!found[n])
      holes.push_back(ends > 1 ? fmt::format("{} module {} end {}", counter, n / ends, n % ends)
                               : fmt::format("{} module {}", counter, n));
  }
  tell_holes(holes, name_, "lower `modules`; dead inputs are named in `dead`", wrong);
  return inputs;
}

std::vector<cable> cable_map::crystals(std::uint32_t count, complaints& wrong) const {
  std::vector<std::optional<cable>> found(count);
  const auto rows = of_.find(calorimeter_name);
  for (const cable& c : rows == of_.end() ? std::vector<cable>{} : rows->second) {
    if (c.module >= count)
      wrong.add(c.module_place,
                "the calorimeter has {} crystals, from 0 to {}; correct the number, or the "
                "description",
                count, count - 1);
    else if (found[c.module])
      wrong.add(c.module_place, "crystal {} has input {} already; remove one", c.module,
                to_string(found[c.module]->at));
    else
      found[c.module] = c;
  }
  std::vector<cable> all;
  std::vector<std::string> holes;
  for (std::size_t n = 0; n < found.size(); ++n) {
    if (found[n])
      all.push_back(*found[n]);
    else
      holes.push_back(fmt::format("crystal {}", n));
  }
  tell_holes(holes, name_, "correct the number of crystals in the description", wrong);
  std::vector<const cable*> by_x;
  by_x.reserve(all.size());
  for (const cable& c : all) by_x.push_back(&c);
  std::ranges::sort(by_x, {}, [](const cable* c) { return std::pair(c->x, c->module); });
  for (std::size_t n = 0; n < by_x.size(); ++n) {
    const cable& c = *by_x[n];
    for (std::size_t k = n; k-- > 0;) {
      const cable& other = *by_x[k];
      if (c.x - other.x > most_place / 10) break;
      const double near = (c.size + other.size) / 2 - may_overlap;
      if (c.x - other.x < near && std::abs(c.y - other.y) < near)
        wrong.add(c.place, "crystal {} overlaps crystal {}; correct the position of one of them",
                  c.module, other.module);
    }
  }
  return all;
}

void cable_map::check_names(std::vector<std::string_view> known, complaints& wrong) const {
  known.insert(known.begin(), calorimeter_name);
  for (const auto& [name, place] : first_)
    if (std::ranges::find(known, name) == known.end())
      wrong.add(place, "the detector has no part named {}; {}", quote(name), suggest(name, known));
    else
      for (const cable& c : of_.at(name))
        if (c.needless)
          wrong.add(*c.needless, "a counter's input has no position; leave x, y and size empty");
}

std::string to_table(const detector& d) {
  std::string text = std::string(header) + "\n";
  const auto add = [&](input_address at) {
    if (!d.exists(at)) return;
    const element& e = d.at(d.number_of(at));
    if (e.what == element::kind::crystal) {
      const crystal& c = d.crystals()[e.index];
      text += fmt::format("{},{},{},,{},{},{}\n", to_string(at), calorimeter_name, e.index, c.x,
                          c.y, c.size);
    } else if (e.what == element::kind::veto) {
      text +=
          fmt::format("{},{},{},{},,,\n", to_string(at), d.vetoes()[e.index].name, e.module, e.end);
    }
  };
  for (const crate_readout& crate : d.crates().crates)
    for (int slot = l2::first_slot; slot < l2::first_slot + crate.boards; ++slot)
      for (int channel = 0; channel < channels_of(crate.kind); ++channel)
        add({crate.number, static_cast<std::uint8_t>(slot), static_cast<std::uint8_t>(channel)});
  return text;
}

} // namespace l3
