// SPDX-License-Identifier: Apache-2.0
#include "daemon/node.hpp"

#include <algorithm>
#include <utility>

#include "daemon/node_parts.hpp"

namespace l3 {
namespace {

/// Time between two checks for a free frame in a drain.
constexpr auto frame_wait = std::chrono::milliseconds(1);
/// The end of the drain time, in which the rest goes to disk.
constexpr auto time_to_close = std::chrono::milliseconds(500);

} // namespace

node::node(const daemon_settings& settings, std::string configuration, stop_question stop,
           std::vector<udp_socket> ports, const std::function<void()>& take_up)
    : parts_(std::make_unique<parts>(settings, std::move(configuration), std::move(stop),
                                     std::move(ports), take_up)) {}

node::~node() = default;

bool node::drain(sockets_hold what) {
  parts& p = *parts_;
  p.state.enter(phase::draining);
  const auto deadline = steady_clock::now() + p.settings.run.drain_time_limit;
  if (p.udp) p.udp->stop(what);
  if (p.tcp) p.tcp->stop_reading();
  // Complete events wait until the outbox drains and frames come free.
  while (!p.builder.try_drain(steady_clock::now()) && steady_clock::now() < deadline)
    std::this_thread::sleep_for(frame_wait);
  p.builder.drain(steady_clock::now());
  p.spilling->copy_all();
  p.work.finish(deadline - time_to_close);
  if (p.disk) p.wait_for_the_receiver(deadline - time_to_close);
  p.links_end = true;
  p.fresh.drain_until(p.disk ? steady_clock::now() : deadline);
  p.forward_thread.request_stop();
  p.backlog_thread.request_stop();
  p.out.bell().wake();
  p.forward_thread.join();
  if (p.backlog_thread.joinable()) p.backlog_thread.join();
  p.spilling->finish(deadline);
  p.outcomes.events_shed.add(shed::drain, p.out.events_waiting() + p.spilling->events_waiting() -
                                              p.spilling->events_on_disk());
  p.given_up = true;
  p.state.enter(phase::stopped);
  return p.outcomes.events_shed[shed::drain] == 0;
}

bool node::pauses() const {
  return parts_->pause.is_one(parts_->sums().fragments.seen, parts_->builder.open_fragments());
}

void node::set_output_rate(bit_rate rate) { parts_->pace.set_rate(rate, steady_clock::now()); }

bool node::failed() const { return parts_->work.failed_frames() != 0; }

bool node::device_hangs() const { return parts_->compute.engine().hangs(); }

device_view node::device() const {
  const parts& p = *parts_;
  const auto frames = p.frames.count_states();
  const bool disk = p.disk && !p.spilling->disk_full();
  return {p.compute.engine().lost(),
          frames[static_cast<std::size_t>(frame_state::held)] == p.compute.engine().frames().size(),
          p.pause.is_one(), disk || p.sums().events.in_flight == 0};
}

std::string node::stuck() const {
  const std::lock_guard lock(parts_->look_mutex);
  return parts_->stuck;
}

state_report node::state() const { return parts_->state.report(); }

std::string node::backend() const { return std::string(parts_->compute.engine().name()); }

} // namespace l3
