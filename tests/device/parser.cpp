// SPDX-License-Identifier: Apache-2.0
// From the text of PTX to a program. It knows what nvcc writes for the kernels of koto-l3 and
// refuses anything else, so that nothing is ever skipped in silence.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "tests/device/instructions.hpp"
#include "tests/device/program.hpp"

namespace l3::ptx {

namespace {

/// Cuts the text into words, strings and single punctuation characters.
class scanner {
public:
  explicit scanner(std::string_view text) : text_(text) { advance(); }

  [[nodiscard]] bool at_end() const { return word_.empty(); }
  [[nodiscard]] std::string_view word() const { return word_; }
  std::string_view take() {
    const std::string_view taken = word_;
    advance();
    return taken;
  }
  bool accept(std::string_view wanted) {
    if (word_ != wanted) return false;
    advance();
    return true;
  }
  void expect(std::string_view wanted) {
    if (!accept(wanted)) fail("expected '" + std::string(wanted) + "' before");
  }
  /// The rest of the line on which the present word stands, that word included.
  std::string_view rest_of_line() {
    const std::size_t begin = static_cast<std::size_t>(word_.data() - text_.data());
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    next_ = end;
    advance();
    return text_.substr(begin, end - begin);
  }
  /// Of the present word; the text of an instruction begins there.
  [[nodiscard]] const char* place() const { return word_.data(); }
  [[noreturn]] void fail(const std::string& what) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + (word_.data() - text_.data()), '\n');
    throw std::runtime_error("PTX line " + std::to_string(line) + ": " + what + " '" +
                             std::string(word_) + "'");
  }

private:
  static bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%' || c == '.';
  }
  void advance() {
    while (true) {
      while (next_ < text_.size() && (text_[next_] <= ' ')) ++next_;
      if (text_.substr(next_, 2) == "//") {
        next_ = std::min(text_.find('\n', next_), text_.size());
      } else if (text_.substr(next_, 2) == "/*") {
        next_ = std::min(text_.find("*/", next_) + 2, text_.size());
      } else {
        break;
      }
    }
    std::size_t end = next_;
    if (end < text_.size() && text_[end] == '"') {
      end = std::min(text_.find('"', end + 1), text_.size() - 1) + 1;
    } else {
      while (end < text_.size() && in_word(text_[end])) ++end;
      if (text_.substr(end, 2) == "::" && end != next_) { // as in .shared::cta
        end += 2;
        while (end < text_.size() && in_word(text_[end])) ++end;
      }
      if (end == next_ && end < text_.size()) ++end;
    }
    word_ = text_.substr(next_, end - next_);
    next_ = end;
  }

  std::string_view text_;
  std::string_view word_;
  std::size_t next_ = 0;
};

std::uint64_t align(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

/// Bytes of a type such as .u32; 0 if it is none.
std::uint32_t bytes_of_type(std::string_view type) {
  if (type.starts_with('.')) type.remove_prefix(1);
  if (type.size() < 2 || std::string_view("bsuf").find(type[0]) == std::string_view::npos) return 0;
  type.remove_prefix(1);
  if (type == "8") return 1;
  if (type == "16") return 2;
  if (type == "32") return 4;
  if (type == "64") return 8;
  return 0;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Takes `part` out of `parts`. False: it is not there.
bool take_out(std::vector<std::string_view>& parts, std::string_view part) {
  const auto found = std::ranges::find(parts, part);
  if (found == parts.end()) return false;
  parts.erase(found);
  return true;
}

struct operand {
  std::uint32_t row = no_row;
  std::uint32_t second = no_row; ///< behind a bar
  bool negated = false;
  std::vector<std::uint32_t> elements; ///< in braces
  bool is_address = false;
  std::int64_t offset = 0;
  std::string_view label;
};

class kernel_parser {
public:
  kernel_parser(scanner& from, program& to) : in_(from), program_(to) {}

  kernel parse() {
    made_.name = in_.take();
    parse_parameters();
    while (!in_.accept("{")) {
      if (in_.accept(".maxntid")) {
        made_.widest_block = static_cast<std::uint32_t>(number(in_.take()));
        while (in_.accept(",")) in_.take();
      } else if (in_.accept(".minnctapersm")) {
        in_.take();
      } else {
        in_.fail("unknown directive of a kernel");
      }
    }
    scopes_.emplace_back();
    while (!scopes_.empty()) parse_statement();
    for (const auto& [at, label] : jumps_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) throw std::runtime_error("PTX: no label " + std::string(label));
      made_.code[at].target = found->second;
    }
    return std::move(made_);
  }

private:
  void parse_parameters() {
    if (!in_.accept("(")) return;
    while (!in_.accept(")")) {
      in_.expect(".param");
      std::uint64_t alignment = 0;
      if (in_.accept(".align")) alignment = number(in_.take());
      const std::uint32_t bytes = bytes_of_type(in_.word());
      if (bytes == 0) in_.fail("unknown type of a parameter");
      in_.take();
      const std::string name(in_.take());
      std::uint64_t count = 1;
      if (in_.accept("[")) {
        count = number(in_.take());
        in_.expect("]");
      }
      const std::uint64_t at =
          align(made_.parameters_end, std::max<std::uint64_t>(alignment, bytes));
      addresses_[name] = at;
      made_.parameter_offsets.push_back(static_cast<std::uint32_t>(at));
      made_.parameter_bytes.push_back(static_cast<std::uint32_t>(bytes * count));
      made_.parameters_end = static_cast<std::uint32_t>(at + bytes * count);
      if (!in_.accept(",") && in_.word() != ")") in_.fail("unknown property of a parameter");
    }
  }

  void parse_statement() {
    if (in_.accept("{")) {
      scopes_.emplace_back();
    } else if (in_.accept("}")) {
      scopes_.pop_back();
    } else if (in_.word() == ".loc") {
      parse_line();
    } else if (in_.accept(".reg")) {
      parse_registers();
    } else if (in_.accept(".shared")) {
      parse_shared();
    } else if (in_.accept(".pragma")) {
      in_.take();
      in_.expect(";");
    } else if (in_.word() == "@" ||
               in_.word().find_first_not_of("abcdefghijklmnopqrstuvwxyzN0123456789_.:") ==
                   std::string_view::npos) {
      parse_instruction();
    } else {
      const std::string_view label = in_.take();
      in_.expect(":");
      labels_[label] = static_cast<std::uint32_t>(made_.code.size());
    }
  }

  void parse_line() {
    // .loc file line column, function_name …, inlined_at …
    std::string text(in_.rest_of_line());
    std::ranges::replace(text, '\t', ' ');
    auto words = split(text, ' ');
    std::erase(words, std::string_view());
    if (words.size() < 4) in_.fail("a .loc that names no place before");
    const auto place = [&](std::size_t at) {
      return source_line{.file = static_cast<std::uint32_t>(number(words.at(at))),
                         .line = static_cast<std::uint32_t>(number(words.at(at + 1)))};
    };
    line_ = place(1);
    const auto inlined = std::ranges::find(words, "inlined_at");
    const bool is_inlined = inlined != words.end();
    caller_ = is_inlined ? place(static_cast<std::size_t>(inlined - words.begin()) + 1) : line_;
  }

  void parse_registers() {
    in_.take(); // the type: each instruction names its own
    do {
      std::string name(in_.take());
      if (in_.accept("<")) {
        const std::uint64_t count = number(in_.take());
        in_.expect(">");
        for (std::uint64_t i = 0; i < count; ++i)
          scopes_.back()[name + std::to_string(i)] = made_.rows++;
      } else {
        scopes_.back()[name] = made_.rows++;
      }
    } while (in_.accept(","));
    in_.expect(";");
  }

  void parse_shared() {
    std::uint64_t alignment = 1;
    if (in_.accept(".align")) alignment = number(in_.take());
    const std::uint32_t bytes = bytes_of_type(in_.take());
    const std::string name(in_.take());
    std::uint64_t count = 1;
    if (in_.accept("[")) {
      count = number(in_.take());
      in_.expect("]");
    }
    in_.expect(";");
    const std::uint64_t at = align(made_.shared_bytes, std::max<std::uint64_t>(alignment, bytes));
    addresses_[name] = shared_begin + at;
    made_.shared_bytes = static_cast<std::uint32_t>(at + bytes * count);
  }

  void parse_instruction() {
    instruction i;
    i.line = line_;
    i.caller = caller_;
    const char* const begin = in_.place();
    if (in_.accept("@")) {
      i.guard_negated = in_.accept("!");
      i.guard = find_register(in_.take());
    }
    const std::string_view opcode = in_.take();
    std::vector<operand> operands;
    while (in_.word() != ";") {
      operands.push_back(parse_operand());
      if (!in_.accept(",")) break;
    }
    if (in_.word() != ";") in_.fail("expected the end of an instruction before");
    i.text.assign(begin, in_.place());
    in_.take();
    if (!decode(i, opcode, operands))
      throw std::runtime_error("PTX: the interpreter does not know this instruction: " + i.text);
  }

  operand parse_operand() {
    operand o;
    if (in_.accept("[")) {
      o.is_address = true;
      const std::string_view base = in_.take();
      o.row = row_of(base);
      if (in_.accept("+")) {
        const bool negative = in_.accept("-");
        const auto offset = static_cast<std::int64_t>(number(in_.take()));
        o.offset = negative ? -offset : offset;
      }
      in_.expect("]");
      return o;
    }
    if (in_.accept("{")) {
      do o.elements.push_back(row_of(take_value()));
      while (in_.accept(","));
      in_.expect("}");
      return o;
    }
    o.negated = in_.accept("!");
    if (in_.word().starts_with("$L")) {
      o.label = in_.take();
      return o;
    }
    o.row = row_of(take_value());
    if (in_.accept("|")) o.second = row_of(in_.take());
    return o;
  }

  /// A word with its sign.
  std::string take_value() {
    const bool negative = in_.accept("-");
    return (negative ? "-" : "") + std::string(in_.take());
  }

  std::optional<std::uint32_t> register_named(std::string_view name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->find(name); found != scope->end()) return found->second;
    }
    return std::nullopt;
  }

  std::uint32_t find_register(std::string_view name) {
    if (const auto found = register_named(name)) return *found;
    in_.fail("no register '" + std::string(name) + "' before");
  }

  std::uint32_t row_of(std::string_view word) {
    if (word.starts_with('%')) {
      if (const auto what = special_named(word)) return special(*what);
      return find_register(word);
    }
    if (word.starts_with('-') || (word[0] >= '0' && word[0] <= '9'))
      return constant_row(number(word));
    // Registers of code that stands in the source may have any name.
    if (const auto found = register_named(word)) return *found;
    if (word == "_") return new_row("_");
    if (const auto found = addresses_.find(word); found != addresses_.end())
      return constant_row(found->second);
    if (const auto found = symbols_.find(word); found != symbols_.end()) return found->second;
    const std::uint32_t row = made_.rows++;
    symbols_.emplace(word, row);
    made_.symbols.push_back({row, std::string(word)});
    return row;
  }

  std::uint32_t new_row(const std::string&) { return made_.rows++; }

  static std::optional<ptx::special> special_named(std::string_view word) {
    using ptx::special;
    constexpr std::pair<std::string_view, special> names[] = {
        {"%tid.x", special::tid_x},
        {"%ntid.x", special::ntid_x},
        {"%ctaid.x", special::ctaid_x},
        {"%nctaid.x", special::nctaid_x},
        {"%laneid", special::lane_id},
        {"%lanemask_lt", special::lanemask_lt},
        {"%lanemask_le", special::lanemask_le},
        {"%lanemask_eq", special::lanemask_eq},
        {"%lanemask_ge", special::lanemask_ge},
        {"%lanemask_gt", special::lanemask_gt},
        {"%warpid", special::warp_id}};
    for (const auto& [name, what] : names) {
      if (word == name) return what;
    }
    return std::nullopt;
  }

  std::uint32_t special(ptx::special what) {
    for (const auto& s : made_.specials) {
      if (s.what == what) return s.row;
    }
    made_.specials.push_back({made_.rows, what});
    return made_.rows++;
  }

  std::uint32_t constant_row(std::uint64_t value) {
    const auto [found, is_new] = constant_rows_.try_emplace(value, made_.rows);
    if (is_new) made_.constants.push_back({made_.rows++, value});
    return found->second;
  }

  /// Whole numbers in any base, and floating point as bits: 0f3F800000, 0d3FF0000000000000.
  std::uint64_t number(std::string_view word) {
    std::string_view digits = word;
    const bool negative = digits.starts_with('-');
    if (negative) digits.remove_prefix(1);
    int base = 10;
    const std::string_view head = digits.substr(0, 2);
    if (head == "0x" || head == "0X" || head == "0f" || head == "0F" || head == "0d" ||
        head == "0D") {
      base = 16;
      digits.remove_prefix(2);
    }
    if (digits.ends_with('U')) digits.remove_suffix(1);
    std::uint64_t value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    if (read.ec != std::errc() || read.ptr != digits.data() + digits.size())
      in_.fail("no number: '" + std::string(word) + "' before");
    if (negative && (head == "0f" || head == "0d")) in_.fail("a negative bit pattern before");
    return negative ? std::uint64_t{0} - value : value;
  }

  // --- what an instruction means ---

  bool decode(instruction& i, std::string_view opcode, std::vector<operand>& o) {
    auto parts = split(opcode, '.');
    const std::string_view name = parts[0];
    if (name == "bra") return take_branch(i, parts, o);
    if (name == "ret" || name == "exit")
      return finish(i, action::exit, parts.size() == 1 && o.empty());
    if (name == "trap") return finish(i, action::trap, o.empty());
    if (name == "membar" || name == "fence" || name == "nanosleep")
      return finish(i, action::nothing, true);
    if (name == "bar" || name == "barrier") return take_barrier(i, parts, o);
    if (name == "shfl") return take_shuffle(i, parts, o);
    if (name == "vote") return take_vote(i, parts, o);
    if (name == "redux") return take_reduction(i, parts, o);
    if (name == "activemask") return take_active_mask(i, o);
    if (name == "ld" || name == "st") return take_access(i, parts, o);
    if (name == "atom" || name == "red") return take_atomic(i, parts, o);
    if (name == "mov" && o.size() == 2 && o[0].elements.size() + o[1].elements.size() > 0)
      return take_packing(i, parts, o);
    i.compute = find_compute(opcode);
    if (i.compute == nullptr || o.empty() || o.size() > 5) return false;
    i.to = o[0].row;
    if (o[0].second != no_row) return false;
    for (std::size_t n = 1; n < o.size(); ++n) {
      if (o[n].row == no_row || o[n].is_address || o[n].negated) return false;
      i.from[n - 1] = o[n].row;
    }
    made_.code.push_back(std::move(i));
    return true;
  }

  bool finish(instruction& i, action what, bool is_known) {
    i.what = what;
    if (is_known) made_.code.push_back(std::move(i));
    return is_known;
  }

  bool take_branch(instruction& i, std::vector<std::string_view>& parts,
                   const std::vector<operand>& o) {
    take_out(parts, "uni");
    if (parts.size() != 1 || o.size() != 1 || o[0].label.empty()) return false;
    jumps_.emplace_back(made_.code.size(), o[0].label);
    return finish(i, action::branch, true);
  }

  bool take_barrier(instruction& i, std::vector<std::string_view>& parts,
                    const std::vector<operand>& o) {
    take_out(parts, "aligned");
    take_out(parts, "cta");
    if (take_out(parts, "warp")) {
      i.from[0] = o.empty() ? no_row : o[0].row;
      return finish(i, action::warp_barrier,
                    parts.size() == 2 && parts[1] == "sync" && o.size() == 1);
    }
    const bool is_barrier_zero = [&](std::size_t at) {
      return at < o.size() && std::ranges::any_of(made_.constants, [&](const constant& c) {
               return c.row == o[at].row && c.value == 0;
             });
    }(parts.size() == 2 ? 0 : 1);
    if (!is_barrier_zero) return false;
    if (parts.size() == 2 && parts[1] == "sync")
      return finish(i, action::block_barrier, o.size() == 1);
    if (parts.size() != 4 || parts[1] != "red" || o.size() != 3) return false;
    i.reduce = parts[2] == "and"    ? reduction::and_
               : parts[2] == "or"   ? reduction::or_
               : parts[2] == "popc" ? reduction::count
                                    : reduction::none;
    i.to = o[0].row;
    i.from[0] = o[2].row;
    i.from_negated = o[2].negated;
    return finish(i, action::block_barrier, i.reduce != reduction::none);
  }

  bool take_shuffle(instruction& i, const std::vector<std::string_view>& parts,
                    const std::vector<operand>& o) {
    if (parts.size() != 4 || parts[1] != "sync" || parts[3] != "b32" || o.size() != 5) return false;
    constexpr std::pair<std::string_view, shuffle_kind> kinds[] = {{"up", shuffle_kind::up},
                                                                   {"down", shuffle_kind::down},
                                                                   {"bfly", shuffle_kind::across},
                                                                   {"idx", shuffle_kind::index}};
    const auto kind =
        std::ranges::find(kinds, parts[2], &std::pair<std::string_view, shuffle_kind>::first);
    if (kind == std::end(kinds)) return false;
    i.shuffle = kind->second;
    i.to = o[0].row;
    i.second_to = o[0].second;
    for (std::size_t n = 0; n < 4; ++n) i.from[n] = o[n + 1].row;
    return finish(i, action::shuffle, true);
  }

  bool take_vote(instruction& i, const std::vector<std::string_view>& parts,
                 const std::vector<operand>& o) {
    if (parts.size() != 4 || parts[1] != "sync" || o.size() != 3) return false;
    if (parts[2] == "ballot" && parts[3] == "b32") {
      i.vote = vote_kind::ballot;
    } else if (parts[2] == "all" && parts[3] == "pred") {
      i.vote = vote_kind::all;
    } else if (parts[2] == "any" && parts[3] == "pred") {
      i.vote = vote_kind::any;
    } else {
      return false;
    }
    i.to = o[0].row;
    i.from[0] = o[1].row;
    i.from_negated = o[1].negated;
    i.from[1] = o[2].row;
    return finish(i, action::vote, true);
  }

  bool take_reduction(instruction& i, const std::vector<std::string_view>& parts,
                      const std::vector<operand>& o) {
    if (parts.size() != 4 || parts[1] != "sync" || o.size() != 3) return false;
    i.join = find_join(std::string(parts[2]) + "." + std::string(parts[3]));
    i.to = o[0].row;
    i.from[0] = o[1].row;
    i.from[1] = o[2].row;
    return finish(i, action::warp_reduction, i.join != nullptr);
  }

  bool take_active_mask(instruction& i, const std::vector<operand>& o) {
    if (o.size() != 1) return false;
    i.to = o[0].row;
    return finish(i, action::active_mask, true);
  }

  /// Space, width and kind of an access to memory; what is left of `parts` is unknown.
  bool take_place(instruction& i, std::vector<std::string_view>& parts) {
    const std::string_view type = parts.back();
    const std::uint32_t bytes = bytes_of_type(type);
    if (bytes == 0) return false;
    i.bytes = static_cast<std::uint8_t>(bytes);
    i.sign_extended = type[0] == 's';
    parts.pop_back();
    if (take_out(parts, "v2")) i.elements = 2;
    if (take_out(parts, "v4")) i.elements = 4;
    if (take_out(parts, "global")) i.space = memory_space::global;
    if (take_out(parts, "shared") || take_out(parts, "shared::cta")) i.space = memory_space::shared;
    if (take_out(parts, "param")) i.space = memory_space::parameters;
    i.is_non_coherent = take_out(parts, "nc");
    i.is_strong = take_out(parts, "volatile") || take_out(parts, "relaxed");
    take_out(parts, "gpu");
    return true;
  }

  bool take_access(instruction& i, std::vector<std::string_view>& parts,
                   const std::vector<operand>& o) {
    const bool is_load = parts[0] == "ld";
    if (o.size() != 2 || !take_place(i, parts) || parts.size() != 1) return false;
    const operand& place = is_load ? o[1] : o[0];
    const operand& data = is_load ? o[0] : o[1];
    if (!place.is_address || data.is_address) return false;
    i.from[0] = place.row;
    i.offset = place.offset;
    const auto rows = data.elements.empty() ? std::vector{data.row} : data.elements;
    if (rows.size() != i.elements) return false;
    std::ranges::copy(rows, i.data.begin());
    return finish(i, is_load ? action::load : action::store,
                  is_load || i.space != memory_space::parameters);
  }

  bool take_atomic(instruction& i, std::vector<std::string_view>& parts,
                   const std::vector<operand>& o) {
    const bool has_result = parts[0] == "atom";
    const std::string_view type = parts.back();
    if (!take_place(i, parts) || i.elements != 1) return false;
    i.is_strong = true;
    i.is_signed = type[0] == 's';
    constexpr std::pair<std::string_view, atomic_operation> operations[] = {
        {"add", atomic_operation::add},       {"min", atomic_operation::min},
        {"max", atomic_operation::max},       {"and", atomic_operation::and_},
        {"or", atomic_operation::or_},        {"xor", atomic_operation::xor_},
        {"exch", atomic_operation::exchange}, {"cas", atomic_operation::compare}};
    if (parts.size() != 2 || type[0] == 'f') return false;
    const auto operation = std::ranges::find(operations, parts[1],
                                             &std::pair<std::string_view, atomic_operation>::first);
    if (operation == std::end(operations)) return false;
    i.atomic = operation->second;
    const std::size_t place = has_result ? 1 : 0;
    const std::size_t values = i.atomic == atomic_operation::compare ? 2 : 1;
    if (o.size() != place + 1 + values || !o[place].is_address) return false;
    if (has_result) i.to = o[0].row;
    i.from[0] = o[place].row;
    i.offset = o[place].offset;
    for (std::size_t n = 0; n < values; ++n) i.from[1 + n] = o[place + 1 + n].row;
    return finish(i, action::atomic, true);
  }

  /// mov.b64 %rd1, {%r1, %r2} and the other way round: a step of its own for each element.
  bool take_packing(instruction& i, const std::vector<std::string_view>& parts,
                    const std::vector<operand>& o) {
    if (parts.size() != 2) return false;
    const std::uint32_t whole = 8 * bytes_of_type(parts[1]);
    const bool packs = !o[1].elements.empty();
    const auto& elements = packs ? o[1].elements : o[0].elements;
    if (whole == 0 || elements.empty() || (packs ? o[0].row : o[1].row) == no_row) return false;
    const auto bits = static_cast<std::uint32_t>(whole / elements.size());
    if (bits < 8) return false;
    bool is_first = true;
    const auto step = [&](std::string_view form, std::uint32_t to,
                          std::vector<std::uint32_t> from) {
      instruction part = i;
      part.goes_on_with_last = !is_first;
      is_first = false;
      part.compute = find_compute(form);
      part.to = to;
      std::ranges::copy(from, part.from.begin());
      if (part.compute == nullptr) throw std::logic_error(std::string(form));
      made_.code.push_back(std::move(part));
    };
    const std::uint32_t value = made_.rows++;
    if (packs) { // whole = element 0 in the lowest bits, and so on
      step("mov.b64", value, {constant_row(0)});
      for (std::size_t n = 0; n < elements.size(); ++n)
        step("bfi.b64", value, {elements[n], value, constant_row(n * bits), constant_row(bits)});
      step("mov.b64", o[0].row, {value});
    } else {
      step("mov.b64", value, {o[1].row});
      for (std::size_t n = 0; n < elements.size(); ++n)
        step("bfe.u64", elements[n], {value, constant_row(n * bits), constant_row(bits)});
    }
    return true;
  }

  scanner& in_;
  program& program_;
  kernel made_;
  source_line line_;
  source_line caller_;
  std::vector<std::map<std::string, std::uint32_t, std::less<>>> scopes_;
  std::map<std::string, std::uint64_t, std::less<>> addresses_; ///< of parameters and shared memory
  std::map<std::string, std::uint32_t, std::less<>> symbols_;
  std::map<std::uint64_t, std::uint32_t> constant_rows_;
  std::map<std::string_view, std::uint32_t> labels_;
  std::vector<std::pair<std::size_t, std::string_view>> jumps_;
};

global_variable parse_global(scanner& in) {
  global_variable made;
  if (in.accept(".align")) in.take();
  const std::uint32_t bytes = bytes_of_type(in.take());
  made.name = in.take();
  std::uint64_t count = 1;
  const auto take_number = [&] {
    std::uint64_t value = 0;
    const std::string_view word = in.take();
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
  };
  if (in.accept("[")) {
    count = take_number();
    in.expect("]");
  }
  made.bytes = bytes * count;
  if (in.accept("=")) {
    const bool list = in.accept("{");
    do {
      const std::uint64_t value = take_number();
      const std::size_t at = made.initial.size();
      made.initial.resize(at + bytes);
      std::memcpy(made.initial.data() + at, &value, bytes);
    } while (in.accept(","));
    if (list) in.expect("}");
  }
  in.expect(";");
  return made;
}

} // namespace

program parse(std::string_view text) {
  program made;
  scanner in(text);
  while (!in.at_end()) {
    if (in.accept(".version") || in.accept(".address_size")) {
      in.take();
    } else if (in.accept(".target")) {
      made.target = in.take();
    } else if (in.word() == ".file") {
      const auto parts = split(in.rest_of_line(), '"');
      if (parts.size() >= 2) made.files.emplace_back(parts[1]);
    } else if (in.accept(".section")) {
      in.take();
      in.expect("{");
      while (!in.accept("}")) in.take();
    } else if (in.accept(".global")) {
      made.globals.push_back(parse_global(in));
    } else if (in.accept(".visible") || in.accept(".weak")) {
    } else if (in.accept(".entry")) {
      made.kernels.push_back(kernel_parser(in, made).parse());
    } else {
      in.fail("the interpreter does not know");
    }
  }
  return made;
}

} // namespace l3::ptx
