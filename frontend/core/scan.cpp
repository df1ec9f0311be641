#include "frontend/core/scan.h"

#include "frontend/core/apply.h"
#include "frontend/core/counted.h"
#include "frontend/core/custom_gradient.h"
#include "frontend/core/operands.h"
#include "frontend/core/ops.h"
#include "frontend/core/trace.h"
#include "ir/scan.h"

namespace sinter {

namespace {

thread_local bool in_step = false;

class StepScope {
 public:
  StepScope() : outer_(std::exchange(in_step, true)) {}
  ~StepScope() { in_step = outer_; }
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  bool outer_;
};

struct Steps {
  Dim samples, length;
};

/// Throws UserError for operands that do not fit each other.
Steps checked(const std::vector<Tensor>& carries, const std::vector<Tensor>& sequences, const std::source_location& where) {
  if (sequences.empty()) fail(where, "scan: needs at least one sequence, [N, length, ...], whose steps it takes; got none");
  for (std::size_t i = 0; i < sequences.size(); ++i)
    if (!sequences[i].defined() || sequences[i].rank() < 2)
      fail(where, str("scan: sequence ", i, " is [N, length, ...], got ",
                      sequences[i].defined() ? str(sequences[i].type()) : "a tensor that was never set"));
  const Steps sizes{sequences[0].shape()[0], sequences[0].shape()[1]};
  for (std::size_t i = 1; i < sequences.size(); ++i) {
    const Shape& shape = sequences[i].shape();
    if (shape[0] != sizes.samples || shape[1] != sizes.length)
      fail(where, str("scan: sequences are of one length and one batch, got ", sequences[0].type(), " and ", sequences[i].type(), " as sequence ", i,
                      "; pad the shorter one, or slice the longer one"));
  }
  if (sizes.length == Dim(0)) fail(where, str("scan: sequences have at least one step, got ", sequences[0].type()));
  for (std::size_t i = 0; i < carries.size(); ++i) {
    if (!carries[i].defined()) fail(where, str("scan: carry ", i, " was never set"));
    if (!is_float(carries[i].dtype())) fail(where, str("scan: carry ", i, " is ", carries[i].type(), "; carries are f32, cast it"));
    if (carries[i].rank() == 0 || carries[i].shape()[0] != sizes.samples)
      fail(where, str("scan: carry ", i, " has a value for each of the ", sizes.samples, " samples of ", sequences[0].type(), ", got ",
                      carries[i].type(), "; broadcast it"));
  }
  return sizes;
}

void check_step(const ScanStep& made, const std::vector<Tensor>& carries, Dim samples, const std::source_location& where) {
  if (made.carries.size() != carries.size())
    fail(where,
         str("scan: the step got ", counted(carries.size(), "carry", "carries"), " and returned ", made.carries.size(), "; return one for each"));
  for (std::size_t i = 0; i < carries.size(); ++i) {
    if (!made.carries[i].defined()) fail(where, str("scan: carry ", i, " that the step returned was never set"));
    if (made.carries[i].type() != carries[i].type())
      fail(where, str("scan: carry ", i, " is ", carries[i].type(), ", and the step returned ", made.carries[i].type(),
                      "; each step gets what the one before "
                      "returned, so both are of one type"));
  }
  for (std::size_t i = 0; i < made.outputs.size(); ++i) {
    if (!made.outputs[i].defined()) fail(where, str("scan: output ", i, " of the step was never set"));
    if (made.outputs[i].rank() == 0 || made.outputs[i].shape()[0] != samples)
      fail(where, str("scan: output ", i, " of the step has a value for each of ", samples, " samples, got ", made.outputs[i].type()));
  }
}

/// The steps of a sequence; their gradients are stacked, so that those of all steps take no more than one pass over it.
std::vector<Tensor> steps_of(const Tensor& sequence, const std::source_location& where) {
  const std::int64_t length = sequence.shape()[1].factor();
  const Shape element = sequence.shape().erase(1, 2);
  std::vector<Tensor> steps;
  const Tensor data = sequence.detach();
  for (std::int64_t t = 0; t < length; ++t) {
    const Tensor step = apply(ir::Slice{1, t, 1}, {&data}, where);
    steps.push_back(apply(ir::Reshape{element}, {&step}, where));
  }
  if (!is_float(sequence.dtype())) return steps;
  return with_gradient({&sequence, 1}, std::move(steps),
                       [where](std::span<const Tensor>, std::span<const Tensor>, std::span<const Tensor> gradients) {
                         return std::vector<Tensor>{stack({gradients.begin(), gradients.end()}, 1, where)};
                       });
}

Scanned run(const ScanFunction& step, const std::vector<Tensor>& carries, const std::vector<Tensor>& sequences, const ScanOptions& options,
            Steps sizes, const std::source_location& where) {
  std::vector<std::vector<Tensor>> steps;
  for (const Tensor& sequence : sequences) steps.push_back(steps_of(sequence, where));
  Scanned result{carries, {}};
  const auto length = static_cast<std::size_t>(sizes.length.factor());
  std::vector<std::vector<Tensor>> outputs;  // by output, then by step
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t t = options.reverse ? length - 1 - i : i;
    std::vector<Tensor> elements;
    for (const std::vector<Tensor>& of : steps) elements.push_back(of[t]);
    const ScanStep made = [&] {
      const StepScope scope;
      return step(result.carries, elements);
    }();
    check_step(made, carries, sizes.samples, where);
    if (i == 0) outputs.assign(made.outputs.size(), std::vector<Tensor>(length));
    if (made.outputs.size() != outputs.size())
      fail(where, str("scan: the first step returned ", counted(outputs.size(), "output"), ", step ", i, " returned ", made.outputs.size()));
    result.carries = made.carries;
    for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k][t] = made.outputs[k];
  }
  for (const std::vector<Tensor>& of : outputs) result.outputs.push_back(stack(of, 1, where));
  return result;
}

}  // namespace

bool detail::is_in_step() { return in_step; }

Scanned scan(const ScanFunction& step, const std::vector<Tensor>& carries, const std::vector<Tensor>& sequences, const ScanOptions& options,
             std::source_location where) {
  const Steps sizes = checked(carries, sequences, where);
  Trace* trace = Trace::current();
  if (!trace) return run(step, carries, sequences, options, sizes, where);
  const StepScope scope;
  const auto in_steps = [&](std::span<const Tensor> held, std::span<const Tensor> elements) {
    ScanStep made = step(held, elements);
    check_step(made, carries, sizes.samples, where);
    return made;
  };
  return trace->scan(in_steps, carries, sequences, sizes.length, options.reverse, where);
}

void detail::require_operands(std::size_t takes, std::size_t carries, std::size_t sequences, const std::source_location& where) {
  if (takes != carries + sequences)
    fail(where, str("scan: the step takes ", counted(takes, "tensor"), ", but it gets ", counted(carries, "carry", "carries"), " and an element of ",
                    counted(sequences, "sequence")));
}

}  // namespace sinter
