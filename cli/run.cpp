#include "cli/run.h"

#include <sinter/sinter.h>

#include <algorithm>
#include <iostream>
#include <stdexcept>
#include <system_error>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/mistakes.h"
#include "cli/words.h"

namespace sinter::cli {

namespace {

enum Status { success = 0, failure = 1, bad_command_line = 2, fault = 3 };

int tell(Status status, const std::string& error) {
  std::cerr << "sinter: " << printable_lines(in_words_of_the_shell(error)) << "\n";
  return status;
}

}  // namespace

int run(std::vector<std::string> arguments) {
  CLI::App app{"Sinter trains, runs and inspects compiled networks.\nOptions of a command: sinter COMMAND --help", "sinter"};
  app.set_version_flag("--version", "sinter " SINTER_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  add_train(app);
  add_predict(app);
  add_evaluate(app);
  add_consume(app);
  add_bench(app);
  add_inspect(app);
  add_explain(app);
  add_verify(app);
  add_convert(app);
  add_doctor(app);
  add_completion(app);
  constexpr const char* no_memory =
      "there is not enough memory for this; use less data, smaller layers or a smaller batch, or raise the limit (ulimit -v)";
  try {
    arguments = with_config(std::move(arguments), app);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 wants them in reverse
    app.parse(std::move(arguments));
    return success;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error), success;  // help and version
    return tell(bad_command_line, mistake_text(error, app));
  } catch (const UserError& error) {
    return tell(failure, error.what());
  } catch (const std::bad_alloc&) {
    return tell(failure, no_memory);
  } catch (const std::length_error&) {  // of a container larger than the address space
    return tell(failure, no_memory);
  } catch (const std::system_error& error) {  // threads, folders and other resources
    return tell(failure, str("the system refused: ", error.what()));
  } catch (const InternalError& error) {
    return tell(fault, error.what());
  } catch (const std::exception& error) {
    return tell(fault, str(error.what(), "\nThis is a bug in Sinter; please report it with the command that shows it."));
  }
}

}  // namespace sinter::cli
