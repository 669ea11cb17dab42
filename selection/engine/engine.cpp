// SPDX-License-Identifier: Apache-2.0
#include "selection/engine/engine.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

#include "gpu/memory/numa.hpp"
#include "selection/engine/faulty_engine.hpp"
#include "selection/engine/make_engine.hpp"

namespace l3 {

namespace {

std::string left_out(int device, const std::string& why) {
  return "device " + std::to_string(device) + " is left out: " + why;
}

/// The numbers of the devices for engines: those in the settings, or else all devices that respond.
/// A simulated one if the settings ask for a fault.
std::vector<int> devices_of(const compute_settings& settings, const engine_warning& warn) {
  std::vector<int> found(settings.devices.begin(), settings.devices.end());
  if (!found.empty()) return found;
  const int all = settings.fault.kind == fault_kind::none ? cuda_devices() : 1;
  if (all <= 1) return {0}; // it reports why it does not respond
  std::string why_not;
  for (int d = 0; d < all; ++d) {
    const std::string why = why_no_cuda(d);
    if (why.empty()) {
      found.push_back(d);
      continue;
    }
    why_not = left_out(d, why);
    if (warn) warn(engine_news::device_left_out, why_not);
  }
  if (found.empty()) throw std::runtime_error(why_not);
  return found;
}

/// The engine on a device, in memory near it. If the settings ask for a fault: a CPU engine; that
/// of the first device fails like a device.
std::unique_ptr<engine> make_device(const compute_settings& settings, const engine_limits& limits,
                                    const selection_program* program, int device) {
  if (settings.fault.kind == fault_kind::none) {
    if (const std::string why_not = why_no_cuda(device); !why_not.empty())
      throw std::runtime_error(why_not);
    const numa_topology machine;
    const int node = machine.node_of(cuda_address(device));
    const auto allowed_before = allowed_processors();
    const stay_on_node here(node, machine);
    auto made = make_cuda_engine(limits, program, device);
    made->set_processors(common(allowed_before, machine.processors_of(node)));
    return made;
  }
  const bool is_faulty = settings.devices.empty() || device == settings.devices.front();
  if (is_faulty && settings.fault.kind == fault_kind::no_memory)
    throw std::runtime_error("the device is out of memory (imagined)");
  auto made = make_cpu_engine(settings, limits, program);
  if (!is_faulty) return made;
  return std::make_unique<faulty_engine>(std::move(made), settings.fault);
}

/// An engine for each device. A device that fails here is left out; the last one's reason is
/// thrown.
std::vector<std::unique_ptr<engine>> make_devices(const compute_settings& settings,
                                                  engine_limits limits,
                                                  const selection_program* program,
                                                  const engine_warning& warn) {
  std::vector<int> devices = devices_of(settings, warn);
  while (true) {
    std::vector<std::unique_ptr<engine>> made;
    limits.index_step = static_cast<std::uint32_t>(devices.size());
    try {
      for (const int device : devices) {
        limits.first_index = static_cast<std::uint32_t>(made.size());
        made.push_back(make_device(settings, limits, program, device));
      }
      return made;
    } catch (const std::runtime_error& why_not) {
      if (devices.size() == 1) throw;
      const auto failed = devices.begin() + static_cast<std::ptrdiff_t>(made.size());
      if (warn) warn(engine_news::device_left_out, left_out(*failed, why_not.what()));
      devices.erase(failed);
    }
  }
}

} // namespace

std::string why_no_device(const compute_settings& settings) {
  if (settings.where == backend::hip) return why_no_hip();
  if (settings.where == backend::sycl) return why_no_sycl();
  if (settings.where != backend::automatic && settings.where != backend::cuda)
    return "compute.backend uses no device";
  try {
    std::string why_not;
    for (const int device : devices_of(settings, {})) {
      const std::string why = why_no_cuda(device);
      if (why.empty()) return {};
      if (why_not.empty()) why_not = why;
    }
    return why_not;
  } catch (const std::runtime_error& none_answers) {
    return none_answers.what();
  }
}

std::string wrong_with_backend(const compute_settings& settings) {
  if (settings.fault.kind != fault_kind::none) return {};
  const char* name = nullptr;
  switch (settings.where) {
  case backend::cuda: name = "cuda"; break;
  case backend::hip: name = "hip"; break;
  case backend::sycl: name = "sycl"; break;
  default: return {};
  }
  const std::string why_not = why_no_device(settings);
  return why_not.empty() ? "" : std::string("backend ") + name + " was asked for, but " + why_not;
}

found_devices find_devices(const compute_settings& settings) {
  found_devices found;
  const bool wants_one = settings.where == backend::automatic || settings.where == backend::cuda;
  if (settings.fault.kind != fault_kind::none || !wants_one) return found;
  try {
    for (const int device : devices_of(settings, {})) {
      if (!why_no_cuda(device).empty()) continue;
      const device_size one = cuda_size(device);
      if (found.count++ == 0) {
        found.name = one.name;
        found.memory = one.memory;
        found.multiprocessors = one.multiprocessors;
      }
      found.memory = std::min(found.memory, one.memory);
      found.multiprocessors = std::min(found.multiprocessors, one.multiprocessors);
    }
  } catch (const std::runtime_error&) {
    return {};
  }
  return found;
}

std::unique_ptr<engine> make_cpu_engine(const compute_settings& settings,
                                        const engine_limits& limits,
                                        const selection_program* program) {
  switch (settings.where) {
  case backend::serial: return make_serial_engine(limits, program);
  default: return make_pool_engine(settings.threads, limits, program);
  }
}

std::unique_ptr<engine> make_engine(const compute_settings& settings, const engine_limits& limits,
                                    const selection_program* program, const engine_warning& warn) {
  compute_settings one = settings;
  one.devices = {settings.devices.empty() ? std::uint16_t{0} : settings.devices.front()};
  return std::move(make_engines(one, limits, program, warn).front());
}

std::vector<std::unique_ptr<engine>> make_engines(const compute_settings& settings,
                                                  const engine_limits& limits,
                                                  const selection_program* program,
                                                  const engine_warning& warn) {
  const bool is_cuda = settings.where == backend::cuda; // its devices are checked one by one
  if (const std::string wrong = is_cuda ? "" : wrong_with_backend(settings); !wrong.empty())
    throw std::runtime_error(wrong);
  std::vector<std::unique_ptr<engine>> made;
  if (settings.where == backend::hip && settings.fault.kind == fault_kind::none) {
    if (limits.codec != codec_id::koto)
      throw std::runtime_error("AMD's devices do not have the strong codec (output.codec) yet");
    made.push_back(make_hip_engine(limits, program));
    return made;
  }
  if (settings.where == backend::sycl && settings.fault.kind == fault_kind::none) {
    made.push_back(make_sycl_engine(limits, program));
    return made;
  }
  const bool left_open = settings.where == backend::automatic;
  if (left_open || is_cuda || settings.fault.kind != fault_kind::none) {
    try {
      return make_devices(settings, limits, program, warn);
    } catch (const std::runtime_error& why_not) {
      if (!left_open) {
        throw std::runtime_error(is_cuda ? std::string("backend cuda was asked for, but ") +
                                               why_not.what()
                                         : why_not.what());
      }
      if (warn)
        warn(engine_news::cpu_instead, std::string("kernels run on the CPU: ") + why_not.what());
    }
  }
  made.push_back(make_cpu_engine(settings, limits, program));
  return made;
}

void prepare_driver(std::uint32_t streams) {
  constexpr std::uint32_t given = 8; // the default
  constexpr std::uint32_t most = 32;
  const auto set = [](const char* name, const std::string& value) {
    constexpr int keep = 0;            // the operator's setting has priority
    setenv(name, value.c_str(), keep); // NOLINT: no other thread runs yet
  };
  set("CUDA_DEVICE_ORDER", "PCI_BUS_ID"); // as `nvidia-smi` numbers them
  set("CUDA_MODULE_LOADING", "EAGER");
  if (streams > given) set("CUDA_DEVICE_MAX_CONNECTIONS", std::to_string(std::min(streams, most)));
}

} // namespace l3
