#include "codegen/kernels/image_copy.h"

#include <llvm/IR/Intrinsics.h>

namespace sinter::codegen {

using llvm::Value;

Value* ImageWords::least(Value* a, Value* b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }

void ImageWords::zero_from(Value* to, std::int64_t count) {
  llvm::Type* vector = e_.memory_type(DType::f32, lanes);
  e_.loop(number(0), number(count), lanes,
          [&](Value* i) { b_.CreateAlignedStore(llvm::Constant::getNullValue(vector), float_at(to, i), llvm::Align(4)); });
}

void ImageWords::for_each_tile(const RowTiles& rows, const std::function<void(Value*, unsigned)>& body) {
  const std::int64_t large = rows.large * rows.size;
  e_.loop(number(0), number(large), rows.size, [&](Value* row) { body(row, rows.size); });
  if (rows.small) e_.loop(number(large), number(large + rows.small * (rows.size - 1)), rows.size - 1, [&](Value* row) { body(row, rows.size - 1); });
}

void ImageWords::for_each_panel(const std::vector<Panels>& panels, const std::function<void(const Panels&, Value*)>& body) {
  for (const Panels& p : panels)
    e_.loop(number(0), number(p.count * p.columns), p.columns, [&](Value* from) { body(p, add(from, number(p.column))); });
}

/// Rows are written in order, and each from its first padding element to its last, so that what a vector stores past its end is overwritten by what
/// follows.
void ImageCopy::rows(Value* image, Value* first, Value* last, Value* to) {
  const std::int64_t row_floats = w_.copy * channels_, left = std::min(w_.first, w_.copy), right = w_.copy - left - w_.kept();
  e_.loop(first, last, 1, [&](Value* place) {
    Value *row = float_at(to, mul(sub(place, first), row_floats)), *source = sub(place, number(h_.first));
    Value* inside = b_.CreateICmpULT(source, number(h_.source));
    e_.when(inside, [&] {
      zero_from(row, left * channels_);
      pixels(mul(add(mul(image, h_.source), source), w_.source), float_at(row, left * channels_));
      zero_from(float_at(row, (w_.copy - right) * channels_), right * channels_);
    });
    e_.when(b_.CreateNot(inside), [&] { zero_from(row, row_floats); });
  });
}

/// The pixels of the source, from number `pixel`, that are in a row of the copy.
void ImageCopy::pixels(Value* pixel, Value* to) {
  const Shape& shape = type(source_).shape;
  const std::int64_t columns = w_.kept(), stride = e_.stored(source_).layout().stride.factor();
  if (stride == channels_) {  // the row is adjacent
    Value* row = is_flat(shape) ? e_.address(source_, number(0), pixel) : e_.address(source_, pixel, number(0));
    const auto move = [&](Value* i, unsigned width) {
      b_.CreateAlignedStore(b_.CreateAlignedLoad(e_.memory_type(DType::f32, width), float_at(row, i), llvm::Align(4)), float_at(to, i),
                            llvm::Align(4));
    };
    const std::int64_t all = columns * channels_, whole = all / lanes * lanes;
    e_.loop(number(0), number(whole), lanes, [&](Value* i) { move(i, lanes); });
    e_.loop(number(whole), number(all), 1, [&](Value* i) { move(i, 1); });
    return;
  }
  e_.loop(number(0), number(columns), 1, [&](Value* w) {
    Value *from = e_.address(source_, add(pixel, w), number(0)), *target = float_at(to, mul(w, channels_));
    for (std::int64_t c = 0; c < channels_; c += lanes) {
      const auto width = static_cast<unsigned>(std::min<std::int64_t>(lanes, stride - c));
      Value* x = b_.CreateAlignedLoad(e_.memory_type(DType::f32, width), float_at(from, c), llvm::Align(4));
      b_.CreateAlignedStore(x, float_at(target, c), llvm::Align(4));
    }
  });
}

}  // namespace sinter::codegen
