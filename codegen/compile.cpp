#include "codegen/compile.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <numeric>

#include "codegen/alike.h"
#include "codegen/emit/stages.h"
#include "codegen/emit/step.h"
#include "codegen/instrument/check.h"
#include "codegen/instrument/threads.h"
#include "codegen/jit.h"
#include "codegen/key.h"
#include "codegen/scan_plan.h"
#include "codegen/step_code.h"
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
  void skip() { start_ = Clock::now(); }

 private:
  std::vector<Stage>& stages_;
  Clock::time_point start_;
};

void dump(const std::string& folder, const char* name, const std::function<std::string()>& text) {
  if (folder.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ofstream file(folder + "/" + name);
  if (!(file << text()).flush()) throw UserError("SINTER_DUMP", str("cannot write ", folder, "/", name, "; give a folder that can be written"));
}

std::string ir_text(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

std::string name_of(const ir::Graph& graph, const Kernel& kernel) {
  if (kernel.is<Kernel::Copy>()) return "copy";
  if (kernel.is<Kernel::Pack>()) return "pack";
  std::string text;
  for (const ir::NodeId id : kernel.nodes) text += str(text.empty() ? "" : " + ", ir::name(graph.node(id).op));
  return text + (kernel.is<Kernel::Partial>() ? " (a slot a chunk)" : kernel.is<Kernel::Combine>() ? " (slots combined)" : "");
}

std::vector<KernelSpec> kernel_specs(const ir::Graph& graph, const Schedule& schedule, const MemoryPlan& plan) {
  std::vector<KernelSpec> specs;
  for (const Kernel& kernel : schedule.kernels) specs.push_back({name_of(graph, kernel), kernel.domain.units, kernel.work, buffers_of(kernel, plan)});
  return specs;
}

std::vector<PhaseSpec> phase_specs(const Schedule& schedule, const std::vector<KernelSpec>& kernels) {
  std::vector<PhaseSpec> specs;
  for (const Phase& phase : schedule.phases) {
    PhaseSpec spec;
    for (const Loop& loop : phase.loops) {
      spec.loops.push_back({loop.domain.units, loop.limits, 1, {loop.kernels.begin(), loop.kernels.end()}, loop.cut.pieces, phase.cut_samples});
      if (loop.domain.samples)
        for (const std::size_t k : loop.kernels)
          spec.loops.back().sample_pieces = std::max(spec.loops.back().sample_pieces, schedule.kernels[k].cut.pieces);
      for (const std::size_t k : loop.kernels) {
        spec.work += kernels[k].work;
        if (schedule.kernels[k].cuts_steps()) spec.loops.back().step_pieces = schedule.kernels[k].scan->most_pieces();
      }
    }
    specs.push_back(spec);
  }
  return specs;
}

/// The node that SINTER_FAULT names: "%5", or "%5/%2" for node %2 of the step of the scan %5.
Fault fault_named(const ir::Graph& graph, const std::string& name) {
  if (name.empty()) return {};
  const auto find = [](const ir::Graph& in, std::string_view wanted) {
    const auto names = ir::printed_names(in);
    for (ir::NodeId id = 0; id < names.size(); ++id)
      if (names[id] == wanted && !ir::is_leaf(in.node(id).op)) return id;
    return ir::no_node;
  };
  const std::size_t slash = std::min(name.find('/'), name.size());
  Fault fault{find(graph, std::string_view(name).substr(0, slash)), ir::no_node};
  if (fault.node != ir::no_node && slash == name.size()) return fault;
  const auto* scan = fault.node == ir::no_node ? nullptr : std::get_if<ir::Scan>(&graph.node(fault.node).op);
  if (scan) fault.of_step = find(scan->body.graph(), std::string_view(name).substr(slash + 1));
  if (fault.of_step != ir::no_node) return fault;
  throw UserError("SINTER_FAULT", str("the graph has no node '", name, "'; explain() and SINTER_DUMP show the names"));
}

/// Kernels per module that pay for a thread of the compiler, and the most modules.
constexpr std::size_t kernels_a_part = 6, most_parts = 4;
/// So many stages are a third of a step's code. Each runs once in a step that takes long by itself, so that they are compiled quickly.
constexpr std::size_t many_stages = 24;

/// The common input of all parts of a step.
struct Source {
  const ir::Graph& graph;
  const Schedule& schedule;
  const MemoryPlan& plan;
  const Division& division;
  Fault fault;
  const Target& target;
  const Options& options;
  bool watched = sees_threads;  ///< instrumented for ThreadSanitizer; code for other machines is not
};

/// A part of a step: a module with some of its kernels, to be compiled to an object.
class Part {
 public:
  Part(const Source& source, std::size_t number)
      : source_(source),
        number_(number),
        machine_(target_machine(source.target, is_quick() ? Effort::quick : Effort::full)),
        module_("sinter", llvm_),
        context_{.module = module_,
                 .graph = source.graph,
                 .schedule = source.schedule,
                 .plan = source.plan,
                 .fault = source.fault,
                 .unit = vector_unit(*machine_),
                 .checked = source.options.checked,
                 .sabotage = source.options.sabotage,
                 .notes = {},
                 .shared = {}} {}

  /// The kernels, and the names of the shared functions that they call.
  void emit() {
    Stages stages(this->stages);
    emit_part(context_, source_.division, number_, source_.options.profile);
    stages.done("emit");
  }
  const EmitContext& context() const { return context_; }
  std::size_t instructions() const { return module_.getInstructionCount(); }

  /// The object, with the bodies of these shared functions in it.
  void compile(const std::vector<SharedFunction>& functions) {
    const Options& options = source_.options;
    Stages stages(this->stages);
    for (const SharedFunction& function : functions) function.define(context_);
    if (options.checked) check_accesses(module_, *machine_, source_.graph.inputs().size());
    std::string problem;
    llvm::raw_string_ostream problems(problem);
    if (llvm::verifyModule(module_, &problems)) throw InternalError("codegen", "the emitted IR is wrong: " + problem);
    dump(options.dump_folder, "step.ll", [&] { return ir_text(module_); });
    stages.done("check");

    optimize(module_, *machine_);
    if (source_.watched) show_to_thread_sanitizer(module_, *machine_);
    stages.done("optimize");
    dump(options.dump_folder, "step.opt.ll", [&] { return ir_text(module_); });
    dump(options.dump_folder, "step.s", [&] { return emit_assembly(module_, *machine_); });
    object = emit_object(module_, *machine_);
    stages.done("machine code");
  }

  std::string object;
  std::vector<Stage> stages;

 private:
  bool is_quick() const { return source_.division.is_apart() && number_ == source_.division.step_part; }

  const Source& source_;
  std::size_t number_;
  std::unique_ptr<llvm::TargetMachine> machine_;
  llvm::LLVMContext llvm_;
  llvm::Module module_;
  EmitContext context_;
};

/// Which of the parts with kernels gets the body of each shared function: the one with the fewest instructions so far, longest bodies first.
std::vector<std::vector<SharedFunction>> divide_shared(const std::vector<std::unique_ptr<Part>>& parts, std::size_t kernel_parts) {
  std::map<std::string, SharedFunction> all;
  std::vector<std::size_t> loads;
  for (const auto& part : parts) {
    all.insert(part->context().shared.begin(), part->context().shared.end());
    if (loads.size() < kernel_parts) loads.push_back(part->instructions());
  }
  std::vector<std::pair<std::string, SharedFunction>> order(all.begin(), all.end());
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second.size != b.second.size ? a.second.size > b.second.size : a.first < b.first; });
  std::vector<std::vector<SharedFunction>> shares(parts.size());
  for (const auto& [name, function] : order) {
    const auto least = static_cast<std::size_t>(std::min_element(loads.begin(), loads.end()) - loads.begin());
    loads[least] += function.size;
    shares[least].push_back(function);
  }
  return shares;
}

/// Runs f(part) for each part, on one thread each if there are several, else on this one; exceptions are rethrown here.
template <class F>
void for_each_part(std::size_t parts, int threads, const F& f) {
  const auto policy = threads > 1 ? std::launch::async | std::launch::deferred : std::launch::deferred;
  std::vector<std::future<void>> others;
  for (std::size_t part = 1; part < parts; ++part) others.push_back(std::async(policy, f, part));
  f(0);
  for (auto& other : others) other.get();
}

/// The parts of a step, compiled.
std::vector<std::unique_ptr<Part>> compile_parts(const Source& source) {
  const std::size_t count = source.division.parts();
  std::vector<std::unique_ptr<Part>> parts(count);
  for_each_part(count, source.options.threads, [&](std::size_t part) {
    parts[part] = std::make_unique<Part>(source, part);
    parts[part]->emit();
  });
  const std::vector<std::vector<SharedFunction>> shares = divide_shared(parts, source.division.kernel_parts);
  for_each_part(count, source.options.threads, [&](std::size_t part) { parts[part]->compile(shares[part]); });
  return parts;
}

/// Generates the code of a step. Adds the stages of the part that took longest.
StepCode make_code(const Source& source, std::vector<Stage>& stages) {
  StepCode code;
  const std::vector<std::unique_ptr<Part>> parts = compile_parts(source);
  const auto seconds = [](const std::unique_ptr<Part>& part) {
    return std::accumulate(part->stages.begin(), part->stages.end(), 0.0, [](double sum, const Stage& stage) { return sum + stage.second; });
  };
  const auto& slowest = **std::max_element(parts.begin(), parts.end(), [&](const auto& a, const auto& b) { return seconds(a) < seconds(b); });
  stages.insert(stages.end(), slowest.stages.begin(), slowest.stages.end());
  for (const std::unique_ptr<Part>& part : parts) {
    code.objects.push_back(std::move(part->object));
    const auto& notes = part->context().notes;
    for (std::size_t k = 0; k < source.schedule.kernels.size(); ++k)
      for (const auto& [kernel, note] : notes)
        if (kernel == source.division.code_of[k]) code.notes.push_back(str("kernel ", source.schedule.kernels[k].group, ": ", note));
  }
  std::sort(code.notes.begin(), code.notes.end());
  return code;
}

/// For each kernel the one whose code it runs: its own unless kernels that are alike share it.
std::vector<std::size_t> code_of_kernels(const ir::Graph& graph, const Schedule& schedule, const MemoryPlan& plan, bool shares) {
  if (shares) return alike_kernels(graph, schedule, plan);
  std::vector<std::size_t> own(schedule.kernels.size());
  std::iota(own.begin(), own.end(), std::size_t{0});
  return own;
}

/// Loads code from a store; empty if it has none that can be run; invalid code is dropped from it.
std::optional<std::pair<StepCode, LoadedCode>> load_kept(ObjectStore& store, const ObjectKey& key, bool perf_map) {
  const std::optional<std::string> bytes = store.find(key);
  if (!bytes) return {};
  std::optional<StepCode> code = parse_step_code(*bytes);
  std::string problem = code ? "" : "it is no code of a step";
  for (std::size_t i = 0; code && i < code->objects.size() && problem.empty(); ++i) problem = problem_of_object(code->objects[i]);
  if (problem.empty()) {
    try {
      LoadedCode loaded = load_objects(code->objects, perf_map);
      return {{std::move(*code), std::move(loaded)}};
    } catch (const InternalError& error) {
      problem = error.what();
    }
  }
  store.reject(key, problem);
  return {};
}

}  // namespace

bool is_built() { return true; }

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
  const bool shares = options.share_code && !options.checked && options.fault.empty() && options.sabotage.kind == Sabotage::Kind::none;
  result.report.code_of = code_of_kernels(graph, schedule, plan, shares);
  dump(options.dump_folder, "schedule.txt", [&] { return result.report.schedule + result.report.memory_plan; });
  stages.done("schedule");

  const Fault fault = fault_named(graph, options.fault);
  const Target target = runnable_target(options.target);
  ObjectStore* const store = options.dump_folder.empty() ? options.store : nullptr;
  ObjectKey key;
  std::optional<std::pair<StepCode, LoadedCode>> kept;
  if (store) {
    key = object_key(graph, options, target.text());
    kept = load_kept(*store, key, options.perf_map);
    stages.done(kept ? "load" : "look up");
  }
  StepCode code;
  LoadedCode loaded;
  if (kept) {
    std::tie(code, loaded) = std::move(*kept);
  } else {
    const bool whole = !options.dump_folder.empty() || options.checked;  // checks follow pointers through all functions
    const std::size_t parts = whole ? 1 : std::clamp<std::size_t>(schedule.kernels.size() / kernels_a_part, 1, most_parts);
    const bool stages_apart = !whole && stages_of(schedule, options.checked).size() >= many_stages;
    const Division division = divide_kernels(schedule, result.report.code_of, parts, stages_apart);
    code = make_code({graph, schedule, plan, division, fault, target, options}, result.report.stages);
    stages.skip();
    loaded = load_objects(code.objects, options.perf_map);
    stages.done("load");
    if (store) store->keep(key, to_bytes(code));
  }
  result.report.cache_hit = kept.has_value();
  result.report.products = std::move(code.notes);
  result.report.target = target.text();

  result.image.entry = loaded.entry;
  result.image.code = std::move(loaded.owner);
  result.image.buffers = plan.buffers;
  result.image.kernels = kernel_specs(graph, schedule, plan);
  result.image.phases = phase_specs(schedule, result.image.kernels);
  result.image.stages = stages_of(schedule, options.checked);
  result.image.counters = counters_of(schedule);
  result.image.arenas = plan.arenas;
  result.image.scratch_bytes = plan.scratch_bytes;
  result.image.checked = options.checked;
  if (options.tap)
    for (ir::NodeId id = 0; id < graph.size(); ++id)
      if (const ValueId v = schedule.value_of[id]; v != no_value && schedule.values[v].base == no_value && !ir::is_leaf(graph.node(id).op))
        result.taps.push_back({id, plan.buffer_of[v]});
  return result;
}

std::string emit_object(const ir::Graph& graph, const std::string& target) {
  const Schedule schedule = make_schedule(graph, false);
  verify_schedule(graph, schedule);
  const MemoryPlan plan = plan_memory(schedule, false);
  const Division division = divide_kernels(schedule, code_of_kernels(graph, schedule, plan, true), 1, false);
  std::vector<Stage> stages;
  return std::move(make_code({graph, schedule, plan, division, {}, other_target(target), {}, false}, stages).objects.front());
}

}  // namespace sinter::codegen
