// The subcommands of `sinter`: each adds itself to the application, with what runs when it is chosen.
#pragma once

#include <CLI/CLI.hpp>

namespace sinter::cli {

void add_train(CLI::App& app);
void add_predict(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_consume(CLI::App& app);
void add_bench(CLI::App& app);
void add_inspect(CLI::App& app);
void add_explain(CLI::App& app);
void add_verify(CLI::App& app);
void add_convert(CLI::App& app);
void add_doctor(CLI::App& app);
void add_completion(CLI::App& app);

}  // namespace sinter::cli
