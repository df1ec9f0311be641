#include "cli/mistakes.h"

#include <sinter/sinter.h>

#include <algorithm>
#include <vector>

namespace sinter::cli {

namespace {

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> known_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

/// The first argument that nothing takes.
std::string first_left(const CLI::App& app) {
  std::vector<std::string> left = app.remaining(true);
  std::reverse(left.begin(), left.end());  // they are parsed in reverse
  const auto option = std::find_if(left.begin(), left.end(), [](const std::string& argument) { return argument.starts_with('-'); });
  return option != left.end() ? option->substr(0, option->find('=')) : left.empty() ? "" : left.front();
}

}  // namespace

std::string mistake_text(const CLI::ParseError& error, const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const std::string left = first_left(app), what = error.what();
  if (chosen.empty()) {
    const auto commands = names_of(app.get_subcommands([](const CLI::App*) { return true; }));
    if (left.empty()) return "needs a command, such as train or predict; see sinter --help";
    if (left.starts_with('-')) return str("there is no option ", left, " before a command; see sinter --help");
    return str("there is no command '", left, "'", nearest_hint(left, commands), "; see sinter --help");
  }
  const CLI::App& command = *chosen.front();
  const std::string in_command = "[" + command.get_name() + "] ", see = "; see sinter " + command.get_name() + " --help";
  if (dynamic_cast<const CLI::ExtrasError*>(&error))
    return left.starts_with('-') ? str(in_command, "there is no option ", left, nearest_hint(left, known_options(command)), see)
                                 : str(in_command, "takes no further argument, got '", left, "'", see);
  if (dynamic_cast<const CLI::RequiredError*>(&error)) {
    const std::string name = what.substr(0, what.find(' '));  // "--data is required"
    const CLI::Option* option = command.get_option_no_throw(name);
    return str(in_command, "needs ", name, option ? " (" + option->get_description() + ")" : "", see);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error)) return str("[", what.substr(0, what.find(':')), "] needs a value", see);
  if (dynamic_cast<const CLI::ConversionError*>(&error)) {  // "Could not convert: --quiet = maybe"; other options have validators
    const std::string name = what.substr(what.find("--"));
    return str("[", name.substr(0, name.find(' ')), "] must be true or false", see);
  }
  const std::size_t colon = what.find(": ");  // "--epochs: must be ..."
  return str("[", what.substr(0, colon), "] ", what.substr(colon + 2));
}

}  // namespace sinter::cli
