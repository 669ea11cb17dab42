// SPDX-License-Identifier: Apache-2.0
// `koto-l3-bench codecs FILES`: our codecs of waveforms and those of others on the same files.
#include <memory>

#include "bench/codec/codec_comparison.hpp"
#include "bench/harness/options.hpp"
#include "gpu/codec/koto.hpp"
#include "tools/command.hpp"
#include "tools/pack/samples_option.hpp"

namespace l3 {
namespace {

using namespace bench;

struct comparison_options {
  std::vector<std::string> files;
  std::uint32_t samples = koto::record_samples;
  std::uint32_t rounds = 5;
  bool as_json = false;
};

int compare_all(const comparison_options& o) {
  // A bad file is refused before the work.
  for (const std::string& file : o.files) (void)waveforms_of(file, o.samples);
  comparison_report r;
  r.samples = o.samples;
  for (const std::string& file : o.files) compare(file, o.rounds, r);
  return print_report(to_json(r), o.as_json, r.all_right());
}

} // namespace

void add_bench_codecs(CLI::App& program, command_body& run) {
  auto o = std::make_shared<comparison_options>();
  auto* c = program.add_subcommand("codecs", "Our codecs and others on recorded waveforms");
  c->add_option("FILES", o->files, "Bare waveforms, as `koto-l3 pack` reads them")->required();
  add_samples(*c, o->samples);
  add_count(*c, "--rounds", o->rounds, "How often each takes its turn", 1, 10'000);
  c->add_flag("--json", o->as_json, "Report as JSON");
  c->callback([o, &run] { run = [o] { return compare_all(*o); }; });
}

} // namespace l3
