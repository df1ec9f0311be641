#include "codegen/jit.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/EPCDynamicLibrarySearchGenerator.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "codegen/emit/step.h"
#include "codegen/instrument/threads.h"
#include "ir/error.h"

namespace sinter::codegen {

namespace {

/// The passes that emitted IR needs: variables in registers, common subexpressions, loop invariants hoisted, arithmetic. Vectors are explicit and
/// tiles already fill the registers, so that vectorizers and unrollers of LLVM's own pipelines would cost five times the time and gain nothing.
constexpr const char* pipeline =
    "function(sroa,early-cse<memssa>,simplifycfg,loop-mssa(loop-rotate,licm),instcombine<no-verify-fixpoint>,early-cse<memssa>,simplifycfg)";

/// Passes of LLVM's code generator that gain nothing here and take a third of its time: emitted loops carry the pointers that they need, and
/// processors with fused multiply-add execute out of order.
constexpr const char* unneeded_passes[] = {"disable-lsr", "disable-post-ra"};

void initialize_targets() {
  static const bool done = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    for (const char* option : unneeded_passes)
      if (const auto found = llvm::cl::getRegisteredOptions().find(option); found != llvm::cl::getRegisteredOptions().end())
        found->second->addOccurrence(0, option, "true");
    return true;
  }();
  (void)done;
}

[[noreturn]] void fail(const char* what, llvm::Error error) { throw InternalError("codegen", str(what, ": ", llvm::toString(std::move(error)))); }

/// Links objects into this process; each step's code is a separate library in it. Only their symbols can be found, and no unwind tables
/// are registered: nothing throws through generated code.
struct Linker {
  llvm::orc::ExecutionSession session;
  llvm::orc::ObjectLinkingLayer layer;

  explicit Linker(std::unique_ptr<llvm::orc::ExecutorProcessControl> process) : session(std::move(process)), layer(session) {
    session.setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });  // lookup() throws the relevant error
  }

  /// Of a function of a step's code, also of those that are hidden.
  void* lookup(llvm::orc::JITDylib& library, llvm::StringRef name) {
    const llvm::orc::JITDylibSearchOrder order{{&library, llvm::orc::JITDylibLookupFlags::MatchAllSymbols}};
    auto symbol = session.lookup(order, session.intern(name));
    if (!symbol) fail("cannot link the step", symbol.takeError());
    return symbol->getAddress().toPtr<void*>();
  }
};

/// Never destroyed: steps in static storage may outlive any other static.
Linker& linker() {
  static Linker* const instance = [] {
    auto process = llvm::orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>());
    if (!process) fail("cannot start the linker", process.takeError());
    return new Linker(std::move(*process));
  }();
  return *instance;
}

/// What a named level of the x86-64 ABI needs (psABI, "Micro-architecture levels"), in LLVM's feature names. Below v3 there is no fused
/// multiply-add, without which results would not have the same bytes.
std::vector<std::string> level_features(const std::string& level) {
  if (level == "x86-64-v3") return {"avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe"};
  if (level == "x86-64-v4") return {"avx2", "fma", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};
  throw UserError("SINTER_TARGET", str("must be x86-64-v3 or x86-64-v4, got '", level, "'; unset it to use this machine's CPU"));
}

}  // namespace

Target runnable_target(const std::string& name) {
  static const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  const std::string triple = llvm::sys::getProcessTriple();
  if (!name.empty()) {
    for (const std::string& feature : level_features(name)) {
      const auto found = host.find(feature);
      if (found == host.end() || !found->second)
        throw UserError("SINTER_TARGET", str("this machine cannot run ", name, ": its CPU lacks ", feature, "; choose a lower level"));
    }
    return {triple, name, ""};
  }
  if (llvm::Triple(triple).isX86() && !host.lookup("fma"))
    throw UserError("compile", "this CPU has no fused multiply-add (x86-64-v3), which compiled steps need; use Mode::eager");
  std::vector<std::string> enabled;
  for (const auto& feature : host)
    if (feature.second) enabled.push_back("+" + feature.first().str());
  std::sort(enabled.begin(), enabled.end());
  std::string features;
  for (const std::string& feature : enabled) features += (features.empty() ? "" : ",") + feature;
  return {triple, llvm::sys::getHostCPUName().str(), features};
}

Target other_target(const std::string& name) {
  if (name == "aarch64") return {"aarch64-unknown-linux-gnu", "generic", "+neon"};
  if (name == "x86-64-v3" || name == "x86-64-v4") return {"x86_64-unknown-linux-gnu", name, ""};
  throw UserError("emit_object", str("the target must be x86-64-v3, x86-64-v4 or aarch64, got '", name, "'"));
}

std::unique_ptr<llvm::TargetMachine> target_machine(const Target& target, Effort effort) {
  initialize_targets();
  std::string error;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(target.triple, error);
  if (!backend) throw InternalError("codegen", error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  const auto level = effort == Effort::quick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default;
  return std::unique_ptr<llvm::TargetMachine>(
      backend->createTargetMachine(target.triple, target.cpu, target.features, options, llvm::Reloc::PIC_, llvm::CodeModel::Small, level, true));
}

namespace {
bool has_512_bits(const llvm::TargetMachine& machine) {
  return machine.getTargetFeatureString().contains("+avx512f") || machine.getTargetCPU() == "x86-64-v4";
}
}  // namespace

VectorUnit vector_unit(const llvm::TargetMachine& machine) {
  if (!machine.getTargetTriple().isX86()) return {4, 32};  // NEON
  return has_512_bits(machine) ? VectorUnit{16, 32} : VectorUnit{8, 16};
}

void run_passes(llvm::Module& module, llvm::TargetMachine& machine, const char* pipeline) {
  module.setTargetTriple(machine.getTargetTriple().str());
  module.setDataLayout(machine.createDataLayout());
  llvm::PassBuilder builder(&machine);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::TargetLibraryInfoImpl library(machine.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager passes;
  if (auto error = builder.parsePassPipeline(passes, pipeline)) fail("cannot set up LLVM's passes", std::move(error));
  passes.run(module, modules);
}

void optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  const bool wide = has_512_bits(machine);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr("no-builtins");
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("denormal-fp-math", "preserve-sign,preserve-sign");
    if (wide) {
      function.addFnAttr("min-legal-vector-width", "512");
      function.addFnAttr("prefer-vector-width", "512");
    }
  }
  if (machine.getOptLevel() != llvm::CodeGenOptLevel::None) run_passes(module, machine, pipeline);
}

namespace {
std::string emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, out, nullptr, kind)) throw InternalError("codegen", "the target cannot emit this kind of file");
  passes.run(module);
  return {bytes.begin(), bytes.end()};
}
}  // namespace

std::string emit_object(llvm::Module& module, llvm::TargetMachine& machine) { return emit(module, machine, llvm::CodeGenFileType::ObjectFile); }
std::string emit_assembly(llvm::Module& module, llvm::TargetMachine& machine) { return emit(module, machine, llvm::CodeGenFileType::AssemblyFile); }

namespace {
/// Lines of "address size name", as perf's map files are. A function that is local to its object can't be looked up: it is as far from one that can
/// as in the object, which has its code in one section.
std::string perf_map_of(llvm::orc::JITDylib& library, std::span<const std::string> objects) {
  TextStream map;
  for (const std::string& object : objects) {
    auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(object, "step"));
    if (!file) fail("cannot read the object", file.takeError());
    struct Function {
      std::uint64_t offset, size;
      std::string name;
    };
    std::vector<Function> functions;
    std::optional<std::uint64_t> code;  // where the section is
    for (const llvm::object::ELFSymbolRef symbol : (*file)->symbols()) {
      const auto name = llvm::expectedToOptional(symbol.getName());
      const auto offset = llvm::expectedToOptional(symbol.getValue());
      if (!name || !offset || symbol.getELFType() != llvm::ELF::STT_FUNC) continue;
      functions.push_back({*offset, symbol.getSize(), name->str()});
      if (!code && symbol.getBinding() != llvm::ELF::STB_LOCAL) code = reinterpret_cast<std::uintptr_t>(linker().lookup(library, *name)) - *offset;
    }
    if (!code) continue;
    for (const Function& function : functions) map << str(std::hex, *code + function.offset, " ", function.size, " sinter:", function.name, "\n");
  }
  return map.str();
}

/// Appends to the file that perf reads. Anyone can create a file or link of that name, so only a file that this user owns is written to.
void append_to_perf_map(const std::string& text) {
  const std::string path = str("/tmp/perf-", ::getpid(), ".map");
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
  struct stat status{};
  const bool own =
      descriptor >= 0 && ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink == 1;
  const bool written = own && ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (descriptor >= 0) ::close(descriptor);
  if (!own) throw UserError("SINTER_PERF_MAP", str(path, " is no file of this user's own, or cannot be made; remove it"));
  if (!written) throw UserError("SINTER_PERF_MAP", str("cannot write to ", path, "; is the disk full?"));
}
}  // namespace

std::string problem_of_object(const std::string& bytes) {
  auto file = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, "step"));
  if (!file) return llvm::toString(file.takeError());
  if (!(*file)->isELF() || !(*file)->isRelocatableObject()) return "it is no relocatable ELF object";
  const llvm::Triple::ArchType machine = llvm::Triple(llvm::sys::getProcessTriple()).getArch();
  if ((*file)->getArch() != machine)
    return str("it is for ", llvm::Triple::getArchTypeName((*file)->getArch()).str(), ", this machine is ",
               llvm::Triple::getArchTypeName(machine).str());
  return "";
}

LoadedCode load_objects(std::span<const std::string> objects, bool perf_map) {
  static std::atomic<std::uint64_t> next{0};
  auto library = linker().session.createJITDylib(str("step_", next++));
  if (!library) fail("cannot make room for a step", library.takeError());
  llvm::orc::JITDylib* dylib = &*library;
  const auto remove = [dylib](const void*) { llvm::consumeError(linker().session.removeJITDylib(*dylib)); };
  std::shared_ptr<const void> owner(dylib, remove);
  if constexpr (sees_threads) {  // ThreadSanitizer's functions, which the program has
    auto process = llvm::orc::EPCDynamicLibrarySearchGenerator::GetForTargetProcess(linker().session);
    if (!process) fail("cannot look into the process", process.takeError());
    dylib->addGenerator(std::move(*process));
  }
  for (const std::string& object : objects)
    if (auto error = linker().layer.add(*dylib, llvm::MemoryBuffer::getMemBufferCopy(object))) fail("cannot load the object", std::move(error));
  const auto entry = reinterpret_cast<StepEntry>(linker().lookup(*dylib, step_name));
  if (perf_map) append_to_perf_map(perf_map_of(*dylib, objects));
  return {entry, std::move(owner)};
}

}  // namespace sinter::codegen
