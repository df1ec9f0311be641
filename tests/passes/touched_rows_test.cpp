// Which tables change only in the rows to which a gradient is added.
#include "tests/passes/helpers.h"

namespace sinter::passes::touched_rows_test {
namespace {

using ir::Value;

constexpr std::int64_t rows = 40;
const Dim n = Dim::batch();

/// A graph with a table w f32[40,3], its gradient g, which a batch's rows are added to, a second state s of that type and a rate.
struct Table {
  ir::Graph graph{"g"};
  Value w = state("w", {rows, 3}), s = state("s", {rows, 3}), rate = state("rate", {});
  Value index = graph.add_input({"index", {DType::i32, {n}}}), updates = graph.add_input({"updates", {DType::f32, {n, 3}}});
  Value g = graph.add(ir::ScatterAddRows{rows}, {index, updates}), zero = constant(0);

  Value state(const char* name, const Shape& shape) { return graph.add_state({name, {DType::f32, shape}, true}); }
  Value constant(double value) { return graph.add(ir::Constant{value}, {}); }
  Value sqrt(Value x) { return graph.add(ir::Sqrt{}, {x}); }
  Value is_not_0(Value x) { return graph.add(ir::NotEqual{}, {x, zero}); }
  /// Whether w, whose next value this is, changes in rows of the gradient alone.
  bool changes_in_rows(Value next) {
    graph.set_update(0, next.id);
    const auto options = test::reference_options();
    PassContext context{options, {}};
    const bool changed = touched_rows(graph, context);
    ir::verify(graph);
    const ir::NodeId by = graph.node(w.id).touched_by;
    EXPECT_TRUE(by == ir::no_node || by == g.id);
    EXPECT_EQ(changed, graph.node(w.id).touched_by != ir::no_node || graph.node(s.id).touched_by != ir::no_node);
    return by == g.id;
  }
};

TEST(TablesOfTouchedRows, WhatIsAddedIsZeroElsewhere) {
  using Make = std::function<Value(Table & t)>;
  const std::vector<std::pair<const char*, Make>> found{
      {"SGD", [](Table& t) { return t.w - t.rate * t.g; }},
      {"a sum", [](Table& t) { return t.g + t.w; }},
      {"a penalty of another table's", [](Table& t) { return t.w - t.rate * (t.g * t.s); }},
      {"a clipped one", [](Table& t) { return t.w - t.rate * t.graph.add(ir::Minimum{}, {t.g, t.graph.add(ir::Abs{}, {t.g})}); }},
      {"Adagrad", [](Table& t) { return t.w - t.rate * t.g / (t.sqrt(t.s + t.g * t.g) + t.constant(0.125)); }},
      {"chosen", [](Table& t) { return select(t.is_not_0(t.g), t.w * t.rate - t.g, t.w); }},
      {"chosen the other way", [](Table& t) { return select(t.graph.add(ir::Less{}, {t.g, t.g * 2.0}), t.w * t.rate, t.w); }},
      {"reshaped", [](Table& t) {
         const Value back = reshape(reshape(t.g, {rows, 3, 1}) * 2.0, {rows, 3});
         return t.w - t.rate * back;
       }}};
  for (const auto& [name, make] : found) {
    Table t;
    EXPECT_TRUE(t.changes_in_rows(make(t))) << name;
  }
}

TEST(TablesOfTouchedRows, WhatElseMovesRowsIsSeen) {
  using Make = std::function<Value(Table & t)>;
  const std::vector<std::pair<const char*, Make>> not_found{
      {"weight decay", [](Table& t) { return t.w - t.rate * (t.g + t.w * 0.25); }},
      {"momentum", [](Table& t) { return t.w - (t.s * t.rate - t.g); }},
      {"the other state", [](Table& t) { return t.s - t.rate * t.g; }},
      {"a constant more", [](Table& t) { return t.w - (t.g + t.constant(0.125)); }},
      {"a divisor that may be 0", [](Table& t) { return t.w - t.g / t.sqrt(t.s); }},
      {"a divisor that may be negative", [](Table& t) { return t.w - t.g / (t.s + t.constant(0.125)); }},
      {"its sum over the table", [](Table& t) { return t.w - t.graph.add(ir::Broadcast{{rows, 3}}, {sum(t.g, 0, 2)}); }},
      {"rows in another order",
       [](Table& t) {
         return t.w -
                t.graph.add(ir::Slice{0, 0, rows},
                            {t.graph.add(ir::Concat{0}, {t.graph.add(ir::Slice{0, 1, rows - 1}, {t.g}), t.graph.add(ir::Slice{0, 0, 1}, {t.g})})});
       }},
      {"chosen where it is 0", [](Table& t) { return select(t.graph.add(ir::Equal{}, {t.g, t.zero}), t.w * 2.0, t.w); }},
      {"chosen where it is not less", [](Table& t) { return select(t.graph.add(ir::LessEqual{}, {t.g, t.zero}), t.w * 2.0, t.w); }},
      {"the other branch moves", [](Table& t) { return select(t.is_not_0(t.g), t.w, t.w * 2.0); }},
      {"another gradient too",
       [](Table& t) { return t.w - t.rate * (t.g + t.graph.add(ir::ScatterAddRows{rows}, {t.index, t.updates * 2.0}) * t.constant(0.5)); }},
      {"rows of itself", [](Table& t) { return t.graph.add(ir::GatherRows{}, {t.w, t.graph.add(ir::Iota{{rows}}, {})}) - t.g; }}};
  for (const auto& [name, make] : not_found) {
    Table t;
    EXPECT_FALSE(t.changes_in_rows(make(t))) << name;
  }
}

/// One node may be the next value of several states, of which it keeps only one.
TEST(TablesOfTouchedRows, AreFoundForEachStateByItself) {
  Table t;
  const Value next = t.w - t.rate * t.g;
  t.graph.set_update(1, next.id);
  EXPECT_TRUE(t.changes_in_rows(next));
  EXPECT_EQ(t.graph.node(t.s.id).touched_by, ir::no_node);
}

TEST(TablesOfTouchedRows, ArePrinted) {
  Table t;
  EXPECT_TRUE(t.changes_in_rows(t.w - t.rate * t.g));
  EXPECT_THAT(test::text(t.graph), ::testing::HasSubstr("{rows of %"));
}

}  // namespace
}  // namespace sinter::passes::touched_rows_test
