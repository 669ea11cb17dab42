// SPDX-License-Identifier: Apache-2.0
// `koto-l3`: simulate, replay, receive, inspect. Finds the command and runs it.
#include <array>

#include "selection/engine/engine.hpp"
#include "tools/command_line.hpp"

namespace l3 {

// Each is in the source of its name; `unpack` is in pack.cpp.
command_adder add_receive, add_run, add_status, add_doctor, add_keys, add_rerun, add_info,
    add_inspect, add_histograms, add_verify, add_extract, add_pack, add_unpack, add_select,
    add_evaluate, add_reprocess, add_cables, add_demo, add_simulate, add_replay;

} // namespace l3

int main(int argc, char** argv) {
  constexpr const char* operate = "Operate";
  constexpr const char* data = "Data";
  constexpr const char* selection = "Selection";
  constexpr const char* try_it = "Try";
  constexpr std::array<l3::command, 20> commands{{{"receive", l3::add_receive, operate},
                                                  {"run", l3::add_run, operate},
                                                  {"status", l3::add_status, operate},
                                                  {"doctor", l3::add_doctor, operate},
                                                  {"keys", l3::add_keys, operate},
                                                  {"rerun", l3::add_rerun, operate},
                                                  {"info", l3::add_info, data},
                                                  {"inspect", l3::add_inspect, data},
                                                  {"histograms", l3::add_histograms, data},
                                                  {"verify", l3::add_verify, data},
                                                  {"extract", l3::add_extract, data},
                                                  {"pack", l3::add_pack, data},
                                                  {"unpack", l3::add_unpack, data},
                                                  {"select", l3::add_select, selection},
                                                  {"evaluate", l3::add_evaluate, selection},
                                                  {"reprocess", l3::add_reprocess, selection},
                                                  {"cables", l3::add_cables, selection},
                                                  {"demo", l3::add_demo, try_it},
                                                  {"simulate", l3::add_simulate, try_it},
                                                  {"replay", l3::add_replay, try_it}}};
  l3::prepare_driver();
  return l3::run_program("koto-l3", "koto-l3: the tool of KOTO's level-3 trigger", commands, argc,
                         argv);
}
