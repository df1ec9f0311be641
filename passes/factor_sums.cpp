// The gradient of a normalization sums four products over the same axes: of the incoming gradient g and what is apart from the mean, scaled by this
// or that factor which those axes do not have. They are two sums, Σ g and Σ g·(x − mean(x)), times those factors; and Σ (x − mean(x)) is 0. So one
// walk over the values is enough, where the second sum of a sum would wait for the first.
//
// Constant factors of a single sum are taken out of it, too, if nothing but such sums reads what they scale: they scale one result instead of all
// values.
//
// The results differ by rounding, and where a factor is not finite or is what keeps a sum from overflowing.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "ir/kernel.h"
#include "passes/passes.h"

namespace sinter::passes {

namespace {

using ir::NodeId;
using ir::Value;

/// The most terms, and the most factors of a term, of a sum that is looked at.
constexpr std::size_t most_parts = 16;

/// ± the product of these.
struct Product {
  bool negative = false;
  std::vector<NodeId> fixed, divisors;  ///< the same at all places along the axes of the sum
  std::vector<NodeId> varying;          ///< sorted
  std::vector<NodeId> steps;            ///< the products, quotients and negations that it is made of
  bool has_factors() const { return negative || !fixed.empty() || !divisors.empty(); }
};

/// A sum, as the sum of terms that are products.
class SumOfProducts {
 public:
  SumOfProducts(ir::Graph& graph, NodeId sum)
      : graph_(graph), sum_(sum), axes_(*graph.op_as<ir::Sum>(sum)), shape_(graph.node(operand()).type.shape) {}

  /// The sum without terms that are a multiple of what is apart from its mean along these axes: that of the others, or the same if there are none.
  NodeId without_zeros() const {
    struct Term {
      NodeId id;
      bool negative;
    };
    std::vector<Term> stack{{operand(), false}}, terms;
    while (!stack.empty()) {
      const Term term = stack.back();
      stack.pop_back();
      const ir::Node& node = graph_.node(term.id);
      const bool is_difference = std::holds_alternative<ir::Sub>(node.op);
      if (std::holds_alternative<ir::Neg>(node.op)) stack.push_back({node.inputs[0], !term.negative});
      else if (is_difference && is_apart_from_mean(term.id)) terms.push_back(term);
      else if ((is_difference || std::holds_alternative<ir::Add>(node.op)) && has_full_operands(node)) {
        stack.push_back({node.inputs[1], term.negative != is_difference});
        stack.push_back({node.inputs[0], term.negative});
      } else terms.push_back(term);
      if (stack.size() + terms.size() > most_parts) return sum_;
    }
    const std::size_t all = terms.size();
    std::erase_if(terms, [&](const Term& term) { return is_zero(term.id); });
    if (terms.size() == all || terms.empty()) return sum_;
    Value rest;
    for (const Term& term : terms) {
      const Value x = graph_.value(term.id);
      rest = !rest ? (term.negative ? -x : x) : term.negative ? rest - x : rest + x;
    }
    return graph_.add(axes_, {rest}).id;
  }

  /// What is summed, as a product; nothing if the factors do not have the shape of the result, or what varies not that of the operand.
  std::optional<Product> product() const {
    std::optional<Product> found = product_of(operand());
    if (!found || axes_.first != 0 || found->varying.empty()) return std::nullopt;
    const bool is_full = std::any_of(found->varying.begin(), found->varying.end(), [&](NodeId id) { return graph_.node(id).type.shape == shape_; });
    return is_full ? found : std::nullopt;
  }

 private:
  NodeId operand() const { return graph_.node(sum_).inputs[0]; }
  bool has_full_operands(const ir::Node& node) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](NodeId id) { return graph_.node(id).type.shape == shape_; });
  }
  /// Whether a value that broadcasts with the operand is the same at all places along the axes of the sum.
  bool is_fixed(NodeId id) const {
    const Shape& shape = graph_.node(id).type.shape;
    for (std::int64_t axis = axes_.first; axis < axes_.last; ++axis) {
      const std::int64_t own = axis - static_cast<std::int64_t>(shape_.rank() - shape.rank());
      if (own >= 0 && shape[static_cast<std::size_t>(own)] != Dim(1)) return false;
    }
    // Of leading axes, so that the factor also broadcasts with the result.
    return axes_.first != 0 || static_cast<std::int64_t>(shape.rank()) <= static_cast<std::int64_t>(shape_.rank()) - axes_.last;
  }

  std::optional<Product> product_of(NodeId id) const {
    Product product;
    std::vector<NodeId> stack{id};
    while (!stack.empty()) {
      const NodeId next = stack.back();
      stack.pop_back();
      const ir::Node& node = graph_.node(next);
      if (is_fixed(next)) {
        product.fixed.push_back(next);
        continue;
      }
      product.steps.push_back(next);
      if (std::holds_alternative<ir::Neg>(node.op)) product.negative = !product.negative, stack.push_back(node.inputs[0]);
      else if (std::holds_alternative<ir::Mul>(node.op)) stack.insert(stack.end(), node.inputs.begin(), node.inputs.end());
      else if (std::holds_alternative<ir::Div>(node.op) && is_fixed(node.inputs[1])) {
        product.divisors.push_back(node.inputs[1]);
        stack.push_back(node.inputs[0]);
      } else {
        product.steps.pop_back();
        product.varying.push_back(next);
      }
      if (stack.size() + product.fixed.size() + product.varying.size() > most_parts) return std::nullopt;
    }
    std::sort(product.varying.begin(), product.varying.end());
    return product;
  }

  bool is_zero(NodeId term) const {
    const std::optional<Product> product = product_of(term);
    return product && product->varying.size() == 1 && is_apart_from_mean(product->varying[0]);
  }
  /// x - mean(x), the mean along the axes of the sum.
  bool is_apart_from_mean(NodeId id) const {
    const ir::Node& node = graph_.node(id);
    if (!std::holds_alternative<ir::Sub>(node.op) || node.type.shape != shape_ || graph_.node(node.inputs[0]).type.shape != shape_) return false;
    const NodeId mean = kept_axes(node.inputs[1]);
    const ir::Node& quotient = graph_.node(mean);
    if (!std::holds_alternative<ir::Div>(quotient.op)) return false;
    const NodeId total = kept_axes(quotient.inputs[0]);
    const auto* sum = graph_.op_as<ir::Sum>(total);
    const bool is_of_these = sum && sum->first == axes_.first && sum->last == axes_.last && graph_.node(total).inputs[0] == node.inputs[0];
    // Without the reduced axes the mean of any but the leading ones would meet other axes.
    const bool meets_its_own = axes_.first == 0 || graph_.node(node.inputs[1]).type.shape.rank() == shape_.rank();
    return is_of_these && meets_its_own && is_count(quotient.inputs[1]);
  }
  /// The value itself where a reshape gives it axes of 1 in place of those that were reduced.
  NodeId kept_axes(NodeId id) const {
    if (!graph_.op_as<ir::Reshape>(id)) return id;
    const NodeId from = graph_.node(id).inputs[0];
    Shape kept = shape_;
    for (std::int64_t axis = axes_.first; axis < axes_.last; ++axis) kept = kept.with(static_cast<std::size_t>(axis), 1);
    return graph_.node(id).type.shape == kept && graph_.node(from).type.shape == ir::infer_reduce(shape_, axes_.first, axes_.last) ? from : id;
  }
  bool is_count(NodeId id) const {
    const Dim reduced = ir::reduce_extents(shape_, axes_.first, axes_.last).reduced;
    if (const auto* extent = graph_.op_as<ir::Extent>(id)) return extent->dim == reduced;
    const auto* constant = graph_.op_as<ir::Constant>(id);
    return constant && reduced.is_fixed() && constant->value == static_cast<double>(reduced.factor());
  }

  ir::Graph& graph_;
  const NodeId sum_;
  const ir::Sum axes_;
  const Shape shape_;
};

std::vector<NodeId> sums_of(const ir::Graph& graph) {
  std::vector<NodeId> sums;
  for (const NodeId id : graph.topological_order())
    if (graph.op_as<ir::Sum>(id) && is_float(graph.node(id).type.dtype)) sums.push_back(id);
  return sums;
}

std::size_t leave_out_zeros(ir::Graph& graph) {
  std::size_t changed = 0;
  for (const NodeId id : sums_of(graph)) {
    const ir::OriginScope scope(graph, Origin(graph.node(id).origin));
    const NodeId shorter = SumOfProducts(graph, id).without_zeros();
    if (shorter == id) continue;
    graph.replace_all_uses(id, shorter);
    ++changed;
  }
  return changed;
}

struct Multiple {
  NodeId sum;
  Product product;
};

/// Whether a value follows from a few finite constants and extents alone.
bool is_constant(const ir::Graph& graph, NodeId id) {
  std::vector<NodeId> parts{id};
  for (std::size_t next = 0; next < parts.size(); ++next) {
    const ir::Node& node = graph.node(parts[next]);
    const auto* constant = std::get_if<ir::Constant>(&node.op);
    if (constant ? std::isfinite(constant->value) : std::holds_alternative<ir::Extent>(node.op)) continue;
    if (!ir::is_pointwise(node.op) || parts.size() > most_parts) return false;
    parts.insert(parts.end(), node.inputs.begin(), node.inputs.end());
  }
  return true;
}

/// The sums with constant factors of which nothing else reads the scaled values.
std::set<NodeId> with_factors_of_their_own(const ir::Graph& graph, const std::vector<Multiple>& multiples) {
  const auto are_constant = [&](const std::vector<NodeId>& factors) {
    return std::all_of(factors.begin(), factors.end(), [&](NodeId id) { return is_constant(graph, id); });
  };
  std::map<NodeId, const Product*> left;
  for (const auto& [sum, product] : multiples)
    if (product.has_factors() && are_constant(product.fixed) && are_constant(product.divisors)) left.emplace(sum, &product);
  for (bool changed = true; changed;) {
    std::set<NodeId> readers;
    for (const auto& [sum, product] : left) {
      readers.insert(sum);
      readers.insert(product->steps.begin(), product->steps.end());
    }
    const auto is_read_elsewhere = [&](NodeId step) {
      const std::vector<NodeId>& users = graph.node(step).users;
      return graph.is_output(step) || !std::all_of(users.begin(), users.end(), [&](NodeId user) { return readers.contains(user); });
    };
    changed =
        std::erase_if(left, [&](const auto& one) { return std::any_of(one.second->steps.begin(), one.second->steps.end(), is_read_elsewhere); }) > 0;
  }
  std::set<NodeId> sums;
  for (const auto& [sum, product] : left) sums.insert(sum);
  return sums;
}

struct Factored {
  std::size_t shared = 0, alone = 0;
};

/// Sums of the same values, but for factors → one sum, and its multiples; also of one sum, if its factors are its own.
Factored factor(ir::Graph& graph) {
  std::map<std::pair<std::int64_t, std::vector<NodeId>>, std::vector<Multiple>> alike;  // by the axes and what varies
  std::vector<Multiple> all;
  for (const NodeId id : sums_of(graph))
    if (std::optional<Product> product = SumOfProducts(graph, id).product()) all.push_back({id, std::move(*product)});
  const std::set<NodeId> own = with_factors_of_their_own(graph, all);
  for (Multiple& multiple : all) {
    auto& group = alike[{graph.op_as<ir::Sum>(multiple.sum)->last, multiple.product.varying}];
    group.push_back(std::move(multiple));
  }
  std::map<NodeId, NodeId> replaced;  // factors may be sums
  const auto value = [&](NodeId id) {
    const auto found = replaced.find(id);
    return graph.value(found == replaced.end() ? id : found->second);
  };
  Factored counts;
  for (const auto& [key, multiples] : alike) {
    if (multiples.size() < 2 && !own.contains(multiples[0].sum)) continue;
    const NodeId first = multiples[0].sum;
    const ir::OriginScope scope(graph, Origin(graph.node(first).origin));
    Value product;
    for (const NodeId id : key.second) product = product ? product * value(id) : value(id);
    const Value sum = graph.add(*graph.op_as<ir::Sum>(first), {product});
    for (const Multiple& multiple : multiples) {
      const ir::OriginScope own(graph, Origin(graph.node(multiple.sum).origin));
      Value result = sum;
      for (const NodeId id : multiple.product.fixed) result = result * value(id);
      for (const NodeId id : multiple.product.divisors) result = result / value(id);
      if (multiple.product.negative) result = -result;
      graph.replace_all_uses(multiple.sum, result.id);
      replaced[multiple.sum] = result.id;
    }
    if (multiples.size() > 1) counts.shared += multiples.size() - 1;
    else ++counts.alone;
  }
  return counts;
}

}  // namespace

bool factor_sums(ir::Graph& graph, PassContext& context) {
  const std::size_t shorter = leave_out_zeros(graph);
  const auto [shared, alone] = factor(graph);
  if (shorter) context.notes.push_back("left out of " + counted(shorter, "sum", "sums") + " what is apart from its mean, whose sum is 0");
  if (shared) context.notes.push_back("made " + counted(shared, "sum a multiple of another", "sums multiples of others"));
  if (alone) context.notes.push_back("took the factors of " + counted(alone, "sum out of it", "sums out of them"));
  return shorter + shared + alone > 0;
}

}  // namespace sinter::passes
