// sinter completion: what a shell needs to complete commands, options and their values.
#include <sinter/sinter.h>

#include <algorithm>
#include <iostream>

#include "cli/commands.h"
#include "cli/options.h"

namespace sinter::cli {

namespace {

/// What bash's compgen is to list for the value of an option, as its arguments; empty for values that nobody can list.
std::string values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();  // TEXT:FILE, TEXT:{adam|sgd}
  if (type.ends_with(":FILE")) return "-f";
  if (type.ends_with(":FOLDER")) return "-d";
  const std::size_t begin = type.find(":{");
  if (begin == std::string::npos) return "";
  std::string choices = type.substr(begin + 2, type.size() - begin - 3);
  std::replace(choices.begin(), choices.end(), '|', ' ');
  return "-W '" + choices + "'";
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

/// The long names of the options.
std::string options_of(const CLI::App& command) {
  std::string names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names += (names.empty() ? "--" : " --") + name;
  return names;
}

/// The branches of a case over the command and the word before: those of options that take a value, then one for any other word.
std::string branches(const CLI::App& command) {
  std::string result, operands = "-W \"$options\"";
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() && !values_of(*option).empty()) operands = values_of(*option);
    if (option->get_expected_max() == 0) continue;  // a flag
    for (const std::string& name : names_of(*option))
      result += str("    '", command.get_name(), " ", name, "') list=(", values_of(*option), ") ;;\n");
  }
  return result + str("    '", command.get_name(), " '*) options='", options_of(command), "' list=(", operands, ") ;;\n");
}

std::string bash_script(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    commands += command->get_name() + " ";
    cases += branches(*command);
  }
  return R"(# Completion of sinter for bash, printed by: sinter completion bash
_sinter() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options= list=()
  if [[ $word == = ]]; then word=  # of --option=, which bash parts at =
  elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  case "${COMP_WORDS[1]} $before" in
)" + cases +
         "  esac\n"
         "  ((COMP_CWORD > 1)) || list=(-W '" +
         commands + options_of(app) + R"(')
  [[ $word == -* && $options ]] && list=(-W "$options")
  COMPREPLY=()
  ((${#list[@]})) || return 0
  [[ ${list[0]} == -W ]] || compopt -o filenames 2> /dev/null
  mapfile -t COMPREPLY < <(compgen "${list[@]}" -- "$word")
}
complete -F _sinter sinter
)";
}

}  // namespace

void add_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("completion", "Print what completes commands and options in a shell");
  command->add_option("shell", *shell, "The shell")->required()->check(one_of({"bash"}));
  command->callback([&app, shell] { std::cout << bash_script(app); });
}

}  // namespace sinter::cli
