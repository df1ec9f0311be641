// Convolutions of several groups: element by element, or on lanes of channels where each has its own kernel, too long to be unrolled.
#include "codegen/kernels/convolution_grouped.h"

#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/combine.h"
#include "codegen/emit/image.h"
#include "codegen/kernels/convolution_plan.h"
#include "ir/long_sum.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

bool has_a_kernel_a_channel(const ir::Convolution& c) { return is_depthwise(c) && c.features == c.channels; }

Vec load_kernel(Emitter& e, ValueId value, const ir::Convolution& c, Value* place, Value* channel, Value* feature, unsigned width) {
  Value* row = e.builder().CreateAdd(e.builder().CreateMul(place, e.number(c.channels_a_group())), channel);
  return e.load(is_flat(e.stored(value).type.shape) ? e.address(value, e.number(0), row) : e.address(value, row, feature), DType::f32, width);
}

/// Adds products to a sum in memory where a condition holds.
void add_product(Emitter& e, llvm::AllocaInst* sum, const Vec& x, const Vec& y, Value* condition, unsigned width) {
  Builder& b = e.builder();
  llvm::Type* type = e.memory_type(DType::f32, width);
  Value* before = b.CreateLoad(type, sum);
  Value* after = b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x.value, y.value, before});
  b.CreateStore(b.CreateSelect(condition, after, before), sum);
}

}  // namespace

void collect_grouped(Emitter& e) {
  Builder& b = e.builder();
  const ir::Node& anchor = e.anchor();
  const ir::Convolution c = convolution_of(e.graph(), e.kernel().anchor);
  const ValueId image = e.value_of(anchor.inputs[0]), kernel = e.value_of(anchor.inputs[1]);
  const Shape& shape = e.kernel().shape;
  const auto& [h, w] = c.sliding;
  const bool transposed = std::holds_alternative<ir::Conv2DTranspose>(anchor.op), lanes_are_channels = has_a_kernel_a_channel(c) && !is_flat(shape);
  const std::int64_t own = transposed ? c.channels_a_group() : c.features_a_group(),
                     others = transposed ? c.features_a_group() : c.channels_a_group();
  e.for_each_site(shape, e.rows(), !lanes_are_channels, [&](const Site& site) {
    const Pixel at = pixel_of(e, shape, site);
    llvm::AllocaInst* sum = e.variable(e.memory_type(DType::f32, site.width), "sum", 64);
    b.CreateStore(llvm::Constant::getNullValue(e.memory_type(DType::f32, site.width)), sum);
    Value *group = b.CreateUDiv(at.channel, e.number(own)), *within = b.CreateURem(at.channel, e.number(own));
    e.loop(e.number(0), e.number(h.size), 1, [&](Value* kh) {
      const AxisPlace y = transposed ? window_over(e, h, at.h, kh) : index_in_window(e, h, at.h, kh);
      e.loop(e.number(0), e.number(w.size), 1, [&](Value* kw) {
        const AxisPlace x = transposed ? window_over(e, w, at.w, kw) : index_in_window(e, w, at.w, kw);
        Value *inside = b.CreateAnd(y.inside, x.inside), *place = b.CreateAdd(b.CreateMul(kh, e.number(w.size)), kw);
        if (lanes_are_channels) {
          add_product(e, sum, load_pixel(e, image, {at.n, y.place, x.place, at.channel}, site.width),
                      load_kernel(e, kernel, c, place, e.number(0), at.channel, site.width), inside, site.width);
          return;
        }
        e.loop(e.number(0), e.number(others), 1, [&](Value* i) {
          Value *other = b.CreateAdd(b.CreateMul(group, e.number(others)), i), *channel = transposed ? within : i;
          add_product(e, sum, load_pixel(e, image, {at.n, y.place, x.place, other}, 1),
                      load_kernel(e, kernel, c, place, channel, transposed ? other : at.channel, 1), inside, 1);
        });
      });
    });
    e.store(Vec(b.CreateLoad(e.memory_type(DType::f32, site.width), sum), DType::f32), e.memory(Memory::collected), site);
  });
}

/// This chunk's part of the weight gradient, into its slot.
void sum_grouped_weight(Emitter& e) {
  Builder& b = e.builder();
  const ir::Node& anchor = e.anchor();
  const ir::Convolution c = convolution_of(e.graph(), e.kernel().anchor);
  const ValueId image = e.value_of(anchor.inputs[0]), gradient = e.value_of(anchor.inputs[1]);
  const auto& [h, w] = c.sliding;
  const Shape shape{h.size * w.size * c.channels_a_group(), c.features};
  const bool lanes_are_channels = has_a_kernel_a_channel(c) && !is_flat(shape);
  const Rows images = e.indices(1);
  e.for_each_site(shape, {e.number(0), e.number(shape[0].factor())}, !lanes_are_channels, [&](const Site& site) {
    Value *row = is_flat(shape) ? site.last : site.row, *feature = is_flat(shape) ? e.number(0) : site.last;
    Value *place = b.CreateUDiv(row, e.number(c.channels_a_group())), *within = b.CreateURem(row, e.number(c.channels_a_group()));
    Value *kh = b.CreateUDiv(place, e.number(w.size)), *kw = b.CreateURem(place, e.number(w.size));
    Value* channel = b.CreateAdd(b.CreateMul(b.CreateUDiv(feature, e.number(c.features_a_group())), e.number(c.channels_a_group())), within);
    const auto rows_of = [&](Value* n) { return b.CreateMul(n, e.number(h.out)); };
    // Rows of pixels of all images.
    const Vec total =
        combine_chains(e, Combine::sum, DType::f32, site.width, rows_of(images.first), rows_of(images.last),
                       std::max<std::int64_t>(1, ir::chain_products / w.out), [&](Value* first, Value* last) {
                         llvm::AllocaInst* sum = neutral_variable(e, Combine::sum, DType::f32, site.width, "sum");
                         e.loop(first, last, 1, [&](Value* line) {
                           Value *n = b.CreateUDiv(line, e.number(h.out)), *oh = b.CreateURem(line, e.number(h.out));
                           const AxisPlace y = index_in_window(e, h, oh, kh);
                           e.loop(e.number(0), e.number(w.out), 1, [&](Value* ow) {
                             const AxisPlace x = index_in_window(e, w, ow, kw);
                             add_product(e, sum, load_pixel(e, image, {n, y.place, x.place, lanes_are_channels ? feature : channel}, site.width),
                                         load_pixel(e, gradient, {n, oh, ow, feature}, site.width), b.CreateAnd(y.inside, x.inside), site.width);
                           });
                         });
                         return Vec(b.CreateLoad(sum->getAllocatedType(), sum), DType::f32);
                       });
    Value* slot = b.CreateMul(e.chunk(), e.number(shape[0].factor()));
    Site to = site;
    (is_flat(shape) ? to.last : to.row) = b.CreateAdd(slot, row);
    e.store(total, e.memory(Memory::slots), to);
  });
}

}  // namespace sinter::codegen
