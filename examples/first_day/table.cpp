// A difficult table: Latin-1, semicolons, decimal commas, post codes, missing values written in three ways. Trains a linear and a deep model and
// compares them with scikit-learn's results on the same rows (rents.py).
#include <sinter/sinter.h>

#include <cmath>
#include <iomanip>
#include <iostream>

using namespace sinter;

int main(int argc, char** argv) try {
  const data::Table table = data::read_csv(argc > 1 ? argv[1] : "rents.csv", {.delimiter = ';', .encoding = "latin1"});
  std::vector<std::size_t> rows(table.rows() - 250);  // to learn from; the last 250 are held out
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = i;
  const data::Encoder encoder = data::Encoder::fit(
      table, {.target = "rent", .categorical = {"post code"}, .ignore = {"id"}, .missing = {"n.a.", "-"}, .decimal = ',', .rows = rows});
  for (const data::ColumnSummary& column : encoder.summary(table))
    std::cout << column.name << ": " << (column.categorical ? str(column.categories, " categories") : "numbers") << ", " << column.missing
              << " missing\n";
  const auto part = [&](std::size_t begin, std::size_t end) {
    const auto b = static_cast<std::int64_t>(begin), e = static_cast<std::int64_t>(end);
    return Dataset{slice(encoder.features(table), 0, b, e), slice(encoder.target(table), 0, b, e)};
  };
  const Dataset train = part(0, rows.size()), test = part(rows.size(), table.rows());

  std::cout << std::setprecision(4) << "                         R2      mean absolute error\n";
  const auto report = [&](const char* name, const Tensor& prediction) {
    const metric::Pointer r2 = metric::r2(), error = metric::scaled(encoder.target_unit(), metric::mean_absolute_error());
    for (const metric::Pointer& metric : {r2, error}) metric->add(prediction, test.y[0]);
    std::cout << name << r2->result() << "  " << error->result() << "\n";
    return r2->result();
  };

  // Linear: the pseudo-inverse, because a category's columns and the intercept depend on each other.
  const auto with_ones = [](const Tensor& x) { return pad(x, -1, 0, 1, 1); };
  const Tensor weights = matmul(linalg::pinv(with_ones(train.x[0])), train.y[0]);
  const double linear = report("Sinter, pinv             ", matmul(with_ones(test.x[0]), weights));
  std::cout << "sklearn LinearRegression 0.9029  80.62\n";

  // Deep.
  seed(1);
  nn::Sequential model{nn::Dense(encoder.width(), 32, Activation::relu), nn::Dense(32, 32, Activation::relu), nn::Dense(32, 1)};
  Trainer trainer(model, loss::mean_squared_error, optim::Adam({.learning_rate = 1e-2f}));
  trainer.fit(train, {.epochs = 100, .batch_size = 200, .verbose = false, .schedule = schedule::cosine(1e-2f)});
  const double deep = report("Sinter, 32-32            ", trainer.predict(test.x));
  std::cout << "sklearn MLPRegressor     0.9113  51.46\n";
  return std::abs(linear - 0.9029) < 1e-4 && deep > 0.87 ? 0 : 1;
} catch (const Error& error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
