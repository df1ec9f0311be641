// Loops over time with random steps.
#include <array>

#include "fuzz/program/motif_parts.h"
#include "fuzz/program/recipes.h"
#include "ir/copy.h"
#include "ir/scan.h"

namespace sinter::fuzz {

using ir::Value;

namespace {

/// A step under construction. Its values stay small from step to step: what becomes a carry is squashed.
class StepMaker {
 public:
  explicit StepMaker(Builder& b) : b_(b) {}

  Value make() {
    const auto fits = [](const Shape& s) { return s.rank() >= 2 && s.rank() <= 4 && s[0] == Dim::batch() && !s[1].is_batch(); };
    add_sequence(b_.floats(fits, {Dim::batch(), b_.length(), b_.number(1, 9)}));
    if (b_.choose.below(2)) add_sequence(b_.leaf({DType::boolean, {Dim::batch(), length_}}));
    else if (b_.choose.below(2)) add_sequence(b_.leaf({DType::f32, {Dim::batch(), length_, b_.number(1, 9)}}));
    is_masked_ = !masks_.empty() && b_.choose.below(2);
    for (std::size_t more = b_.choose.below(3) + b_.choose.below(2); more > 0; --more) add_carry();
    if (b_.choose.one_in(12)) add_large_product();
    for (std::size_t attempts = 3 + b_.choose.below(10); attempts > 0; --attempts) try {
        grow();
      } catch (const UserError&) {  // shapes that do not fit
      }
    ir::StepResults results;
    for (std::size_t i = 0; i < carries_.size(); ++i) results.next.push_back(kept_by_mask(next(i), carries_[i]).id);
    for (std::size_t more = b_.choose.below(3) + (carries_.empty() ? 1 : 0); more > 0; --more)
      if (const Value output = b_.choose.among(values_); output.shape()[0] == Dim::batch())
        results.stacked.push_back((b_.choose.one_in(3) ? kept_by_mask(output, step_.add(ir::Constant{0}, {})) : output).id);
    if (results.next.empty() && results.stacked.empty()) throw Unfit{};
    const ir::Graph step = ordered(results);
    const ir::ScanValues made = ir::add_scan(
        b_.graph, {step, operands(carry_leaves_), operands(sequence_leaves_), operands(other_leaves_), length_, b_.choose.one_in(2)}, results);
    b_.settle();
    ir::Values all(made.last);
    all.insert(all.end(), made.stacked.begin(), made.stacked.end());
    for (std::size_t i = 1; i < all.size(); ++i)
      if (b_.choose.below(3)) b_.keep(all[i]);  // else nothing reads it
    return all[0];
  }

 private:
  struct Leaf {
    Value outside, inside;
  };
  static ir::Values operands(const std::vector<Leaf>& leaves) {
    ir::Values values;
    for (const Leaf& leaf : leaves) values.push_back(leaf.outside);
    return values;
  }
  Value input(const Type& type) { return step_.add_input({str("s", step_.inputs().size()), type, ir::InputSpec::Kind::hidden}); }

  void add_sequence(Value sequence) {
    if (sequence_leaves_.empty()) length_ = sequence.shape()[1];
    const Value element = input({sequence.type().dtype, sequence.shape().erase(1, 2)});
    sequence_leaves_.push_back({sequence, element});
    (is_float(element.type().dtype) ? values_ : masks_).push_back(element);
  }
  void add_carry() {
    const Shape shape = b_.choose.one_in(4)   ? Shape{Dim::batch()}
                        : b_.choose.one_in(4) ? Shape{Dim::batch(), 2, b_.number(1, 5)}
                                              : Shape{Dim::batch(), b_.number(1, 20)};
    const Value leaf = input({DType::f32, shape});
    carry_leaves_.push_back({b_.floats(shape), leaf});
    carries_.push_back(leaf);
    values_.push_back(leaf);
  }
  /// A carry of so many columns that threads share what it is multiplied by.
  void add_large_product() {
    const std::int64_t units = b_.number(513, 530);
    const bool transposed = b_.choose.one_in(3);
    b_.allow(units * units, 1e8);
    const Value leaf = input({DType::f32, {Dim::batch(), units}}), weight = other(b_.floats({units, units}));
    carry_leaves_.push_back({b_.floats({Dim::batch(), units}), leaf});
    carries_.push_back(leaf);
    const Value product = matmul(b_.choose.below(2) ? leaf : squashed(leaf), weight, false, transposed) * 0.0625;
    values_.insert(values_.end(), {leaf, b_.choose.below(2) ? squashed(product) : squashed(product + other(b_.floats(Shape{units})))});
  }
  Value other(Value outside) {
    const Value leaf = input(outside.type());
    other_leaves_.push_back({outside, leaf});
    return leaf;
  }

  Value any() { return b_.choose.among(values_); }
  Value squashed(Value x) { return step_.add(ir::Tanh{}, {x}); }
  /// What the carry number i becomes.
  Value next(std::size_t i) {
    const Value carry = carries_[i];
    for (std::size_t k = values_.size(); k-- > 0;)
      if (values_[k].shape() == carry.shape() && values_[k].id != carry.id && !b_.choose.one_in(3)) {
        if (b_.choose.one_in(6)) return squashed(values_[k]);
        return carry * 0.5 + squashed(values_[k]);
      }
    return b_.choose.one_in(4) ? carry : squashed(carry * 0.75);
  }

  void grow() {
    const Value x = any();
    const std::size_t last = x.shape().rank() - 1;
    const auto columns = [&] { return x.shape()[last].factor(); };
    const bool has_columns = last > 0 && x.shape()[last].is_fixed();
    switch (b_.choose.below(14)) {
      case 0:
        return add(x + any());
      case 1:
        return add(x * squashed(any()));
      case 2:
        return add(step_.add(ir::Sigmoid{}, {x}));
      case 3:
      case 11:
      case 12:
      case 13: {  // a product
        if (x.shape().rank() != 2 || !has_columns) return add(squashed(x));
        const bool is_wide = b_.choose.one_in(4);  // and packed
        if (is_wide) b_.allow(300'000, 3e7);
        const Value product = matmul(x, other(b_.floats(Shape{columns(), is_wide ? b_.number(264, 280) : b_.number(1, 24)})));
        if (b_.choose.below(2)) return add(squashed(product + other(b_.floats(Shape{product.shape()[1]}))));
        return add(squashed(product));
      }
      case 4: {
        if (!has_columns || columns() < 2) return add(-x);
        const std::int64_t size = b_.number(1, static_cast<std::size_t>(columns() - 1));
        return add(step_.add(ir::Slice{static_cast<std::int64_t>(last), b_.number(0, static_cast<std::size_t>(columns() - size)), size}, {x}));
      }
      case 5:
        return add(step_.add(ir::Concat{static_cast<std::int64_t>(last)}, {x, any()}));
      case 6:
        return add(squashed(has_columns ? sum(x, last, last + 1) : x));
      case 7:  // what is the same for all steps
        if (b_.choose.below(2)) return add(x * squashed(other(b_.floats(x.shape()))));
        return add(x + other(b_.leaf({DType::f32, Shape{}})));
      case 8: {
        const Value other = any(), condition = masks_.empty() || x.shape().rank() > 2 ? less(x, other) : reshaped_mask(x.shape());
        return add(select(condition, x, x.shape() == other.shape() ? other : squashed(x)));
      }
      case 9:
        if (has_columns && columns() % 2 == 0 && last < 3) return add(reshape(x, x.shape().with(last, columns() / 2).insert(last + 1, 2)));
        return add(has_columns ? step_.add(ir::Softmax{}, {x}) : square(squashed(x)));
      default:
        if (!has_columns) return add(squashed(x));
        return add(reshape(x, {Dim::batch(x.shape().product(0, last).factor()), x.shape()[last]}));
    }
  }
  Value reshaped_mask(const Shape& like) {
    const Value mask = b_.choose.among(masks_);
    return like.rank() == 2 ? reshape(mask, {Dim::batch(), 1}) : mask;
  }
  /// In steps of which the mask leaves out a sample, the other value; of a mask that all carries heed.
  Value kept_by_mask(Value x, Value other) {
    if (!is_masked_) return x;
    Shape shape{Dim::batch()};
    while (shape.rank() < x.shape().rank()) shape = shape.insert(shape.rank(), 1);
    return select(shape.rank() == 1 ? masks_[0] : reshape(masks_[0], shape), x, other);
  }
  void add(Value x) {
    if (x.shape().rank() > 4 || x.shape().elements().per_sample().factor() > 600) return;
    values_.push_back(x);
  }

  /// The step with its inputs in order: carries, sequences, others. The results are renumbered.
  ir::Graph ordered(ir::StepResults& results) {
    ir::Graph step("step");
    ir::Copy copy(step_, step);
    for (const auto* leaves : {&carry_leaves_, &sequence_leaves_, &other_leaves_})
      for (const Leaf& leaf : *leaves)
        copy.set(leaf.inside.id, step.add_input({str("s", step.inputs().size()), leaf.inside.type(), ir::InputSpec::Kind::hidden}));
    for (std::vector<ir::NodeId>* ids : {&results.next, &results.stacked}) {
      copy.add_all(*ids);
      for (ir::NodeId& id : *ids) id = copy[id].id;
    }
    return step;
  }

  Builder& b_;
  ir::Graph step_{"step"};
  Dim length_ = 1;
  std::vector<Leaf> carry_leaves_, sequence_leaves_, other_leaves_;
  ir::Values carries_, values_, masks_;
  bool is_masked_ = false;
};

}  // namespace

Value motif::loop_over_time(Builder& b) { return StepMaker(b).make(); }

Value make(Builder& b, const ir::Scan&) { return StepMaker(b).make(); }
Value make(Builder& b, const ir::ScanResult&) { return StepMaker(b).make(); }

}  // namespace sinter::fuzz
