// What a classifier says of data whose classes are known.
#pragma once

#include <string>
#include <vector>

#include "frontend/report/chart.h"
#include "frontend/report/judgement.h"
#include "frontend/report/parts.h"

namespace sinter::report {

/// Figures, charts, confusion matrix and figures of each class.
std::string classification(const Judgement& judgement);

/// How often each class was predicted as each: a table whose cells are shaded by the share of the true class; of more than 20 classes the most
/// frequent confusions.
std::string confusion_table(const Judgement& judgement);
/// Precision, recall and F1 of each class; of more than 100 classes, of those with the least F1.
std::string class_table(const Judgement& judgement);

/// Of two classes: figures that regard the order of the probabilities and their size, and the curves by threshold. Answers that are NaN are left out.
struct BinaryPart {
  std::vector<Figure> figures;
  std::vector<Chart> charts;
  std::string note;
};
BinaryPart binary_part(const Judgement& judgement);

}  // namespace sinter::report
