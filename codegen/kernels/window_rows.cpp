#include "codegen/kernels/window_rows.h"

namespace sinter::codegen {

using llvm::Value;

WindowRows::WindowRows(Emitter& emitter)
    : ConvolutionWords(emitter, plan_windows(emitter.graph(), emitter.kernel().anchor)),
      block_(plan_window_block(plan_)),
      list_(emitter.variable(llvm::ArrayType::get(b_.getPtrTy(), static_cast<std::uint64_t>(block_.images * block_.rows * plan_.w.windows)),
                             "windows", 64)) {
  source_ = e_.value_of(node_.inputs[0]);
}

void WindowRows::for_each_block(const std::function<void(Range)>& body) {
  const std::int64_t windows = plan_.h.windows * plan_.w.windows;
  if (block_.rows < plan_.h.windows)
    return for_each_image([&](Value* image) {
      ConvolutionWords::for_each_block(image, number(0), number(plan_.h.windows), block_.rows, [&](Value* begin, Value* end) {
        list_windows(begin, end, begin, copy_at(number(0)), number(0));
        Value* first = mul(image, windows);
        body({add(first, mul(begin, plan_.w.windows)), add(first, mul(end, plan_.w.windows))});
      });
    });
  const Rows images = e_.indices(1);
  e_.loop(images.first, images.last, block_.images, [&](Value* first) {
    Value* last = least(add(first, number(block_.images)), images.last);
    e_.loop(first, last, 1, [&](Value* image) {
      Value *place = sub(image, first), *copy = copy_at(mul(place, block_.image_elements));
      ImageCopy(e_, source_, plan_.h, plan_.w, plan_.channels).rows(image, number(0), number(plan_.h.copy), copy);
      list_windows(number(0), number(plan_.h.windows), number(0), copy, mul(place, windows));
    });
    body({mul(first, windows), mul(last, windows)});
  });
}

void WindowRows::list_windows(Value* begin, Value* end, Value* from, Value* copy, Value* at) {
  e_.loop(begin, end, 1, [&](Value* oh) {
    Value *line = float_at(copy, mul(sub(oh, from), plan_.h.step * plan_.copy_row())), *first = add(at, mul(sub(oh, begin), plan_.w.windows));
    e_.loop(number(0), number(plan_.w.windows), 1, [&](Value* ow) {
      b_.CreateStore(float_at(line, mul(ow, plan_.w.step * plan_.channels)), b_.CreateInBoundsGEP(b_.getPtrTy(), list_, {add(first, ow)}));
    });
  });
}

void WindowRows::begin_pass(Value* k) {
  Value *run = div(k, plan_.run()), *within = rem(k, plan_.run());
  Value *line = div(run, plan_.runs_a_row()), *part = rem(run, plan_.runs_a_row());
  offset_ = add(add(mul(line, plan_.h.dilation * plan_.copy_row()), mul(part, plan_.w.dilation * plan_.channels)), within);
}

Value* WindowRows::at(Value* row) { return float_at(b_.CreateLoad(b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getPtrTy(), list_, {row})), offset_); }

WindowTap::WindowTap(Emitter& emitter) : ConvolutionWords(emitter) {
  source_ = e_.value_of(node_.inputs[0]);
  const std::int64_t count = divide_up(plan_.channels + most_tile_rows, lanes) * lanes;
  zeros_ = e_.variable(llvm::ArrayType::get(b_.getFloatTy(), static_cast<std::uint64_t>(count)), "zeros", 64);
  zero_from(zeros_, count);
}

Value* WindowTap::at(Value* tap, Value* window) {
  const auto along = [&](const ConvolutionPlan::Axis& axis, Value* index, Value* step) {
    return sub(add(mul(index, axis.stride), mul(step, axis.dilation)), number(axis.first));
  };
  Value *line = div(window, plan_.w.windows), *image = div(line, plan_.h.windows);
  Value *h = along(plan_.h, rem(line, plan_.h.windows), div(tap, plan_.w.size)),
        *w = along(plan_.w, rem(window, plan_.w.windows), rem(tap, plan_.w.size));
  Value* exists = b_.CreateAnd(b_.CreateICmpULT(h, number(plan_.h.source)), b_.CreateICmpULT(w, number(plan_.w.source)));
  Value* pixel = add(mul(add(mul(image, plan_.h.source), h), plan_.w.source), w);
  return b_.CreateSelect(exists, e_.address(source_, b_.CreateSelect(exists, pixel, number(0)), number(0)), zeros_);
}

}  // namespace sinter::codegen
