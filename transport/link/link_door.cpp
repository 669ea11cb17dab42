// SPDX-License-Identifier: Apache-2.0
#include "transport/link/link_door.hpp"

#include <chrono>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <unordered_map>

#include <dlfcn.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport/link/link_places.hpp"
#include "transport/link/zmtp_opening.hpp"

namespace {

using l3::zmtp_opening;

/// By descriptor: what this thread has accepted and what has not yet said who it is. A descriptor
/// that was closed before has its place until the system gives its number again.
thread_local std::unordered_map<int, zmtp_opening> openings;

/// After an error that lasts, ZeroMQ asks at once again, for as long as a connection waits: it
/// takes a whole processor. Between two such questions it reads 8 KiB of each other connection.
constexpr std::chrono::microseconds pause_after_refusal{200};

bool lasts(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

} // namespace

// Other names here than there: the headers of the C library may define theirs inline.
extern "C" {
[[gnu::used, gnu::visibility("default")]] int
accept_at_the_door(int listener, sockaddr* who, socklen_t* bytes, int flags) __asm__("accept4");
[[gnu::used, gnu::visibility("default")]] ssize_t
receive_at_the_door(int from, void* to, std::size_t bytes, int flags) __asm__("recv");

int accept_at_the_door(int listener, sockaddr* who, socklen_t* bytes, int flags) {
  const auto accepted = static_cast<int>(::syscall(SYS_accept4, listener, who, bytes, flags));
  if (accepted < 0) {
    const int error = errno;
    if (lasts(error)) std::this_thread::sleep_for(pause_after_refusal);
    errno = error;
    return accepted;
  }
  if (accepted >= l3::link_places::of(l3::link_places::descriptors()).first_of_watch) {
    ::close(accepted);
    errno = l3::no_place_left;
    return -1;
  }
  openings[accepted] = {};
  return accepted;
}

ssize_t receive_at_the_door(int from, void* to, std::size_t bytes, int flags) {
  const ssize_t got = ::recvfrom(from, to, bytes, flags, nullptr, nullptr);
  const bool has_ended = got == 0 || (got < 0 && errno == ECONNRESET);
  if (openings.empty() || (got < 0 && !has_ended)) return got;
  const auto found = openings.find(from);
  if (found == openings.end()) return got;
  if (has_ended) {
    const bool said_something = found->second.has_begun();
    openings.erase(found);
    if (said_something) return got;
    errno = l3::peer_has_left;
    return -1;
  }
  using enum zmtp_opening::verdict;
  const auto verdict =
      found->second.read({static_cast<const std::byte*>(to), static_cast<std::size_t>(got)});
  if (verdict == unfinished) return got;
  openings.erase(found);
  if (verdict == fine) return got;
  (void)::shutdown(from, SHUT_RDWR);
  errno = verdict == named ? l3::peer_is_named : l3::peer_is_foreign;
  return -1;
}
}

namespace l3 {

zmq::socket_t router_behind_the_door(zmq::context_t& context) {
  if (::dlsym(RTLD_DEFAULT, "recv") != reinterpret_cast<void*>(&receive_at_the_door) ||
      ::dlsym(RTLD_DEFAULT, "accept4") != reinterpret_cast<void*>(&accept_at_the_door))
    throw std::runtime_error("ZeroMQ does not read through this program's recv(): it was linked in "
                             "a way in which peers could take the names of others");
  // ZeroMQ takes the number from rand(), which it never seeds: the name of the first connection
  // would be the same in every receiver.
  unsigned seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != sizeof seed)
    throw std::system_error(errno, std::generic_category(), "getrandom");
  std::srand(seed);
  return {context, zmq::socket_type::router};
}

} // namespace l3
