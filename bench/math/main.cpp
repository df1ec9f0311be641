// sinter_math [FUNCTION...]: the greatest error of each elementary function over all 2^32 floats, compiled, and whether eager execution gives the
// same bits; then, unless functions are named, of every op. One JSON line each, or the tables of docs/float-error.md; the exit status is 1 if a bound
// is exceeded. About a minute a function on two cores. With --lengths, how the error of long sums grows with their length.
#include <CLI/CLI.hpp>
#include <atomic>
#include <bit>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "bench/math/functions.h"
#include "bench/math/lengths.h"
#include "bench/math/ops.h"
#include "sinter/sinter.h"

namespace {

using namespace sinter;
using namespace sinter::bench;

struct Worst {
  double ulps = 0;
  float x = 0, got = 0;
  std::uint64_t differ = 0;  ///< floats for which eager execution gives other bits
};

/// Floats whose bits are [begin, end), every `stride`-th.
void examine(const Function& function, Step<Tensor(Tensor)>& step, std::uint64_t begin, std::uint64_t end, std::uint64_t stride, Worst& worst) {
  std::vector<float> x;
  for (std::uint64_t bits = begin; bits < end; bits += stride) x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  const Tensor in(x, {static_cast<std::int64_t>(x.size())});
  const auto compiled = step(in).to_vector<float>(), eager = function.apply(in).to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool nans = std::isnan(compiled[i]) && std::isnan(eager[i]);
    worst.differ += !nans && std::bit_cast<std::uint32_t>(compiled[i]) != std::bit_cast<std::uint32_t>(eager[i]);
    const double off = ulps_off(compiled[i], function.exact(flushed(x[i])));
    if (off > worst.ulps) worst = {off, x[i], compiled[i], worst.differ};
  }
}

Worst examine_all(const Function& function, int threads, std::uint64_t stride) {
  constexpr std::uint64_t all = std::uint64_t{1} << 32, block = std::uint64_t{1} << 20;
  Worst total;
  std::mutex mutex;
  std::atomic<std::uint64_t> next{0};
  std::vector<std::jthread> team;
  for (int i = 0; i < threads; ++i)
    team.emplace_back([&] {
      auto step = compile([&](const Tensor& t) { return function.apply(t); }, StepOptions{.threads = 1});
      Worst mine;
      for (std::uint64_t begin; (begin = next.fetch_add(block)) < all;) examine(function, step, begin, begin + block, stride, mine);
      const std::scoped_lock lock(mutex);
      total.differ += mine.differ;
      if (mine.ulps > total.ulps) total = {mine.ulps, mine.x, mine.got, total.differ};
    });
  return team.clear(), total;
}

/// A line of docs/float-error.md, as of a measurement.
struct Row {
  std::string name, of;
  double eager = 0, compiled = 0, allowed = 0;
  std::string unit;
  bool ok() const { return std::max(eager, compiled) <= allowed * (1 + 1e-6); }  // the reference rounds too
};

/// In few digits, rounded up: what is stated holds.
std::string stated(double error) {
  std::ostringstream text;
  text << std::setprecision(15) << (error < 1000 ? std::max(0.0, std::ceil(error * 1000 - 1e-9)) / 1000 : std::ceil(error));
  return text.str();
}

std::vector<Row> measure(const std::vector<std::string>& names, int threads, std::uint64_t stride) {
  std::vector<Row> rows;
  for (const Function& function : functions()) {
    if (!names.empty() && std::find(names.begin(), names.end(), function.name) == names.end()) continue;
    const Worst worst = examine_all(function, threads, stride);
    if (worst.differ) throw UserError(function.name, str("eager execution gives other bits for ", worst.differ, " floats"));
    rows.push_back({function.name, worst.ulps > 0 ? str("f32, worst at ", worst.x) : "f32", worst.ulps, worst.ulps, function.bound, "ulps"});
  }
  if (names.empty())
    for (const OpError& op : op_errors())
      rows.push_back({op.op, op.of, op.eager, op.compiled, op.allowed, op.by_terms ? "2^-24 of the terms" : "ulps"});
  return rows;
}

void print_table(const std::vector<Row>& rows) {
  std::cout << "| function or op | of | eager | compiled | allowed | unit |\n|---|---|---|---|---|---|\n";
  for (const Row& r : rows)
    std::cout << "| `" << r.name << "` | " << r.of << " | " << stated(r.eager) << " | " << stated(r.compiled) << " | " << stated(r.allowed) << " | "
              << r.unit << " |\n";
}

void print_lengths(const std::vector<LengthError>& errors) {
  const auto in_words = [](double error) { return error == 0 ? std::string("0") : str(std::setprecision(2), error); };
  std::cout << "| sum | rows | eager | compiled |\n|---|---|---|---|\n";
  for (const LengthError& e : errors)
    std::cout << "| " << e.sum << " | 10^" << std::llround(std::log10(e.rows)) << " | " << in_words(e.eager) << " | " << in_words(e.compiled)
              << " |\n";
}

/// Without the place of the greatest error, which depends on the floats that are tried.
std::string operands(const std::string& of) { return of.substr(0, of.find(", worst at")); }

/// Name and operands → the numbers of the page.
std::map<std::string, Row> read_table(const std::string& path) {
  std::ifstream file(path);
  std::map<std::string, Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, '|');) cells.push_back(cell.size() > 2 ? cell.substr(1, cell.size() - 2) : "");
    if (cells.size() < 7) throw UserError(path, "has a line of another table: " + line);
    const std::string name = cells[1].substr(1, cells[1].size() - 2), of = operands(cells[2]);
    rows[name + " of " + of] = {name, of, std::stod(cells[3]), std::stod(cells[4]), std::stod(cells[5]), cells[6]};
  }
  if (rows.empty()) throw UserError(path, "has no table of errors");
  return rows;
}

/// What the page states holds for what was measured, and it states something of everything.
bool holds(const std::string& path, const std::vector<Row>& measured) {
  const std::map<std::string, Row> page = read_table(path);
  bool ok = true;
  for (const Row& r : measured) {
    const auto found = page.find(r.name + " of " + operands(r.of));
    const bool fits =
        found != page.end() && r.eager <= found->second.eager + 1e-6 && r.compiled <= found->second.compiled + 1e-6 && r.unit == found->second.unit;
    if (!fits)
      std::cout << path << " does not hold: `" << r.name << "` of " << r.of << " is " << r.eager << " eagerly and " << r.compiled << " compiled\n";
    ok = ok && fits;
  }
  if (ok) std::cout << path << " holds for " << measured.size() << " measurements\n";
  return ok;
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app{"Measures the greatest error of elementary functions over all floats, and of every op"};
  std::vector<std::string> names;
  std::uint64_t stride = 1;
  int threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  bool markdown = false;
  std::string page;
  std::int64_t most_rows = 0;
  app.add_option("function", names, "names; all if none is given, and all ops");
  app.add_option("--stride", stride, "take one float in STRIDE of each block of 2^20")->check(CLI::Range(1, 1 << 20));
  app.add_option("--threads", threads)->check(CLI::Range(1, 256));
  app.add_flag("--markdown", markdown, "print the table of docs/float-error.md");
  app.add_option("--check", page, "a page with such a table: whether it holds");
  app.add_option("--lengths", most_rows, "print instead the table of errors of sums over 10^4, 10^6, ... rows, up to so many")
      ->check(CLI::Range(std::int64_t{10'000}, std::int64_t{100'000'000}));
  CLI11_PARSE(app, argc, argv);
  if (most_rows) return print_lengths(length_errors(most_rows)), 0;
  for (const std::string& name : names)
    if (std::none_of(functions().begin(), functions().end(), [&](const Function& f) { return f.name == name; }))
      throw UserError("sinter_math", str("there is no function '", name, "'; see bench/math/functions.h"));
  const std::vector<Row> rows = measure(names, threads, stride);
  bool ok = std::all_of(rows.begin(), rows.end(), [](const Row& r) { return r.ok(); });
  if (markdown) print_table(rows);
  else
    for (const Row& r : rows)
      std::cout << nlohmann::ordered_json{{"name", r.name},       {"of", r.of},     {"eager", r.eager}, {"compiled", r.compiled},
                                          {"allowed", r.allowed}, {"unit", r.unit}, {"ok", r.ok()}}
                       .dump()
                << std::endl;
  if (!page.empty()) ok = holds(page, rows) && ok;
  return ok ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
