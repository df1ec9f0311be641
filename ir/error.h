// Errors and the line of the user's program that they name.
#pragma once

#include <cstdint>
#include <locale>
#include <source_location>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace sinter {

/// Where a node came from: the layer that was running and the user's source line. Either part may be empty.
struct Origin {
  std::string layer;
  std::string file;  ///< base name, without folders
  std::uint32_t line = 0;
  std::string gradient_of = {};  ///< the name of the op whose gradient rule made it there; empty if none did

  bool operator==(const Origin&) const = default;
  /// "dense_2, mlp.cpp:15", "mlp.cpp:15", "dense_2" or "".
  std::string text() const;
  static Origin from(const std::source_location& where, std::string layer = {});
};

/// Everything that this library throws on purpose. The text has the form `[where] rule, actual values; next step`.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : std::runtime_error(text) {}
  /// what() without its `[where] `, for an error that repeats it with another `where`.
  std::string_view message() const { return std::string_view(what()).substr(message_begin_); }

 protected:
  Error(const std::string& place, const std::string& message) : std::runtime_error(place + message), message_begin_(place.size()) {}

 private:
  std::size_t message_begin_ = 0;
};

/// Something a user can cause and fix: a wrong shape, a broken file, a bad setting.
class UserError : public Error {
 public:
  explicit UserError(const std::string& message) : Error(message) {}
  UserError(std::string_view where, std::string_view message);
};

/// The system has no memory left for something that was asked for.
class MemoryError : public UserError {
 public:
  using UserError::UserError;
};

/// To be called where a UserError is handled: throws it again, with another `where`, and `before` in front of its message.
[[noreturn]] void rethrow_at(std::string_view where, std::string_view before);

/// Something a user cannot cause: a bug in Sinter. The text asks for a report.
class InternalError : public Error {
 public:
  InternalError(std::string_view where, std::string_view message);
};

/// A stream into a text that is the same under every locale of the program (std::locale::global): no grouped digits, a point before
/// decimals. Whatever becomes a file, a key or a message is written with it, or with str.
class TextStream : public std::ostringstream {
 public:
  TextStream() { imbue(std::locale::classic()); }
};

/// Concatenates its arguments as operator<< would print them to a TextStream.
template <class... Args>
std::string str(const Args&... args) {
  TextStream out;
  (out << ... << args);
  return out.str();
}

}  // namespace sinter
