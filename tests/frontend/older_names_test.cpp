// Files whose parameter names begin with the kind of their root, as older versions wrote them.
#include <algorithm>

#include "frontend/checkpoint/options.h"
#include "runtime/file/container.h"
#include "tests/frontend/helpers.h"

namespace sinter::test::older_names_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Residual : nn::Module {
  nn::Dense inner{3, 3, Activation::tanh};
  nn::BatchNorm norm{3};
  Parameter gain = add("gain", Tensor(1.0f));
  Residual() : Module("residual") { add(inner), add(norm); }
  Tensor forward(const Tensor& x) override { return norm(x + inner(x)) * gain; }
};

/// Named as older versions named a module that is no part of another.
Residual older() {
  Residual model;
  model.set_name(model.kind());
  return model;
}

std::vector<std::vector<float>> values(const nn::Module& model) {
  std::vector<std::vector<float>> result;
  for (const Parameter& p : model.parameters()) result.push_back(p.read().to_vector<float>());
  return result;
}

const Dataset& data() {
  static const Dataset rows{random({24, 3}, 1), random({24, 3}, 2)};
  return rows;
}

TEST(OlderNames, AreThoseOfTheKindOfTheRoot) {
  std::vector<std::string> names;
  for (const Parameter& p : older().parameters()) names.push_back(p.name());
  EXPECT_THAT(names, ElementsAre("residual.gain", "residual.dense_1.weight", "residual.dense_1.bias", "residual.batch_norm_1.gamma",
                                 "residual.batch_norm_1.beta", "residual.batch_norm_1.running_mean", "residual.batch_norm_1.running_variance"));
  const Residual now;
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(now.parameters()[i].cell()->qualified_name, names[i]);
  const Parameter weight = now.parameter("dense_1.weight");
  const auto in = [](const Parameter& parameter, const std::vector<std::string>& file) {
    return parameter.name_in_file([&](const std::string& name) { return std::find(file.begin(), file.end(), name) != file.end(); });
  };
  EXPECT_EQ(in(weight, {"dense_1.weight", "residual.dense_1.weight"}), "dense_1.weight");
  EXPECT_EQ(in(weight, {"residual.dense_1.weight"}), "residual.dense_1.weight");
  EXPECT_EQ(in(weight, {"a"}), "dense_1.weight");
}

TEST(OlderNames, OfWeightsAreRead) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/weights.safetensors";
  seed(1);
  const Residual before = older();
  weights::save(before, path);
  seed(2);
  Residual now;
  EXPECT_EQ(weights::load(now, path).loaded[1], "dense_1.weight");
  EXPECT_EQ(values(now), values(before));
  weights::StateDict other;
  for (const Parameter& p : before.parameters()) other.emplace_back("other." + p.name().substr(9), p);
  EXPECT_THAT(error_of([&] { weights::load_state_dict(now, other); }), HasSubstr("[load] 'other.gain' belongs to no parameter"))
      << "only its own kind";
  weights::StateDict both = weights::state_dict(before);
  both.emplace_back("gain", Tensor(3.0f));
  EXPECT_THAT(error_of([&] { weights::load_state_dict(now, both); }), HasSubstr("[load] 'residual.gain' belongs to no parameter"));
}

/// A loop of one's own with an optimizer, whose slots are named after parameters.
struct Loop {
  Residual model;
  optim::Adam adam;
  Step<Tensor(Tensor, Tensor)> step;
  explicit Loop(bool is_older) : model(is_older ? older() : Residual()) {
    step = compile(
        [this](const Tensor& x, const Tensor& y) {
          const nn::TrainingScope training;
          const Tensor loss = loss::mean_squared_error(model(x), y);
          const auto parameters = model.trainable_parameters();
          adam.update(parameters, grad(loss, parameters));
          return loss;
        },
        {.mode = modes().back()});
  }
  double run() { return step(data().x[0], data().y[0]).item(); }
};

TEST(OlderNames, OfLoopsAreRead) {
  const TemporaryFolder folder;
  const std::string path = folder.path + "/loop.npz";
  seed(1);
  Loop before(true);
  for (int i = 0; i < 3; ++i) before.run();
  save_state(path, before.model, before.adam);
  std::vector<double> wanted;
  for (int i = 0; i < 3; ++i) wanted.push_back(before.run());
  for (const bool has_slots : {false, true}) {
    seed(2);
    Loop now(false);
    if (has_slots) now.run();
    load_state(path, now.model, now.adam);
    std::vector<double> got;
    for (int i = 0; i < 3; ++i) got.push_back(now.run());
    EXPECT_EQ(got, wanted);
    for (const Parameter& p : now.adam.state()) EXPECT_THAT(p.name(), testing::Not(HasSubstr("residual"))) << has_slots;
  }
}

TEST(OlderNames, OfCheckpointsAreRead) {
  const auto fit = [](Residual model, const std::string& folder, std::int64_t epochs, std::vector<std::string>& warnings) {
    Trainer trainer(model, loss::mean_squared_error, optim::Adam(),
                    {.mode = modes().back(), .log = [&](const std::string& line) { warnings.push_back(line); }});
    trainer.fit(data(), {.epochs = epochs, .batch_size = 8, .verbose = false, .checkpoint = {.folder = folder}});
    return values(model);
  };
  std::vector<std::string> warnings;
  const TemporaryFolder whole, parts;
  seed(1);
  const auto wanted = fit(Residual(), whole.path, 4, warnings);
  seed(1);
  fit(older(), parts.path, 2, warnings);
  EXPECT_THAT(warnings, IsEmpty());
  const std::string newest = newest_checkpoint(parts.path).value();
  runtime::Archive archive = runtime::load(newest);
  archive.metadata["version"] = "0.1.0";
  runtime::save(newest, archive);
  seed(3);
  EXPECT_EQ(fit(Residual(), parts.path, 4, warnings), wanted);
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("or another version of Sinter wrote the same differently; training continues")));
}

}  // namespace
}  // namespace sinter::test::older_names_test
