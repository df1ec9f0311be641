// Steps, predict_one and batches of fit allocate nothing after warm-up. The allocator is replaced in this program to count.
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/frontend/helpers.h"

namespace {
std::atomic<std::size_t> allocations{0};
}

// The malloc family itself, so that allocations by C code and by Eigen count too.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}
#if defined(SINTER_JIT) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SINTER_COUNTS_ALLOCATIONS 1
extern "C" {
void* malloc(std::size_t size) { return ++allocations, __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) { return ++allocations, __libc_calloc(count, size); }
void* realloc(void* old, std::size_t size) { return ++allocations, __libc_realloc(old, size); }
void* memalign(std::size_t alignment, std::size_t size) { return ++allocations, __libc_memalign(alignment, size); }
void* aligned_alloc(std::size_t alignment, std::size_t size) { return ++allocations, __libc_memalign(alignment, size); }
int posix_memalign(void** result, std::size_t alignment, std::size_t size) {
  *result = (++allocations, __libc_memalign(alignment, size));
  return *result ? 0 : 12;
}
}
#endif

namespace sinter::test {
namespace {

#ifdef SINTER_COUNTS_ALLOCATIONS

TEST(Allocation, TheCounterCounts) {
  const std::size_t before = allocations;
  std::vector<int>* list = new std::vector<int>(1000);
  EXPECT_GE(allocations - before, 2u);
  delete list;
}

TEST(Allocation, NoneInAStep) {
  for (const int threads : {1, 2}) {
    SmallModel m({.threads = threads, .force = true});
    const Tensor x = random({500, 20}, 1), y = random_labels(500, 7, 2), ragged_x = random({33, 20}, 1), ragged_y = random_labels(33, 7, 2);
    for (int i = 0; i < 3; ++i) m.step(x, y), m.step(ragged_x, ragged_y);
    const std::size_t before = allocations;
    for (int i = 0; i < 100; ++i) m.step(x, y), m.step(ragged_x, ragged_y);
    EXPECT_EQ(allocations - before, 0u) << threads << " threads";
  }
}

TEST(Allocation, NoneInPredictOne) {
  nn::Sequential model{nn::Dense(20, 7, Activation::sigmoid)};
  auto predict = compile([&](const Tensor& x) { return model(x); });
  predict(random({4, 20}, 1));
  std::vector<float> in(20, 0.5f), out(7);
  for (int i = 0; i < 3; ++i) predict.predict_one(in, out);
  const std::size_t before = allocations;
  for (int i = 0; i < 100; ++i) predict.predict_one(in, out);
  EXPECT_EQ(allocations - before, 0u);
}

TEST(Allocation, FitAllocatesNoMoreForMoreSteps) {
  nn::Sequential model{nn::Dense(20, 7)};
  Trainer trainer(model, loss::categorical_crossentropy_from_logits, optim::RMSprop());
  const Dataset data{random({640, 20}, 1), random_labels(640, 7, 2)};
  const auto schedule = [](std::int64_t step, std::int64_t) { return 1e-3f / static_cast<float>(step + 1); };
  const auto count = [&](std::int64_t batch) {
    const std::size_t before = allocations;
    trainer.fit(data, {.epochs = 1, .batch_size = batch, .verbose = false, .schedule = schedule});
    return allocations - before;
  };
  count(10), count(32);
  EXPECT_EQ(count(10), count(32));  // 64 steps and 20
}

#endif

}  // namespace
}  // namespace sinter::test
