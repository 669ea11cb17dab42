// SPDX-License-Identifier: Apache-2.0
// Six techniques by which LHCb's decoding of raw banks became faster, each of them a switch. They
// change how the work is done and never what comes out. `koto-l3 bench decode` adds one after the
// other and prints what each is worth on this machine.
#pragma once

namespace l3 {

/// Off: the plain way, in the words after the colon.
struct decode_techniques {
  /// Where a crate's boards lie is read from the host's table: each block walks over the packets of
  /// its crate until it comes to its own.
  bool table_by_source = true;
  /// Boards that have nothing to decode get no block: there is one for every slot of every crate.
  bool zero_suppression = true;
  /// The hits of a warp take their places in the list by one atomic: each by one of its own. A
  /// plain atomicAdd is neither: compilers for devices gather lanes where they can. A CPU has no
  /// warps, there it is the same code.
  bool warp_aggregation = true;
  /// Boards that take longest come first, so that none of them is what all wait for at the end: as
  /// they lie.
  bool big_first = true;
  /// Samples are compared as 16-bit integers: as 32-bit ones.
  bool short_registers = true;
  /// As many blocks as run at once, which fetch one board after the other: a block a board.
  bool opportunistic = true;
};

inline constexpr decode_techniques no_technique{false, false, false, false, false, false};

} // namespace l3
