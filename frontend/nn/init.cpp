#include "frontend/nn/init.h"

#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "frontend/core/random.h"
#include "frontend/core/trace.h"

namespace sinter {

namespace {

/// What one call of seed() began.
struct SeededStream {
  std::uint64_t key = 0, following = 0;
  bool is_asked_for = false;              ///< by seed(); else the process's, on which nobody relies
  std::optional<std::thread::id> drawer;  ///< that has drawn from it
};

std::mutex lock;  // of all streams
std::shared_ptr<SeededStream> latest = std::make_shared<SeededStream>();
thread_local std::shared_ptr<SeededStream> own;  // of the last seed() of this thread

}  // namespace

void seed(std::uint64_t value) {
  const std::lock_guard guard(lock);
  own = latest = std::make_shared<SeededStream>(SeededStream{value, 0, true, {}});
}

namespace init {

namespace {

/// The seed and the number of the next stream.
std::pair<std::uint64_t, std::uint64_t> draw_stream() {
  if (Trace::current())
    throw UserError("init",
                    "random numbers that a compiled function takes from an initializer would be the same at every call; draw them with "
                    "random_normal or random_uniform and a counter, and make layers before the function is compiled");
  const std::lock_guard guard(lock);
  SeededStream& stream = own ? *own : *latest;
  const std::thread::id self = std::this_thread::get_id();
  if (stream.is_asked_for && stream.drawer.value_or(self) != self)
    throw UserError("init", str("two threads make random numbers from one seed(", stream.key,
                                "), and their order would decide which; call seed with a number of its own in each thread that makes layers"));
  stream.drawer = self;
  return {stream.key, stream.following++};
}

/// An initializer that knows its name.
struct Named {
  std::string name;
  Initializer make;
  Tensor operator()(const Shape& shape) const { return make(shape); }
};

template <class F>
Tensor filled(const Shape& shape, F&& draw) {
  const auto [seed, number] = draw_stream();
  RandomStream random(seed, number);
  std::vector<float> data(static_cast<std::size_t>(shape.elements().factor()));
  for (float& x : data) x = static_cast<float>(draw(random));
  return {data, shape};
}

struct Fans {
  double in, out;
};
Fans fans_of(const Shape& shape) {
  const std::size_t rank = shape.rank();
  if (rank < 2) throw UserError("init", str("initializers that scale with the fans need a weight [..., in, out], got ", shape));
  const auto field = static_cast<double>(shape.product(0, rank - 2).factor());
  return {field * static_cast<double>(shape[rank - 2].factor()), field * static_cast<double>(shape[rank - 1].factor())};
}

/// Variance scale / fan, where the fan is computed from both fans.
template <class Fan>
Initializer scaled(const char* name, double scale, bool uniform, Fan fan) {
  return Named{name, [=](const Shape& shape) {
                 const double variance = scale / fan(fans_of(shape)), limit = std::sqrt(3 * variance), deviation = std::sqrt(variance);
                 return filled(shape,
                               [&](RandomStream& random) { return uniform ? (2 * random.uniform() - 1) * limit : random.normal() * deviation; });
               }};
}

double mean_fan(const Fans& fans) { return (fans.in + fans.out) / 2; }
double fan_in(const Fans& fans) { return fans.in; }

void require_deviation(float deviation) {
  if (!(deviation >= 0) || !std::isfinite(deviation)) throw UserError("init", str("the deviation must be at least 0, got ", deviation));
}

}  // namespace

std::uint64_t next_stream() {
  const auto [seed, number] = draw_stream();
  return (std::uint64_t{philox(seed, number)[0]} << 32) | philox(seed, number)[1];
}

std::string name_of(const Initializer& initializer) {
  const Named* named = initializer.target<Named>();
  return named ? named->name : "own";
}

namespace {
Initializer filling(std::string name, float value) {
  return Named{std::move(name), [=](const Shape& shape) { return Tensor::filled({DType::f32, shape}, value); }};
}
}  // namespace

Initializer constant(float value) { return filling(str("constant(", value, ")"), value); }
Initializer zeros() { return filling("zeros", 0); }
Initializer ones() { return filling("ones", 1); }

Initializer uniform(float low, float high) {
  if (!(low <= high)) throw UserError("init", str("uniform needs low <= high, got ", low, " and ", high));
  if (!std::isfinite(low) || !std::isfinite(high)) throw UserError("init", str("uniform needs finite bounds, got ", low, " and ", high));
  const auto width = static_cast<double>(high) - static_cast<double>(low);
  return Named{str("uniform(", low, ", ", high, ")"),
               [=](const Shape& shape) { return filled(shape, [&](RandomStream& random) { return low + width * random.uniform(); }); }};
}

Initializer normal(float mean, float deviation) {
  require_deviation(deviation);
  return Named{str("normal(", mean, ", ", deviation, ")"),
               [=](const Shape& shape) { return filled(shape, [&](RandomStream& random) { return mean + deviation * random.normal(); }); }};
}

Initializer truncated_normal(float mean, float deviation) {
  require_deviation(deviation);
  return Named{str("truncated_normal(", mean, ", ", deviation, ")"), [=](const Shape& shape) {
                 return filled(shape, [&](RandomStream& random) {
                   double x = random.normal();
                   while (std::abs(x) > 2) x = random.normal();
                   return mean + deviation * x;
                 });
               }};
}

Initializer glorot_uniform() { return scaled("glorot_uniform", 1, true, mean_fan); }
Initializer glorot_normal() { return scaled("glorot_normal", 1, false, mean_fan); }
Initializer he_uniform() { return scaled("he_uniform", 2, true, fan_in); }
Initializer he_normal() { return scaled("he_normal", 2, false, fan_in); }
Initializer lecun_uniform() { return scaled("lecun_uniform", 1, true, fan_in); }
Initializer lecun_normal() { return scaled("lecun_normal", 1, false, fan_in); }

Initializer orthogonal(float gain) {
  return Named{gain == 1 ? "orthogonal" : str("orthogonal(", gain, ")"), [=](const Shape& shape) {
                 fans_of(shape);
                 const auto cols = static_cast<std::size_t>(shape.back().factor()),
                            rows = static_cast<std::size_t>(shape.product(0, shape.rank() - 1).factor());
                 const std::size_t count = std::min(rows, cols), length = std::max(rows, cols);
                 const auto [seed, number] = draw_stream();
                 RandomStream random(seed, number);
                 // Modified Gram-Schmidt on random vectors.
                 std::vector<std::vector<double>> basis(count, std::vector<double>(length));
                 for (std::size_t i = 0; i < count; ++i) {
                   for (double& x : basis[i]) x = random.normal();
                   for (int again = 0; again < 2; ++again)  // the second pass removes the rounding errors of the first
                     for (std::size_t j = 0; j < i; ++j) {
                       double dot = 0;
                       for (std::size_t k = 0; k < length; ++k) dot += basis[i][k] * basis[j][k];
                       for (std::size_t k = 0; k < length; ++k) basis[i][k] -= dot * basis[j][k];
                     }
                   double norm = 0;
                   for (const double x : basis[i]) norm += x * x;
                   for (double& x : basis[i]) x /= std::sqrt(norm);
                 }
                 std::vector<float> data(rows * cols);
                 for (std::size_t r = 0; r < rows; ++r)
                   for (std::size_t c = 0; c < cols; ++c) data[r * cols + c] = static_cast<float>(gain * (rows < cols ? basis[r][c] : basis[c][r]));
                 return Tensor(data, shape);
               }};
}

}  // namespace init
}  // namespace sinter
