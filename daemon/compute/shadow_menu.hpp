// SPDX-License-Identifier: Apache-2.0
// Judges a second menu on the same frames as the active one, so that its rates and the differences
// are known before it is used. Its decisions are counted and discarded. The drain thread judges one
// batch in `one_in` on the CPU, which delays the later batches. It judges no batch while frames are
// scarce and others wait.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "daemon/compute/line_counts.hpp"
#include "daemon/monitor/snapshot.hpp"
#include "selection/engine/engine.hpp"
#include "selection/trigger/load_selection.hpp"

namespace l3 {

class shadow_menu {
public:
  /// `in_force` need not outlive this object. `name` is the shadow file's name for people. Throws
  /// std::runtime_error.
  shadow_menu(std::string name, loaded_selection shadow, const loaded_selection& in_force,
              const compute_settings& where, const batch_capacity& capacity, codec_id codec,
              std::uint32_t one_in);

  /// Called by the drain thread: judges a computed frame if it is its turn and frames are not
  /// scarce.
  void judge(const frame& f, bool frames_are_scarce);

  // Any thread.
  [[nodiscard]] shadow_snapshot snapshot() const;
  [[nodiscard]] std::size_t bytes() const;
  /// Bytes that a shadow menu would take.
  [[nodiscard]] static std::size_t memory_plan(const loaded_selection& shadow,
                                               const batch_capacity& capacity, codec_id codec);

private:
  void compare(const event_summary& in_force, const event_result& result,
               const event_summary& shadow, const event_result& of_shadow);

  std::string name_;
  loaded_selection shadow_;
  std::unique_ptr<engine> compute_;
  std::uint32_t one_in_;
  std::array<std::optional<std::uint32_t>, max_lines> partner_; ///< the line of the same name

  counter judged_;
  counter skipped_;
  counter both_;
  counter only_in_force_;
  counter only_shadow_;
  counter neither_;
  counter bytes_in_force_;
  counter bytes_shadow_;
  line_counts lines_;
  struct difference {
    counter only_in_force;
    counter only_shadow;
  };
  std::array<difference, max_lines> differs_; ///< by line of the shadow
};

} // namespace l3
