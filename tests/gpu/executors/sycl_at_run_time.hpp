// SPDX-License-Identifier: Apache-2.0
// The sycl executor without a SYCL compiler. Intel's SYCL runtime, which PyPI offers, works with
// any C++ compiler on the host and contains a compiler for kernels. When the first kernel runs, it
// compiles all kernels of this program from the headers that L3_KERNEL_SOURCE includes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <typeinfo>
#include <vector>

#include <cxxabi.h>

#include "gpu/executors/sycl.hpp"

namespace l3::test {

/// Shared memory of any alignment.
struct alignas(64) shared_line {
  std::byte bytes[64];
};

/// A kernel as a function, which the runtime finds by its name. The type of a parameter of such
/// functions must not be nested in another, so the arguments of the kernel are in memory.
template <class Kernel, class... Args>
SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((sycl::ext::oneapi::experimental::nd_range_kernel<1>))
void run_block(sycl::local_accessor<shared_line, 1> lent, const std::byte* call) {
  using shared = typename Kernel::shared;
  static_assert(alignof(shared) <= alignof(shared_line));
  std::apply(
      [&](const Kernel& kernel, const Args&... args) {
        kernel(sycl_block(sycl::ext::oneapi::this_work_item::get_nd_item<1>()),
               *reinterpret_cast<shared*>(&lent[0]), args...);
      },
      *reinterpret_cast<const std::tuple<Kernel, Args...>*>(call));
}

/// All kernels of this program, compiled for the device of common_queue().
class kernels_at_run_time {
public:
  [[nodiscard]] static kernels_at_run_time& instance() {
    static auto* const all = new kernels_at_run_time; // never destroyed: the runtime ends earlier
    return *all;
  }
  /// Only before main().
  std::size_t add(std::string name) {
    names_.push_back(std::move(name));
    return names_.size() - 1;
  }
  /// Throws std::runtime_error with the compiler's messages.
  [[nodiscard]] sycl::kernel get(std::size_t i) {
    const std::scoped_lock lock(mutex_);
    if (!compiled_) compile();
    return compiled_->ext_oneapi_get_kernel(names_[i]);
  }

private:
  void compile() {
    namespace compiler = sycl::ext::oneapi::experimental;
    std::string messages;
    try {
      auto source = compiler::create_kernel_bundle_from_source(
          sycl_device::common_queue().get_context(), compiler::source_language::sycl,
          "#define L3_KERNEL_SOURCE \"\"\n#define L3_SOURCE_DIR \"\"\n"
          "#include \"" L3_KERNEL_SOURCE "\"\n");
      // No contraction of floating-point operations: decisions are the same on every executor.
      const std::vector<std::string> options{"-std=c++20", "-ffp-contract=off", "-I" L3_SOURCE_DIR};
      compiled_ = compiler::build(source, compiler::properties{compiler::build_options{options},
                                                               compiler::save_log{&messages},
                                                               compiler::registered_names{names_}});
    } catch (const sycl::exception& e) {
      throw std::runtime_error(e.what() + messages);
    }
  }

  std::mutex mutex_;
  std::vector<std::string> names_;
  std::optional<sycl::kernel_bundle<sycl::bundle_state::executable>> compiled_;
};

template <class Kernel, class... Args>
struct kernel_at_run_time {
  [[nodiscard]] static std::string name() {
    char* const demangled =
        abi::__cxa_demangle(typeid(kernel_at_run_time).name(), nullptr, nullptr, nullptr);
    const std::string type = demangled;
    std::free(demangled);
    return "l3::test::run_block" + type.substr(type.find('<'));
  }
  inline static const std::size_t number = kernels_at_run_time::instance().add(name());
};

/// The arguments of kernels that may be running.
struct calls_at_run_time {
  std::vector<buffer> calls;
};

/// Its destructor waits for the kernels before it frees their arguments.
class queue_at_run_time : private calls_at_run_time, public sycl_queue {
public:
  template <class Kernel, class... Args>
  void run(const Kernel& kernel, std::uint32_t blocks, const Args&... args) {
    if (blocks == 0) return;
    using call = std::tuple<Kernel, Args...>;
    if (at_rest()) calls.clear();
    calls.push_back(sycl_memory::allocate(sizeof(call)));
    const std::byte* const here =
        reinterpret_cast<std::byte*>(new (calls.back().data()) call(kernel, args...));
    enqueue([&](sycl::handler& h) {
      constexpr std::size_t lines = (sizeof(typename Kernel::shared) - 1) / sizeof(shared_line) + 1;
      h.set_args(sycl::local_accessor<shared_line, 1>(sycl::range<1>(lines), h), here);
      h.parallel_for(
          sycl::nd_range<1>(std::size_t{blocks} * Kernel::width, Kernel::width),
          kernels_at_run_time::instance().get(kernel_at_run_time<Kernel, Args...>::number));
    });
  }
};

} // namespace l3::test
