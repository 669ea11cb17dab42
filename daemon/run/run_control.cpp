// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/run_control.hpp"

#include <cassert>
#include <utility>

namespace l3 {

std::optional<run_control::report> run_control::start(run_order next) {
  const std::lock_guard lock(mutex_);
  if (closed_) return std::nullopt;
  is_.next = std::move(next);
  ++accepted_;
  is_.failure.clear();
  if (is_.state == run_state::configured) is_.state = run_state::armed;
  if (is_.current) is_.stopping = true;
  return is_;
}

std::optional<run_control::report> run_control::stop() {
  const std::lock_guard lock(mutex_);
  if (is_.state == run_state::configured) return std::nullopt;
  is_.next.reset();
  if (is_.current) is_.stopping = true;
  if (!is_.current) settle();
  return is_;
}

void run_control::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  is_.next.reset();
  if (!is_.current) settle();
}

bool run_control::close_if_idle() {
  const std::lock_guard lock(mutex_);
  if (is_.state != run_state::configured) return false;
  closed_ = true;
  return true;
}

run_control::report run_control::now() const {
  const std::lock_guard lock(mutex_);
  return is_;
}

run_control::due_step run_control::due() const {
  const std::lock_guard lock(mutex_);
  if (is_.state == run_state::armed && !is_.current) return {step::begin, *is_.next, accepted_};
  if (is_.state == run_state::running && is_.stopping) return {step::end, {}, 0};
  return {};
}

bool run_control::comes_into_force(const run_order& made) {
  const std::lock_guard lock(mutex_);
  if (is_.state != run_state::armed || is_.next != made) return false;
  is_.current = std::exchange(is_.next, std::nullopt);
  return true;
}

void run_control::begun() {
  const std::lock_guard lock(mutex_);
  assert(is_.state == run_state::armed && is_.current);
  is_.state = run_state::running;
}

void run_control::failed(const due_step& made, const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (accepted_ == made.accepted) is_.next.reset();
  is_.current.reset();
  is_.stopping = false;
  is_.failure = why;
  settle();
}

void run_control::draining() {
  const std::lock_guard lock(mutex_);
  assert(is_.state == run_state::running);
  is_.state = run_state::draining;
}

void run_control::ended(const std::string& failure) {
  const std::lock_guard lock(mutex_);
  assert(is_.state == run_state::draining);
  is_.current.reset();
  is_.stopping = false;
  if (!failure.empty()) is_.failure = failure;
  settle();
}

/// Sets the state without an active run.
void run_control::settle() { is_.state = is_.next ? run_state::armed : run_state::configured; }

} // namespace l3
