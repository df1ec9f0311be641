#include "codegen/kernels/image_copy.h"

#include <llvm/IR/Intrinsics.h>

namespace sinter::codegen {

using llvm::Value;

Value* ImageWords::least(Value* a, Value* b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); }
Value* ImageWords::most(Value* a, Value* b) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b); }

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

void ImageWords::for_each_group(std::int64_t groups, const std::function<void(Value*)>& body) {
  if (groups == 1) return body(number(0));
  e_.loop(number(0), number(groups), 1, body);
}

void ImageCopy::rows(Value* image, Value* first, Value* last, Value* to) {
  for_each_group(groups_, [&](Value* group) { rows_of_plane(image, first, last, mul(group, channels_), float_at(to, mul(group, plane_))); });
}

/// Rows are written in order, and each from its first padding element to its last, so that what a vector stores past its end is overwritten by what
/// follows.
void ImageCopy::rows_of_plane(Value* image, Value* first, Value* last, Value* channel, Value* to) {
  const std::int64_t row_floats = w_.copy * channels_;
  e_.loop(first, last, 1, [&](Value* place) {
    Value* row = float_at(to, mul(sub(place, first), row_floats));
    Value* padded = h_.gap ? add(place, mul(div(place, h_.run), h_.gap)) : place;
    Value* source = sub(padded, number(h_.first));
    Value* inside = b_.CreateICmpULT(source, number(h_.source));
    e_.when(inside, [&] {
      Value* pixel = mul(add(mul(image, h_.source), source), w_.source);
      if (w_.gap) columns_of_windows(pixel, channel, row);
      else columns(pixel, channel, row);
    });
    e_.when(b_.CreateNot(inside), [&] { zero_from(row, row_floats); });
  });
}

/// A row of the image, from number `pixel` on, and the padding before and after it.
void ImageCopy::columns(Value* pixel, Value* channel, Value* to) {
  const std::int64_t left = std::min(w_.first, w_.copy), right = w_.copy - left - w_.kept();
  zero_from(to, left * channels_);
  pixels(pixel, w_.kept(), channel, float_at(to, left * channels_));
  zero_from(float_at(to, (w_.copy - right) * channels_), right * channels_);
}

/// What windows that lie apart see of a row: the first and the last ones may be partly outside.
void ImageCopy::columns_of_windows(Value* pixel, Value* channel, Value* to) {
  const std::int64_t stride = w_.run + w_.gap, windows = w_.copy / w_.run;
  const auto window = [&](std::int64_t o) {
    const std::int64_t begin = o * stride - w_.first, left = std::clamp<std::int64_t>(-begin, 0, w_.run),
                       right = std::clamp<std::int64_t>(begin + w_.run - w_.source, 0, w_.run - left);
    Value* at = float_at(to, o * w_.run * channels_);
    zero_from(at, left * channels_);
    pixels(add(pixel, number(begin + left)), w_.run - left - right, channel, float_at(at, left * channels_));
    zero_from(float_at(at, (w_.run - right) * channels_), right * channels_);
  };
  const std::int64_t first = std::min(windows, divide_up(w_.first, stride)),
                     inside = w_.source + w_.first < w_.run ? 0 : (w_.source + w_.first - w_.run) / stride + 1,
                     last = std::clamp(inside, first, windows);
  for (std::int64_t o = 0; o < first; ++o) window(o);
  e_.loop(number(first), number(last), 1,
          [&](Value* o) { pixels(add(pixel, sub(mul(o, stride), number(w_.first))), w_.run, channel, float_at(to, mul(o, w_.run * channels_))); });
  for (std::int64_t o = last; o < windows; ++o) window(o);
}

/// `count` pixels of the source, from number `pixel` and channel `channel` on.
void ImageCopy::pixels(Value* pixel, std::int64_t count, Value* channel, Value* to) {
  const Shape& shape = type(source_).shape;
  const std::int64_t stride = e_.stored(source_).layout().stride.factor();
  if (groups_ == 1 && stride == channels_) {  // the row is adjacent
    Value* row = is_flat(shape) ? e_.address(source_, number(0), pixel) : e_.address(source_, pixel, number(0));
    const auto move = [&](Value* i, unsigned width) {
      b_.CreateAlignedStore(b_.CreateAlignedLoad(e_.memory_type(DType::f32, width), float_at(row, i), llvm::Align(4)), float_at(to, i),
                            llvm::Align(4));
    };
    const std::int64_t all = count * channels_, whole = all / lanes * lanes;
    e_.loop(number(0), number(whole), lanes, [&](Value* i) { move(i, lanes); });
    e_.loop(number(whole), number(all), 1, [&](Value* i) { move(i, 1); });
    return;
  }
  e_.loop(number(0), number(count), 1, [&](Value* w) {
    Value *from = e_.address(source_, add(pixel, w), channel), *target = float_at(to, mul(w, channels_));
    for (std::int64_t c = 0; c < channels_; c += lanes) {
      const auto width = static_cast<unsigned>(std::min<std::int64_t>(lanes, (groups_ == 1 ? stride : channels_) - c));
      Value* x = b_.CreateAlignedLoad(e_.memory_type(DType::f32, width), float_at(from, c), llvm::Align(4));
      b_.CreateAlignedStore(x, float_at(target, c), llvm::Align(4));
    }
  });
}

}  // namespace sinter::codegen
