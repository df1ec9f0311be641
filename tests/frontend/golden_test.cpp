// tests/golden/trainer.sinter is a trained classifier that version 1 of the format wrote: it loads, predicts and trains on for ever.
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "frontend/compile/bounds.h"
#include "frontend/compile/step_impl.h"
#include "frontend/file/model_file.h"
#include "runtime/file/container.h"
#include "tests/frontend/helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::golden_test {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(SINTER_TEST_FIXTURES).parent_path() / "golden";
const std::string trainer_file = (folder / "trainer.sinter").string(), values_file = (folder / "trainer.npz").string();

/// Made once, by the version that wrote it; the file is what counts, not what this would make today.
void write_missing() {
  if (!std::getenv("SINTER_WRITE_GOLDEN") || fs::exists(trainer_file)) return;
  seed(7);
  nn::Sequential model{nn::Dense(6, 40, Activation::relu), nn::BatchNorm(40), nn::Dropout(0.25), nn::Dense(40, 3)};
  Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam({.learning_rate = 1e-2f}), {.mode = Mode::eager});
  trainer.fit({random({48, 6}, 1), random_labels(48, 3, 2)}, {.epochs = 3, .batch_size = 16, .verbose = false});
  trainer.set_metadata("classes", "iris setosa, iris versicolor, iris virginica");
  trainer.save(trainer_file);
  weights::StateDict values;
  for (const Parameter& p : trainer.parameters()) values.emplace_back(p.name(), p.read());
  const Tensor x = random({5, 6}, 3), y = random_labels(5, 3, 4);
  values.emplace_back("x", x);
  values.emplace_back("y", y);
  values.emplace_back("predicted", trainer.predict(x));
  values.emplace_back("next_loss", Tensor(static_cast<float>(trainer.train_on_batch(x, y))));
  weights::write(values_file, values);
}

std::map<std::string, Tensor> recorded() {
  write_missing();
  std::map<std::string, Tensor> values;
  for (const auto& [name, tensor] : weights::read(values_file)) values.emplace(name, tensor);
  return values;
}

TEST(GoldenTrainer, HoldsWhatItWasSavedWith) {
  const auto values = recorded();
  const Trainer trainer = Trainer::load(trainer_file);
  EXPECT_EQ(trainer.parameters().size(), values.size() - 4);
  for (const Parameter& p : trainer.parameters()) {
    ASSERT_TRUE(values.contains(p.name())) << p.name();
    EXPECT_EQ(exact(p.read()).value.data, exact(values.at(p.name())).value.data) << p.name();
  }
  EXPECT_EQ(trainer.metadata("classes"), "iris setosa, iris versicolor, iris virginica");
}

TEST(GoldenTrainer, PredictsWhatItDid) {
  const auto values = recorded();
  const Tensor& x = values.at("x");
  const ModelFile file = read_model_file(trainer_file);
  const Traced& predict = file.graphs.at("predict");
  const Tensor* const in[] = {&x};
  const std::vector<Tensor> leaves = leaf_values(predict, in);
  std::vector<Bounded> reference(predict.graph.size());
  for (const ir::NodeId id : predict.graph.topological_order()) {
    const ir::Node& node = predict.graph.node(id);
    std::vector<const Bounded*> operands;
    for (const ir::NodeId operand : node.inputs) operands.push_back(&reference[operand]);
    reference[id] = ir::is_leaf(node.op) ? exact(leaves[id]) : evaluate_bounded(node.op, node.type, operands, 5);
  }
  const Bounded& wanted = reference[predict.graph.outputs()[0]];
  double worst = 0;
  EXPECT_EQ(first_difference(exact(values.at("predicted")).value, wanted, worst), -1) << "the meaning of an op has changed";
  for (const Mode mode : modes()) {
    Trainer trainer = Trainer::load(trainer_file, {.mode = mode});
    EXPECT_EQ(first_difference(exact(trainer.predict(x)).value, wanted, worst), -1);
  }
}

TEST(GoldenTrainer, TrainsOn) {
  const auto values = recorded();
  const double loss = values.at("next_loss").item();
  for (const Mode mode : modes()) {
    Trainer trainer = Trainer::load(trainer_file, {.mode = mode});
    EXPECT_NEAR(trainer.train_on_batch(values.at("x"), values.at("y")), loss, 1e-5 * loss);
  }
}

TEST(GoldenTrainer, IsWrittenAsItWas) {
  recorded();
  const std::string bytes = read_bytes(trainer_file);
  EXPECT_EQ(runtime::to_bytes(runtime::load(trainer_file)), bytes) << "the writer writes something else than version 1 did: raise the version";
  const TemporaryFolder temporary;
  const std::string copy = temporary.path + "/copy.sinter", again = temporary.path + "/again.sinter";
  Trainer::load(trainer_file).save(copy);
  Trainer::load(copy).save(again);
  EXPECT_EQ(read_bytes(copy), bytes);
  EXPECT_EQ(read_bytes(again), read_bytes(copy));
}

}  // namespace
}  // namespace sinter::test::golden_test
