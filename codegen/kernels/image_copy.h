// Helpers that emitters of kernels on images share, and the copy of an image that convolutions read.
#pragma once

#include "codegen/emit/emitter.h"
#include "codegen/kernels/convolution_plan.h"

namespace sinter::codegen {

/// Arithmetic on addresses, in floats. What is added or multiplied is not negative; a difference may be.
class ImageWords {
 protected:
  explicit ImageWords(Emitter& emitter) : e_(emitter), b_(emitter.builder()), conv_(convolution_of(emitter.graph(), emitter.kernel().anchor)) {}

  llvm::Value* number(std::int64_t n) const { return e_.number(n); }
  llvm::Value* add(llvm::Value* a, llvm::Value* b) { return b_.CreateAdd(a, b, "", true, true); }
  llvm::Value* sub(llvm::Value* a, llvm::Value* b) { return b_.CreateSub(a, b); }
  llvm::Value* mul(llvm::Value* a, std::int64_t n) { return b_.CreateMul(a, number(n), "", true, true); }
  llvm::Value* div(llvm::Value* a, std::int64_t n) { return b_.CreateUDiv(a, number(n)); }
  llvm::Value* rem(llvm::Value* a, std::int64_t n) { return b_.CreateURem(a, number(n)); }
  llvm::Value* least(llvm::Value* a, llvm::Value* b);
  llvm::Value* most(llvm::Value* a, llvm::Value* b);
  llvm::Value* float_at(llvm::Value* base, llvm::Value* offset) { return b_.CreateInBoundsGEP(b_.getFloatTy(), base, {offset}); }
  llvm::Value* float_at(llvm::Value* base, std::int64_t offset) { return float_at(base, number(offset)); }
  const Type& type(ValueId value) const { return e_.stored(value).type; }
  std::int64_t stride_of(ValueId value) const { return symbolic_layout(type(value).shape).stride.factor(); }
  /// Zeros `count` adjacent floats. May write floats past them.
  void zero_from(llvm::Value* to, std::int64_t count);
  /// Calls body with the first row and the size of each tile.
  void for_each_tile(const RowTiles& rows, const std::function<void(llvm::Value*, unsigned)>& body);
  /// Calls body with each panel and its first column.
  void for_each_panel(const std::vector<Panels>& panels, const std::function<void(const Panels&, llvm::Value*)>& body);
  /// Calls body with each of so many groups.
  void for_each_group(std::int64_t groups, const std::function<void(llvm::Value*)>& body);

  Emitter& e_;
  Builder& b_;
  const ir::Convolution conv_;  ///< that the kernel computes
};

/// Images of a value [N, H, W, C], dense and with zero padding. Each group of channels has a plane of its own.
class ImageCopy : ImageWords {
 public:
  /// `channels` are those of a group, and `plane` the floats from one group's plane to the next.
  ImageCopy(Emitter& emitter, ValueId source, const CopyAxis& h, const CopyAxis& w, std::int64_t channels, std::int64_t groups = 1,
            std::int64_t plane = 0)
      : ImageWords(emitter), source_(source), h_(h), w_(w), channels_(channels), groups_(groups), plane_(plane) {}

  /// Writes rows [first, last) of the copy of an image to `to`. May write up to 15 floats past them.
  void rows(llvm::Value* image, llvm::Value* first, llvm::Value* last, llvm::Value* to);

 private:
  void rows_of_plane(llvm::Value* image, llvm::Value* first, llvm::Value* last, llvm::Value* channel, llvm::Value* to);
  void columns(llvm::Value* pixel, llvm::Value* channel, llvm::Value* to);
  void columns_of_windows(llvm::Value* pixel, llvm::Value* channel, llvm::Value* to);
  void pixels(llvm::Value* pixel, std::int64_t count, llvm::Value* channel, llvm::Value* to);

  ValueId source_;
  CopyAxis h_, w_;
  std::int64_t channels_, groups_, plane_;
};

}  // namespace sinter::codegen
