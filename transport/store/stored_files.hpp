// SPDX-License-Identifier: Apache-2.0
// What should be in the files of a store: for each file, which blocks of which sessions. A look at
// the folder compares it with what is there, and says by number which blocks are not there any
// more. It reads a file only if its identity, its length or the time at which it was written is
// another one, and not longer than it may: further looks go on. Until a file is read, it counts as
// holding what it held, and as not compared. All of it also lies in the store's manifest, which
// outlives the process: what vanishes while no receiver runs is noticed by the next one. A loss
// stays in the manifest until the ledger of a receiver that has ended tells it. Files that a person
// has marked as archived may go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "transport/format/block.hpp"
#include "transport/store/block_file.hpp"
#include "transport/store/block_tally.hpp"
#include "transport/store/held_folder.hpp"
#include "transport/store/store_manifest.hpp"
#include "transport/store/store_reader.hpp"

namespace l3 {

class file_reading;

class stored_files {
public:
  stored_files();
  ~stored_files();
  stored_files(const stored_files&) = delete;
  stored_files& operator=(const stored_files&) = delete;

  /// Pairs of a file and a session in it. Beyond, the oldest files are not looked at any more. As
  /// many losses are known by file; beyond, those of a session are one.
  static constexpr std::size_t most = std::size_t{1} << 17;
  static constexpr std::size_t most_blocks = most_blocks_in_file;
  /// Of so many sessions it is known which of their blocks were archived: of the last ones.
  static constexpr std::size_t most_archived = 1024;

  struct loss {
    std::vector<std::string> files;  ///< some of those that lack blocks, and what became of them
    session_tallies blocks;          ///< told once
    std::vector<listed_blocks> back; ///< that were lost, and lie where they lay
    std::vector<std::string> archived_files; ///< some of them
    std::vector<std::string> altered;        ///< a sentence on some of those that now are
    session_tallies archived;
    std::error_code error; ///< set: what became of a file is not known
  };

  // --- the start ---

  /// What an earlier receiver has listed. An error: it cannot be read.
  [[nodiscard]] std::error_code recall(const held_folder& folder);
  /// No file gets a number that another had, there or not: their entries would add up, and in the
  /// folder into which one is archived, one would hide the other.
  [[nodiscard]] std::uint64_t highest_recalled() const {
    return std::max(before_.empty() ? 0 : before_.back().file,
                    gone_.empty() ? 0 : gone_.front().file);
  }
  /// What it has listed of this file.
  [[nodiscard]] session_tallies recalled(std::uint64_t number) const;
  /// A file that is there, what is in it, and what of that which is listed is not.
  void expect(std::uint64_t number, const file_look& now, const session_tallies& blocks,
              const session_tallies& lacking);
  /// What the earlier receiver has listed, and is not there.
  [[nodiscard]] loss compare(const held_folder& folder, const store_names& names);

  // --- the files that are written ---

  void add(std::uint64_t file, const block_header& committed);
  void close(std::uint64_t file, const file_look& now);
  /// This program has given a closed file its other name, which is a change of the file for the
  /// system: it was like `before`, and is like `now`.
  void rename(std::uint64_t file, const file_look& before, const file_look& now);
  /// What it held is in a file of another number now, or lost.
  void move(std::uint64_t from, std::uint64_t to, const session_tallies& held,
            const session_tallies& lost);

  // --- now and then ---

  /// Reads files that are not what they were until `enough` says so.
  [[nodiscard]] loss look(const held_folder& folder, const store_names& names,
                          const stop_question& enough);
  /// Of the session's blocks in files that were found archived: the highest number. Nothing says
  /// whether they were those of the peer that has the session's token.
  [[nodiscard]] std::uint64_t last_archived(std::uint64_t session) const;
  /// Files that hold what they held, and are longer or shorter than they were.
  [[nodiscard]] std::size_t altered() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(files_, [](const known_file& f) { return f.is_altered(); }));
  }
  /// Files that the last look found changed, and that are not read to their ends yet.
  [[nodiscard]] std::size_t unread() const { return unread_; }
  /// True: a block that was lost has come again.
  [[nodiscard]] bool has_come_again(const block_header& block);
  /// A ledger tells what was lost, and what is not known.
  void forget_losses();
  /// Older files had to go out of the list since this was asked last.
  [[nodiscard]] std::size_t take_left_out() {
    return left_out_ - std::exchange(left_out_told_, left_out_);
  }
  /// Files of which it is not known whether they are as they were: those that are not read yet, and
  /// those that are not in the list, also of earlier receivers until a ledger tells of them.
  [[nodiscard]] std::size_t not_compared() const {
    return unread_ + (not_listed_.empty() ? 0 : not_listed_.front().blocks.events);
  }
  /// Writes into the manifest what was added; with `check`, all of it if its name does not lead to
  /// it any more. When all of it is written, the marks of what is archived go.
  [[nodiscard]] std::error_code save(const held_folder& folder, bool check, bool sync);

private:
  struct known_file {
    std::uint64_t number = 0;
    std::size_t sessions = 0; ///< in the list
    file_look as;
    std::uint64_t written = as.bytes; ///< how long it was left
    /// Of one that was gone when this process began, it is not known.
    [[nodiscard]] bool is_altered() const {
      return as.is_file && written != 0 && as.bytes != written;
    }
  };
  struct changed_file {
    file_look now;
    session_tallies blocks;
  };
  using changed_files = std::map<std::uint64_t, changed_file>;
  /// A file that is not what it was, and where its entries are in the list.
  struct suspect {
    const known_file* file = nullptr;
    std::size_t entry = 0;
    file_look now;
    [[nodiscard]] bool is_another() const {
      return now.who != file->as.who || now.bytes != file->as.bytes;
    }
  };

  /// A loss as a block of its session is looked for in it.
  struct lost_place {
    std::uint64_t first = 0;
    std::uint64_t highest = 0; ///< the last of this one and of those before it
    std::size_t at = 0;        ///< in `lost_`
  };

  /// Null: it is not known.
  [[nodiscard]] known_file* find_known(std::uint64_t file);
  void make_room();
  void keep_number(std::uint64_t file);
  void keep_last_archived(std::uint64_t file, std::uint64_t session, std::uint64_t last);
  void find_lost_places();
  [[nodiscard]] std::map<std::uint64_t, session_tallies> lost_before() const;
  void take_back(const std::vector<listed_blocks>& back);
  void take_places();
  void in_order_of_reading(std::vector<suspect>& suspects) const;
  [[nodiscard]] session_tallies listed_of(const suspect& s) const;
  [[nodiscard]] bool read_on(const held_folder& folder, const store_names& names, const suspect& s,
                             const session_tallies& lost, const stop_question& enough, bool a_step);
  void replace(const changed_files& changed);
  void add_loss(std::uint64_t file, const session_tallies& lost);
  void note_loss(loss& all, const std::string& name, std::uint64_t file, const std::string& what,
                 const session_tallies& lost);
  [[nodiscard]] bool note_archived(loss& all, const held_folder& folder, std::uint64_t file,
                                   const session_tallies& blocks);

  std::vector<listed_blocks> before_;                ///< listed by an earlier receiver
  std::map<std::uint64_t, session_tallies> lacking_; ///< of these, in files that are there
  std::deque<listed_blocks> list_;                   ///< file by file
  std::deque<known_file> files_;                     ///< those that are not written any more
  bool in_order_ = true;                             ///< the files lie by rising number
  std::deque<listed_blocks> open_; ///< of those that are; behind the list in the manifest
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t>
      places_;                     ///< in `open_`, by file and session
  std::deque<listed_blocks> lost_; ///< before the list in the manifest
  std::map<std::uint64_t, std::vector<lost_place>> lost_places_; ///< by session, in rising order
  bool lost_moved_ = false;        ///< the places have to be found anew
  std::set<std::size_t> unsaved_;  ///< places of `open_`
  bool flush_ = false;             ///< a file was closed
  bool stale_ = true;              ///< all of the manifest has to be written
  std::error_code cannot_write_;   ///< then only a save with `check` tries again
  std::vector<std::string> marks_; ///< of archived files that are not listed any more
  std::size_t left_out_ = 0;
  std::size_t left_out_told_ = 0;
  /// One entry or none, first in the manifest: the highest number of a file that is not in the
  /// list, and in the place of events how many there are.
  std::deque<listed_blocks> not_listed_;
  /// One entry or none, before all others: the highest number of a file of which nothing is listed
  /// any more, because it was archived, or a ledger has told its loss.
  std::deque<listed_blocks> gone_;
  /// Behind it, one entry of no blocks a session: the highest number of its archived blocks, and of
  /// the file of which this was noted last. In the order in which they were noted.
  std::deque<listed_blocks> archived_;
  std::unique_ptr<file_reading> reading_; ///< of a file that is not read to its end yet
  std::uint64_t last_read_ = 0;           ///< number of the file
  std::size_t unread_ = 0;
  store_manifest manifest_;
};

} // namespace l3
