#include "ir/error.h"

#include <utility>

#include "ir/printable.h"

namespace sinter {

std::string Origin::text() const {
  std::string place = file.empty() ? "" : line ? str(file, ":", line) : file;
  if (layer.empty() || place.empty()) return layer + place;
  return layer + ", " + place;
}

Origin Origin::from(const std::source_location& where, std::string layer) {
  const std::string_view path = where.file_name();
  const auto slash = path.rfind('/');
  return {std::move(layer), std::string(slash == path.npos ? path : path.substr(slash + 1)), where.line()};
}

namespace {

std::string in_brackets(std::string_view where) { return where.empty() ? "" : str("[", printable(where), "] "); }

}  // namespace

UserError::UserError(std::string_view where, std::string_view message) : Error(in_brackets(where), printable_lines(message)) {}

void rethrow_at(std::string_view where, std::string_view before) {
  try {
    throw;
  } catch (const MemoryError& error) {
    throw MemoryError(where, str(before, error.message()));
  } catch (const UserError& error) {
    throw UserError(where, str(before, error.message()));
  }
}

InternalError::InternalError(std::string_view where, std::string_view message)
    : Error(in_brackets(where), str("internal error: ", message, "; this is a bug in Sinter, please report it with the program that shows it")) {}

}  // namespace sinter
