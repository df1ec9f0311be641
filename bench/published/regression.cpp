// Linear regression by full-batch gradient descent, and its closed form: article C.
#include <cmath>
#include <random>

#include "bench/published/published.h"

namespace sinter::published {

namespace {

constexpr std::int64_t samples = 10000;
constexpr std::int64_t steps = 10000;

/// Standard normal numbers of NumPy's legacy generator, RandomState(seed).standard_normal(): the polar method on uniform doubles of 53 bits, two
/// draws of MT19937 each. std::normal_distribution leaves its method to the library.
class LegacyNormal {
 public:
  explicit LegacyNormal(std::uint32_t seed) : bits_(seed) {}

  double next() {
    if (has_kept_) {
      has_kept_ = false;
      return kept_;
    }
    double x1 = 0, x2 = 0, r = 0;
    do {
      x1 = 2 * uniform() - 1;
      x2 = 2 * uniform() - 1;
      r = x1 * x1 + x2 * x2;
    } while (r >= 1 || r == 0);
    const double factor = std::sqrt(-2 * std::log(r) / r);
    kept_ = factor * x1;
    has_kept_ = true;
    return factor * x2;
  }

 private:
  double uniform() {
    const std::uint32_t a = bits_() >> 5, b = bits_() >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
  }

  std::mt19937 bits_;
  double kept_ = 0;
  bool has_kept_ = false;
};

/// x in [0, 2] and d = 3 + 2 x + noise, in double as the article has them and rounded for Sinter.
struct Points {
  std::vector<double> x, d;
  Tensor x32, d32;
};

Points make_points() {
  Points points;
  LegacyNormal normal(444);
  for (std::int64_t i = 0; i < samples; ++i) {
    points.x.push_back(i + 1 == samples ? 2 : static_cast<double>(i) * (2.0 / (samples - 1)));
    points.d.push_back(3 + 2 * points.x.back() + 0.1 * normal.next());
  }
  points.x32 = Tensor(std::vector<float>(points.x.begin(), points.x.end()), {samples});
  points.d32 = Tensor(std::vector<float>(points.d.begin(), points.d.end()), {samples});
  return points;
}

struct Line {
  double w0 = 0, w1 = 0;
};

/// The closed form: linalg computes in double and rounds its result to f32, about seven digits. One step of iterative refinement, which solves for
/// what the rounded solution leaves, gives the others: residuals are in double, and small enough that rounding them to f32 loses nothing that is seen
/// here.
struct Closed {
  Line rounded, refined;
};

Closed closed_form(const Points& points) {
  const Tensor a = stack({Tensor::filled({DType::f32, {samples}}, 1), points.x32}, 1);
  const Tensor first = linalg::lstsq(a, points.d32);
  const Line rounded{first.to_vector<float>()[0], first.to_vector<float>()[1]};
  std::vector<float> rest;
  for (std::size_t i = 0; i < points.x.size(); ++i) rest.push_back(static_cast<float>(points.d[i] - rounded.w0 - rounded.w1 * points.x[i]));
  const std::vector<float> correction = linalg::lstsq(a, Tensor(rest, {samples})).to_vector<float>();
  return {rounded, {rounded.w0 + correction[0], rounded.w1 + correction[1]}};
}

/// w0 + w1 x by 10,000 steps of gradient descent from 0 with rate 0.001.
class Descent {
 public:
  explicit Descent(const RunSettings& settings, Mode mode)
      : step_(compile(
            [this](const Tensor& x, const Tensor& d) {
              const Tensor loss = loss::mean_squared_error(w0_ + w1_ * x, d);
              optimizer_.update(parameters_, grad(loss, parameters_));
              return loss;
            },
            {.name = "descent", .mode = mode, .threads = settings.threads})) {}
  Descent(const Descent&) = delete;
  Descent& operator=(const Descent&) = delete;

  /// From 0, one call a step, or all in one call.
  void call_by_call(const Points& points) {
    restart();
    for (std::int64_t i = 0; i < steps; ++i) step_(points.x32, points.d32);
  }
  void at_once(const Points& points) {
    restart();
    step_.run(points.x32, points.d32, {.steps = steps});
  }
  Line line() const { return {w0_.read().item(), w1_.read().item()}; }

 private:
  void restart() {
    w0_.assign(Tensor(0.0f));
    w1_.assign(Tensor(0.0f));
  }

  Parameter w0_{"w0", Tensor(0.0f)}, w1_{"w1", Tensor(0.0f)};
  std::vector<Parameter> parameters_{w0_, w1_};
  optim::SGD optimizer_{{.learning_rate = 0.001}};
  Step<Tensor(Tensor, Tensor)> step_;
};

void require_near(Report& report, const std::string& text, const Line& line, const Line& wanted, double within) {
  report.require(text + ", w0", line.w0, wanted.w0 - within, wanted.w0 + within);
  report.require(text + ", w1", line.w1, wanted.w1 - within, wanted.w1 + within);
}

}  // namespace

void regression(const RunSettings& settings, Report& report) {
  const Points points = make_points();
  report.remark("Sinter computes in float32 only: the rows in float64 have no figure of it.");

  Closed closed;
  const double closed_seconds = least_seconds(3, [&] { closed = closed_form(points); });
  const std::string refined = "lstsq and one step of iterative refinement", rounded = "lstsq alone, whose result is f32";
  report.cell("closed form, seconds", "Sinter default", closed_seconds, "s", refined);
  report.cell("closed form, w0", "Sinter best", closed.refined.w0, "", refined);
  report.cell("closed form, w1", "Sinter best", closed.refined.w1, "", refined);
  report.cell("closed form, w0", "Sinter default", closed.rounded.w0, "", rounded);
  report.cell("closed form, w1", "Sinter default", closed.rounded.w1, "", rounded);
  require_near(report, "closed form to eight decimals", closed.refined, {2.99536719, 2.00288672}, 5e-9);

  const int repeats = settings.quick ? 1 : 5;
  const auto measure = [&](const std::string& mode, Descent& descent, void (Descent::*run)(const Points&), int times, const std::string& note) {
    if (!settings.has(mode)) return;
    const std::string column = "Sinter " + mode;
    const double seconds = least_seconds(times, [&] { (descent.*run)(points); });
    report.cell("10,000 steps, float32, seconds", column, seconds, "s", note);
    report.cell("10,000 steps, float32, w0", column, descent.line().w0, "");
    report.cell("10,000 steps, float32, w1", column, descent.line().w1, "");
    require_near(report, "descent in float32, " + mode, descent.line(), {2.9598553, 2.032969}, 1e-6);
  };
  Descent graph(settings, Mode::graph), eager(settings, Mode::eager);
  measure("default", graph, &Descent::call_by_call, repeats, "one call of the compiled step for each");
  measure("best", graph, &Descent::at_once, repeats, "all steps in one call, step.run");
  measure("eager", eager, &Descent::call_by_call, 1, "Mode::eager");
}

}  // namespace sinter::published
