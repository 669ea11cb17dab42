// SPDX-License-Identifier: Apache-2.0
// Six techniques by which LHCb made the decoding of its raw banks faster, each as a switch. They
// change the speed of the decoder and never its output. `koto-l3-bench decode` adds one after the
// other and prints the gain of each on this machine.
#pragma once

namespace l3 {

struct decode_techniques {
  /// On: a block reads from the host's table where its board lies. Off: it walks over the packets
  /// of the crate until it reaches its board.
  bool table_by_source = true;
  /// On: only boards with something to decode get a block. Off: every slot of every crate gets one.
  bool zero_suppression = true;
  /// On: the hits of a warp take their places in the list by one atomic. Off: each hit takes its
  /// place by an atomic of its own. (A plain atomicAdd would be neither, as compilers for devices
  /// gather lanes where they can.) On a CPU, which has no warps, both are the same code.
  bool warp_aggregation = true;
  /// On: the boards that take longest come first, so that none of them ends last. Off: boards come
  /// in the order of the input.
  bool big_first = true;
  /// On: samples are compared as 16-bit integers. Off: as 32-bit integers.
  bool short_registers = true;
  /// On: there are as many blocks as can run at once, and each fetches one board after the other.
  /// Off: each board has a block.
  bool opportunistic = true;
};

inline constexpr decode_techniques no_technique{false, false, false, false, false, false};

} // namespace l3
