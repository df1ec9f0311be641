#include "frontend/nn/summary.h"

#include <algorithm>
#include <iomanip>

#include "frontend/core/trace.h"
#include "frontend/nn/module_state.h"
#include "frontend/nn/other_defaults.h"

namespace sinter::nn {

namespace {

/// 1234567 as 1,234,567.
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace

void Summary::called(const Module& module, std::span<const Tensor> results) {
  calls_.push_back({state_of(module), results[0].type(), options_.details ? module.settings() : std::vector<Setting>{}});
}

std::string Module::summary_all(std::span<const Type> inputs, SummaryOptions options) {
  Summary summary(options);
  const Trace scratch("summary");
  std::vector<Tensor> in;
  for (const Type& type : inputs) in.push_back(Trace::current()->input({str("x", in.size()), type, ir::InputSpec::Kind::batch}));
  (void)call_all(in);
  return summary.table(*this);
}

std::string Summary::table(const Module& model) const {
  // Only modules without children get a line, and the parameters that a module holds besides its children.
  std::vector<SummaryLine> lines;
  std::vector<Parameter> counted;
  for (const Call& call : calls_) {
    std::vector<Parameter> fresh;
    for (const ModuleState::Own& own : call.module->own)
      if (std::find(counted.begin(), counted.end(), own.parameter) == counted.end()) fresh.push_back(own.parameter);
    counted.insert(counted.end(), fresh.begin(), fresh.end());
    if (!call.module->children.empty() && fresh.empty()) continue;
    lines.push_back({call.module->label(), call.module->kind, call.type.shape, count_elements(fresh), {}});
    if (options_.details) lines.back().details = details_of(call.module->kind, call.settings);
  }
  return summary_table(lines, model.parameters());
}

std::vector<std::string> details_of(const std::string& kind, const std::vector<Setting>& settings) {
  std::vector<std::string> details;
  if (!settings.empty()) details.push_back(text_of(settings));
  if (std::string others = other_defaults(kind, settings); !others.empty()) details.push_back(std::move(others));
  return details;
}

std::int64_t count_elements(std::span<const Parameter> parameters) {
  std::int64_t total = 0;
  for (const Parameter& p : parameters) total += p.shape().elements().factor();
  return total;
}

std::string summary_table(std::span<const SummaryLine> lines, std::span<const Parameter> parameters) {
  struct Row {
    std::string layer, shape, parameters;
  };
  std::vector<Row> rows{{"Layer (kind)", "Output shape", "Parameters"}};
  for (const SummaryLine& line : lines) rows.push_back({line.layer + " (" + line.kind + ")", str(line.shape), grouped(line.parameters)});
  std::size_t layer = 0, shape = 0, number = 0;
  for (const Row& row : rows) {
    layer = std::max(layer, row.layer.size());
    shape = std::max(shape, row.shape.size());
    number = std::max(number, row.parameters.size());
  }
  TextStream out;
  const auto rule = [&](char c) { out << std::string(layer + shape + number + 4, c) << "\n"; };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    out << std::left << std::setw(static_cast<int>(layer + 2)) << rows[i].layer << std::setw(static_cast<int>(shape + 2)) << rows[i].shape
        << std::right << std::setw(static_cast<int>(number)) << rows[i].parameters << "\n";
    if (i == 0) rule('=');
    else
      for (const std::string& line : lines[i - 1].details) out << "  " << line << "\n";
  }
  rule('=');
  std::vector<Parameter> trained(parameters.begin(), parameters.end());
  std::erase_if(trained, [](const Parameter& p) { return !p.trainable(); });
  const std::int64_t all = count_elements(parameters), some = count_elements(trained);
  out << "Parameters: " << grouped(all) << " (" << grouped(some) << " trainable, " << grouped(all - some) << " not)\n";
  return out.str();
}

}  // namespace sinter::nn
