// The results that a convolution's transforms would make with a large error, or with none that is finite, computed directly: ir/winograd.h says
// which.
#pragma once

#include "codegen/kernels/image_copy.h"
#include "codegen/kernels/winograd_plan.h"

namespace sinter::codegen {

class WinogradRange : ImageWords {
 public:
  WinogradRange(Emitter& emitter, const WinogradPlan& plan) : ImageWords(emitter), plan_(plan) {}

  /// Notes the magnitudes of a strip's windows, from the copy of its pixels. `place` is the strip's in its block; `first`: no strip was measured
  /// before that ends where this one begins.
  void measure(llvm::Value* strip, llvm::Value* place, llvm::Value* first);
  /// Notes of each tile of a strip, before this is mended, whether all results that were made of it are finite.
  void note_finite(llvm::Value* tile, llvm::Value* place, llvm::Value* finite);
  /// Computes those results of a strip again that need it. `copy_pixels` copies its pixels once more.
  void mend(llvm::Value* strip, llvm::Value* place, const std::function<void()>& copy_pixels);

 private:
  llvm::Value* staged(std::int64_t part, llvm::Value* offset) { return float_at(e_.pointer(e_.memory(Memory::staging)), add(number(part), offset)); }
  llvm::Value* windows(llvm::Value* place) { return staged(plan_.windows_at(), mul(place, plan_.results() * plan_.window_row())); }
  void note(llvm::Value* flag, llvm::Value* set) { b_.CreateAlignedStore(b_.CreateZExt(set, b_.getInt32Ty()), flag, llvm::Align(4)); }
  /// The results of a strip that exist, in each column.
  llvm::Value* rows(llvm::Value* strip) { return least(number(plan_.results()), sub(number(plan_.out_h), top(strip))); }
  llvm::Value* top(llvm::Value* strip) { return mul(rem(strip, plan_.strips), plan_.results()); }

  const WinogradPlan plan_;
};

}  // namespace sinter::codegen
