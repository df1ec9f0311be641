// Metrics that depend only on the order of the predictions: auc and average_precision.
#include <cmath>

#include "frontend/train/metric_rules.h"
#include "frontend/train/ranking.h"

namespace sinter::metric {

namespace {

/// Keeps all predictions. Those that are NaN are in no order: they are counted apart.
class Ranked : public Metric {
 public:
  using Result = double (*)(const Ranking& ranking, double nan_positives, double nan_negatives);
  Ranked(std::string name, Result result) : Metric(std::move(name), MonitorMode::max), result_(result) {}
  void reset() override { seen_.clear(); }
  void update(const MetricBatch& batch) override {
    require_numbers(batch, name());
    for (std::int64_t i = 0; i < batch.samples * batch.width; ++i) {
      const double y = batch.target[static_cast<std::size_t>(i)];
      require_yes_or_no(y, name());
      seen_.push_back({batch.prediction[static_cast<std::size_t>(i)], y == 1, batch.weight_of(i / batch.width)});
    }
  }
  double result() const override {
    std::vector<Scored> samples;
    double nan_positives = 0, nan_negatives = 0;
    for (const Seen& s : seen_)
      if (std::isnan(s.prediction)) (s.yes ? nan_positives : nan_negatives) += s.weight;
      else samples.push_back({static_cast<double>(s.prediction), s.yes, s.weight});
    return result_(Ranking(std::move(samples)), nan_positives, nan_negatives);
  }
  void save(SavedState& state) const override {
    std::vector<double> seen;
    for (const Seen& s : seen_) seen.insert(seen.end(), {static_cast<double>(s.prediction), static_cast<double>(s.yes), s.weight});
    state.set("seen", std::move(seen));
  }
  void restore(const SavedState& state) override {
    const std::vector<double>& seen = state.numbers("seen");
    if (seen.size() % 3) throw UserError(name(), str("needs three saved numbers per prediction, got ", seen.size()));
    seen_.clear();
    for (std::size_t i = 0; i < seen.size(); i += 3) seen_.push_back({static_cast<float>(seen[i]), seen[i + 1] != 0, seen[i + 2]});
  }

 private:
  struct Seen {
    float prediction;
    bool yes;
    double weight;
  };
  Result result_;
  std::vector<Seen> seen_;
};

}  // namespace

Pointer auc() {
  return std::make_shared<Ranked>("auc", [](const Ranking& ranking, double nan_positives, double nan_negatives) {
    return ratio(ranking.ordered_pairs(), (ranking.positives() + nan_positives) * (ranking.negatives() + nan_negatives));
  });
}

Pointer average_precision() {
  return std::make_shared<Ranked>("average_precision", [](const Ranking& ranking, double nan_positives, double nan_negatives) {
    return ranking.average_precision(nan_positives, nan_negatives);  // NaN without positives: 0 / 0
  });
}

}  // namespace sinter::metric
