// Names are checked where they enter: whatever has one can be written to every kind of file and read again.
#include "tests/frontend/mistakes.h"

namespace sinter::test::name_test {
namespace {

using ::testing::HasSubstr;

struct Own : nn::Module {
  explicit Own(const std::string& name) : Module("own") { add(name, Tensor(1.0f)); }
  Tensor forward(const Tensor& x) override { return x; }
};
struct Kind : nn::Module {
  explicit Kind(const std::string& kind) : Module(kind) {}
  Tensor forward(const Tensor& x) override { return x; }
};
struct NamedMetric : Metric {
  explicit NamedMetric(const std::string& name) : Metric(name) {}
  void reset() override {}
  void update(const MetricBatch&) override {}
  double result() const override { return 0; }
};

const std::vector<std::string> bad_names() {
  return {"\xff",         std::string("a\0b", 3), "a\nb",     "\x7f",     "\xc0\x80",
          "\xed\xa0\x80", "\xf4\x90\x80\x80",     "\xe2\x82", "\xc2\x85", std::string(60001, 'x')};
}

TEST(Name, IsCheckedWhereverItEnters) {
  const TemporaryFolder folder;
  nn::Sequential model{nn::Dense(2, 3)};
  Trainer trainer(model, loss::mean_squared_error, optim::SGD());
  const Tensor one(1.0f);
  Parameter parameter("p", one);
  nn::Dense dense(2, 2);
  const std::vector<std::function<void(const std::string&)>> entries{
      [&](const std::string& name) { Parameter(name, one); },
      [&](const std::string& name) { parameter.set_name(name); },
      [&](const std::string& name) { Own{name}; },
      [&](const std::string& name) { Kind{name}; },
      [&](const std::string& name) { dense.set_name(name); },
      [&](const std::string& name) { NamedMetric{name}; },
      [&](const std::string& name) { SavedState().set(name, 1); },
      [&](const std::string& name) { SavedState().set(name, one); },
      [&](const std::string& name) { trainer.set_metadata(name, "x"); },
      [&](const std::string& name) { weights::write(folder / "a.npz", {{name, one}}); },
      [&](const std::string& name) { weights::write(folder / "a.safetensors", {{name, one}}); },
      [&](const std::string& name) { compile([](const Tensor& x) { return x; }, {.name = name}); },
  };
  for (const std::string& name : bad_names())
    for (std::size_t i = 0; i < entries.size(); ++i)
      EXPECT_THAT(error_of([&] { entries[i](name); }), HasSubstr("a name ")) << i << " " << name.substr(0, 9);
  EXPECT_THAT(error_of([&] { entries[0](std::string(60001, 'x')); }), HasSubstr("a name must have at most 60000 bytes, got 60001: 'xxx"));
  EXPECT_THAT(error_of([&] { entries[0](std::string("a\0b", 3)); }), HasSubstr("UTF-8 without control characters, got 'a\\x00b'; choose another"));
  for (std::size_t i = 0; i < entries.size(); ++i) EXPECT_EQ(error_of([&] { entries[i]("größe_日本"); }), "") << i;
}

TEST(Name, OfAParameterIsNoPath) {
  struct Nested : nn::Module {
    nn::Dense dense{2, 2};
    explicit Nested(const std::string& name) : Module("nested") {
      add(dense);
      add(name, Tensor(1.0f));
    }
    Tensor forward(const Tensor& x) override { return x; }
  };
  EXPECT_THAT(error_of([] { Nested("dense_1.weight"); }), HasSubstr("[nested] the name 'dense_1.weight' must not contain '.' or '/'"));
  EXPECT_THAT(error_of([] { Nested("a/b"); }), HasSubstr("must not contain '.' or '/'"));
  EXPECT_THAT(error_of([] { Kind("a.b"); }), HasSubstr("must not contain '.' or '/'"));
}

// ---- moved modules ----

TEST(NamedModule, StaysUsableWhenMovedFrom) {
  const Tensor x = random({3, 4}, 1);
  const auto check = [&](auto module, const Tensor& in) {
    const auto wanted = module(in).template to_vector<float>();
    auto moved = std::move(module);
    EXPECT_EQ(moved(in).template to_vector<float>(), wanted);
    EXPECT_EQ(module(in).template to_vector<float>(), wanted);
    auto assigned = moved;
    assigned = std::move(moved);
    EXPECT_EQ(moved(in).template to_vector<float>(), wanted);
  };
  check(nn::Dense(4, 2), x);
  check(nn::Sequential{nn::Dense(4, 2), nn::BatchNorm(2)}, x);
  check(nn::BatchNorm(4), x);
  check(nn::LayerNorm(4), x);
  check(nn::PReLU(4), x);
  check(nn::Lambda([](const Tensor& t) { return t * 2; }), x);
  check(nn::Conv2D(4, 2, {1}), random({2, 3, 3, 4}, 2));
  check(nn::MaxPool2D({2}), random({2, 4, 4, 4}, 2));
  check(nn::Reshape({2, 2}), x);
}

}  // namespace
}  // namespace sinter::test::name_test
