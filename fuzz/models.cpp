// The targets that read .sinter files: the container, and what the front end makes of it.
#include <cstdlib>

#include "codegen/compile.h"
#include "frontend/compile/step.h"
#include "frontend/train/trainer.h"
#include "fuzz/resume.h"
#include "fuzz/targets.h"
#include "ir/cost.h"
#include "runtime/file/container.h"

namespace sinter::fuzz {

bool is_small(const ir::Graph& graph, std::int64_t n, std::int64_t rows) {
  double elements = 0, flops = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    const Shape& shape = graph.node(id).type.shape;
    const bool table = shape.rank() && shape[0].is_rows();
    const double count = ir::elements(table ? shape.with(0, rows) : shape).at(n);
    elements += count;
    flops += ir::flops(graph, id).at(n);
    if (count > 1e5 || elements > 1e6 || flops > 1e7) return false;
  }
  return graph.size() < 500;
}

bool is_compiled(Bytes bytes) {
  std::size_t sum = 0;
  for (const std::uint8_t byte : bytes) sum += byte;
  return codegen::is_built() && sum % 16 == 0;
}

namespace {

/// One call on zeros.
void run_step(StepCore& step, const std::vector<Mode>& modes) {
  constexpr std::int64_t n = 2, rows = 3;
  const ir::Graph& graph = step.traced_graph();
  if (!is_small(graph, n, rows)) return;
  std::vector<Tensor> inputs;
  for (const ir::InputSpec& spec : graph.inputs()) {
    if (spec.kind == InputKind::hidden) break;
    Shape shape = spec.type.shape;
    if (spec.kind == InputKind::table) shape = shape.with(0, rows);
    inputs.push_back(Tensor::zeros({spec.type.dtype, shape.at(n)}));
  }
  std::vector<const Tensor*> in;
  for (const Tensor& tensor : inputs) in.push_back(&tensor);
  for (const Mode mode : modes) {
    step.set_mode(mode);
    (void)step.call(in);
  }
}

std::vector<Mode> modes_for(Bytes bytes) { return is_compiled(bytes) ? std::vector{Mode::eager, Mode::graph} : std::vector{Mode::eager}; }

}  // namespace

void run_sinter_file(Bytes bytes) {
  setenv("SINTER_CACHE", "off", 1);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const runtime::Archive archive = runtime::from_bytes(text, "file");
  const std::string written = runtime::to_bytes(archive);
  if (runtime::to_bytes(runtime::from_bytes(written, "copy")) != written) throw Finding("a file written and read again differs");
  const MemoryFile file(bytes);
  run_step(*load_step(file.path().string()), modes_for(bytes));
}

void run_checkpoint(Bytes bytes) {
  setenv("SINTER_CACHE", "off", 1);
  try {
    resume_from(bytes);
  } catch (const UserError&) {  // it may still be a file that a trainer loads
  }
  const MemoryFile file(bytes);
  Trainer trainer = Trainer::load(file.path().string(), {.mode = Mode::eager});
  const std::vector<Mode> modes = modes_for(bytes);
  run_step(trainer.predict_step(), modes);
  run_step(trainer.train_step(), modes);
}

}  // namespace sinter::fuzz
