// Convolutions of several groups: element by element, or on lanes of channels where each has its own kernel (depthwise). And helpers of all
// kernels on images [N, H, W, C].
#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/kernel_emitter.h"
#include "codegen/kernels/convolution_plan.h"

namespace sinter::codegen {

using llvm::Value;

namespace {
bool is_depthwise(const ir::Convolution& c) { return c.groups == c.channels && c.channels == c.features; }
}  // namespace

/// The index along an axis under element k of a window, or the window over an index; and whether it exists.
KernelEmitter::AxisPlace KernelEmitter::axis_place(const ir::SlidingAxis& axis, Value* o, Value* k) {
  Value* place = builder_.CreateSub(builder_.CreateAdd(builder_.CreateMul(o, constant(axis.stride)), builder_.CreateMul(k, constant(axis.dilation))),
                                    constant(axis.before));
  Value* inside = builder_.CreateICmpULT(place, constant(axis.in));
  return {builder_.CreateSelect(inside, place, constant(0)), inside};
}
KernelEmitter::AxisPlace KernelEmitter::axis_window(const ir::SlidingAxis& axis, Value* i, Value* k) {
  Value* start = builder_.CreateSub(builder_.CreateAdd(i, constant(axis.before)), builder_.CreateMul(k, constant(axis.dilation)));
  Value* o = builder_.CreateSDiv(start, constant(axis.stride));
  Value* inside = builder_.CreateAnd(builder_.CreateICmpSGE(start, constant(0)), builder_.CreateICmpSLT(o, constant(axis.out)));
  if (axis.stride > 1) inside = builder_.CreateAnd(inside, builder_.CreateICmpEQ(builder_.CreateSRem(start, constant(axis.stride)), constant(0)));
  return {builder_.CreateSelect(inside, o, constant(0)), inside};
}

/// Image, row and column of a pixel, and the channel, of a site of the tensors [N, H, W, C].
KernelEmitter::Pixel KernelEmitter::pixel_of(const Shape& shape, const Site& site) {
  Value *number = is_flat(shape) ? site.last : site.row, *channel = is_flat(shape) ? constant(0) : site.last;
  Value *width = constant(shape[2].factor()), *height = constant(shape[1].factor());
  Value *w = builder_.CreateURem(number, width), *rest = builder_.CreateUDiv(number, width);
  return {builder_.CreateUDiv(rest, height), builder_.CreateURem(rest, height), w, channel};
}

/// Elements of an image tensor, starting at a pixel's channel.
Vec KernelEmitter::load_pixel(ValueId value, Value* n, Value* h, Value* w, Value* channel, unsigned width) {
  const Type& type = context_.schedule.values[value].type;
  Value* row = builder_.CreateAdd(
      builder_.CreateMul(builder_.CreateAdd(builder_.CreateMul(n, constant(type.shape[1].factor())), h), constant(type.shape[2].factor())), w);
  return load(is_flat(type.shape) ? address(value, constant(0), row) : address(value, row, channel), type.dtype, width, false);
}

Vec KernelEmitter::load_kernel(ValueId value, const ir::Convolution& c, Value* place, Value* channel, Value* feature, unsigned width) {
  Value* row = builder_.CreateAdd(builder_.CreateMul(place, constant(c.channels_a_group())), channel);
  return load(is_flat(context_.schedule.values[value].type.shape) ? address(value, constant(0), row) : address(value, row, feature), DType::f32,
              width, false);
}

/// Adds products to a sum in memory where a condition holds.
void KernelEmitter::add_product(llvm::AllocaInst* sum, const Vec& a, const Vec& b, Value* condition, unsigned width) {
  llvm::Type* type = memory_type(DType::f32, width);
  Value* before = builder_.CreateLoad(type, sum);
  Value* after = builder_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {a.value, b.value, before});
  builder_.CreateStore(condition ? builder_.CreateSelect(condition, after, before) : after, sum);
}

void KernelEmitter::collect_grouped(bool transposed) {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const ir::Convolution c = convolution_of(context_.graph, kernel_.anchor);
  const ValueId image = value_of(anchor.inputs[0]), kernel = value_of(anchor.inputs[1]);
  const Shape& shape = kernel_.shape;
  const auto& [h, w] = c.sliding;
  const bool whole = kernel_.domain.units == Dim(1), lanes_are_channels = is_depthwise(c) && !is_flat(shape);
  const std::int64_t own = transposed ? c.channels_a_group() : c.features_a_group(),
                     others = transposed ? c.features_a_group() : c.channels_a_group();
  const Dim rows = symbolic_layout(shape).rows;
  for_each_site(shape, whole ? constant(0) : rows_begin(shape), whole ? extent(rows) : rows_end(shape), !lanes_are_channels, [&](const Site& site) {
    const Pixel at = pixel_of(shape, site);
    llvm::AllocaInst* sum = variable(memory_type(DType::f32, site.width), "sum", 64);
    builder_.CreateStore(llvm::Constant::getNullValue(memory_type(DType::f32, site.width)), sum);
    Value *group = builder_.CreateUDiv(at.channel, constant(own)), *within = builder_.CreateURem(at.channel, constant(own));
    loop(constant(0), constant(h.size), 1, [&](Value* kh) {
      const AxisPlace y = transposed ? axis_window(h, at.h, kh) : axis_place(h, at.h, kh);
      loop(constant(0), constant(w.size), 1, [&](Value* kw) {
        const AxisPlace x = transposed ? axis_window(w, at.w, kw) : axis_place(w, at.w, kw);
        Value *inside = builder_.CreateAnd(y.inside, x.inside), *place = builder_.CreateAdd(builder_.CreateMul(kh, constant(w.size)), kw);
        if (lanes_are_channels) {
          add_product(sum, load_pixel(image, at.n, y.place, x.place, at.channel, site.width),
                      load_kernel(kernel, c, place, constant(0), at.channel, site.width), inside, site.width);
          return;
        }
        loop(constant(0), constant(others), 1, [&](Value* i) {
          Value *other = builder_.CreateAdd(builder_.CreateMul(group, constant(others)), i), *channel = transposed ? within : i;
          add_product(sum, load_pixel(image, at.n, y.place, x.place, other, 1),
                      load_kernel(kernel, c, place, channel, transposed ? other : at.channel, 1), inside, 1);
        });
      });
    });
    store(Vec(builder_.CreateLoad(memory_type(DType::f32, site.width), sum), DType::f32), kernel_.product, site);
  });
}

/// This chunk's part of the weight gradient, into its slot.
void KernelEmitter::grouped_weight() {
  const ir::Node& anchor = context_.graph.node(kernel_.anchor);
  const ir::Convolution c = convolution_of(context_.graph, kernel_.anchor);
  const ValueId image = value_of(anchor.inputs[0]), gradient = value_of(anchor.inputs[1]);
  const auto& [h, w] = c.sliding;
  const Shape shape{h.size * w.size * c.channels_a_group(), c.features};
  const bool lanes_are_channels = is_depthwise(c) && !is_flat(shape);
  const auto image_at = [&](Value* sample) { return builder_.CreateMul(sample, constant(c.images.factor())); };
  Value *first = kernel_.domain.samples ? image_at(begin_) : constant(0), *last = kernel_.domain.samples ? image_at(end_) : extent(c.images);
  for_each_site(shape, constant(0), constant(shape[0].factor()), !lanes_are_channels, [&](const Site& site) {
    Value *row = is_flat(shape) ? site.last : site.row, *feature = is_flat(shape) ? constant(0) : site.last;
    Value *place = builder_.CreateUDiv(row, constant(c.channels_a_group())), *within = builder_.CreateURem(row, constant(c.channels_a_group()));
    Value *kh = builder_.CreateUDiv(place, constant(w.size)), *kw = builder_.CreateURem(place, constant(w.size));
    Value* channel =
        builder_.CreateAdd(builder_.CreateMul(builder_.CreateUDiv(feature, constant(c.features_a_group())), constant(c.channels_a_group())), within);
    llvm::AllocaInst* sum = variable(memory_type(DType::f32, site.width), "sum", 64);
    builder_.CreateStore(llvm::Constant::getNullValue(memory_type(DType::f32, site.width)), sum);
    loop(first, last, 1, [&](Value* n) {
      loop(constant(0), constant(h.out), 1, [&](Value* oh) {
        const AxisPlace y = axis_place(h, oh, kh);
        loop(constant(0), constant(w.out), 1, [&](Value* ow) {
          const AxisPlace x = axis_place(w, ow, kw);
          add_product(sum, load_pixel(image, n, y.place, x.place, lanes_are_channels ? feature : channel, site.width),
                      load_pixel(gradient, n, oh, ow, feature, site.width), builder_.CreateAnd(y.inside, x.inside), site.width);
        });
      });
    });
    Value* slot = builder_.CreateMul(chunk_, constant(shape[0].factor()));
    Site to = site;
    (is_flat(shape) ? to.last : to.row) = builder_.CreateAdd(slot, row);
    store(Vec(builder_.CreateLoad(memory_type(DType::f32, site.width), sum), DType::f32), kernel_.slots, to);
  });
}

}  // namespace sinter::codegen
