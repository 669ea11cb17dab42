// SPDX-License-Identifier: Apache-2.0
#include "daemon/renewal.hpp"

namespace l3 {
namespace {

constexpr auto ask_again_after = std::chrono::minutes(1);

} // namespace

/// Each text once, as long as no other one comes between.
void renewal::say(std::string_view text) {
  if (std::exchange(said_, text) != text) tell_(text);
}

bool renewal::is_due(const renewal_view& v, time_point now) {
  if (!v.device_lost && !v.all_held) return false;
  if (rules_.least_age.count() == 0 || !rules_.managed) {
    say("only a new process can have the device again: restart the daemon between spills");
    return false;
  }
  if (now - rules_.started < rules_.least_age) {
    say("only a new process can have the device again: the daemon ends for it between spills, but "
        "not before it is as old as compute.renew_after says");
    return false;
  }
  if (!would_have_) {
    if (now < ask_at_) return false;
    switch (would_have_device_(now)) {
    case device_probe::answer::not_yet: return false;
    case device_probe::answer::no:
      say("a new process would not have the device either: the CPU goes on computing");
      ask_at_ = now + ask_again_after;
      return false;
    case device_probe::answer::yes: would_have_ = true; break;
    }
  }
  say("a new process would have the device: the daemon ends for it when a spill is over and every "
      "event is stored or on disk");
  return (v.between_spills || v.all_held) && v.settled;
}

} // namespace l3
