// SPDX-License-Identifier: Apache-2.0
// The queue of this process' device: all memory and all queues of the sycl executor share its
// context.
#pragma once

#include <sycl/sycl.hpp>

namespace l3::sycl_device {

[[nodiscard]] sycl::queue& common_queue();

} // namespace l3::sycl_device
