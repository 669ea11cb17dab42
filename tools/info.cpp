// SPDX-License-Identifier: Apache-2.0
// `koto-l3 info`: identifies a stored file or folder and describes its contents.
#include <memory>

#include <fmt/format.h>

#include "tools/command_line.hpp"
#include "tools/info/information.hpp"
#include "tools/interrupt.hpp"
#include "tools/print.hpp"
#include "tools/progress.hpp"

namespace l3 {
namespace {

struct options {
  std::string path;
  bool json = false;
};

int tell_information(const options& o) {
  interrupt signals;
  progress line("info", 0, "bytes");
  const auto tell = [&](std::uint64_t done, std::uint64_t all) {
    signals.check();
    line.update(done, all);
  };
  const information i = read_information(o.path, tell);
  line.clear();
  if (o.json)
    print_json("{}", json_of(o.path, i));
  else
    print_plain("{}", text_lines{text_of(o.path, i)});
  if (!i.damage.empty())
    throw command_error(o.path + " is damaged: " + i.damage.front() +
                        (i.damage.size() > 1 ? fmt::format("; {} more", i.damage.size() - 1) : ""));
  return 0;
}

} // namespace

void add_info(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c =
      program.add_subcommand("info", "show what a stored file or folder is, and what it holds");
  c.footer(
      "Knows every format of docs/formats.md that has a magic number: level-2 files, stores and "
      "spools with each of their files, ledgers, records of a run, kept batches, waveforms of the "
      "strong codec. Reads the whole file and changes nothing. Exits with 1 if the file is "
      "damaged or of another version or kind, with 69 if it is missing or a folder of another "
      "kind.");
  c.add_option("path", o->path, "the file, or the folder of a store or a spool").required();
  c.add_flag("--json", o->json, "report as JSON");
  c.callback([o, &run] { run = [o] { return tell_information(*o); }; });
}

} // namespace l3
