#include "frontend/train/profile.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "frontend/compile/cell_snapshot.h"
#include "frontend/core/clock.h"
#include "frontend/core/trace.h"
#include "frontend/train/order.h"
#include "frontend/train/piece_queue.h"
#include "frontend/train/trainer_impl.h"

namespace sinter {

namespace {

void check(const ProfileOptions& options) {
  if (options.batch_size < 1 || options.epochs < 1)
    throw UserError("profile", str("batch_size and epochs must be at least 1, got ", options.batch_size, " and ", options.epochs));
  if (options.steps < 0) throw UserError("profile", str("steps must not be negative, got ", options.steps, "; 0 means all of the epochs"));
}

FitOptions fit_options(const ProfileOptions& options) {
  return {.epochs = options.epochs, .batch_size = options.batch_size, .prefetch = options.prefetch, .class_weights = options.class_weights};
}

/// Observes the training step while it lives; then all states are as they were before.
class Observed {
 public:
  explicit Observed(Trainer::Impl& impl) : impl_(impl) {
    impl_.train->observe(&times);
    impl_.times = &times;
  }
  ~Observed() {
    impl_.train->observe(nullptr);
    impl_.times = nullptr;
  }
  Observed(const Observed&) = delete;
  Observed& operator=(const Observed&) = delete;

  /// Keeps the states, once what the step reads is known.
  void keep_states() {
    if (!states_) states_.emplace(impl_.train->record(impl_.table_specs()).cells);
  }

  StepTimes times;

 private:
  Trainer::Impl& impl_;
  std::optional<CellSnapshot> states_;
};

/// Wall time, that of the data and that of whole steps, so far.
class Loop {
 public:
  template <class F>
  decltype(auto) data(F&& f) {
    const Clock::time_point start = Clock::now();
    decltype(auto) result = f();
    data_ += since(start);
    return result;
  }
  template <class F>
  void step(F&& f) {
    const Clock::time_point start = Clock::now();
    f();
    steps_ += since(start);
  }
  /// What f does does not count.
  template <class F>
  void outside(F&& f) {
    const Clock::time_point start = Clock::now();
    f();
    outside_ += since(start);
  }
  double seconds() const { return since(begin_) - outside_; }
  double data_seconds() const { return data_; }
  double step_seconds() const { return steps_; }

 private:
  Clock::time_point begin_ = Clock::now();
  double data_ = 0, steps_ = 0, outside_ = 0;
};

ProfileReport report_of(const Loop& loop, const StepTimes& times) {
  ProfileReport report;
  report.seconds = loop.seconds();
  report.threads = times.threads;
  double sum = 0;
  const auto add = [&](const char* name, double seconds, double flops = 0) {
    report.parts.push_back({name, seconds, flops});
    sum += seconds;
  };
  const auto add_part = [&](const char* name, TrainingPart part, double of_loop = 0) {
    const auto p = static_cast<std::size_t>(part);
    add(name, times.seconds[p] + of_loop, times.flops[p]);
  };
  add_part("data", TrainingPart::data, loop.data_seconds());
  add_part("forward", TrainingPart::forward);
  add_part("backward", TrainingPart::backward);
  add_part("update", TrainingPart::update);
  add_part("metrics", TrainingPart::metrics, std::max(0.0, loop.step_seconds() - times.calls));
  add("waiting", times.waiting);
  add("other", std::max(0.0, report.seconds - sum));
  report.seconds = sum;
  return report;
}

/// Profiles the steps on the pieces that `pieces` gives.
ProfileReport profile(Trainer::Impl& impl, const Trainer::Impl::Pieces& pieces, const ProfileOptions& options) {
  Observed observed(impl);
  Order order(options.shuffle, options.batch_size, impl.options.fixed_batch != 0);
  Loop loop;
  std::int64_t steps = 0, samples = 0;
  const auto more = [&] { return !options.steps || steps < options.steps; };
  for (std::int64_t epoch = 1; epoch <= options.epochs && more(); ++epoch) {
    RandomStream random(options.seed, static_cast<std::uint64_t>(epoch - 1));
    std::optional<Tally> tally;
    const Trainer::Impl::NextPiece next = pieces({epoch, options.epochs, 0, 0});
    while (more()) {
      std::optional<Piece> piece = loop.data([&] { return next(); });
      if (!piece) break;
      impl.accept(piece->data, "profile");
      impl.require_whole_batch(piece->data, "profile");
      piece->weights = impl.step_weights(piece->data, piece->weights);
      if (!tally) tally.emplace(impl.layout, impl.metrics);
      loop.data([&] { return order.start(piece->data, random), true; });
      while (!order.done() && more()) {
        const Tensor& rows = loop.data([&]() -> const Tensor& { return order.batch(); });
        if (steps == 0)
          loop.outside([&] {
            observed.keep_states();
            tally->run(*impl.train, *piece, rows);
            observed.times = {};
          });
        loop.step([&] { tally->run(*impl.train, *piece, rows); });
        ++steps;
        samples += rows.elements();
      }
    }
    if (!tally) throw UserError("profile", str("the generator has no piece 0 in epoch ", epoch, "; an epoch needs at least one"));
  }
  ProfileReport report = report_of(loop, observed.times);
  report.steps = steps;
  report.samples = samples;
  report.mode = effective_mode(impl.options.mode);
  return report;
}

}  // namespace

ProfileReport Trainer::profile(const Dataset& data, const ProfileOptions& options) {
  check(options);
  impl_->accept(data, "profile");
  impl_->require_batch(options.batch_size, "profile");
  const Piece whole = prepare(data, fit_options(options), "profile");
  const auto pieces = [&](const Impl::From&) -> Impl::NextPiece {
    return [&whole, given = false]() mutable { return std::exchange(given, true) ? std::nullopt : std::optional(whole); };
  };
  return sinter::profile(*impl_, pieces, options);
}

ProfileReport Trainer::profile(const Generator& data, const ProfileOptions& options) {
  check(options);
  if (!data) throw UserError("profile", "the generator is empty");
  impl_->require_batch(options.batch_size, "profile");
  const FitOptions fit = fit_options(options);
  PieceQueue queue(data, fit);
  const auto pieces = [&](const Impl::From& from) -> Impl::NextPiece {
    queue.start(from);
    return [&] { return queue.next(); };
  };
  return sinter::profile(*impl_, pieces, options);
}

// ---- the report ----

const ProfileReport::Part& ProfileReport::part(const std::string& name) const {
  std::string known;
  for (const Part& part : parts) {
    if (part.name == name) return part;
    known += (known.empty() ? "" : ", ") + part.name;
  }
  throw UserError("profile", str("a profile has no part '", name, "'; it has ", known));
}

double ProfileReport::time_share(const std::string& name) const { return seconds > 0 ? part(name).seconds / seconds : 0; }

double ProfileReport::flop_share(const std::string& name) const {
  const double all = flops(), its = part(name).flops;
  return all > 0 ? its / all : 0;
}

double ProfileReport::flops() const {
  double all = 0;
  for (const Part& part : parts) all += part.flops;
  return all;
}

std::ostream& operator<<(std::ostream& stream, const ProfileReport& report) {
  TextStream out;
  const double per_step = report.steps > 0 ? report.seconds / static_cast<double>(report.steps) : 0;
  out << report.steps << (report.steps == 1 ? " step" : " steps") << " on " << report.samples << " samples, "
      << (report.mode == Mode::eager ? "eager" : "compiled") << ", at most " << report.threads << (report.threads == 1 ? " thread: " : " threads: ")
      << std::fixed << std::setprecision(1) << report.seconds * 1e3 << " ms, " << per_step * 1e6 << " us a step, " << std::setprecision(2)
      << (report.seconds > 0 ? report.flops() / report.seconds * 1e-9 : 0) << " GFLOP/s\n"
      << "part         us a step     time   arithmetic   GFLOP/s\n";
  for (const ProfileReport::Part& part : report.parts) {
    out << std::left << std::setw(10) << part.name << std::right << std::setprecision(1) << std::setw(12)
        << (report.steps > 0 ? part.seconds / static_cast<double>(report.steps) * 1e6 : 0) << std::setw(7) << 100 * report.time_share(part.name)
        << " %" << std::setw(11) << 100 * report.flop_share(part.name) << " %";
    if (part.flops > 0) out << std::setprecision(2) << std::setw(10) << part.gflops();
    out << "\n";
  }
  return stream << out.str();
}

}  // namespace sinter
