#include "frontend/data/row_filter.h"

#include <numeric>
#include <variant>

#include "frontend/data/record_encoder.h"
#include "ir/error.h"

namespace sinter::data {

RowFilter::RowFilter(std::span<const Condition> conditions, const CellRules& rules, const ColumnNumbers& columns) {
  for (const Condition& condition : conditions) {
    condition.check(rules);
    tests_.push_back({columns[condition.column], condition.comparison, rules.category(condition.value), rules.number(condition.value)});
  }
}

/// Empty for a field that is no number to compare.
template <class Field>
std::optional<bool> RowFilter::holds(const Test& test, const Field& field, FieldReader& reader) {
  const bool is_missing = reader.is_missing(field);
  if (test.comparison == Comparison::empty || test.comparison == Comparison::not_empty) return is_missing == (test.comparison == Comparison::empty);
  if (is_missing) return false;
  if (test.comparison == Comparison::equal || test.comparison == Comparison::not_equal)
    return (reader.category(field) == test.category) == (test.comparison == Comparison::equal);
  const auto number = reader.number(field);
  if (!number) return {};
  switch (test.comparison) {
    case Comparison::less:
      return *number < *test.number;
    case Comparison::less_equal:
      return *number <= *test.number;
    case Comparison::greater:
      return *number > *test.number;
    default:
      return *number >= *test.number;
  }
}

template <class Field>
RowFilter::Verdict RowFilter::judge(std::span<const Field> fields, FieldReader& reader) const {
  for (const Test& test : tests_) {
    const auto of_one = [&](const auto& field) { return holds(test, field, reader); };
    std::optional<bool> met;
    if constexpr (std::is_same_v<Field, data::Field>) met = std::visit(of_one, fields[test.field]);
    else met = of_one(fields[test.field]);
    if (!met) return {false, test.field};
    if (!*met) return {false};
  }
  return {};
}

template RowFilter::Verdict RowFilter::judge(std::span<const std::string_view>, FieldReader&) const;
template RowFilter::Verdict RowFilter::judge(std::span<const double>, FieldReader&) const;
template RowFilter::Verdict RowFilter::judge(std::span<const data::Field>, FieldReader&) const;

std::vector<std::size_t> rows_where(const Table& table, std::span<const Condition> conditions, const CellRules& rules) {
  std::vector<std::size_t> rows;
  if (conditions.empty()) {
    rows.resize(table.rows());
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    return rows;
  }
  const RowFilter filter(conditions, rules, ColumnNumbers(table.names));
  FieldReader reader(rules);
  std::vector<std::string_view> fields(table.names.size());
  for (std::size_t r = 0; r < table.rows(); ++r) {
    for (std::size_t c = 0; c < fields.size(); ++c) fields[c] = table.field(r, c);
    const RowFilter::Verdict verdict = filter.judge(std::span<const std::string_view>(fields), reader);
    if (verdict.wrong)
      throw UserError("condition", str("column '", table.names[*verdict.wrong], "' is compared with a number, but line ", table.line(r), " has '",
                                       fields[*verdict.wrong].substr(0, 40), "'"));
    if (verdict.holds) rows.push_back(r);
  }
  return rows;
}

}  // namespace sinter::data
