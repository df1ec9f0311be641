#include "fuzz/program/builder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/cost.h"
#include "ir/reference.h"
#include "ir/scan.h"

namespace sinter::fuzz {

namespace {

std::uint64_t hash(std::span<const std::uint8_t> bytes) {  // FNV-1a
  std::uint64_t h = 0xcbf29ce484222325;
  for (const std::uint8_t byte : bytes) h = (h ^ byte) * 0x100000001b3;
  return h;
}

constexpr std::int64_t batches[]{3, 2, 5, 8, 16, 17, 33, 70}, large_batches[]{64, 100, 131, 257, 300, 129, 64, 90}, short_lengths[]{1, 2, 7},
    lengths[]{3, 1, 2, 5, 8, 16, 17, 33, 70, 130};

bool is_convolution(const ir::Op& op) {
  return std::visit([]<class O>(const O&) { return ir::IsConvolution<O>; }, op);
}

}  // namespace

Builder::Builder(std::span<const std::uint8_t> bytes) : choose(bytes), random_(hash(bytes), 1) {
  const bool large = choose.one_in(8);
  most_elements_ = large ? 40'000 : 10'000;
  const std::size_t kind = choose.below(10);
  specials = kind == 9;
  wild = kind == 8;
  vast = kind == 7 && choose.one_in(200);
  if (wild) least_ = 1e-37, largest_ = 1e38;
  if (vast) most_elements_ = 30'000'000, most_flops_ = 1e9;
  lengths_ = choose.one_in(4) && !vast;
  bindings_[0].sizes = {1, lengths_ ? choose.among(short_lengths) : 1};
  bindings_[1].sizes = {choose.among(large ? large_batches : batches), lengths_ ? choose.among(lengths) : 1};
  if (vast) bindings_[1].sizes.n = 2;
}

std::int64_t Builder::vast_extent() { return static_cast<std::int64_t>(std::pow(10.0, 5 + 2.0969 * random_.uniform())); }

// ---- nodes ----

Builder::Facts Builder::facts_of(const ir::Node& node) const {
  Facts facts;
  facts.exact = !is_float(node.type.dtype);
  for (const ir::NodeId input : node.inputs) {
    facts.exact = facts.exact && facts_[input].exact;
    facts.special = facts.special || facts_[input].special;
  }
  const auto columns = [&] {
    const Dim last = graph.node(node.inputs[0]).type.shape.back();
    return last.is_fixed() ? last.factor() : 0;
  };
  const auto passed = [&](std::size_t operands) {
    std::int64_t bound = 0;
    for (std::size_t i = 0; i < operands; ++i) {
      if (facts_[node.inputs[i]].bound == 0) return std::int64_t{0};
      bound = std::max(bound, facts_[node.inputs[i]].bound);
    }
    return bound;
  };
  std::visit(
      [&]<class O>(const O& op) {
        if constexpr (std::is_same_v<O, ir::Argmax> || std::is_same_v<O, ir::TopK>) facts.bound = columns();
        if constexpr (std::is_same_v<O, ir::MaxPoolPlace>) facts.bound = op.kernel.elements().factor();
        if constexpr (std::is_same_v<O, ir::Reshape> || std::is_same_v<O, ir::Broadcast> || std::is_same_v<O, ir::Transpose> ||
                      std::is_same_v<O, ir::Slice> || std::is_same_v<O, ir::TakeAlong> || std::is_same_v<O, ir::GatherRows>)
          facts.bound = passed(1);
        if constexpr (std::is_same_v<O, ir::Concat>) facts.bound = passed(node.inputs.size());
      },
      node.op);
  return facts;
}

Sizes Builder::largest_sizes() const {
  const Sizes &a = bindings_[0].sizes, &b = bindings_[1].sizes;
  return {std::max(a.n, b.n), std::max(a.t, b.t)};
}

bool Builder::is_tame(const ir::Array& array, bool special) const {
  if (!is_float(array.dtype)) return true;
  return std::all_of(array.data.begin(), array.data.end(),
                     [&](double x) { return std::isfinite(x) ? x == 0 || (std::abs(x) <= largest_ && std::abs(x) >= least_) : special; });
}

bool Builder::evaluate(ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const Sizes most = largest_sizes();
  if (node.type.shape.elements().extent(most) > most_elements_ || ir::flops(graph, id).at(most) > most_flops_) return false;
  const bool is_result = std::holds_alternative<ir::ScanResult>(node.op);
  for (std::size_t b = 0; b < bindings_.size(); ++b) {
    std::vector<const ir::Array*> in;
    for (const ir::NodeId input : node.inputs) {
      in.push_back(&values_[b][input]);
      if (is_result ? !scans_[b].contains(input) : in.back()->data.empty()) return false;
    }
    // What a convolution makes of infinities beside zeros, of pads and of transformed tiles, is left open.
    if (facts_[id].special && is_convolution(node.op)) return false;
    if (const auto* scan = std::get_if<ir::Scan>(&node.op)) {
      scans_[b][id] = ir::evaluate_scan(*scan, in, bindings_[b].sizes);
      continue;
    }
    ir::Array result =
        is_result ? scans_[b].at(node.inputs[0]).at(ir::result_index(graph, id)) : ir::evaluate(node.op, node.type, in, bindings_[b].sizes);
    if (!is_tame(result, facts_[id].special)) return false;
    values_[b][id] = std::move(result);
  }
  return true;
}

void Builder::settle() {
  bool fits = true;
  for (ir::NodeId id = static_cast<ir::NodeId>(facts_.size()); id < graph.size(); ++id) {
    facts_.push_back(facts_of(graph.node(id)));
    for (auto& values : values_) values.emplace_back();
    fits = evaluate(id) && fits;
  }
  if (!fits) throw Unfit{};
}

ir::Value Builder::add(ir::Op op, const ir::Values& inputs) {
  std::vector<ir::NodeId> ids;
  for (const ir::Value v : inputs) ids.push_back(v.id);
  const ir::Value result = graph.add(std::move(op), ids, {});
  settle();
  return result;
}

// ---- operands ----

ir::Value Builder::operand(DType dtype, const Fits& fits, const Shape& otherwise) {
  if (!choose.one_in(6)) {
    ir::Values found;
    for (const ir::Value v : kept_)
      if (v.type().dtype == dtype && fits(v.shape())) found.push_back(v);
    // Rather the newest: programs grow deep.
    if (!found.empty()) return found[found.size() - 1 - std::min(choose.below(found.size()), choose.below(found.size()))];
  }
  return leaf({dtype, otherwise});
}

ir::Value Builder::floats(const Shape& shape) {
  return floats([&](const Shape& s) { return s == shape; }, shape);
}

ir::Value Builder::beside(DType dtype, const Shape& shape) {
  const auto broadcasts = [&](const Shape& other) {
    try {
      (void)broadcast(shape, other);
      return true;
    } catch (const UserError&) {
      return false;
    }
  };
  Shape other = shape;
  switch (choose.below(4)) {
    case 1:  // a row
      other = shape.erase(0, choose.below(shape.rank() + 1));
      break;
    case 2:  // columns, and everything in between
      for (std::size_t i = 0; i < shape.rank(); ++i)
        if (choose.below(2)) other = other.with(i, 1);
      break;
    case 3:
      if (shape.rank() < 4) other = shape.insert(0, shape.has_batch() || choose.below(2) ? Dim(extent()) : Dim::batch());
      break;
  }
  return operand(dtype, broadcasts, other);
}

ir::Value Builder::index(const Shape& shape, std::int64_t bound) {
  if (!choose.one_in(4))
    for (std::size_t i = kept_.size(); i-- > 0;)
      if (is_index(kept_[i].type().dtype) && kept_[i].shape() == shape && facts_[kept_[i].id].bound > 0 && facts_[kept_[i].id].bound <= bound)
        return kept_[i];
  constexpr DType dtypes[] = {DType::i32, DType::u32, DType::u8};
  const DType dtype = bound > 256 ? DType::i32 : choose.among(dtypes);
  return leaf({dtype, shape}, 0, static_cast<double>(bound));
}

ir::Value Builder::word(const Shape& shape) {
  ir::Values found;
  for (const ir::Value v : kept_)
    if (v.type() == Type{DType::u32, shape} && facts_[v.id].exact) found.push_back(v);
  return found.empty() ? leaf({DType::u32, shape}) : choose.among(found);
}

ir::Array Builder::random_array(const Type& type, Sizes sizes, double low, double high, std::size_t style) {
  ir::Array array(type.dtype, type.shape.extents(sizes));
  const auto any_magnitude = [&](double least) {
    const double x = std::pow(10.0, -37 + 75 * random_.uniform());
    return static_cast<double>(static_cast<float>(least < 0 && random_.below(2) ? -x : x));
  };
  for (double& x : array.data) {
    x = low + (high - low) * random_.uniform();
    if (!is_float(type.dtype) || style == 1) x = std::floor(x);  // of floats: ties
    if (is_float(type.dtype) && style == 2 && random_.below(4) == 0) x = 0;
    if (is_float(type.dtype) && style == 5) x = any_magnitude(low);
    if (is_float(type.dtype) && style == 3 && random_.below(8) == 0) {
      constexpr double infinity = std::numeric_limits<double>::infinity(),
                       special[] = {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
      x = special[random_.below(3)];
    }
    x = ir::wrap(type.dtype, x);
  }
  if (is_float(type.dtype) && style == 4 && !array.data.empty())
    array.data[random_.below(static_cast<std::uint32_t>(array.data.size()))] = any_magnitude(low);
  return array;
}

ir::Value Builder::bind(ir::InputSpec::Kind kind, bool state, const Type& type, double low, double high, std::int64_t bound) {
  constexpr std::size_t wild_styles[] = {0, 1, 2, 4, 5};  // of random_array
  const std::size_t style = !is_float(type.dtype) ? 0 : wild ? choose.among(wild_styles) : choose.below(specials ? 4 : 3);
  const ir::Value v = state ? graph.add_state({str("s", graph.states().size()), type, is_float(type.dtype)})
                            : graph.add_input({str("x", graph.inputs().size()), type, kind});
  Type stored = type;  // a table has as many rows as it likes
  if (kind == ir::InputSpec::Kind::table) stored.shape = type.shape.with(0, bound);
  ir::Array first = random_array(stored, bindings_[0].sizes, low, high, style);
  for (std::size_t b = 0; b < bindings_.size(); ++b) {
    ir::Array array = b && !stored.shape.is_fixed() ? random_array(stored, bindings_[b].sizes, low, high, style) : first;
    (state ? bindings_[b].states : bindings_[b].inputs).push_back(array);
    values_[b].push_back(std::move(array));
  }
  facts_.push_back({true, is_index(type.dtype) && low == 0 ? static_cast<std::int64_t>(high) : 0, style == 3});
  if (kind == ir::InputSpec::Kind::table) facts_.back().bound = 0;
  return v;
}

ir::Value Builder::one_sample(ir::Value v) {
  // Of all samples, those of which are as large as the largest, or any.
  ir::Value x = v;
  if (x.type().dtype == DType::boolean || x.type().dtype == DType::u8) x = add(ir::Cast{{}, DType::i32}, {x});
  x = add(ir::Max{0, 1}, {x});
  return x.type().dtype == v.type().dtype ? x : add(ir::Cast{{}, v.type().dtype}, {x});
}

ir::Value Builder::leaf(const Type& type, double low, double high) {
  using Kind = ir::InputSpec::Kind;
  if (type.shape.elements().extent(largest_sizes()) > most_elements_) throw Unfit{};
  ir::Value v;
  if (!type.shape.is_fixed()) {
    // An input leads with N, and has a T behind it; wherever else they may stand, the elements are as many.
    const auto may_follow = [](Dim dim) { return dim.is_fixed() || dim == Dim::length(); };
    const bool batch = type.shape.has_batch(),
               leads = type.shape[0] == Dim::batch() && std::all_of(type.shape.begin() + 1, type.shape.end(), may_follow);
    Shape flat{Dim::batch()};
    if (type.shape.has_length()) flat = flat.insert(1, Dim::length());
    if (const std::int64_t rest = type.shape.elements().factor(); rest != 1) flat = flat.insert(flat.rank(), rest);
    v = bind(Kind::batch, false, {type.dtype, leads ? type.shape : flat}, low, high, 0);
    keep(v);
    if (!batch) v = one_sample(v);
    if (!leads) keep(v = add(ir::Reshape{type.shape}, {v}));
    return v;
  }
  switch (choose.below(4)) {
    case 0:
    case 1:
      v = bind(Kind::fixed, true, type, low, high, 0);
      break;
    case 2:
      v = bind(Kind::fixed, false, type, low, high, 0);
      break;
    default:
      v = bind(Kind::hidden, false, type, low, high, 0);
  }
  keep(v);
  return v;
}

ir::Value Builder::leaf(const Type& type) {
  switch (type.dtype) {
    case DType::f32:
      return choose.one_in(4) ? leaf(type, 0.1, 2) : leaf(type, -2, 2);
    case DType::i32:
      return leaf(type, -5, 6);
    case DType::u32:
      return choose.below(2) ? leaf(type, 0, 4294967296.0) : leaf(type, 0, 9);
    case DType::u8:
      return leaf(type, 0, 256);
    case DType::boolean:
      return leaf(type, 0, 2);
  }
  throw InternalError("fuzz", "unknown element type");
}

ir::Value Builder::constant(const ir::Array& array) {
  if (static_cast<std::int64_t>(array.data.size()) > most_elements_) throw Unfit{};
  const ir::Value v = graph.add_input({str("x", graph.inputs().size()), {array.dtype, Shape::fixed(array.extents)}, ir::InputSpec::Kind::hidden});
  for (std::size_t b = 0; b < bindings_.size(); ++b) {
    bindings_[b].inputs.push_back(array);
    values_[b].push_back(array);
  }
  const auto [least, greatest] = std::minmax_element(array.data.begin(), array.data.end());
  const bool counts = is_index(array.dtype) && !array.data.empty() && *least >= 0;
  facts_.push_back({true, counts ? static_cast<std::int64_t>(*greatest) + 1 : 0, false});
  return v;
}

ir::Value Builder::table(DType dtype, const Shape& row) {
  const double high = is_float(dtype) ? 2 : dtype == DType::boolean ? 2 : 100;
  return bind(ir::InputSpec::Kind::table, false, {dtype, row.insert(0, Dim::rows())}, is_float(dtype) ? -2 : 0, high, extent());
}

ir::Value Builder::parameter(const Type& type) {
  const bool real = is_float(type.dtype);
  const ir::Value v = bind(ir::InputSpec::Kind::fixed, true, type, real ? -2 : 0, real ? 2 : 3, 0);
  keep(v);
  return v;
}

// ---- numbers and shapes ----

namespace {
constexpr std::int64_t small[] = {3, 1, 2, 1, 4, 5, 7, 8, 9}, others[] = {12, 15, 16, 17, 20, 31, 33, 64};
}

std::int64_t Builder::extent() { return choose.one_in(4) ? choose.among(others) : choose.among(small); }

Dim Builder::batch() { return Dim::batch(choose.one_in(4) ? static_cast<std::int64_t>(2 + choose.below(3)) : 1); }

Dim Builder::length() {
  if (!lengths_) return extent();
  return Dim::length(choose.one_in(4) ? static_cast<std::int64_t>(2 + choose.below(3)) : 1);
}

Shape Builder::shape(std::size_t rank) {
  Shape result;
  for (std::size_t i = 0; i < rank; ++i) result = result.insert(i, rank < 3 ? extent() : choose.among(small));  // few elements
  if (rank == 0) return result;
  if (lengths_ && choose.below(2)) result = result.with(choose.below(rank), length());
  if (choose.one_in(3)) return result;
  const Dim n = batch();
  const std::size_t axis = choose.below(2) ? choose.below(rank) : 0;
  return result.with(axis, result[axis].is_length() ? result[axis] * n : n);
}

DType Builder::numbers() {
  constexpr DType all[] = {DType::f32, DType::f32, DType::i32, DType::u32};
  return choose.among(all);
}

DType Builder::dtype() {
  constexpr DType all[] = {DType::f32, DType::i32, DType::u32, DType::u8, DType::boolean};
  return choose.among(all);
}

}  // namespace sinter::fuzz
