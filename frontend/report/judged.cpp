#include "frontend/report/judged.h"

#include "frontend/core/counted.h"
#include "frontend/report/classification.h"
#include "frontend/report/judgement.h"
#include "frontend/report/parts.h"
#include "frontend/report/regression.h"
#include "frontend/report/sample_images.h"

namespace sinter::report {

const char* const judged_style = R"(
:root { --hit: 36 99 214; --miss: 226 105 11; --good: #0b7a55; --bad: #c0263d; }
@media (prefers-color-scheme: dark) {
:root { --hit: 70 128 240; --miss: 224 112 30; --good: #46cf9c; --bad: #ff8392; }
}
h3 { font-size: 15px; margin: 24px 0 8px; }
.confusion { width: auto; border-collapse: separate; border-spacing: 2px; }
.confusion th { border: none; padding: 3px 8px; font-weight: 500; white-space: nowrap; }
.confusion .corner { color: var(--soft); }
.confusion td { border: none; border-radius: 3px; padding: 4px 8px; min-width: 40px; text-align: right; font-variant-numeric: tabular-nums; }
.confusion td.right { background: rgb(var(--hit) / var(--a)); } .confusion td.wrong { background: rgb(var(--miss) / var(--a)); }
.pictures { display: flex; flex-wrap: wrap; gap: 12px; }
.pictures figure { margin: 0; background: var(--card); border: 1px solid var(--edge); border-radius: 8px; padding: 8px; }
.pictures img { image-rendering: pixelated; display: inline-block; vertical-align: top; border-radius: 3px; margin-right: 4px; }
.pictures figcaption { font-size: 12px; line-height: 1.35; margin-top: 4px; max-width: 200px; overflow-wrap: anywhere; }
.pictures .right { color: var(--good); } .pictures .wrong { color: var(--bad); }
)";

namespace {

std::string content(const Judgement& judgement) {
  switch (judgement.kind) {
    case Judgement::Kind::classes:
      return classification(judgement);
    case Judgement::Kind::numbers:
      return regression(judgement);
    case Judgement::Kind::reconstruction:
      return reconstruction(judgement);
    case Judgement::Kind::unlike:
      break;
  }
  return paragraph(judgement.note);
}

}  // namespace

std::string judged_sections(Trainer& trainer, const Options& options) {
  const Dataset& data = *options.judged;
  data.check("report");
  const std::vector<Tensor> predictions = trainer.predict_all(data.x);
  if (predictions.size() != data.y.size())
    throw UserError("report", str("the model has ", counted(predictions.size(), "output"), ", but the data that it is judged by has ",
                                  counted(data.y.size(), "target")));
  if (options.targets.size() > predictions.size())
    throw UserError("report",
                    str("Options::targets has ", options.targets.size(), " targets for ", counted(predictions.size(), "output"), " of the model"));
  std::string out;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const Target names = i < options.targets.size() ? options.targets[i] : Target{};
    const Judgement judgement = judge(predictions[i], data.y[i], names, data.x[0], data.scale);
    std::string body = content(judgement);
    const std::optional<ImageShape> shape = image_shape(data.x[0], options.image);
    if (shape && i == 0 && judgement.kind != Judgement::Kind::unlike) body += sample_images(judgement, data.x[0], *shape);
    const std::string what = predictions.size() > 1 ? str("output ", i + 1) : "", name = names.name.empty() ? what : names.name;
    const std::string title = str("Predictions for ", counted(data.size(), options.judged_as + " sample"), name.empty() ? "" : ": " + name);
    out += section(i ? str("judged-", i + 1) : "judged", title, body);
  }
  return out;
}

}  // namespace sinter::report
