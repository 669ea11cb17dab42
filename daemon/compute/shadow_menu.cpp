// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/shadow_menu.hpp"

#include <utility>

#include <fmt/format.h>

namespace l3 {

namespace {

engine_limits limits_of(const batch_capacity& capacity, codec_id codec) {
  engine_limits limits{capacity, 1};
  limits.codec = codec;
  limits.own_input = false; // it reads the frames of the active menu
  return limits;
}

std::unique_ptr<engine> engine_for(const loaded_selection& shadow, const compute_settings& where,
                                   const batch_capacity& capacity, codec_id codec) {
  const selection_program program = shadow.program();
  return make_engine({backend::pool, where.threads}, limits_of(capacity, codec), &program);
}

bool wanted(const event_summary& s) { return s.kept != 0 && (s.status & recorded) == 0; }

} // namespace

shadow_menu::shadow_menu(std::string name, loaded_selection shadow,
                         const loaded_selection& in_force, const compute_settings& where,
                         const batch_capacity& capacity, codec_id codec, std::uint32_t one_in)
    : name_(std::move(name)), shadow_(std::move(shadow)),
      compute_(engine_for(shadow_, where, capacity, codec)), one_in_(one_in) {
  for (std::size_t n = 0; n < shadow_.tables.lines.size(); ++n)
    for (std::size_t k = 0; k < in_force.tables.lines.size(); ++k)
      if (shadow_.tables.lines[n].id == in_force.tables.lines[k].id)
        partner_[n] = static_cast<std::uint32_t>(k);
}

void shadow_menu::judge(const frame& f, bool frames_are_scarce) {
  if (f.input.serial % one_in_ != 0 || f.input.used_events == 0) return;
  if (frames_are_scarce) return skipped_.add();
  frame& here = *compute_->frames()[0];
  here.input = f.input;
  compute_->start(here);
  if (!compute_->wait(here)) return skipped_.add();
  judged_.add();
  for (std::size_t e = 0; e < f.input.used_events; ++e)
    compare(f.summaries[e], f.results[e], here.summaries[e], here.results[e]);
}

void shadow_menu::compare(const event_summary& in_force, const event_result& result,
                          const event_summary& shadow, const event_result& of_shadow) {
  const bool now = wanted(in_force);
  const bool then = wanted(shadow);
  (now && then ? both_ : now ? only_in_force_ : then ? only_shadow_ : neither_).add();
  if (now) bytes_in_force_.add(result.bytes);
  if (then) bytes_shadow_.add(of_shadow.bytes);
  lines_.add(shadow);
  for (std::uint32_t n = 0; n < shadow.lines; ++n) {
    if (!partner_[n]) continue;
    const bool fired = (in_force.fired >> *partner_[n] & 1) != 0;
    const bool fires = (shadow.fired >> n & 1) != 0;
    if (fired && !fires) differs_[n].only_in_force.add();
    if (!fired && fires) differs_[n].only_shadow.add();
  }
}

shadow_snapshot shadow_menu::snapshot() const {
  shadow_snapshot s;
  s.menu = fmt::format("{} {:08x}", name_, shadow_.tables.constants.settings);
  s.one_in = one_in_;
  s.batches_judged = judged_;
  s.batches_skipped = skipped_;
  s.kept_by_both = both_;
  s.kept_by_menu_in_force = only_in_force_;
  s.kept_by_shadow = only_shadow_;
  s.kept_by_neither = neither_;
  s.bytes_in_force = bytes_in_force_;
  s.bytes_shadow = bytes_shadow_;
  for (const std::string& line : shadow_.line_names()) {
    const auto n = static_cast<std::uint32_t>(s.lines.size());
    s.lines.push_back({line, shadow_.tables.lines[n].prescale, lines_.fired(n), lines_.kept(n),
                       differs_[n].only_in_force, differs_[n].only_shadow,
                       partner_[n].has_value()});
  }
  return s;
}

std::size_t shadow_menu::bytes() const { return sum_of(compute_->memory_plan()); }

std::size_t shadow_menu::memory_plan(const loaded_selection& shadow, const batch_capacity& capacity,
                                     codec_id codec) {
  const selection_program program = shadow.program();
  return sum_of(memory_of_cpu_engine(limits_of(capacity, codec), &program));
}

} // namespace l3
