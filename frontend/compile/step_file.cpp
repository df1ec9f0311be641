// Step::save and load_step.
#include "frontend/compile/step_impl.h"
#include "frontend/file/model_file.h"

namespace sinter {

void StepCore::save(const std::string& path) const {
  const Traced& traced = impl_->variants.empty() && impl_->recorded ? *impl_->recorded : impl_->latest().compiled().traced;
  write_model_file(path, {{"step", traced}}, {{"kind", "step"}});
}

std::shared_ptr<StepCore> load_step(const std::string& path, StepOptions options) {
  ModelFile file = read_model_file(path);
  const auto found = file.graphs.find("step");
  if (found == file.graphs.end()) throw UserError(path, "holds no step; is it the file of a Trainer?");
  options.kinds.clear();
  for (const ir::InputSpec& input : found->second.graph.inputs()) options.kinds.push_back(input.kind);
  return std::make_shared<StepCore>(std::move(found->second), std::move(options));
}

}  // namespace sinter
