// Model files that are whole by their checksums, but lack or contradict what a trainer or a step needs: each fault has a message of its own.
#include <algorithm>
#include <functional>

#include "ir/graph.h"
#include "runtime/file/container.h"
#include "tests/frontend/mistakes.h"

namespace sinter::test::damaged_model_test {
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
      {"the graph 'train' has 3 inputs, too few for 9 x and 1 y; the file is damaged", [](Archive& a) { a.metadata["inputs"] = "9"; }},
      {"the entry 'sequence_inputs' names number 1 of 1; the file is damaged", [](Archive& a) { a.metadata["sequence_inputs"] = "0 1"; }},
      {"the entry 'masked_outputs' must be numbers, got '0 x'; the file is damaged", [](Archive& a) { a.metadata["masked_outputs"] = "0 x"; }},
      {"the graph 'train' must have 5 inputs, got 3; the file is damaged", [](Archive& a) { a.metadata["sequence_inputs"] = "0"; }},
      {"the graph 'evaluate' is missing; the file is damaged", [](Archive& a) { a.graphs.erase(graph(a, "evaluate")); }},
      {"the graph 'predict_floats' is missing; the file is damaged", [](Archive& a) { a.graphs.erase(graph(a, "predict_floats")); }},
      {"the graph 'evaluate' must have 3 outputs, got 0; the file is damaged", [](Archive& a) { graph(a, "evaluate")->graph.set_outputs({}); }},
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

/// A checkpoint of the middle of an epoch whose place or sums are not those of the run.
TEST(DamagedCheckpoint, ContradictsTheRun) {
  const TemporaryFolder folder;
  const Dataset data{random({8, 2}, 1), random_labels(8, 3, 2)};
  const auto fit = [&](std::vector<std::shared_ptr<Callback>> callbacks) {
    seed(1);
    nn::Sequential model{nn::Dense(2, 3)};
    Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::SGD(), {.mode = Mode::eager});
    trainer.fit(data,
                {.batch_size = 2, .verbose = false, .callbacks = std::move(callbacks), .checkpoint = {.folder = folder.path, .every_steps = 1}});
  };
  struct Dies : Callback {
    void on_batch_end(Trainer&, std::int64_t step, double) override {
      if (step == 2) throw UserError("test", "the run dies");
    }
  };
  EXPECT_THAT(error_of([&] { fit({std::make_shared<Dies>()}); }), HasSubstr("the run dies"));
  const std::string path = newest_checkpoint(folder.path).value();
  const Archive whole = runtime::load(path);
  const auto error_with = [&](const std::string& name, const std::vector<double>& numbers) {
    Archive archive = whole;
    for (runtime::NamedArray& array : archive.arrays)
      if (array.name.ends_with("/" + name)) {
        array.shape = {static_cast<std::int64_t>(numbers.size() * sizeof(double))};
        array.bytes = {reinterpret_cast<std::byte*>(const_cast<double*>(numbers.data())), numbers.size() * sizeof(double)};
      }
    runtime::save(path, archive);
    return error_of([&] { fit({}); });
  };
  EXPECT_THAT(error_with("run.now.row", {99}),
              HasSubstr("[fit] the checkpoint resumes after sample 99 of a piece of 8 samples; use the data of the run"));
  EXPECT_THAT(error_with("run.now.tally.losses", {1, 2}), HasSubstr("[fit] needs 1 sums of losses, the checkpoint has 2"));
  runtime::save(path, whole);
  EXPECT_EQ(error_of([&] { fit({}); }), "");
}

}  // namespace
}  // namespace sinter::test::damaged_model_test
