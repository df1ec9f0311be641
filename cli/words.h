// Messages of the library in the words of the command line.
#pragma once

#include <sinter/sinter.h>

#include <string>
#include <string_view>

namespace sinter::cli {

/// A message that names options as a program sets them, in the words of a shell: `EncoderOptions::strip = {"$", "EUR"}` is --strip '$,EUR'.
/// Everything that the library says passes through here before it is printed.
std::string in_words_of_the_shell(std::string_view message);

/// Does some work on a file or an option; its UserErrors name that as their place.
template <class Work>
auto at(const std::string& where, const Work& work) {
  try {
    return work();
  } catch (const UserError& error) {
    throw UserError(where, error.message());
  }
}

/// Prints what the library warns of.
void warn_on_stderr(const std::string& message);

}  // namespace sinter::cli
