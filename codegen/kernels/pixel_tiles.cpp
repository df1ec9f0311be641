#include "codegen/kernels/pixel_tiles.h"

#include <algorithm>

#include "codegen/emit/combine.h"
#include "codegen/emit/image.h"

namespace sinter::codegen {

using llvm::Value;

std::optional<std::int64_t> PixelRow::met(std::int64_t i, std::int64_t k) const {
  if (!adjoint_) return axis_.place(i, k);
  const std::int64_t from = i + axis_.before - k * axis_.dilation;
  if (from % axis_.stride) return std::nullopt;
  return from / axis_.stride;
}

std::int64_t PixelRow::pixels_of_window(std::int64_t o) const {
  std::int64_t count = 0;
  for (std::int64_t k = 0; k < taps(); ++k) count += axis_.covers(o, k);
  return count;
}

bool PixelRow::are_inside(std::int64_t first, std::int64_t last, bool whole) const {
  for (std::int64_t i = first; i < last; ++i)
    for (std::int64_t k = 0; k < taps(); ++k) {
      const auto place = met(i, k);
      if (place && !is_inside(*place)) return false;
      if (place && whole && pixels_of_window(*place) < taps()) return false;
    }
  return true;
}

bool unrolls_taps(const ir::SlidingAxis& axis, bool adjoint) {
  constexpr std::int64_t most_taps = 9, most_reach = 16, most_stride = 4;
  return axis.size <= most_taps && (axis.size - 1) * axis.dilation <= most_reach && (!adjoint || axis.stride <= most_stride);
}

std::int64_t most_sums(const VectorUnit& unit) { return unit.registers * unit.lanes >= 512 ? 12 : 4; }
std::int64_t most_pixels(const VectorUnit& unit) { return unit.registers * unit.lanes >= 512 ? 8 : 4; }

PixelTileWords::PixelTileWords(Emitter& emitter, const ir::Sliding& sliding, bool adjoint, std::int64_t most, ChannelRatio ratio, bool whole)
    : e_(emitter), b_(emitter.builder()), sliding_(sliding), adjoint_(adjoint), row_(sliding.w, adjoint), ratio_(ratio) {
  const std::int64_t all = row_.results();
  size_ = divide_up(even_part(all, most), row_.period()) * row_.period();
  count_ = divide_up(all, size_);
  const auto is_whole = [&](std::int64_t t) { return (t + 1) * size_ <= all && row_.are_inside(t * size_, (t + 1) * size_, whole); };
  while (loop_first_ < count_ && !is_whole(loop_first_)) ++loop_first_;
  loop_last_ = loop_first_;
  while (loop_last_ < count_ && is_whole(loop_last_)) ++loop_last_;
}

void PixelTileWords::for_each_row(const RowBody& body) {
  const bool cut = e_.kernel().cut.along == Cut::Along::rows;
  Value *begin = cut ? e_.piece_begin() : e_.number(0), *end = cut ? e_.piece_end() : e_.number(e_.kernel().shape[1].factor());
  const Rows images = e_.indices(1);
  e_.loop(images.first, images.last, 1, [&](Value* image) { e_.loop(begin, end, 1, [&](Value* h) { body(image, h); }); });
}

void PixelTileWords::for_each_tile(const Range& tiles, const std::function<void(const PixelTile&)>& body) {
  const auto tile = [&](std::int64_t t) {
    Value* is_one = b_.CreateAnd(b_.CreateICmpSGE(e_.number(t), tiles.first), b_.CreateICmpSLT(e_.number(t), tiles.last));
    const auto make = [&] { body({t * size_, std::min(size_, row_.results() - t * size_)}); };
    if (const auto* known = llvm::dyn_cast<llvm::ConstantInt>(is_one); known && known->isOne()) make();
    else e_.when(is_one, make);
  };
  for (std::int64_t t = 0; t < loop_first_; ++t) tile(t);
  if (loop_first_ < loop_last_) {
    const std::int64_t periods = size_ / row_.period();
    Value *first = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, tiles.first, e_.number(loop_first_)),
          *last = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, tiles.last, e_.number(loop_last_));
    const auto periods_to = [&](Value* t) { return b_.CreateMul(b_.CreateSub(t, e_.number(loop_first_)), e_.number(periods)); };
    e_.loop(periods_to(first), periods_to(last), periods, [&](Value* ahead) { body({loop_first_ * size_, size_, ahead}); });
  }
  for (std::int64_t t = loop_last_; t < count_; ++t) tile(t);
}

void PixelTileWords::for_each_tile_of_row(const std::function<void(const PixelTile&, const Site&)>& body) {
  for_each_tile({e_.number(0), e_.number(count_)}, [&](const PixelTile& tile) {
    if (is_flat(e_.kernel().shape)) body(tile, {e_.number(0), e_.number(0), 1, 1});
    else e_.for_each_block(e_.kernel().shape, e_.number(0), false, [&](const Site& site) { body(tile, site); });
  });
}

void PixelTileWords::for_each_line(Value* h, bool backwards, const std::function<void(Value*, Value*)>& body) {
  const ir::SlidingAxis& axis = sliding_.h;
  e_.loop(e_.number(0), e_.number(axis.size), 1, [&](Value* i) {
    Value* kh = backwards ? b_.CreateSub(e_.number(axis.size - 1), i) : i;
    const AxisPlace at = adjoint_ ? window_over(e_, axis, h, kh) : index_in_window(e_, axis, h, kh);
    e_.when(at.inside, [&] { body(kh, at.place); });
  });
}

void PixelTileWords::each_tap(std::span<const ValueId> sources, Value* image, Value* line, const PixelTile& tile, const Site& site,
                              const Channels& channels, bool backwards, const TapBody& body) {
  struct Tap {
    std::int64_t i, k;
  };
  std::map<std::int64_t, std::vector<Tap>> at;  // by the place in the source
  for (std::int64_t i = 0; i < tile.size; ++i)
    for (std::int64_t k = 0; k < row_.taps(); ++k)
      if (const auto place = row_.met(tile.first + i, k); place && row_.is_inside(*place)) at[*place].push_back({i, k});
  if (at.empty()) return;
  const std::int64_t first = at.begin()->first;
  std::vector<Value*> addresses;
  for (const ValueId source : sources) addresses.push_back(address(source, image, line, place_of(first, tile, row_.advance()), met_channel(site)));
  const auto visit = [&](std::int64_t place, const std::vector<Tap>& taps) {
    std::vector<Vec> met;
    for (std::size_t s = 0; s < sources.size(); ++s)
      for (const Vec& x : load_met(pixels_after(addresses[s], sources[s], place - first), e_.stored(sources[s]).type.dtype, site, channels))
        met.push_back(x);
    for (const Tap& tap : taps) body(tap.i, tap.k, met);
  };
  // The later a tap, the further it reaches; of an adjoint, the less far.
  if (adjoint_ != backwards)
    for (auto i = at.rbegin(); i != at.rend(); ++i) visit(i->first, i->second);
  else
    for (const auto& [place, taps] : at) visit(place, taps);
}

Value* PixelTileWords::met_channel(const Site& site) {
  Value* group = ratio_.results > 1 ? b_.CreateUDiv(site.last, e_.number(ratio_.results)) : site.last;
  return ratio_.sources > 1 ? b_.CreateMul(group, e_.number(ratio_.sources)) : group;
}

std::vector<Vec> PixelTileWords::load_met(Value* address, DType dtype, const Site& site, const Channels& channels) {
  const std::int64_t results = ratio_.results, sources = ratio_.sources;
  if (results == 1 && sources == 1) return {e_.load(address, dtype, site.width)};
  const std::int64_t count = divide_up(site.valid, results) * sources;
  const Vec raw = e_.load(address, dtype, static_cast<unsigned>(count));
  if (count == 1) return {splat(raw, site.width)};
  std::vector<Vec> met;
  for (std::int64_t j = channels.first; j < channels.first + channels.count; ++j) {
    if (site.width == 1) {
      met.emplace_back(b_.CreateExtractElement(raw.value, static_cast<std::uint64_t>(j)), dtype);
      continue;
    }
    std::vector<int> places;
    for (std::int64_t i = 0; i < site.width; ++i) places.push_back(static_cast<int>((i < site.valid ? i / results * sources : 0) + j));
    met.emplace_back(b_.CreateShuffleVector(raw.value, places), dtype);
  }
  return met;
}

std::vector<Vec> PixelTileWords::load_tile(ValueId value, Value* image, Value* h, const PixelTile& tile, const Site& site) {
  Value* from = address(value, image, h, place_of(tile.first, tile, row_.period()), site.last);
  std::vector<Vec> values;
  for (std::int64_t i = 0; i < tile.size; ++i) values.push_back(e_.load(pixels_after(from, value, i), e_.stored(value).type.dtype, site.width));
  return values;
}

void PixelTileWords::store_tile(std::span<const Vec> results, Value* image, Value* h, const PixelTile& tile, const Site& site) {
  const Shape& shape = e_.kernel().shape;
  Value* line = b_.CreateAdd(b_.CreateMul(image, e_.number(shape[1].factor())), h);
  Value* first = b_.CreateAdd(b_.CreateMul(line, e_.number(row_.results())), place_of(tile.first, tile, row_.period()));
  for (std::size_t i = 0; i < results.size(); ++i) {
    Value* pixel = b_.CreateAdd(first, e_.number(static_cast<std::int64_t>(i)));
    e_.store_results_at(is_flat(shape) ? Site{e_.number(0), pixel, 1, 1} : Site{pixel, site.last, site.width, site.valid}, &results[i]);
  }
}

std::vector<llvm::AllocaInst*> PixelTileWords::variables(std::size_t count, DType dtype, const Site& site, double value) {
  std::vector<llvm::AllocaInst*> made;
  for (std::size_t i = 0; i < count; ++i) made.push_back(filled_variable(e_, dtype, site.width, value, "of_pixel"));
  return made;
}

Vec PixelTileWords::value_of(llvm::AllocaInst* from, DType dtype) { return {b_.CreateLoad(from->getAllocatedType(), from), dtype}; }

std::vector<Vec> PixelTileWords::values_of(std::span<llvm::AllocaInst* const> from, DType dtype) {
  std::vector<Vec> values;
  for (llvm::AllocaInst* each : from) values.push_back(value_of(each, dtype));
  return values;
}

void PixelTileWords::note(std::string text) {
  e_.note(std::move(text) + str(" in tiles of ", size_, " pixels × ", is_flat(e_.kernel().shape) ? 1u : lanes, " channels"));
}

Value* PixelTileWords::address(ValueId value, Value* image, Value* h, Value* w, Value* channel) {
  const Shape& shape = e_.stored(value).type.shape;
  Value* line = b_.CreateAdd(b_.CreateMul(image, e_.number(shape[1].factor())), h);
  Value* pixel = b_.CreateAdd(b_.CreateMul(line, e_.number(shape[2].factor())), w);
  return is_flat(shape) ? e_.address(value, e_.number(0), pixel) : e_.address(value, pixel, channel);
}

Value* PixelTileWords::pixels_after(Value* address, ValueId value, std::int64_t pixels) {
  const std::int64_t stride = is_flat(e_.stored(value).type.shape) ? 1 : e_.stored(value).layout().stride.factor();
  return b_.CreateInBoundsGEP(e_.memory_type(e_.stored(value).type.dtype, 1), address, {e_.number(pixels * stride)});
}

Value* PixelTileWords::place_of(std::int64_t first, const PixelTile& tile, std::int64_t step) {
  if (!tile.ahead) return e_.number(first);
  return b_.CreateAdd(b_.CreateMul(tile.ahead, e_.number(step)), e_.number(first));
}

}  // namespace sinter::codegen
