#include "passes/pipeline.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>

#include "ir/print.h"
#include "ir/verify.h"
#include "passes/group.h"
#include "passes/passes.h"

namespace sinter::passes {

// After each pass, unused nodes are removed, so every pass sees only needed nodes and may count uses.
std::span<const Pass> pipeline() {
  static constexpr Pass passes[] = {
      // First, while nodes are still those that differentiate made: later it is unknown what a removed gradient was of.
      {"dead_gradients", dead_gradients, keep_gradients},
      // Before the identities, so that they see folded 0 and 1.
      {"constant_fold", constant_fold, nullptr, true},
      // Before all passes that match patterns: seeds times 1, broadcasts and double reshapes of gradients are between the nodes of a pattern.
      {"simplify", simplify, nullptr, true},
      // Before reshape_past_pointwise: makes reshapes around products.
      {"convolution_to_matmul", convolution_to_matmul, nullptr, true},
      // After convolution_to_matmul, to which such reshapes would be of no use.
      {"swap_image_axes", swap_image_axes, nullptr, true},
      // Before all passes that match neighbours: removes reshapes between a convolution and its bias, relu and pool.
      {"reshape_past_pointwise", reshape_past_pointwise},
      // Before common_subexpressions: the program may also contain the log_softmax that this makes.
      {"log_softmax", log_softmax, nullptr, true},
      // Before common_subexpressions: the pools that it makes for gradients equal those of the forward part.
      {"relu_past_pool", relu_past_pool},
      // Before common_subexpressions: two products that differ by a transposed copy become the same.
      {"fold_transpose", fold_transpose, nullptr, true},
      // After all passes that make different nodes equal.
      {"common_subexpressions", common_subexpressions, nullptr, true},
      // After common_subexpressions, which finds values and operands that are the same.
      {"factor_sums", factor_sums, nullptr, true},
      {"merge_scans", merge_scans},
      // After merge_scans: the results of two loops are read from one.
      {"trim_scans", trim_scans},
      // After fold_transpose (dense reads nothing transposed) and common_subexpressions (a matmul computed twice has two readers, not one).
      {"fold_bias", fold_bias, nullptr, true},
      // After common_subexpressions, which finds concatenations that are the same.
      {"split_concat", split_concat, nullptr, true, true},
      // After all passes that remove reshapes: a copy is one to the same shape.
      {"unpad_inputs", unpad_inputs},
      // After common_subexpressions, which would merge the copies.
      {"recompute_pointwise", recompute_pointwise},
      // Before group, after all that changes loops: the groups of a step are part of its body.
      {"step_bodies", step_bodies, plain_step_bodies, true},
      // After all that changes nodes.
      {"skip_padding", skip_padding},
      {"touched_rows", touched_rows},
      // Last: nodes no longer change, and only needed ones are left.
      {"group", group, group_each_alone, true},
  };
  return passes;
}

namespace {

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  if (!out.flush()) throw UserError("dump", str("cannot write '", path.string(), "'; give a folder that can be written"));
}

class Dump {
 public:
  explicit Dump(std::string folder) : folder_(std::move(folder)) {
    std::error_code error;
    if (!folder_.empty()) std::filesystem::create_directories(folder_, error);
    if (error) throw UserError("dump", str("cannot make the folder '", folder_, "': ", error.message(), "; give a folder that can be written"));
  }
  /// NN-name.txt and NN-name.dot.
  void write(const ir::Graph& graph, std::string_view name) {
    if (folder_.empty()) return;
    const std::string stem = str(number_ < 10 ? "0" : "", number_, "-", name);
    ++number_;
    write_file(std::filesystem::path(folder_) / (stem + ".txt"), ir::to_text(graph));
    write_file(std::filesystem::path(folder_) / (stem + ".dot"), ir::to_dot(graph));
  }

 private:
  std::string folder_;
  int number_ = 0;
};

std::size_t live_nodes(const ir::Graph& graph) {
  std::size_t count = 0;
  for (ir::NodeId id = 0; id < graph.size(); ++id) count += !graph.node(id).dead;
  return count;
}

/// A rule broken by a pass is a bug (InternalError), although verify throws UserError for graphs from elsewhere.
void verify_after(const ir::Graph& graph, std::string_view pass) {
  try {
    ir::verify(graph);
    if (pass == "group") verify_groups(graph);
  } catch (const UserError& error) {
    throw InternalError(pass, error.what());
  }
}

bool contains(const std::vector<std::string>& names, std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); }

PassReport run_pass(const Pass& pass, ir::Graph& graph, const PipelineOptions& options) {
  PassReport report;
  report.name = pass.name;
  report.nodes_before = live_nodes(graph);
  PassContext context{options, {}};
  const auto start = std::chrono::steady_clock::now();
  const Pass::Function run = chosen(pass, options);
  report.is_off = run != pass.run;
  report.changed = run && run(graph, context);
  if (report.changed) dead_code(graph, context);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report.nodes_after = live_nodes(graph);
  report.notes = std::move(context.notes);
  return report;
}

void require_pass(const char* where, const std::string& name) {
  const std::vector<std::string> names = pass_names();
  if (contains(names, name)) return;
  std::string known;
  for (const std::string& pass : names) known += (known.empty() ? "" : ", ") + pass;
  throw UserError(where, str("there is no pass '", name, "'; name one of ", known));
}

void check(const PipelineOptions& options) {
  if (!options.stop_after.empty()) require_pass("stop_after", options.stop_after);
  for (const std::string& name : options.without) require_pass("without", name);
  for (const Pass& pass : pipeline())
    if (pass.is_needed && contains(options.without, pass.name))
      throw UserError("without", str("the code generator needs the pass '", pass.name, "'; it cannot be switched off"));
}

}  // namespace

Pass::Function chosen(const Pass& pass, const PipelineOptions& options) {
  const std::span<const Pass> all = pipeline();
  const auto last = std::find_if(all.begin(), all.end(), [&](const Pass& p) { return p.name == options.stop_after; });
  const bool is_on = pass.is_needed || (&pass <= std::to_address(last) && !contains(options.without, pass.name));
  return is_on ? pass.run : pass.plain;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : pipeline()) names.emplace_back(pass.name);
  return names;
}

std::vector<std::string> optional_pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : pipeline())
    if (!pass.is_needed) names.emplace_back(pass.name);
  return names;
}

std::vector<PassReport> optimize(ir::Graph& graph, const PipelineOptions& options) {
  check(options);
  if (options.verify) ir::verify(graph);
  Dump dump(options.dump_folder);
  dump.write(graph, "traced");
  std::vector<PassReport> reports;
  for (const Pass& pass : pipeline()) {
    reports.push_back(run_pass(pass, graph, options));
    if (options.verify) verify_after(graph, pass.name);
    dump.write(graph, pass.name);
    if (options.observer) options.observer(reports.back(), graph);
  }
  return reports;
}

}  // namespace sinter::passes
