// SPDX-License-Identifier: Apache-2.0
#include "selection/engine/engine.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "selection/engine/faulty_engine.hpp"
#include "selection/engine/make_engine.hpp"

namespace l3 {

namespace {

/// The engine on the device. If the settings ask for a fault, an engine on the CPU that fails as a
/// device would.
std::unique_ptr<engine> make_device(const compute_settings& settings, const engine_limits& limits,
                                    const selection_program* program) {
  if (settings.fault.kind == fault_kind::none) {
    if (const std::string why_not = why_no_cuda(); !why_not.empty())
      throw std::runtime_error(why_not);
    return make_cuda_engine(limits, program);
  }
  if (settings.fault.kind == fault_kind::no_memory)
    throw std::runtime_error("the device is out of memory (compute.fault)");
  return std::make_unique<faulty_engine>(make_cpu_engine(settings, limits, program),
                                         settings.fault);
}

} // namespace

std::unique_ptr<engine> make_cpu_engine(const compute_settings& settings,
                                        const engine_limits& limits,
                                        const selection_program* program) {
  switch (settings.where) {
  case backend::serial: return make_serial_engine(limits, program);
  case backend::shuffled: return make_shuffled_engine(limits, program);
  case backend::threaded: return make_threaded_engine(limits, program);
  default: return make_pool_engine(settings.threads, limits, program);
  }
}

std::unique_ptr<engine> make_engine(const compute_settings& settings, const engine_limits& limits,
                                    const selection_program* program, const engine_warning& warn) {
  const bool left_open = settings.where == backend::automatic;
  const bool device =
      left_open || settings.where == backend::cuda || settings.fault.kind != fault_kind::none;
  if (!device) return make_cpu_engine(settings, limits, program);
  try {
    return make_device(settings, limits, program);
  } catch (const std::runtime_error& why_not) {
    if (!left_open) {
      throw std::runtime_error(settings.where == backend::cuda
                                   ? std::string("backend cuda was asked for, but ") +
                                         why_not.what()
                                   : why_not.what());
    }
    if (warn) warn(why_not.what());
  }
  return make_cpu_engine(settings, limits, program);
}

} // namespace l3
