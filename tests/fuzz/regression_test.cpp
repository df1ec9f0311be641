// Graphs that fuzzing found to be wrong somewhere, each on all paths. Programs from bytes change with the list of ops; these stay.
#include <functional>

#include "fuzz/program/compare.h"
#include "ir/differentiate.h"
#include "tests/frontend/helpers.h"
#include "tests/ir/random_arrays.h"

namespace sinter::fuzz::regression_test {
namespace {

using ir::Graph;
using ir::Value;

const Dim n = Dim::batch();

Value input(Graph& graph, const Type& type) {
  return graph.add_input({str("x", graph.inputs().size()), type, type.shape.has_batch() ? InputKind::batch : InputKind::fixed});
}
Value floats(Graph& graph, const Shape& shape) { return input(graph, {DType::f32, shape}); }
Value state(Graph& graph, const Type& type) { return graph.add_state({str("s", graph.states().size()), type}); }

/// Rows that a table has in these tests.
constexpr std::int64_t table_rows = 7;

/// The graph on random numbers; integers are below `bound`.
void expect_agreement(const std::function<void(Graph&)>& build, double bound = 2) {
  const test::Environment no_cache("SINTER_CACHE", "off");
  Program program;
  build(program.graph);
  for (const std::int64_t batch : {1, 2, 17}) {
    test::Random random(5);
    Binding binding{batch, {}, {}};
    const auto value = [&](const Type& type) {
      const bool real = is_float(type.dtype);
      ir::Array array = test::random_array(random, type, batch, real ? -2 : 0, real ? 2 : bound);
      for (double& x : array.data) x = ir::wrap(type.dtype, x);
      return array;
    };
    for (const auto& spec : program.graph.inputs()) {
      const bool table = spec.kind == InputKind::table;
      binding.inputs.push_back(value({spec.type.dtype, table ? spec.type.shape.with(0, table_rows) : spec.type.shape}));
    }
    for (const auto& spec : program.graph.states()) binding.states.push_back(value(spec.type));
    program.bindings.push_back(std::move(binding));
  }
  try {
    (void)compare(program);
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
}

// ---- scalars that every kernel computes for itself, read by ops that read memory ----

TEST(Regression, ConstantThatIsReshaped) {
  expect_agreement([](Graph& g) { g.add_output(reshape(constant(g, 1.5), {1, 1})); });
}

TEST(Regression, ArithmeticOnAScalarStateThatIsReshaped) {
  expect_agreement([](Graph& g) { g.add_output(reshape(state(g, {}) * 2.0, {1}) + floats(g, {n, 4})); });
}

TEST(Regression, ScalarIndexThatIsComputed) {
  expect_agreement([](Graph& g) {
    const Value counter = state(g, {DType::i32, {}}), index = counter + constant(g, 1, DType::i32);
    g.add_output(g.add(ir::GatherRows{}, {floats(g, {4, 20}), index}));
    g.add_output(g.add(ir::OneHot{5}, {index}));
    g.add_output(g.add(ir::ScatterAddRows{4}, {index, floats(g, {n, 5})}));
    g.set_update(0, index.id);
  });
}

// ---- rows of tables that are no runs of vectors ----

TEST(Regression, ScatterIntoRowsOfSingleColumns) {
  expect_agreement([](Graph& g) { g.add_output(g.add(ir::ScatterAddRows{2}, {input(g, {DType::i32, {n}}), floats(g, {n, 6, 4, 1})})); });
}

TEST(Regression, ScatterIntoRowsOverTheBatch) {
  expect_agreement([](Graph& g) {
    const Value index = input(g, {DType::i32, {}});
    for (const Shape& shape : {Shape{n, 1}, Shape{n, 5}, Shape{n}, Shape{n, 3, 20}})
      g.add_output(g.add(ir::ScatterAddRows{3}, {index, floats(g, shape)}));
  });
}

TEST(Regression, GatherOfRowsOverTheBatch) {
  expect_agreement([](Graph& g) {
    const Value index = input(g, {DType::u8, {}});
    for (const Shape& shape : {Shape{3, n, 7}, Shape{2, n}, Shape{2, n, 1}, Shape{2, 4, n}}) {
      const std::int64_t samples = shape.elements().factor();
      g.add_output(g.add(ir::GatherRows{}, {reshape(floats(g, {n, samples}), shape), index}));
    }
  });
}

// ---- rows that products read where an index picks them ----

/// Products of what a gather of two leaves makes, and of its relu, for all ranks of table and index that make a matrix of it. Only the rows of a
/// matrix by a list of indices lie where the product can read them.
void expect_products_of_gathers(const std::function<Value(Graph&, const Type&)>& table, DType index) {
  expect_agreement(
      [&](Graph& g) {
        const Value w = floats(g, {5, 20}), transposed_w = floats(g, {20, 5});
        const auto products = [&](const Shape& row, const Shape& picked) {
          const Value x = g.add(ir::GatherRows{}, {table(g, {DType::f32, row.insert(0, table_rows)}), input(g, {index, picked})});
          g.add_output(matmul(x, w));
          g.add_output(matmul(g.add(ir::Relu{}, {x}), transposed_w, false, true));
          if (x.shape()[0].is_batch()) g.add_output(matmul(x, floats(g, {n, 3}), true, false));
        };
        products({5}, {n});
        products({}, {n, 5});
        products({}, {4, 5});
        products({4, 5}, {});
      },
      table_rows);
}

TEST(Regression, ProductsOfWhatIsPickedFromTables) {
  const auto table = [](Graph& g, const Type& type) {
    return g.add_input({str("x", g.inputs().size()), {type.dtype, type.shape.with(0, Dim::rows())}, InputKind::table});
  };
  for (const DType index : {DType::u8, DType::i32, DType::u32}) expect_products_of_gathers(table, index);
}

TEST(Regression, ProductsOfWhatIsPickedFromInputs) {
  for (const DType index : {DType::u8, DType::i32, DType::u32}) expect_products_of_gathers(input, index);
}

TEST(Regression, ProductsOfWhatIsPickedFromParameters) {
  for (const DType index : {DType::u8, DType::i32, DType::u32}) expect_products_of_gathers(state, index);
}

TEST(Regression, PickedRowsThatOthersReadBeforeProductsDo) {
  expect_agreement(
      [](Graph& g) {
        const Value w = floats(g, {5, 20});
        const auto rows = [&] { return g.add(ir::GatherRows{}, {floats(g, {table_rows, 5}), input(g, {DType::i32, {n}})}); };
        const Value x = rows(), y = g.add(ir::Relu{}, {x});
        g.add_output(x);
        g.add_output(matmul(y, w));
        const Value u = rows(), v = g.add(ir::Sigmoid{}, {u});
        g.add_output(sum(u, 1, 2));
        g.add_output(matmul(v * 2.0, w));
        g.add_output(matmul(v, floats(g, {n, 3}), true, false));
      },
      table_rows);
}

TEST(Regression, PickedRowsThatAProductWithoutTilesReads) {
  expect_agreement(
      [](Graph& g) {
        const auto rows = [&](Dim count) { return g.add(ir::GatherRows{}, {floats(g, {table_rows, 5}), input(g, {DType::i32, {count}})}); };
        g.add_output(matmul(rows(1), floats(g, {20, 1}), true, true));                    // a single column, transposed
        g.add_output(matmul(rows(n), reshape(floats(g, {n, 20}), {20, n}), true, true));  // the batch as columns
        g.add_output(matmul(rows(3), reshape(floats(g, {n, 5}), {5, n})));                // of the result too
        g.add_output(matmul(rows(n), floats(g, {5, 1})));
        g.add_output(matmul(g.add(ir::GatherRows{}, {floats(g, {table_rows, 1}), input(g, {DType::i32, {1}})}), floats(g, {1, 20})));
      },
      table_rows);
}

// ---- the judge: indices and comparisons that are as uncertain as what they come from ----

/// Numbers that are whole but for rounding, of which many are equal.
Value nearly_whole(Graph& g, const Shape& shape) { return g.add(ir::Log{}, {g.add(ir::Exp{}, {g.add(ir::Floor{}, {floats(g, shape)})})}); }

TEST(Regression, IndexOfOneOfSeveralNearlyEqual) {
  expect_agreement([](Graph& g) {
    const Value x = nearly_whole(g, {n, 5}), best = g.add(ir::Argmax{}, {x}), order = g.add(ir::TopK{3}, {x});
    g.add_output(best);
    g.add_output(g.add(ir::GatherRows{}, {floats(g, {5, 3}), best}));
    g.add_output(g.add(ir::OneHot{5}, {best}));
    g.add_output(g.add(ir::ScatterAddRows{5}, {best, floats(g, {n, 3})}));
    g.add_output(g.add(ir::TakeAlong{}, {floats(g, {n, 5}), order}));
    g.add_output(g.add(ir::ScatterAddAlong{5}, {order, floats(g, {n, 3})}));
  });
}

TEST(Regression, ArithmeticThatWrapsOnAnUncertainIndex) {
  expect_agreement([](Graph& g) {
    // Equal but for rounding, so the index is 0 or 1.
    const Value x = floats(g, {n, 8, 1}), best = g.add(ir::Argmax{}, {g.add(ir::Concat{2}, {x * 0.1 + x * 0.2, x * 0.3})});
    const auto cast = [&](Value v, DType type) { return g.add(ir::Cast{{}, type}, {v}); };
    const Value word = cast(best, DType::u32);
    g.add_output(best * constant(g, -0x1p31, DType::i32));
    g.add_output(-(best + constant(g, -0x1p31, DType::i32)));
    g.add_output(word - constant(g, 1, DType::u32));
    g.add_output(cast(best * constant(g, 128, DType::i32), DType::u8));
    g.add_output(g.add(ir::Philox{{}, 7}, {word, word}));
  });
}

TEST(Regression, PlaceOfOneOfSeveralNearlyEqual) {
  expect_agreement([](Graph& g) {
    const Value x = reshape(nearly_whole(g, {n, 32}), {n, 4, 4, 2}), places = g.add(ir::MaxPoolPlace{{3, 2}, {2, 2}, {1, 0, 0, 0}}, {x});
    g.add_output(g.add(ir::PoolTake{{3, 2}, {2, 2}, {1, 0, 0, 0}}, {floats(g, {n, 4, 4, 2}), places}));
    g.add_output(g.add(ir::PoolPut{{3, 2}, {2, 2}, {1, 0, 0, 0}, {4, 4}}, {places, floats(g, {n, 2, 2, 2})}));
  });
}

TEST(Regression, ComparisonOfNearlyEqualNumbers) {
  expect_agreement([](Graph& g) {
    const Value x = nearly_whole(g, {n, 5}), y = nearly_whole(g, {n, 5});
    for (const Value v : {less(x, y), less_equal(x, y), equal(x, y), g.add(ir::NotEqual{}, {x, y})}) g.add_output(select(v, x, floats(g, {n, 5})));
  });
}

TEST(Regression, ProductOfTwoFactorsThatAreNearlyZero) {
  expect_agreement([](Graph& g) {
    // 0 in double; in single what rounding leaves, and neither factor alone moves the product.
    const Value x = floats(g, {n, 32}), y = ((x + 1000.0) - 1000.0) - x;
    g.add_output(y * y);
  });
}

TEST(Regression, LogOfASoftmaxThatUnderflowsAndItsGradient) {
  expect_agreement([](Graph& g) {
    const Value x = state(g, {DType::f32, {6, 5}}), y = g.add(ir::Log{}, {g.add(ir::Softmax{}, {x * 2000.0})});
    const Value wrt[] = {x}, gradient = ir::differentiate(sum(y * floats(g, {6, 5}), 0, 2), wrt)[0];
    g.add_output(gradient);
    g.add_output(y);
    g.set_update(0, (x - gradient).id);
  });
}

TEST(Regression, ProductThatOverflowsOrUnderflowsOnTheWay) {
  expect_agreement([](Graph& g) {
    // Ones in double; in single what is multiplied first is infinite in one row and 0 in another.
    const Value x = floats(g, {n, 13}) * 40.0, both = g.add(ir::Concat{1}, {g.add(ir::Exp{}, {x}), g.add(ir::Exp{}, {-x})});
    g.add_output(g.add(ir::Prod{1, 2}, {both}));
  });
}

TEST(Regression, RootOfWhatMayBeJustBelowZero) {
  expect_agreement([](Graph& g) {
    // Rounding alone decides whether this is a number.
    const Value x = floats(g, {n, 37}), rest = 1.0 - sum(g.add(ir::Softmax{}, {x}), 1, 2);
    g.add_output(g.add(ir::Sqrt{}, {rest}));
  });
}

TEST(Regression, DifferenceOfWhatMayBeInfinite) {
  expect_agreement([](Graph& g) {
    // erf is -1 in single, not yet in double.
    const Value x = floats(g, {n, 32}), y = g.add(ir::Log1p{}, {g.add(ir::Erf{}, {x + x + x})});
    g.add_output(y - y);
  });
}

TEST(Regression, QuotientByWhatMayBeZero) {
  expect_agreement([](Graph& g) {
    // Of the greatest of a row: 0 in single, not yet in double.
    const Value y = g.add(ir::LogSoftmax{}, {floats(g, {n, 8}) * 20.0});
    g.add_output(y / y);
    g.add_output(g.add(ir::Pow{}, {y, constant(g, -1)}));
  });
}

TEST(Regression, ChoicesByWhatMayBeNaN) {
  expect_agreement([](Graph& g) {
    // -∞ / 0 · 0 in double; what the compiler makes of the logarithm of a softmax is finite.
    const Value p = g.add(ir::Softmax{}, {floats(g, {n, 9}) * 400.0}), q = g.add(ir::Log{}, {p}) / p, x = q * p,
                gradient = (q - broadcast(reshape(sum(x, 1, 2), {n, 1}), {n, 9})) * p;
    for (const Value v : {x, gradient}) {
      g.add_output(g.add(ir::LessEqual{}, {v, v}));
      g.add_output(g.add(ir::Equal{}, {v, v}));
      g.add_output(g.add(ir::Argmax{}, {v}));
      g.add_output(g.add(ir::TopK{3}, {v}));
    }
  });
}

// tanh is -1 in f32 where it is a little more: to its own power that is -1, and NaN.
TEST(Regression, PowerOfWhatMayBeAWholeNumber) {
  expect_agreement([](Graph& g) {
    const Value x = g.add(ir::Tanh{}, {floats(g, {n, 40}) * 40.0});
    g.add_output(g.add(ir::Pow{}, {x, x}));
  });
}

TEST(Regression, ProductOfElementsWhoseErrorsCancel) {
  expect_agreement([](Graph& g) {
    // Of x and -x: when both move up, their product does not.
    const Value y = sum(floats(g, {n, 64, 1}), 1, 2);
    g.add_output(g.add(ir::Prod{1, 2}, {g.add(ir::Concat{1}, {y, 0.001 - y})}));
  });
}

TEST(Regression, TruthOfWhatMayBeZero) {
  expect_agreement([](Graph& g) {
    // The logarithm of a probability that rounds to 1.
    const Value p = g.add(ir::Softmax{}, {floats(g, {n, 9}) * 40.0});
    g.add_output(cast(log(p), DType::boolean));
  });
}

TEST(Regression, SineOfWhatMayBeSeveralTurnsOff) {
  expect_agreement([](Graph& g) {
    const Value x = exp(floats(g, {n, 64}) * 8.0);
    g.add_output(sin(x));
    g.add_output(cos(x));
  });
}

// ---- whole numbers ----

TEST(Regression, SumOfARepeatedWholeNumber) {
  expect_agreement([](Graph& g) {
    for (const DType type : {DType::i32, DType::u32}) g.add_output(sum(broadcast(state(g, {type, {}}), {n, 3}), 0, 2));
  });
}

// ---- states whose new value is computed from other places of the old one ----

TEST(Regression, StateThatIsReadElsewhereWhileItIsWritten) {
  expect_agreement(
      [](Graph& g) {
        const auto step = [&](const Shape& shape, const std::function<Value(Value)>& next) {
          const std::size_t index = g.states().size();
          g.set_update(index, next(state(g, {DType::f32, shape})).id);
        };
        const Value places = input(g, {DType::u8, {5}});
        step({5}, [&](Value s) { return g.add(ir::ScatterAddAlong{5}, {places, s}); });
        step({5}, [&](Value s) { return g.add(ir::TakeAlong{}, {s, places}); });
        step({1, 300}, [&](Value s) { return matmul(s, floats(g, {300, 300})); });
        step({40, 40}, [&](Value s) { return matmul(s, floats(g, {40, 40})); });
        step({1, 9}, [&](Value s) { return g.add(ir::Softmax{}, {s}); });
        step({1, 9}, [&](Value s) { return g.add(ir::Cumsum{1}, {s}); });
      },
      5);
}

// ---- kernels ----

TEST(Regression, GroupedWeightGradientOfSeveralImagesASample) {
  expect_agreement([](Graph& g) {
    const Value x = reshape(floats(g, {n, 4 * 5 * 5 * 4}), {Dim::batch(4), 5, 5, 4});
    const Value y = reshape(floats(g, {n, 4 * 4 * 4 * 6}), {Dim::batch(4), 4, 4, 6});
    g.add_output(g.add(ir::Conv2DWeight{{1, 1}, {1, 1}, {0, 0, 0, 0}, 2, {2, 2}}, {x, y}));
    const Value z = reshape(floats(g, {n, 4 * 4 * 4 * 4}), {Dim::batch(4), 4, 4, 4});
    g.add_output(g.add(ir::Conv2DWeight{{1, 1}, {1, 1}, {0, 0, 0, 0}, 4, {2, 2}}, {x, z}));  // depthwise
  });
}

}  // namespace
}  // namespace sinter::fuzz::regression_test
