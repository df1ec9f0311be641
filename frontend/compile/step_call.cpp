// Calls of a step: of a batch, and of one sample.
#include <algorithm>
#include <chrono>

#include "frontend/compile/non_finite.h"
#include "frontend/compile/step_impl.h"
#include "frontend/core/clock.h"

namespace sinter {

void StepCore::call(std::span<const Tensor* const> in, std::span<Tensor> out) {
  if (Trace::current() || effective_mode(impl_->options.mode) == Mode::eager) {
    const std::vector<Tensor> result = call(in);
    std::copy(result.begin(), result.end(), out.begin());
    return;
  }
  const Call call(*impl_);
  Variant& variant = impl_->variant_for(in);
  if (variant.output_count() != out.size())
    throw UserError(impl_->options.name, str("returns ", variant.output_count(), " tensors, not ", out.size()));
  impl_->run_once(variant, in, out);
}

std::vector<Tensor> StepCore::call(std::span<const Tensor* const> in) {
  if (Trace::current()) {  // inlined into the trace around it
    if (impl_->recorded) throw UserError(impl_->options.name, "a step loaded from a file cannot be called inside a trace");
    std::vector<Tensor> inputs;
    for (const Tensor* tensor : in) inputs.push_back(*tensor);
    return impl_->function(inputs);
  }
  const Call call(*impl_);
  std::vector<Tensor> out;
  if (effective_mode(impl_->options.mode) == Mode::eager) {
    const auto run = [&]() -> std::span<const Tensor> { return out = impl_->call_eagerly(in); };
    if (impl_->options.find_non_finite) impl_->require_finite(impl_->kept(impl_->trace(impl_->specs_of(in))), in, run);
    else (void)run();
    return out;
  }
  Variant& variant = impl_->variant_for(in);
  out.resize(variant.output_count());
  impl_->run_once(variant, in, out);
  return out;
}

std::vector<Tensor> StepCore::Impl::call_eagerly(std::span<const Tensor* const> in) {
  if (!watched) return run_eagerly(in);
  const auto start = std::chrono::steady_clock::now();
  std::vector<Tensor> out = run_eagerly(in);
  const double seconds = since(start);
  const std::vector<Spec> specs = specs_of(in);
  watched->add_eager(in, seconds, specs, [&] { return kept(trace(specs)); });
  return out;
}

void StepCore::Impl::run_once(Variant& variant, std::span<const Tensor* const> in, std::span<Tensor> out) const {
  const auto run = [&]() -> std::span<const Tensor> {
    run_variant([&] {
      const auto run = [&] { variant.run(in, out, options.threads, options.force); };
      if (watched) watched->time(variant, sizes_of(variant.compiled().graph, in), run);
      else run();
    });
    return out;
  };
  if (options.find_non_finite) require_finite(variant.compiled().traced, in, run);
  else (void)run();
}

void StepCore::Impl::require_finite(const Traced& traced, std::span<const Tensor* const> in,
                                    const std::function<std::span<const Tensor>()>& run) const {
  NonFiniteFinder finder(traced);
  finder.before();
  if (finder.failed(run())) finder.report(in, str(", in a call of '", options.name, "'; all states are as before that call"));
}

Shape StepCore::Impl::sample_shape(std::size_t numbers) {
  const InputKind kind = options.kinds.empty() ? InputKind::batch : options.kinds[0];
  const Type row{DType::f32, {kind == InputKind::fixed ? Dim(1) : Dim::batch(), static_cast<std::int64_t>(numbers)}};
  const auto is_eager = [&] { return effective_mode(options.mode) == Mode::eager; };
  if (variants.empty() && !recorded) {
    if (is_eager()) return row.shape.at(1);
    const Spec spec{row, kind};
    try {
      build({&spec, 1});
    } catch (const UserError& error) {
      throw UserError(options.name, str("predict_one: the step was never called, so the sample was taken for one of ", row,
                                        "; call it, or compile it with the type of its input, before. ", error.what()));
    }
  }
  const Traced& traced = variants.empty() ? *recorded : latest().compiled().traced;
  const auto specs = traced.graph.inputs();
  if (const std::size_t inputs = specs.size() - traced.captured.size(); inputs != 1)
    throw UserError(options.name, str("predict_one takes one sample of numbers, but the step has ", inputs, " inputs; call it"));
  if (specs[0].type.dtype != DType::f32)
    throw UserError(options.name, str("predict_one takes one sample of f32 numbers, but the step's input is ", specs[0].type, "; call it"));
  return specs[0].type.shape.at(1);
}

void StepCore::call_one(std::span<const float> in, std::span<float> out) {
  Impl& impl = *impl_;
  const std::string& name = impl.options.name;
  const Shape one = impl.sample_shape(in.size());
  if (static_cast<std::size_t>(one.elements().factor()) != in.size())
    throw UserError(name, str("predict_one: a sample has ", one.elements(), " numbers, got ", in.size()));
  if (!impl.sample.defined() || impl.sample.shape() != one || !impl.sample.buffer().unique()) impl.sample = Tensor::zeros({DType::f32, one});
  runtime::copy_from_dense(in.data(), impl.sample.view());
  const Tensor* input = &impl.sample;
  Tensor result;
  call({&input, 1}, {&result, 1});
  if (result.dtype() != DType::f32 || static_cast<std::size_t>(result.elements()) != out.size())
    throw UserError(name, str("predict_one: the result is ", result.type(), ", but there is room for ", out.size(), " numbers"));
  runtime::copy_to_dense(result.view(), out.data());
}

}  // namespace sinter
