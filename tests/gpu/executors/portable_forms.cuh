// SPDX-License-Identifier: Apache-2.0
// The device with each kernel in its portable form, also where a device has a form of its own
// (gpu/executors/cuda_form.hpp): that is the code which devices without such forms run. No program
// launches it, so its barriers are only watched here.
#pragma once

#include <cstdint>

#include "tests/gpu/executors/on_device.cuh"

namespace l3::test {

template <class Kernel>
struct portable_form {
  static constexpr std::uint32_t width = Kernel::width;
  using shared = typename Kernel::shared;

  template <block B, class... Args>
  L3_FN void operator()(const B& b, shared& s, const Args&... args) const {
    kernel(b, s, args...);
  }

  Kernel kernel;
};

class portable_queue : public cuda_queue {
public:
  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    cuda_queue::run(portable_form<Kernel>{kernel}, blocks, args...);
  }
};

struct on_device_portably : on_device {
  static portable_queue make() { return {}; }
};

} // namespace l3::test
