// run(): many steps in one call.
#include <algorithm>

#include "frontend/compile/step_impl.h"
#include "frontend/core/assignment_log.h"
#include "frontend/core/ops.h"

namespace sinter {

namespace {

void check(const std::string& name, const RunOptions& run) {
  if (run.steps < 1) throw UserError(name, str("run: steps must be at least 1, got ", run.steps));
  if (run.batch < 0) throw UserError(name, str("run: batch must not be negative, got ", run.batch, "; 0 means all samples"));
  if (run.learning_rates.empty()) return;
  if (!run.learning_rate) throw UserError(name, "run: learning_rates needs learning_rate, the parameter that takes them");
  if (run.learning_rates.size() != static_cast<std::size_t>(run.steps))
    throw UserError(name, str("run: learning_rates needs one value per step: ", run.steps, ", got ", run.learning_rates.size()));
}

}  // namespace

void StepCore::run(std::span<const Tensor* const> in, std::span<Tensor> out, const RunOptions& run) {
  check(impl_->options.name, run);
  if (Trace::current()) throw UserError(impl_->options.name, "run: cannot be traced; call the step once per step");
  if (effective_mode(impl_->options.mode) == Mode::graph && !impl_->options.find_non_finite) {
    const Call call(*impl_);
    Variant& variant = impl_->variant_for(in);
    impl_->run_variant([&] { variant.run_steps(in, out, run, impl_->options.threads, impl_->options.force); });
    return;
  }
  std::vector<std::vector<std::byte>> values(out.size());
  std::int64_t samples = 1;
  const std::vector<Spec> specs = impl_->specs_of(in);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (specs[i].kind == InputKind::batch) samples = in[i]->shape()[0].factor();
  AssignmentLog log;
  for (std::int64_t step = 0; step < run.steps; ++step) {
    const SampleSlice slice = slice_of(step, run.batch ? std::min(run.batch, samples) : samples, samples);
    std::vector<Tensor> slices;
    std::vector<const Tensor*> list;
    for (std::size_t i = 0; i < in.size(); ++i)
      slices.push_back(specs[i].kind == InputKind::batch && slice.count != samples ? sinter::slice(*in[i], 0, slice.begin, slice.begin + slice.count)
                                                                                   : *in[i]);
    for (const Tensor& tensor : slices) list.push_back(&tensor);
    if (!run.learning_rates.empty()) run.learning_rate->assign(Tensor(run.learning_rates[static_cast<std::size_t>(step)]));
    const std::vector<Tensor> results = call(list);
    for (std::size_t i = 0; i < out.size(); ++i) {
      require_scalar_output(impl_->options.name, i, results[i].type());
      const std::size_t size = size_of(results[i].dtype()), at = values[i].size();
      values[i].resize(at + size);
      results[i].copy_to(values[i].data() + at);
      out[i] = results[i];
    }
  }
  log.keep();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = Tensor::from_bytes({out[i].dtype(), {run.steps}}, values[i].data());
}

}  // namespace sinter
