// What a line of standard input asks for.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace sinter::bench {

class Request {
 public:
  /// One JSON object: `kind`, `form` (call or step), perhaps `seconds` and `check`, and the fields of the shape. Throws UserError for anything else.
  explicit Request(const std::string& line);

  const std::string& kind() const { return kind_; }
  bool is_step() const { return is_step_; }
  bool is_check() const { return is_check_; }  ///< figures of what is computed, instead of times
  double seconds() const { return seconds_; }  ///< to measure for

  /// A whole number of the shape. Throws UserError if it is missing or outside [least, most].
  std::int64_t number(const std::string& field, std::int64_t least, std::int64_t most);
  /// Throws UserError for a word that is not allowed.
  std::string word(const std::string& field, const std::vector<std::string>& allowed);
  /// A list of 1 to `most` such words.
  std::vector<std::string> words(const std::string& field, const std::vector<std::string>& allowed, std::size_t most);
  /// Throws UserError if the request has a field that nothing has read: it would change the shape and does not.
  void require_all_read() const;

 private:
  const nlohmann::json& field(const std::string& name, const std::string& rule);

  nlohmann::json fields_;
  std::set<std::string> read_;
  std::string kind_;
  bool is_step_ = false, is_check_ = false;
  double seconds_ = 0.05;
};

}  // namespace sinter::bench
