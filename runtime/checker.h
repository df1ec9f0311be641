// Judges checked steps by their calls of the CheckHooks of ir/launch.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/step.h"
#include "runtime/buffer.h"

namespace sinter::runtime {

/// Fills unused memory with NaN, gives the bounds of each buffer of a call, and compares what the chunks of a stage accessed:
/// none may write what another one reads or writes. One per executor.
class Checker : public CheckHooks {
 public:
  explicit Checker(const StepImage& image);

  /// Before a run on at most so many threads.
  void prepare(int threads, std::span<Buffer> arenas);
  /// Before the first stage of a step, and after each one; no thread runs a chunk.
  void start(const StepContext& context);
  void end_stage(StepContext& context, StageSpec stage);
  /// After the run. Throws InternalError with the first violation, if there was any.
  void finish() const;

 private:
  /// Bytes that a chunk accessed, from the first to the last.
  struct Touch {
    const std::byte *begin, *end;
    std::int64_t chunk;
    std::uint32_t kernel, buffer;
  };
  struct alignas(64) Thread {
    KernelCheck check;
    std::vector<BufferCheck> buffers;
    std::vector<Touch> loads, stores;
    std::int64_t chunk = -1;
    std::vector<bool> filled;  ///< buffers in scratch, since the chunk began
    bool shared = false;
  };

  static Checker& of(StepContext* context) { return *const_cast<Checker*>(static_cast<const Checker*>(context->checks)); }
  KernelCheck* enter_kernel(const StepContext& context, std::int32_t thread, std::uint32_t kernel, std::int64_t chunk, bool shared);
  void leave_kernel(const KernelCheck& check);
  void compare(StepContext& context, std::uint32_t phase);
  void report(StepContext& context, const std::string& what);
  std::int64_t bytes_of(const BufferSpec& spec, const StepContext& context) const;
  std::byte* begin_of(std::uint32_t buffer, const StepContext& context, std::int32_t thread, bool shared) const;
  std::string name_of(const Touch& touch) const;

  const StepImage& image_;
  std::vector<std::byte*> arenas_;
  std::vector<std::int64_t> bytes_;                      ///< of each buffer in this step
  std::vector<std::pair<std::byte*, std::byte*>> kept_;  ///< what the previous call packed
  std::vector<Thread> threads_;
  std::vector<Touch> loads_, stores_;  ///< of all threads, of the stage
  std::atomic<bool> failed_{false};
  std::string failure_;
};

/// Fills memory with a pattern that is a NaN, and as an integer far from every index.
void fill_with_nan(std::byte* begin, std::byte* end);

}  // namespace sinter::runtime
