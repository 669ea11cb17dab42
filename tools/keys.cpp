// SPDX-License-Identifier: Apache-2.0
// `koto-l3 keys`: makes the key pair of a daemon or a receiver.
#include <cstdio>
#include <memory>
#include <string>

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
  std::printf("%s.secret: keep it where it was made; %s.public: for the other end\n%s\n",
              name.c_str(), name.c_str(), text_of(pair.public_half).c_str());
  return 0;
}

} // namespace

void add_keys(CLI::App& program, command_body& run) {
  auto name = std::make_shared<std::string>();
  auto* c = program.add_subcommand("keys", "make the keys of one end of the output line");
  c->footer(
      "A daemon takes them as forward.secret_key and, of its receiver, forward.receiver_key;\n"
      "koto-l3 receive as --secret-key and, of its daemons, a line each in the file of --allow.\n"
      "A file that is there already is left alone.");
  c->add_option("name", *name, "writes NAME.secret and NAME.public")->required();
  c->callback([name, &run] { run = [name] { return keys(*name); }; });
}

} // namespace l3
