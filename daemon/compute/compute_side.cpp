// SPDX-License-Identifier: Apache-2.0
#include "daemon/compute/compute_side.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "monitor/log.hpp"
#include "monitor/version.hpp"
#include "selection/engine/frame_parts.hpp"
#include "transport/format/number_list.hpp"

namespace l3 {
namespace {

engine_limits limits_of(const daemon_settings& s) {
  engine_limits limits{frame_capacity(s), s.frames.count};
  limits.codec = s.outbox.codec;
  return limits;
}

/// Limits of the CPU engine that replaces the device: one frame, reading the device's input.
engine_limits bypass_limits_of(const daemon_settings& s) {
  engine_limits limits = limits_of(s);
  limits.frames = 1;
  limits.own_input = false;
  return limits;
}

std::optional<selection_program> program_of(const daemon_settings& s,
                                            const std::optional<loaded_selection>& selection) {
  if (!selection) return std::nullopt;
  selection_program program = selection->program();
  program.histograms_one_in = s.histograms.one_in;
  return program;
}

/// Whether the sampled check must compute events again, to compare the decisions.
bool needs_reference(const daemon_settings& s, const selection_program* program) {
  return program != nullptr && s.compute.verify_one_in != 0;
}

engine_limits reference_limits_of(const daemon_settings& s) {
  engine_limits limits{capacity_of(s.building.crates, 1, s.building.chunk_bytes), 1};
  limits.codec = s.outbox.codec;
  limits.own_input = false;
  return limits;
}

selection_program without_histograms(selection_program program) {
  program.histograms_one_in = 0;
  return program;
}

/// The engine that computes events again for the sampled check; null without a selection.
std::unique_ptr<engine> reference_of(const daemon_settings& s, const selection_program* program) {
  if (!needs_reference(s, program)) return nullptr;
  const selection_program decides = without_histograms(*program);
  return make_engine({backend::serial, 0}, reference_limits_of(s), &decides);
}

supervision supervision_of(const daemon_settings& s) {
  supervision v;
  v.time_limit = s.compute.time_limit;
  v.verify_one_in = s.compute.verify_one_in;
  v.run = s.run.number;
  return v;
}

spread_engine engine_of(const daemon_settings& s, const std::optional<loaded_selection>& selection,
                        const supervised_engine::failure_report& failed,
                        std::uint32_t& devices_left_out) {
  const auto program = program_of(s, selection);
  const selection_program* const p = program ? &*program : nullptr;
  auto devices =
      make_engines(s.compute, limits_of(s), p, [&](engine_news news, std::string_view text) {
        log_warning("compute: {}", text);
        if (news == engine_news::device_left_out) ++devices_left_out;
      });
  std::vector<std::unique_ptr<supervised_engine>> all;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::string which =
        devices.size() == 1 ? "" : fmt::format("device {} of {}: ", d + 1, devices.size());
    log_info("compute: {}{} frames of {} events on {}{}", which, devices[d]->frames().size(),
             s.frames.events, devices[d]->name(),
             devices[d]->processors().empty()
                 ? ""
                 : fmt::format(", compute and drain threads on processors {}",
                               show_number_list(devices[d]->processors())));
    auto cpu = make_engine({backend::pool, s.compute.threads}, bypass_limits_of(s), p);
    all.push_back(std::make_unique<supervised_engine>(
        std::move(devices[d]), std::move(cpu), supervision_of(s), failed,
        [which](std::string_view text) { log_warning("compute: {}{}", which, text); },
        reference_of(s, p)));
  }
  return spread_engine(std::move(all));
}

dump_origin origin_of(const daemon_settings& s, std::string executor, std::string configuration) {
  dump_origin o;
  o.run = s.run.number;
  o.node = s.run.node;
  o.version = version();
  o.build = commit();
  o.executor = std::move(executor);
  o.configuration = std::move(configuration);
  selection_texts texts = texts_of(s.selection);
  o.lines = std::move(texts.lines);
  o.detector = std::move(texts.detector);
  o.calibration = std::move(texts.calibration);
  return o;
}

} // namespace

batch_capacity frame_capacity(const daemon_settings& s) {
  return capacity_of(s.building.crates, s.frames.events, s.building.chunk_bytes);
}

std::uint64_t least_frame_bytes(const daemon_settings& s) {
  const batch_capacity c = frame_capacity(s);
  region counted;
  (void)frame_parts::take(counted, c, largest_output(c));
  if (s.outbox.codec == codec_id::strong)
    counted.take_bytes(std::size_t{c.boards} * board_slot_bytes);
  return counted.used();
}

std::vector<memory_use> compute_side::memory_plan(const daemon_settings& s,
                                                  const std::optional<loaded_selection>& selection,
                                                  const found_devices& devices) {
  const auto program = program_of(s, selection);
  const selection_program* const p = program ? &*program : nullptr;
  std::vector<memory_use> all = memory_of_cpu_engine(limits_of(s), p);
  if (devices.count != 0)
    std::erase_if(all, [](const memory_use& use) { return use.what == "frames: columns"; });
  all.push_back(
      supervised_engine::for_bypass(sum_of(memory_of_cpu_engine(bypass_limits_of(s), p))));
  if (needs_reference(s, p)) {
    const selection_program decides = without_histograms(*p);
    all.push_back(supervised_engine::for_check(
        sum_of(memory_of_cpu_engine(reference_limits_of(s), &decides))));
  }
  for (memory_use& use : all) use.bytes *= std::max(devices.count, 1U);
  return all;
}

compute_side::compute_side(const daemon_settings& s,
                           const std::optional<loaded_selection>& selection,
                           std::string configuration)
    : engine_(engine_of(
          s, selection,
          [this](engine_failure kind, std::string_view text, const frame& what) {
            failed(kind, text, what);
          },
          devices_left_out_)) {
  dumps_.emplace(s.compute.dumps,
                 origin_of(s, std::string(engine_.name()), std::move(configuration)));
}

void compute_side::failed(engine_failure kind, std::string_view text, const frame& what) {
  if (const auto n = failures_told_.happened(steady_clock::now())) {
    log_error("compute: {} in batch {}: {}{}", name_of(kind), what.input.serial, text,
              *n == 1 ? "" : fmt::format(" ({} since the last line)", *n));
  }
  dumps_->offer(name_of(kind), text, what);
}

engine_snapshot compute_side::snapshot() const {
  return {engine_.counters(), dumps_->written(), dumps_->skipped(), devices_left_out_,
          engine_.bypassed()};
}

} // namespace l3
