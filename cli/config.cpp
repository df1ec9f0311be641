#include "cli/config.h"

#include <sinter/sinter.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "cli/options.h"

namespace sinter::cli {

namespace {

using Json = nlohmann::ordered_json;

Json read(const std::string& path) {
  const runtime::InputFile file(path);  // no FIFO, which it would wait for, and no folder
  std::string content(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(content)));
  try {
    constexpr int deepest = 8;  // more than any setting; a lesser excess gets a message of its own
    check_json_depth(content, deepest, path);
    Json json = Json::parse(content);
    if (!json.is_object()) throw UserError(path, "must hold a JSON object: {\"hidden\": [64, 32], \"epochs\": 20}");
    return json;
  } catch (const nlohmann::json::exception& error) {
    const std::string_view reason = error.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    throw UserError(path, str("is not valid JSON: ", reason.substr(reason.find("] ") + 2)));
  }
}

std::string text(const std::string& path, const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  throw UserError(path, str("'", key, "' must be a number, a text, true, false or a list of these, got ", value.dump()));
}

std::vector<std::string> arguments_of(const std::string& path, const CLI::App& command) {
  std::vector<std::string> known, arguments;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames())
      if (name != "help" && name != "config") known.push_back(name);
  const Json json = read(path);
  for (const auto& [key, value] : json.items()) {
    std::string name = key;
    std::replace(name.begin(), name.end(), '_', '-');
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw UserError(path, str("there is no setting '", key, "'", nearest_hint(name, known)));
    const bool flag = command.get_option("--" + name)->get_expected_max() == 0;
    if (value.is_boolean() && !flag) throw UserError(path, str("'", key, "' must be a number, a text or a list of these, got ", value.dump()));
    if (value.is_boolean()) {
      if (value.get<bool>()) arguments.push_back("--" + name);
      continue;
    }
    std::string joined;
    if (value.is_array())
      for (const Json& part : value) joined += (joined.empty() ? "" : ",") + text(path, key, part);
    else joined = text(path, key, value);
    arguments.push_back("--" + name + "=" + joined);
  }
  return arguments;
}

}  // namespace

void add_config(CLI::App& command, std::string& path) {
  // with_config reads it before the arguments are parsed.
  command.add_option("--config", path, "JSON file with any of these settings; flags override it")->check(file_name());
}

std::vector<std::string> with_config(std::vector<std::string> arguments, const CLI::App& app) {
  const auto commands = app.get_subcommands([&](const CLI::App* c) { return !arguments.empty() && c->get_name() == arguments[0]; });
  const CLI::App* command = commands.empty() ? nullptr : commands.front();
  if (!command || !command->get_option_no_throw("--config")) return arguments;
  constexpr std::string_view flag = "--config", with_value = "--config=";
  std::string path;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == flag && i + 1 < arguments.size()) path = arguments[i + 1];
    else if (arguments[i].starts_with(with_value)) path = arguments[i].substr(with_value.size());
  }
  if (path.empty()) return arguments;
  const std::vector<std::string> more = arguments_of(path, *command);
  arguments.insert(arguments.begin() + 1, more.begin(), more.end());
  return arguments;
}

}  // namespace sinter::cli
