// sinter COMMAND ...: train, use and look at models without writing C++.
#include <sinter/sinter.h>

#include <algorithm>
#include <csignal>
#include <iostream>

#include "cli/output.h"
#include "cli/run.h"

int main(int argc, char** argv) {
  using namespace sinter;
  cli::occupy_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit then fails in write()
  cli::StandardOutput output;
  int status = cli::run({argv + 1, argv + argc});
  if (const int error = output.finish()) {
    std::cerr << "sinter: standard output cannot be written (" << runtime::error_text(error) << "); what was printed is lost\n";
    status = std::max(status, 1);
  }
  return std::cerr ? status : std::max(status, 1);
}
