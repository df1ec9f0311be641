// A step launched from C (launcher.c), which knows no more of it than ir/launch.h.
#include <memory>

#include "tests/codegen/raw_step.h"

namespace sinter {
extern "C" std::uint32_t launch_once(StepEntry entry, std::uint32_t stages, Byte* const* buffers, std::int64_t batch, std::uint32_t* counters,
                                     Byte* scratch);
}

namespace sinter::test::launch_test {
namespace {

TEST(Launch, FromC) {
  constexpr std::int64_t n = 100;
  RawStep here(mlp(), {}, n), there(mlp(), {}, n);
  const StepImage& image = there.image;
  std::vector<runtime::Buffer> arenas;
  for (const Arena& arena : image.arenas) arenas.push_back(runtime::Buffer::zeroed(static_cast<std::size_t>(arena.bytes * arena.units(n))));
  std::vector<std::byte*> buffers;
  for (const BufferSpec& buffer : image.buffers) {
    if (buffer.place == Place::scratch) buffers.push_back(nullptr);
    else if (buffer.place == Place::arena) buffers.push_back(arenas[buffer.index].data() + buffer.offset * image.arenas[buffer.index].units(n));
    else buffers.push_back(there.bound(buffer));
  }
  std::vector<std::uint32_t> counters(image.counters * counter_spacing);
  const runtime::Buffer scratch = runtime::Buffer::zeroed(static_cast<std::size_t>(image.scratch_bytes));
  EXPECT_EQ(launch_once(image.entry, static_cast<std::uint32_t>(image.stages.size()), buffers.data(), n, counters.data(), scratch.data()), 0u);
  EXPECT_EQ(here.run(1), "");
  EXPECT_EQ(there.values(), here.values());
}

}  // namespace
}  // namespace sinter::test::launch_test
