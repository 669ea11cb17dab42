// SPDX-License-Identifier: Apache-2.0
#include "bench/receive/xdp_socket.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace l3::bench {

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

file_descriptor bpf(bpf_cmd command, bpf_attr& attributes, const char* what) {
  file_descriptor made(
      static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes)));
  if (!made) fail(what);
  return made;
}

constexpr bpf_insn instruction(unsigned code, unsigned to, unsigned from, int offset, int value) {
  bpf_insn i{};
  i.code = static_cast<__u8>(code);
  i.dst_reg = to & 0xfU;
  i.src_reg = from & 0xfU;
  i.off = static_cast<__s16>(offset);
  i.imm = value;
  return i;
}

/// Hands each frame to the socket that the map has for its queue, others to the network stack.
file_descriptor load_program(int map) {
  constexpr int queue_offset = 16; // of xdp_md::rx_queue_index
  const std::array<bpf_insn, 6> code{
      instruction(BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, queue_offset, 0),
      instruction(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
      instruction(0, 0, 0, 0, 0),
      instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, XDP_PASS),
      instruction(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_redirect_map),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)};
  bpf_attr a{};
  a.prog_type = BPF_PROG_TYPE_XDP;
  a.insns = reinterpret_cast<std::uint64_t>(code.data());
  a.insn_cnt = static_cast<__u32>(code.size());
  a.license = reinterpret_cast<std::uint64_t>("Apache-2.0");
  return bpf(BPF_PROG_LOAD, a, "cannot load a program for XDP");
}

void set_option(int socket, int name, const void* value, socklen_t bytes, const char* what) {
  if (::setsockopt(socket, SOL_XDP, name, value, bytes) != 0) fail(what);
}

std::uint32_t load_shared(std::uint32_t* at) {
  return std::atomic_ref(*at).load(std::memory_order_acquire);
}
void store_shared(std::uint32_t* at, std::uint32_t value) {
  std::atomic_ref(*at).store(value, std::memory_order_release);
}

} // namespace

xdp_socket::ring xdp_socket::map_ring(std::uint64_t page, std::uint64_t producer,
                                      std::uint64_t consumer, std::uint64_t entries,
                                      std::size_t entry_bytes) const {
  ring r;
  r.bytes = entries + frames * entry_bytes;
  r.map = ::mmap(nullptr, r.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, socket_.get(),
                 static_cast<off_t>(page));
  if (r.map == MAP_FAILED) fail("cannot map a ring of AF_XDP");
  auto* const base = static_cast<std::byte*>(r.map);
  r.producer = reinterpret_cast<std::uint32_t*>(base + producer);
  r.consumer = reinterpret_cast<std::uint32_t*>(base + consumer);
  r.entries = base + entries;
  return r;
}

xdp_socket::xdp_socket(std::uint32_t interface, const std::string& how)
    : socket_(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0)) {
  if (!socket_) fail("no AF_XDP");
  void* const memory = ::mmap(nullptr, std::size_t{frames} * frame_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) fail("no memory");
  memory_ = static_cast<std::byte*>(memory);

  xdp_umem_reg umem{};
  umem.addr = reinterpret_cast<std::uint64_t>(memory_);
  umem.len = std::uint64_t{frames} * frame_bytes;
  umem.chunk_size = frame_bytes;
  set_option(socket_.get(), XDP_UMEM_REG, &umem, sizeof umem, "cannot register memory");
  const int entries = frames;
  for (const int which : {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING})
    set_option(socket_.get(), which, &entries, sizeof entries, "cannot make a ring");
  xdp_mmap_offsets at{};
  socklen_t bytes = sizeof at;
  if (::getsockopt(socket_.get(), SOL_XDP, XDP_MMAP_OFFSETS, &at, &bytes) != 0)
    fail("cannot ask for the rings");
  fill_ = map_ring(XDP_UMEM_PGOFF_FILL_RING, at.fr.producer, at.fr.consumer, at.fr.desc,
                   sizeof(std::uint64_t));
  received_ =
      map_ring(XDP_PGOFF_RX_RING, at.rx.producer, at.rx.consumer, at.rx.desc, sizeof(xdp_desc));
  for (std::uint32_t i = 0; i < frames; ++i)
    static_cast<std::uint64_t*>(fill_.entries)[i] = std::uint64_t{i} * frame_bytes;
  store_shared(fill_.producer, frames);

  sockaddr_xdp address{};
  address.sxdp_family = AF_XDP;
  address.sxdp_flags = XDP_COPY;
  address.sxdp_ifindex = interface;
  if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail("cannot bind AF_XDP");

  bpf_attr map{};
  map.map_type = BPF_MAP_TYPE_XSKMAP;
  map.key_size = map.value_size = sizeof(std::uint32_t);
  map.max_entries = 1;
  map_ = bpf(BPF_MAP_CREATE, map, "cannot make a map of sockets");
  const std::uint32_t queue = 0;
  const int number = socket_.get();
  bpf_attr put{};
  put.map_fd = static_cast<__u32>(map_.get());
  put.key = reinterpret_cast<std::uint64_t>(&queue);
  put.value = reinterpret_cast<std::uint64_t>(&number);
  if (::syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &put, sizeof put) != 0)
    fail("cannot put the socket into the map");
  program_ = load_program(map_.get());
  bpf_attr link{};
  link.link_create.prog_fd = static_cast<__u32>(program_.get());
  link.link_create.target_ifindex = interface;
  link.link_create.attach_type = BPF_XDP;
  link.link_create.flags = how == "native" ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
  link_ = bpf(BPF_LINK_CREATE, link, "cannot attach the program");
}

xdp_socket::~xdp_socket() {
  ::munmap(fill_.map, fill_.bytes);
  ::munmap(received_.map, received_.bytes);
  ::munmap(memory_, std::size_t{frames} * frame_bytes);
}

std::uint64_t xdp_socket::take(std::uint64_t& count, std::uint64_t& seen) {
  const std::uint32_t from = *received_.consumer;
  const std::uint32_t to = load_shared(received_.producer);
  std::uint32_t free = *fill_.producer;
  std::uint64_t bytes = 0;
  for (std::uint32_t i = from; i != to; ++i) {
    const xdp_desc& d = static_cast<const xdp_desc*>(received_.entries)[i % frames];
    bytes += d.len;
    for (std::uint64_t at = 0; at + sizeof(std::uint64_t) <= d.len; at += 64) {
      std::uint64_t word = 0;
      std::memcpy(&word, memory_ + d.addr + at, sizeof word);
      seen ^= word;
    }
    static_cast<std::uint64_t*>(fill_.entries)[free++ % frames] =
        d.addr & ~std::uint64_t{frame_bytes - 1};
  }
  count += to - from;
  store_shared(received_.consumer, to);
  store_shared(fill_.producer, free);
  return bytes;
}

} // namespace l3::bench
