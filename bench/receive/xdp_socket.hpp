// SPDX-License-Identifier: Apache-2.0
// An AF_XDP socket on one queue of a network interface: frames land in memory that the program owns
// and pass by the kernel's network stack. Receiving only, with the system's own calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "transport/system/file_descriptor.hpp"
#include "transport/system/mapped_memory.hpp"

namespace l3::bench {

class xdp_socket {
public:
  static constexpr std::uint32_t frames = 4096;
  static constexpr std::uint32_t frame_bytes = 4096;

  /// `how`: "native" (in the driver) or "generic" (before the stack). Throws std::system_error.
  xdp_socket(std::uint32_t interface, const std::string& how);
  ~xdp_socket();
  xdp_socket(const xdp_socket&) = delete;
  xdp_socket& operator=(const xdp_socket&) = delete;

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  /// Takes all frames that are there, each once in place, and gives their memory back. The sum of
  /// their bytes; `seen` is the exclusive or of a word of each, so that each is touched.
  [[nodiscard]] std::uint64_t take(std::uint64_t& count, std::uint64_t& seen);

private:
  struct ring {
    std::uint32_t* producer = nullptr;
    std::uint32_t* consumer = nullptr;
    void* entries = nullptr;
    void* map = nullptr;
    std::size_t bytes = 0;
  };
  [[nodiscard]] ring map_ring(std::uint64_t page, std::uint64_t producer, std::uint64_t consumer,
                              std::uint64_t entries, std::size_t entry_bytes) const;

  file_descriptor socket_;
  file_descriptor map_;
  file_descriptor program_;
  file_descriptor link_;
  std::byte* memory_ = nullptr;
  ring fill_;
  ring received_;
};

} // namespace l3::bench
