// sinter COMMAND ...: train, use and look at models without writing C++.
#include <sinter/sinter.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <sstream>
#include <system_error>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/output.h"

namespace {

using namespace sinter;

enum Status { success = 0, failure = 1, bad_command_line = 2, fault = 3 };

int tell(Status status, const std::string& error) {
  std::cerr << "sinter: " << printable_lines(error) << "\n";
  return status;
}

int run(int argc, char** argv) {
  CLI::App app{"Sinter trains, runs and inspects compiled networks.\nA command's options: sinter COMMAND --help", "sinter"};
  app.set_version_flag("--version", "sinter 0.1.0");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  cli::add_train(app);
  cli::add_predict(app);
  cli::add_bench(app);
  cli::add_inspect(app);
  cli::add_explain(app);
  cli::add_verify(app);
  cli::add_convert(app);
  constexpr const char* no_memory =
      "there is not enough memory for this; use less data, smaller layers or a smaller batch, or raise the limit (ulimit -v)";
  try {
    std::vector<std::string> arguments = cli::with_config({argv + 1, argv + argc}, app);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(arguments);
    return success;
  } catch (const CLI::ParseError& error) {
    std::ostringstream errors;
    const int code = app.exit(error, std::cout, errors);
    std::cerr << printable_lines(errors.str());
    return code == 0 ? success : bad_command_line;
  } catch (const UserError& error) {
    return tell(failure, error.what());
  } catch (const std::bad_alloc&) {
    return tell(failure, no_memory);
  } catch (const std::length_error&) {  // of a container that is asked for more than the address space has
    return tell(failure, no_memory);
  } catch (const std::system_error& error) {  // threads, folders and what else the system refuses
    return tell(failure, str("the system refused: ", error.what()));
  } catch (const std::exception& error) {
    return tell(fault, str(error.what(), "\nThis is a fault of Sinter; please report it with the command that shows it."));
  }
}

}  // namespace

int main(int argc, char** argv) {
  cli::occupy_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file above the limit is then an error of write()
  cli::StandardOutput output;
  int status = run(argc, argv);
  if (const int error = output.finish()) {
    std::cerr << "sinter: standard output cannot be written (" << runtime::error_text(error) << "); what was printed is lost\n";
    status = std::max<int>(status, failure);
  }
  return std::cerr ? status : std::max<int>(status, failure);
}
