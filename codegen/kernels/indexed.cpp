// Ops whose elements are those of operands at other places: reshape, transpose, slice, gather; and those that an index says: one-hot.
#include "codegen/emit/index.h"
#include "codegen/emit/walk.h"
#include "codegen/kernels/kinds.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// The elements of a node at a site of its own shape.
class Elements {
 public:
  Elements(Emitter& emitter, ir::NodeId id, const Site& site)
      : e_(emitter), b_(emitter.builder()), id_(id), node_(emitter.graph().node(id)), shape_(node_.type.shape), site_(site) {}

  template <class O>
  Vec operator()(const O& op) {
    if constexpr (ir::IsWindow<O>) return moved(op.window(operand_types()).fill);
    else return moved(0);
  }

  Vec operator()(const ir::OneHot& op) {
    Value* hot = checked_index(e_, id_, element_of(e_, node_.inputs[0], row()), e_.number(op.depth));
    return {b_.CreateUIToFP(lanes_at(hot), e_.memory_type(DType::f32, site_.width)), DType::f32};
  }

  Vec operator()(const ir::ExactTotal&) {
    const Vec total = own_element(0), apart = own_element(1) - convert(total, DType::f32);
    Value* fits = (only_valid(select(apart < Vec(0.0f), -apart, apart), site_.valid, 0) < Vec(0x1p31f)).value;  // false for NaN
    Value* wrong = b_.CreateNot(site_.width == 1 ? fits : b_.CreateAndReduce(fits));
    e_.when(wrong, [&] { e_.fault(id_); });
    return total;
  }

  Vec operator()(const ir::ScatterAddAlong& op) {
    Value* count = e_.extent(e_.type_of(node_.inputs[0]).shape.back());
    llvm::Type* type = e_.memory_type(DType::f32, site_.width);
    llvm::AllocaInst* total = e_.variable(type, "total");
    b_.CreateStore(llvm::Constant::getNullValue(type), total);
    e_.loop(e_.number(0), count, 1, [&](Value* j) {
      Value* from = b_.CreateAdd(b_.CreateMul(row(), count), j);
      Value* at = checked_index(e_, id_, element_of(e_, node_.inputs[0], from), e_.number(op.cols));
      const Vec x = splat(element_of(e_, node_.inputs[1], from), site_.width), sum(b_.CreateLoad(type, total), DType::f32);
      b_.CreateStore(b_.CreateSelect(lanes_at(at), (sum + x).value, sum.value), total);
    });
    return {b_.CreateLoad(type, total), DType::f32};
  }

  /// Whether all lanes of a vector are computed at once.
  bool has_vectors() const {
    const ir::Access access = ir::access_of(e_.graph(), id_);
    if (!access.axes.empty() && access.axes[shape_.rank() - 1].kind == ir::Axis::Kind::scattered) return !is_flat(shape_);
    for (std::size_t k = 0; k < node_.inputs.size(); ++k)
      if (!is_index(access, k) && lanes_of(access, k, shape_, e_.type_of(node_.inputs[k]).shape) == Lanes::scattered) return false;
    return true;
  }

 private:
  /// Of an op whose last axis is scattered: the row of the site among all rows, and which lanes of the site are its element `index`.
  Value* row() const { return is_flat(shape_) ? site_.last : symbolic_layout(shape_).rows == Dim(1) ? e_.number(0) : site_.row; }
  Value* lanes_at(Value* index) const {
    Value* first = is_flat(shape_) ? e_.number(0) : site_.last;
    return b_.CreateICmpEQ(lane_numbers(first, site_.width), site_.width == 1 ? index : b_.CreateVectorSplat(site_.width, index));
  }

  std::vector<Type> operand_types() const {
    std::vector<Type> types;
    for (const ir::NodeId input : node_.inputs) types.push_back(e_.type_of(input));
    return types;
  }

  /// The operand's element at the site: it has the shape of the result.
  Vec own_element(std::size_t operand) {
    const ir::NodeId from = node_.inputs[operand];
    return e_.recomputable(from) ? splat(e_.evaluate_scalar(from), site_.width) : e_.load_operand(e_.value_of(from), shape_, site_);
  }

  /// Whether another operand is read where this one says.
  static bool is_index(const ir::Access& access, std::size_t operand) {
    return std::any_of(access.operands.begin(), access.operands.end(), [&](const ir::Map& map) {
      return std::any_of(map.begin(), map.end(), [&](const ir::Index& index) { return index.through == operand; });
    });
  }

  /// The operands' elements; where there is none, `fill`.
  Vec moved(double fill) {
    const DType dtype = node_.type.dtype;
    const ir::Access access = ir::access_of(e_.graph(), id_);
    const Vec like(llvm::Constant::getNullValue(dtype == DType::boolean ? b_.getInt1Ty() : e_.memory_type(dtype, 1)), dtype);
    Vec result = splat(Vec(materialize(Vec(fill), like), dtype), site_.width);
    for (std::size_t k = 0; k < node_.inputs.size(); ++k) {
      const ir::NodeId from = node_.inputs[k];
      if (is_index(access, k)) continue;
      if (e_.recomputable(from)) result = splat(e_.evaluate_scalar(from), site_.width);
      else result = Walk(e_, access, shape_, site_, id_).load(k, e_.value_of(from), &result);
    }
    return result;
  }

  Emitter& e_;
  Builder& b_;
  const ir::NodeId id_;
  const ir::Node& node_;
  const Shape& shape_;
  const Site& site_;
};

}  // namespace

Vec IndexedKernel::element(Emitter& e, ir::NodeId anchor, const Site& site) const {
  const auto at = [&](const Site& here) {
    return std::visit([elements = Elements(e, anchor, here)]<class O>(const O& op) mutable { return elements(op); }, e.graph().node(anchor).op);
  };
  return Elements(e, anchor, site).has_vectors() ? at(site) : e.each_lane(site, e.type_of(anchor).dtype, at);
}

}  // namespace sinter::codegen
