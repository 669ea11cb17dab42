// SPDX-License-Identifier: Apache-2.0
// `koto-l3 rerun`: computes a batch again on which a daemon's device failed.
#include <memory>
#include <string>

#include "tools/command_line.hpp"
#include "tools/evaluate/selection_run.hpp"
#include "tools/rerun/rerun.hpp"
#include "transport/file/batch_file.hpp"

namespace l3 {
namespace {

struct options {
  std::string file;
  compute_settings compute{backend::serial};
};

int rerun(const options& o) {
  check_readable(o.file);
  if (!is_batch_file(o.file)) throw command_error(o.file + " is not a .l3batch file");
  return rerun(o.file, o.compute) ? 0 : exit_failure;
}

} // namespace

void add_rerun(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c = program.add_subcommand("rerun", "compute a batch again on which a device failed");
  c.footer("Exits with 0 only if this backend, the serial one and the stored output agree.");
  c.add_option("file", o->file, "a .l3batch file from the daemon's compute.dumps").required();
  add_backend_option(c, o->compute);
  c.callback([o, &run] { run = [o] { return rerun(*o); }; });
}

} // namespace l3
