#include "frontend/report/classification.h"

#include <cmath>

#include "frontend/core/counted.h"
#include "frontend/report/histogram.h"
#include "frontend/report/markup.h"
#include "frontend/train/curve.h"

namespace sinter::report {

namespace {

/// Of more than two classes: how sure the model is, and whether rightly.
BinaryPart certainty_part(const Judgement& judgement) {
  Sample right{"right", {}}, wrong{"wrong", {}};
  std::vector<double> is_right, probability;
  for (std::size_t i = 0; i < judgement.answers(); ++i) {
    if (std::isnan(judgement.p_said[i])) continue;
    (judgement.right(i) ? right : wrong).numbers.push_back(judgement.p_said[i]);
    is_right.push_back(judgement.right(i));
    probability.push_back(judgement.p_said[i]);
  }
  BinaryPart part;
  if (const std::size_t lost = judgement.answers() - probability.size())
    part.note = str("The charts leave out ", counted(lost, "sample"), " with NaN predictions.");
  if (probability.empty()) return part;
  const std::vector<Sample> samples{right, wrong};
  Chart chart = small_chart("Probability of the predicted class", "probability", "samples");
  chart.series = histogram(samples, 0, 1, 25).series;
  part.charts.push_back(chart);
  const metric::CalibrationCurve curve = metric::calibration_curve(is_right, probability, 10);
  chart = small_chart("Calibration", "mean probability of the predicted class in each tenth", "share that is right");
  chart.series = {{"model", curve.prob_pred, curve.prob_true}, {"calibrated", {0, 1}, {0, 1}, Mark::guide}};
  part.charts.push_back(chart);
  part.figures = {{"Calibration error", significant(metric::expected_calibration_error(is_right, probability), 3)}};
  return part;
}

}  // namespace

std::string classification(const Judgement& judgement) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < judgement.answers(); ++i) right += judgement.right(i);
  BinaryPart part = judgement.is_binary() ? binary_part(judgement) : certainty_part(judgement);
  std::vector<Figure> figures{{"Accuracy", fixed(100 * static_cast<double>(right) / static_cast<double>(judgement.answers()), 2) + " %"}};
  figures.insert(figures.end(), part.figures.begin(), part.figures.end());
  std::string out = tiles(figures) + side_by_side(part.charts);
  for (const std::string& note : {judgement.note, part.note})
    if (!note.empty()) out += paragraph(note);
  return out + "<h3>Confusion matrix</h3>\n" + confusion_table(judgement) + "<h3>Classes</h3>\n" + class_table(judgement);
}

}  // namespace sinter::report
