// sinter_math [FUNCTION...]: the greatest error of each elementary function over all 2^32 floats, compiled, and whether eager execution gives the
// same bits. One JSON line a function; the exit status is 1 if a bound is exceeded. About a minute a function on two cores.
#include <CLI/CLI.hpp>
#include <atomic>
#include <bit>
#include <chrono>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/math/functions.h"
#include "sinter/sinter.h"

namespace {

using namespace sinter;
using namespace sinter::bench;

struct Worst {
  double ulps = 0;
  float x = 0, got = 0;
  std::uint64_t differ = 0;  ///< floats for which eager execution gives other bits
};

/// Floats whose bits are [begin, end), every `stride`-th.
void examine(const Function& function, Step<Tensor(Tensor)>& step, std::uint64_t begin, std::uint64_t end, std::uint64_t stride, Worst& worst) {
  std::vector<float> x;
  for (std::uint64_t bits = begin; bits < end; bits += stride) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  const Tensor in(x, {static_cast<std::int64_t>(x.size())});
  const auto compiled = step(in).to_vector<float>(), eager = function.apply(in).to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool nans = std::isnan(compiled[i]) && std::isnan(eager[i]);
    worst.differ += !nans && std::bit_cast<std::uint32_t>(compiled[i]) != std::bit_cast<std::uint32_t>(eager[i]);
    const double off = ulps_off(compiled[i], function.exact(flushed(x[i])));
    if (off > worst.ulps) worst = {off, x[i], compiled[i], worst.differ};
  }
}

Worst examine_all(const Function& function, int threads, std::uint64_t stride) {
  constexpr std::uint64_t all = std::uint64_t{1} << 32, block = std::uint64_t{1} << 20;
  Worst total;
  std::mutex mutex;
  std::atomic<std::uint64_t> next{0};
  std::vector<std::jthread> team;
  for (int i = 0; i < threads; ++i)
    team.emplace_back([&] {
      auto step = compile([&](const Tensor& t) { return function.apply(t); }, StepOptions{.threads = 1});
      Worst mine;
      for (std::uint64_t begin; (begin = next.fetch_add(block)) < all;) examine(function, step, begin, begin + block, stride, mine);
      const std::scoped_lock lock(mutex);
      total.differ += mine.differ;
      if (mine.ulps > total.ulps) total = {mine.ulps, mine.x, mine.got, total.differ};
    });
  return team.clear(), total;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Measures the greatest error of elementary functions over all floats"};
  std::vector<std::string> names;
  std::uint64_t stride = 1;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  app.add_option("function", names, "names; all if none is given");
  app.add_option("--stride", stride, "every so many floats of each block of 2^20 alone")->check(CLI::Range(1, 1 << 20));
  app.add_option("--threads", threads)->check(CLI::Range(1, 256));
  CLI11_PARSE(app, argc, argv);
  for (const std::string& name : names)
    if (std::none_of(functions().begin(), functions().end(), [&](const Function& f) { return f.name == name; }))
      throw UserError("sinter_math", str("there is no function '", name, "'; see bench/math/functions.h"));
  bool ok = true;
  for (const Function& function : functions()) {
    if (!names.empty() && std::find(names.begin(), names.end(), function.name) == names.end()) continue;
    const auto start = std::chrono::steady_clock::now();
    const Worst worst = examine_all(function, threads, stride);
    ok = ok && worst.ulps <= function.bound && worst.differ == 0;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::cout << nlohmann::ordered_json{{"function", function.name},
                                        {"ulps", worst.ulps},
                                        {"bound", function.bound},
                                        {"x", worst.x},
                                        {"got", worst.got},
                                        {"exact", function.exact(worst.x)},
                                        {"eager_differs", worst.differ},
                                        {"stride", stride},
                                        {"seconds", seconds}}
                     .dump()
              << std::endl;
  }
  return ok ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
