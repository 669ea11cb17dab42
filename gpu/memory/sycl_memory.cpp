// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory/sycl_memory.hpp"

#include <cstring>
#include <stdexcept>

#include "gpu/memory/sycl_queue.hpp"

namespace l3 {
namespace {

std::runtime_error too_little(std::size_t bytes, const char* what) {
  return std::runtime_error("cannot reserve " + std::to_string(bytes >> 20) + " MiB of " + what);
}

void give_back(std::byte* data, std::size_t) { sycl::free(data, sycl_device::common_queue()); }

constexpr std::size_t page = 4096; // columns need aligned memory

/// SYCL may return null for an empty allocation, and for one that is no multiple of the
/// alignment.
std::size_t whole_pages(std::size_t bytes) { return (bytes / page + 1) * page; }

struct answer {};

} // namespace

buffer sycl_memory::allocate(std::size_t bytes) {
  void* const p = sycl::aligned_alloc_host(page, whole_pages(bytes), sycl_device::common_queue());
  if (p == nullptr) throw too_little(bytes, "host memory for the device");
  std::memset(p, 0, bytes);
  return {static_cast<std::byte*>(p), bytes, give_back};
}

buffer sycl_memory::allocate_on_device(std::size_t bytes) {
  void* const p = sycl::aligned_alloc_device(page, whole_pages(bytes), sycl_device::common_queue());
  if (p == nullptr) throw too_little(bytes, "device memory");
  buffer b(static_cast<std::byte*>(p), bytes, give_back);
  sycl_device::common_queue().memset(p, 0, whole_pages(bytes)).wait();
  return b;
}

namespace sycl_device {

sycl::queue& common_queue() {
  static sycl::queue queue{sycl::property_list{sycl::property::queue::in_order{}}};
  return queue;
}

std::string why_no_device() {
  try {
    sycl::queue& queue = common_queue();
    auto* const value = sycl::malloc_host<int>(1, queue);
    if (value == nullptr) return "the SYCL device has no memory that kernels and host share";
    queue.single_task<answer>([=] { *value = 1; }).wait_and_throw();
    const bool ran = *value == 1;
    sycl::free(value, queue);
    return ran ? "" : "the SYCL device ran no kernel";
  } catch (const std::exception& e) {
    return std::string("no SYCL device answers: ") + e.what();
  }
}

std::string name() { return common_queue().get_device().get_info<sycl::info::device::name>(); }

} // namespace sycl_device

} // namespace l3
