// sinter_published runs experiments of published articles on Sinter and prints what bench/published/run makes a page of: one JSON object a line
// (bench/published/README.md has their forms).
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <sinter/sinter.h>

namespace sinter::published {

struct RunSettings {
  bool quick = false;                                       ///< fewer epochs, steps and samples: all of a series in less than a minute
  bool full = false;                                        ///< all of the article's epochs and steps, however long they take
  int threads = 2;                                          ///< of each step
  std::string data;                                         ///< folder with mnist/, cifar10/ and so on; "" for none
  std::string cli;                                          ///< the program `sinter`; "" for none
  bool generated = false;                                   ///< generated data of the same shapes in place of files
  std::set<std::string> modes{"default", "best", "eager"};  ///< columns to fill; see README.md

  bool has(const std::string& mode) const { return modes.contains(mode); }
};

/// Prints the lines of one series.
class Report {
 public:
  explicit Report(std::string series) : series_(std::move(series)) {}

  /// A figure of a table: its row is that of a published figure in figures.json, its column `Sinter default`, `Sinter best`, `Sinter eager` or
  /// another name. Units of time are s, ms and us. The note says what differs: "3 of 35 epochs, scaled".
  void cell(const std::string& row, const std::string& column, double value, const std::string& unit, const std::string& note = "");
  /// A point of a curve of a chart: what changes from epoch to epoch.
  void point(const std::string& chart, const std::string& curve, double x, double y);
  /// A sentence for the page: which data was read, what was left out.
  void remark(const std::string& text);
  /// An assertion: low <= value <= high. Only what the article's figures allow (README.md) is asserted.
  void require(const std::string& text, double value, double low, double high);
  bool ok() const { return ok_; }

 private:
  std::string series_;
  bool ok_ = true;
};

/// A series of experiments: those of one article, or of a part of it.
struct Series {
  std::string name;
  void (*run)(const RunSettings& settings, Report& report);
};

void eager_graph(const RunSettings& settings, Report& report);
void fraud(const RunSettings& settings, Report& report);
void lenet(const RunSettings& settings, Report& report);
void perceptron(const RunSettings& settings, Report& report);
void regression(const RunSettings& settings, Report& report);
void rosetta(const RunSettings& settings, Report& report);

/// Seconds that a call takes.
double seconds_of(const std::function<void()>& call);
/// The least of `repeats` calls, after one that warms up.
double least_seconds(int repeats, const std::function<void()>& call);

/// Training and test set of a folder in MNIST's format: `data`/mnist; without it Debian's Fashion-MNIST, and without that generated images. A remark
/// says which. Throws UserError for a folder with damaged files.
struct Images {
  Dataset train, test;
  bool is_mnist = false;  ///< accuracies may be compared with those of articles
};
Images mnist(const RunSettings& settings, Report& report);

}  // namespace sinter::published
