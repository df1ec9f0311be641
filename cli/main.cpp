// sinter COMMAND ...: train, use and look at models without writing C++.
#include <sinter/sinter.h>

#include <algorithm>
#include <iostream>

#include "cli/commands.h"
#include "cli/config.h"

int main(int argc, char** argv) {
  CLI::App app{"Sinter trains, runs and inspects compiled networks.\nA command's options: sinter COMMAND --help", "sinter"};
  app.set_version_flag("--version", "sinter 0.1.0");
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  sinter::cli::add_train(app);
  sinter::cli::add_predict(app);
  sinter::cli::add_bench(app);
  sinter::cli::add_inspect(app);
  sinter::cli::add_explain(app);
  sinter::cli::add_verify(app);
  sinter::cli::add_convert(app);
  try {
    std::vector<std::string> arguments = sinter::cli::with_config({argv + 1, argv + argc}, app);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const sinter::UserError& error) {
    std::cerr << "sinter: " << error.what() << "\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "sinter: " << error.what() << "\nThis is a fault of Sinter; please report it with the command that shows it.\n";
    return 3;
  }
}
