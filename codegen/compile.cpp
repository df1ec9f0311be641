#include "codegen/compile.h"

#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "codegen/cache.h"
#include "codegen/emit/step.h"
#include "codegen/jit.h"
#include "ir/cost.h"
#include "ir/print.h"

namespace sinter::codegen {

namespace {

using Clock = std::chrono::steady_clock;

/// Times the stages of a compilation.
class Stages {
 public:
  explicit Stages(std::vector<Stage>& stages) : stages_(stages), start_(Clock::now()) {}
  void done(const char* name) {
    const auto now = Clock::now();
    stages_.emplace_back(name, std::chrono::duration<double>(now - start_).count());
    start_ = now;
  }

 private:
  std::vector<Stage>& stages_;
  Clock::time_point start_;
};

void dump(const std::string& folder, const char* name, const std::string& text) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ofstream file(folder + "/" + name);
  if (!(file << text)) throw UserError("SINTER_DUMP", str("cannot write ", folder, "/", name));
}

std::string ir_text(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

std::string bitcode_of(const llvm::Module& module) {
  std::string bytes;
  llvm::raw_string_ostream out(bytes);
  llvm::WriteBitcodeToFile(module, out);
  return bytes;
}

std::vector<PhaseSpec> phase_specs(const ir::Graph& graph, const Schedule& schedule) {
  std::vector<PhaseSpec> specs;
  for (const Phase& phase : schedule.phases) {
    PhaseSpec spec;
    for (const Loop& loop : phase.loops) {
      if (loop.domain.units.is_batch()) {
        ++spec.batch_loops;
        spec.batch_rows_per_chunk = loop.most_units;
      } else {
        const std::int64_t size = loop.chunk_units(1);
        spec.chunks_fixed += (loop.domain.units.factor() + size - 1) / size;
      }
      for (const std::size_t k : loop.kernels) {
        ir::Cost flops, bytes;
        const Kernel& kernel = schedule.kernels[k];
        if (kernel.kind != Kernel::Kind::combine)
          for (const ir::NodeId id : kernel.nodes) flops += ir::flops(graph, id);
        for (const Read& read : kernel.reads) bytes += ir::bytes(schedule.values[read.value].type);
        for (const Write& write : kernel.writes) bytes += ir::bytes(schedule.values[write.value].type);
        spec.flops_fixed += flops.fixed;
        spec.flops_per_sample += flops.per_sample;
        spec.bytes_fixed += bytes.fixed;
        spec.bytes_per_sample += bytes.per_sample;
      }
    }
    specs.push_back(spec);
  }
  return specs;
}

ir::NodeId node_named(const ir::Graph& graph, const std::string& name) {
  if (name.empty()) return ir::no_node;
  const auto names = ir::printed_names(graph);
  for (ir::NodeId id = 0; id < names.size(); ++id)
    if (names[id] == name && !ir::is_leaf(graph.node(id).op)) return id;
  throw UserError("SINTER_FAULT", str("the graph has no node '", name, "'; explain() and SINTER_DUMP show the names"));
}

}  // namespace

Compiled compile(const ir::Graph& graph, const Options& options) {
  Compiled result;
  Stages stages(result.report.stages);

  const Schedule schedule = make_schedule(graph, options.tap);
  verify_schedule(graph, schedule);
  const MemoryPlan plan = plan_memory(schedule, options.tap);
  result.report.schedule = to_text(graph, schedule);
  result.report.memory_plan = to_text(schedule, plan);
  result.report.phases = schedule.phases.size();
  result.report.kernels = schedule.kernels.size();
  for (const Kernel& kernel : schedule.kernels) result.report.kernel_groups.push_back(kernel.group);
  dump(options.dump_folder, "schedule.txt", result.report.schedule + result.report.memory_plan);
  stages.done("schedule");

  llvm::LLVMContext llvm;
  llvm::Module module("sinter", llvm);
  const std::unique_ptr<llvm::TargetMachine> machine = target_machine(options.target);
  EmitContext context{module, graph, schedule, plan, node_named(graph, options.fault), vector_unit(*machine), {}};
  emit_step(context, options.profile);
  result.report.products = std::move(context.notes);
  result.report.target = target_text(*machine);
  std::string problem;
  llvm::raw_string_ostream problems(problem);
  if (llvm::verifyModule(module, &problems)) throw InternalError("codegen", "the emitted IR is wrong: " + problem);
  if (!options.dump_folder.empty()) dump(options.dump_folder, "step.ll", ir_text(module));
  stages.done("emit");

  const std::string folder = options.use_cache && options.dump_folder.empty() ? cache_folder() : "";
  const std::string key = folder.empty() ? "" : cache_key(bitcode_of(module), result.report.target);
  std::optional<std::string> object = read_cache(folder, key);
  result.report.cache_hit = object.has_value();
  if (!object) {
    optimize(module, *machine);
    stages.done("optimize");
    if (!options.dump_folder.empty()) {
      dump(options.dump_folder, "step.opt.ll", ir_text(module));
      dump(options.dump_folder, "step.s", emit_assembly(module, *machine));
    }
    object = emit_object(module, *machine);
    stages.done("machine code");
    write_cache(folder, key, *object);
  }
  LoadedCode code = load_object(*object);
  stages.done("load");

  result.image.entry = code.entry;
  result.image.code = std::move(code.owner);
  result.image.buffers = plan.buffers;
  result.image.phases = phase_specs(graph, schedule);
  result.image.kernels = schedule.kernels.size();
  result.image.fixed_bytes = plan.fixed_bytes;
  result.image.batch_bytes = plan.batch_bytes;
  result.image.scratch_bytes = plan.scratch_bytes;
  if (options.tap)
    for (ir::NodeId id = 0; id < graph.size(); ++id)
      if (schedule.value_of[id] != no_value && !ir::is_leaf(graph.node(id).op)) result.taps.push_back({id, plan.buffer_of[schedule.value_of[id]]});
  return result;
}

}  // namespace sinter::codegen
