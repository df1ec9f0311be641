// Model files that are whole by their checksums, but lack or contradict what a trainer or a step needs: each fault has a message of its own.
#include <algorithm>
#include <functional>

#include "runtime/file/container.h"
#include "tests/frontend/mistakes.h"

namespace sinter::test {
namespace {

using runtime::Archive;
using testing::HasSubstr;

class DamagedModel : public testing::Test {
 protected:
  DamagedModel() {
    seed(1);
    nn::Sequential model{nn::Dense(2, 3), nn::Dropout(0.5)};
    Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD(), {.mode = Mode::eager});
    trainer.train_on_batch(cast(random({4, 2}, 1, 0, 9), DType::u8), random_labels(4, 3, 2));
    trainer.save(whole_);
  }

  /// What loading says of the trainer's file with a change, its checksums right.
  std::string error_with(const std::function<void(Archive&)>& change) const {
    Archive archive = runtime::load(whole_);
    change(archive);
    runtime::save(changed_, archive);
    return error_of([&] { Trainer::load(changed_); });
  }
  static runtime::NamedArray& array(Archive& archive, const std::string& name) {
    return *std::find_if(archive.arrays.begin(), archive.arrays.end(), [&](const auto& a) { return a.name == name; });
  }
  static auto graph(Archive& archive, const std::string& name) {
    return std::find_if(archive.graphs.begin(), archive.graphs.end(), [&](const auto& g) { return g.name == name; });
  }

  const TemporaryFolder folder_;
  const std::string whole_ = folder_ / "whole.sinter", changed_ = folder_ / "changed.sinter";
};

TEST_F(DamagedModel, EachFaultHasItsMessage) {
  EXPECT_EQ(error_with([](Archive&) {}), "");
  const std::vector<std::pair<std::string, std::function<void(Archive&)>>> faults{
      {"the entry 'epoch' is missing; the file is damaged", [](Archive& a) { a.metadata.erase("epoch"); }},
      {"the entry 'epoch' must be a number of at least 0, got '-1'; the file is damaged", [](Archive& a) { a.metadata["epoch"] = "-1"; }},
      {"the entry 'scale' must be a number of at least 0, got 'x'; the file is damaged", [](Archive& a) { a.metadata["scale"] = "x"; }},
      {"holds a stew, not a trainer; load it with load_step", [](Archive& a) { a.metadata["kind"] = "stew"; }},
      {"the learning rate 'none' is missing; the file is damaged", [](Archive& a) { a.metadata["learning_rate"] = "none"; }},
      {"the model has no inputs or no outputs; the file is damaged", [](Archive& a) { a.metadata["inputs"] = "0"; }},
      {"the graph 'train' must have 4 inputs, got 3; the file is damaged", [](Archive& a) { a.metadata["inputs"] = "2"; }},
      {"the graph 'evaluate' is missing; the file is damaged", [](Archive& a) { a.graphs.erase(graph(a, "evaluate")); }},
      {"the graph 'predict_floats' is missing; the file is damaged", [](Archive& a) { a.graphs.erase(graph(a, "predict_floats")); }},
      {"the graph 'evaluate' must have 2 outputs; the file is damaged", [](Archive& a) { graph(a, "evaluate")->graph.set_outputs({}); }},
      {"array 'dense_1.bias' is missing; the file is damaged",
       [](Archive& a) { a.arrays.erase(a.arrays.begin() + (&array(a, "dense_1.bias") - a.arrays.data())); }},
      {"array 'dense_1.bias' is f32[1,3] but its graph needs f32[3]; the file is damaged",
       [](Archive& a) { array(a, "dense_1.bias").shape = {1, 3}; }},
      {"state 'dense_1.bias' is f32[3] in one graph and f32[2] in another; the file is damaged",
       [](Archive& a) {
         ir::Graph other("zz");
         other.add_state({"dense_1.bias", {DType::f32, {2}}, true});
         a.graphs.push_back({"zz", other});
       }},
      {"input 'late' of graph 'zz' follows a captured one; the file is damaged", [](Archive& a) {
         ir::Graph other("zz");
         other.add_input({"captured_0", {DType::f32, {3}}, ir::InputSpec::Kind::hidden});
         other.add_input({"late", {DType::f32, {3}}, ir::InputSpec::Kind::fixed});
         runtime::NamedArray captured = array(a, "dense_1.bias");
         captured.name = "zz/captured/0";
         a.graphs.push_back({"zz", other});
         a.arrays.push_back(captured);
       }}};
  for (const auto& [wanted, change] : faults) EXPECT_THAT(error_with(change), HasSubstr("changed.sinter] " + wanted));
}

}  // namespace
}  // namespace sinter::test
