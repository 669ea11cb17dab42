// SPDX-License-Identifier: Apache-2.0
// `koto-l3 keys`: creates the key pair of a daemon or a receiver.
#include <memory>
#include <string>

#include "tools/command_line.hpp"
#include "tools/print.hpp"
#include "transport/link/link_keys.hpp"

namespace l3 {
namespace {

int keys(const std::string& name) {
  const key_pair pair = make_key_pair();
  opened([&] {
    write_key_pair(name, pair);
    return true;
  });
  print_plain("{0}.secret: keep it on this machine; {0}.public: for the other end\n{1}\n", name,
              text_of(pair.public_half));
  return 0;
}

} // namespace

void add_keys(command_line program, command_body& run) {
  auto name = std::make_shared<std::string>();
  const auto c = program.add_subcommand("keys", "make the keys for one end of the output link");
  c.footer("A daemon's configuration names its own NAME.secret (forward.secret_key) and the "
           "public key of its receiver (forward.receiver_key). `koto-l3 receive` needs its own "
           "NAME.secret (--secret-key) and a file with the public keys of its daemons, one per "
           "line (--allow). Existing files are not replaced.");
  c.add_option("name", *name, "writes NAME.secret and NAME.public").required();
  c.callback([name, &run] { run = [name] { return keys(*name); }; });
}

} // namespace l3
