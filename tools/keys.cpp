// SPDX-License-Identifier: Apache-2.0
// `koto-l3 keys`: makes the key pair of a daemon or a receiver.
#include <memory>
#include <string>

#include <fmt/format.h>

#include "tools/command.hpp"
#include "transport/link/link_keys.hpp"

namespace l3 {
namespace {

int keys(const std::string& name) {
  const key_pair pair = make_key_pair();
  opened([&] {
    write_key_pair(name, pair);
    return true;
  });
  fmt::print("{0}.secret: keep it where it was made; {0}.public: for the other end\n{1}\n", name,
             text_of(pair.public_half));
  return 0;
}

} // namespace

void add_keys(CLI::App& program, command_body& run) {
  auto name = std::make_shared<std::string>();
  auto* c = program.add_subcommand("keys", "make the keys of one end of the output link");
  c->footer(
      "A daemon takes them as forward.secret_key and, of its receiver, forward.receiver_key;\n"
      "koto-l3 receive as --secret-key and, of its daemons, a line each in the file of --allow.\n"
      "A file that is there already is left alone.");
  c->add_option("name", *name, "writes NAME.secret and NAME.public")->required();
  c->callback([name, &run] { run = [name] { return keys(*name); }; });
}

} // namespace l3
