#include "codegen/kernels/convolution_channels.h"

#include <llvm/IR/Intrinsics.h>

#include "codegen/emit/combine.h"
#include "codegen/emit/image.h"
#include "codegen/kernels/convolution_plan.h"
#include "codegen/kernels/result_sums.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

/// Adds products to a sum in memory where a condition holds.
void add_product(Emitter& e, llvm::AllocaInst* sum, const Vec& x, const Vec& y, Value* condition) {
  Builder& b = e.builder();
  llvm::Type* type = sum->getAllocatedType();
  Value* before = b.CreateLoad(type, sum);
  Value* after = b.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {x.value, y.value, before});
  b.CreateStore(b.CreateSelect(condition, after, before), sum);
}

}  // namespace

void collect_channels(Emitter& e) {
  Builder& b = e.builder();
  const ir::Node& anchor = e.anchor();
  const ValueId image = e.value_of(anchor.inputs[0]), kernel = e.value_of(anchor.inputs[1]);
  const auto& [h, w] = convolution_of(e.graph(), e.kernel().anchor).sliding;
  const bool transposed = std::holds_alternative<ir::Conv2DTranspose>(anchor.op);
  e.for_each_site(e.kernel().shape, e.rows(), false, [&](const Site& site) {
    const Pixel at = pixel_of(e, e.kernel().shape, site);
    llvm::AllocaInst* sum = neutral_variable(e, Combine::sum, DType::f32, site.width, "sum");
    e.loop(e.number(0), e.number(h.size), 1, [&](Value* kh) {
      const AxisPlace y = transposed ? window_over(e, h, at.h, kh) : index_in_window(e, h, at.h, kh);
      e.loop(e.number(0), e.number(w.size), 1, [&](Value* kw) {
        const AxisPlace x = transposed ? window_over(e, w, at.w, kw) : index_in_window(e, w, at.w, kw);
        Value* place = b.CreateAdd(b.CreateMul(kh, e.number(w.size)), kw);
        add_product(e, sum, load_pixel(e, image, {at.n, y.place, x.place, at.channel}, site.width),
                    e.load(e.address(kernel, place, at.channel), DType::f32, site.width), b.CreateAnd(y.inside, x.inside));
      });
    });
    e.store(Vec(b.CreateLoad(sum->getAllocatedType(), sum), DType::f32), e.memory(Memory::collected), site);
  });
}

void sum_channels_weight(Emitter& e) {
  Builder& b = e.builder();
  const ir::Node& anchor = e.anchor();
  const ir::Convolution c = convolution_of(e.graph(), e.kernel().anchor);
  const ValueId image = e.value_of(anchor.inputs[0]), gradient = e.value_of(anchor.inputs[1]);
  const auto& [h, w] = c.sliding;
  const Shape shape{h.size * w.size, c.features};
  e.for_each_site(shape, {e.number(0), e.number(shape[0].factor())}, false, [&](const Site& site) {
    Value *kh = b.CreateUDiv(site.row, e.number(w.size)), *kw = b.CreateURem(site.row, e.number(w.size)), *channel = site.last;
    const auto total = sum_over_results(e, c.sliding, {.width = site.width}, [&](auto sums, Value* n, Value* oh, const Range& part) {
      const AxisPlace y = index_in_window(e, h, oh, kh);
      e.loop(part.first, part.last, 1, [&](Value* ow) {
        const AxisPlace x = index_in_window(e, w, ow, kw);
        add_product(e, sums[0], load_pixel(e, image, {n, y.place, x.place, channel}, site.width),
                    load_pixel(e, gradient, {n, oh, ow, channel}, site.width), b.CreateAnd(y.inside, x.inside));
      });
    });
    Site to = site;
    to.row = b.CreateAdd(b.CreateMul(e.chunk(), e.number(shape[0].factor())), site.row);
    e.store(total[0], e.memory(Memory::slots), to);
  });
}

}  // namespace sinter::codegen
