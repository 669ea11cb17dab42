// SPDX-License-Identifier: Apache-2.0
// `koto-l3 reprocess`: decides and packs the events of one store file again, into a file of the
// same name in another folder. Existing results are not made again.
#include <memory>
#include <string>

#include <boost/json.hpp>

#include "monitor/version.hpp"
#include "tools/command_line.hpp"
#include "tools/info/information.hpp"
#include "tools/interrupt.hpp"
#include "tools/print.hpp"
#include "tools/reprocess/file_reprocessor.hpp"
#include "tools/verify/payload_tally.hpp"
#include "transport/store/block_file.hpp"

namespace l3 {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

struct options {
  std::string in;
  std::string out;
  reprocessing by;
  bool skip_damaged = false;
  bool skip_limited = false;
  bool json = false;
};

void check_paths(const fs::path& in, const fs::path& out) {
  refuse_other_kind(in, stored_format::store_file, "a complete file of a store is needed here");
  check_readable(in.string());
  const auto name = block_file_name::read(in.filename().string());
  if (!name || !name->complete)
    throw command_error(in.string() + " is not the name of a complete store file, such as "
                                      "blocks-000001-run000007-node3.kl3",
                        exit_usage);
  if (fs::exists(out) && !fs::is_directory(out))
    throw command_error(out.string() + " is a file: name a folder", exit_usage);
  if (fs::exists(out) && fs::equivalent(in.parent_path().empty() ? "." : in.parent_path(), out))
    throw command_error(out.string() + " is the folder of the input: name another one", exit_usage);
}

json::object to_json(const reprocess_account& a, const std::string& file) {
  return {{"file", file},
          {"events", json::object{{"in", a.events},
                                  {"kept", a.kept},
                                  {"rejected", a.rejected},
                                  {"limited", a.limited.events()},
                                  {"unreadable", a.unreadable}}},
          {"left_out", json_of(a.limited, a.names)},
          {"damaged", json::object{{"places", a.damaged_places}, {"blocks", a.damaged_blocks}}},
          {"bytes", json::object{{"in", a.bytes_in}, {"out", a.bytes_out}}},
          {"lines", a.lines}};
}

/// Reports events that could not be decided again. Returns true if all of them may be left out.
bool accepts(const options& o, const reprocess_account& a) {
  const bool is_damaged = a.damaged_places + a.damaged_blocks + a.unreadable > 0;
  if (is_damaged)
    print_error("{} is damaged at {} places and in {} blocks: {} events cannot be read{}\n", o.in,
                a.damaged_places, a.damaged_blocks, a.unreadable,
                o.skip_damaged ? "" : " (--skip-damaged accepts that)");
  for (const std::string& text : payload_words(json_of(a.limited, a.names)))
    print_error("left out: {}; not all their waveforms were kept{}\n", text,
                o.skip_limited ? "" : " (--skip-limited accepts that)");
  return (!is_damaged || o.skip_damaged) && (a.limited.events() == 0 || o.skip_limited);
}

int reprocess(const options& o) {
  interrupt signals;
  const fs::path in = o.in;
  const fs::path out = fs::path(o.out) / in.filename();
  check_paths(in, o.out);
  file_reprocessor work(in, o.by, [&] { return signals.check(), false; });
  if (fs::exists(out)) {
    if (!work.has_made(out))
      throw command_error(out.string() + " exists already, but was not made from this file with "
                                         "these settings: name another folder, or remove it");
    if (o.json)
      print_json("{}\n", json::serialize(json::object{{"file", out.string()}, {"made", false}}));
    else
      print_plain("{} exists already\n", out.string());
    return 0;
  }
  fs::create_directory(o.out);
  bool accepted = false;
  const reprocess_account a =
      work.run(out, [&](const reprocess_account& all) { return accepted = accepts(o, all); });
  if (o.json) {
    json::object all = to_json(a, out.string());
    all["made"] = accepted;
    print_json("{}\n", json::serialize(all));
  } else {
    constexpr double megabyte = 1e6;
    print_plain("{}{}: {} events, {} kept, {} rejected, {} not readable; {:.1f} MB in, {:.1f} MB "
                "out\n",
                out.string(), accepted ? "" : " is NOT made", a.events, a.kept, a.rejected,
                a.unreadable, static_cast<double>(a.bytes_in) / megabyte,
                static_cast<double>(a.bytes_out) / megabyte);
  }
  return accepted ? 0 : exit_failure;
}

} // namespace

void add_reprocess(command_line program, command_body& run) {
  auto o = std::make_shared<options>();
  const auto c =
      program.add_subcommand("reprocess", "decide and pack the events of a store file again");
  c.footer("The output has the name of the input, and is written completely or not at all. If "
           "it exists and was made with the same settings, nothing is done, so a command may be "
           "repeated. Exits with 0 only if every event was read, and kept or rejected.");
  c.add_option("in", o->in, "a complete file of a store, blocks-*.kl3").required();
  c.add_option("out", o->out, "the folder of the output").required();
  c.add_option("--selection", o->by.how.files.lines,
               "cuts, counters and lines: a file, or built-in")
      .required();
  add_selecting_options(c, o->by.how);
  c.add_option_function(
       "--codec",
       [o](const std::string& name) {
         o->by.codec = name == "strong" ? codec_id::strong : codec_id::koto;
       },
       "codec of the kept events, koto or strong, as in output.codec; by default unchanged")
      .check(one_of({"koto", "strong"}));
  add_skip_damaged_flag(c, o->skip_damaged);
  c.add_flag(
      "--skip-limited", o->skip_limited,
      "write the output even if events were skipped that lack waveforms, and report how many");
  c.add_flag("--json", o->json, "report as JSON");
  c.callback([o, &run] {
    run = [o] {
      o->by.software = version_line("koto-l3");
      return reprocess(*o);
    };
  });
}

} // namespace l3
