// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/evaluated_file.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tools/command.hpp"
#include "transport/format/l2.hpp"
#include "transport/format/summary.hpp"

namespace l3 {

truth_beside::truth_beside(std::string truth, std::string data, const detector& d)
    : name_(std::move(truth)), data_(std::move(data)),
      reader_(opened([&] { return truth_reader(name_, d); })) {}

const true_event& truth_beside::of(const decided_event& next) {
  const event_entry& entry = next.event;
  if (!reader_.next(event_, key_) || key_ != event_key{entry.spill, entry.number})
    throw command_error(
        fmt::format("{} is not the truth of {}: spill {} event {} is missing where it should be",
                    name_, data_, entry.spill, entry.number));
  const bool knows_trigger = (next.summary.unknown & trigger_unknown) == 0;
  if (event_.since_spill != next.since_spill ||
      (knows_trigger && next.summary.trigger != (event_.trigger_bits & l2::payload_mask)))
    throw command_error(
        fmt::format("{} is not the truth of {}: spill {} event {} has another time in the spill or "
                    "other trigger bits there",
                    name_, data_, entry.spill, entry.number));
  return event_;
}

void truth_beside::finish() {
  if (reader_.next(event_, key_)) throw command_error(name_ + " continues after " + data_);
}

namespace {

std::uint32_t index_of_line(const std::vector<std::string>& lines, const std::string& name) {
  const auto found = std::find(lines.begin(), lines.end(), name);
  return found == lines.end() ? max_lines : static_cast<std::uint32_t>(found - lines.begin());
}

} // namespace

evaluated_file evaluate_file(const selection_options& run, const std::string& truth_file,
                             const std::string& signal_line, file_batches& in, interrupt& signals,
                             const std::function<void(const evaluated_event&)>& tell) {
  const loaded_selection selection = load_selection(run, in.crates(), in.run());
  const auto compute = make_selecting_engine(run, in.capacity(run.batch), selection);
  evaluated_file one{run.files.lines, selection.line_names(), {}, {}};
  const std::uint32_t signal = index_of_line(one.lines, signal_line);
  if (signal == max_lines && signal_line != usual_signal_line)
    throw command_error(run.files.lines + " has no line " + signal_line, exit_usage);
  truth_beside truth(truth_file, run.in, selection.what);
  in.rewind();
  for_each_decided(
      in, *compute,
      [&](const decided_event& e) {
        const true_event& event = truth.of(e);
        one.result.add(event, e.summary, selection.what, signal);
        one.result.add_bytes(e.summary, e.bytes_in, e.packed.size());
        one.kept.push_back(e.summary.kept != 0);
        if (tell) tell({event, e, signal < max_lines && (e.summary.kept_by >> signal & 1) != 0});
      },
      "evaluate", signals);
  truth.finish();
  return one;
}

} // namespace l3
