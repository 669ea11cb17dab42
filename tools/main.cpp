// SPDX-License-Identifier: Apache-2.0
// `koto-l3`: simulate, replay, receive, inspect. Finds the command and runs it.
#include <array>

#include "tools/command.hpp"

namespace l3 {

// Each is in the source of its name.
command_adder add_simulate, add_replay, add_keys, add_receive, add_verify, add_extract, add_pack,
    add_unpack, add_cables, add_select, add_efficiency, add_evaluate, add_reprocess, add_demo,
    add_info, add_inspect, add_run, add_status, add_histograms, add_doctor;

} // namespace l3

int main(int argc, char** argv) {
  constexpr std::array<l3::command, 20> commands{{{"simulate", l3::add_simulate},
                                                  {"replay", l3::add_replay},
                                                  {"keys", l3::add_keys},
                                                  {"receive", l3::add_receive},
                                                  {"verify", l3::add_verify},
                                                  {"extract", l3::add_extract},
                                                  {"info", l3::add_info},
                                                  {"inspect", l3::add_inspect},
                                                  {"run", l3::add_run},
                                                  {"status", l3::add_status},
                                                  {"histograms", l3::add_histograms},
                                                  {"doctor", l3::add_doctor},
                                                  {"pack", l3::add_pack},
                                                  {"unpack", l3::add_unpack},
                                                  {"cables", l3::add_cables},
                                                  {"select", l3::add_select},
                                                  {"efficiency", l3::add_efficiency},
                                                  {"evaluate", l3::add_evaluate},
                                                  {"reprocess", l3::add_reprocess},
                                                  {"demo", l3::add_demo}}};
  return l3::run_program("koto-l3", "koto-l3: level-2 data made, sent, stored and checked",
                         commands, argc, argv);
}
