// SPDX-License-Identifier: Apache-2.0
// A file of a store to which nothing is added any more gets a sidecar, and a name that says whose
// it is (docs/formats.md, section 9). The sidecar comes first: a file whose name says that it is
// complete has one, whatever ends this process. What the disk refuses is tried again, and what has
// to be read first is read in steps. The next start completes what this process does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "transport/store/block_file.hpp"
#include "transport/store/file_contents.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/store/store_reader.hpp"
#include "transport/store/stored_files.hpp"

namespace l3 {

class file_completion {
public:
  struct settings {
    std::string software; ///< what sidecars say that wrote the file
    bool sync = false;    ///< sidecars and names survive the death of the machine
    block_file::flush_function flush = nullptr;
  };
  /// The other parts of the store outlive this one; `news` is what a person should know.
  file_completion(settings given, const held_folder& folder, store_names& names,
                  stored_files& closed, std::vector<std::string>& news)
      : settings_(std::move(given)), folder_(folder), names_(names), closed_(closed), news_(news) {}

  /// A closed file, and what is in it.
  void complete(std::uint64_t number, const file_contents& contents);
  /// A closed file of which it is not known what is in it: later calls of go_on() read it.
  void read_first(std::uint64_t number);
  /// Goes on with what is left, until `enough` says so.
  void go_on(const stop_question& enough);
  /// It does not take the place of another file's.
  [[nodiscard]] std::error_code write_sidecar(std::uint64_t number, const file_contents& contents);

  /// Closed files that could not get their sidecars or names yet, or have to be read first.
  [[nodiscard]] std::size_t left() const { return refused_.size() + to_read_.size(); }
  [[nodiscard]] std::size_t to_read() const { return to_read_.size(); }

private:
  /// What a closed file still lacks: its other name, and a sidecar, which is short however many
  /// sessions are in the file.
  struct lacking {
    file_owner owner;
    std::string sidecar;
  };
  [[nodiscard]] std::error_code try_to_complete(std::uint64_t number, const lacking& what);
  [[nodiscard]] std::error_code write(const std::string& name, const std::string& text);

  settings settings_;
  const held_folder& folder_;
  store_names& names_;
  stored_files& closed_;
  std::vector<std::string>& news_;
  std::map<std::uint64_t, lacking> refused_;          ///< by number
  std::map<std::uint64_t, contents_reading> to_read_; ///< by number
};

} // namespace l3
