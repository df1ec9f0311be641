#include "bench/stream/records.h"

#include <sinter/sinter.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

namespace sinter::bench {

namespace {

constexpr std::size_t different = 4096;  // records

std::string name_of(std::int64_t number) { return str("v", number + 1); }

/// Numbers with the six decimals that measurements have.
std::vector<float> numbers() {
  std::mt19937 random(5);
  std::vector<float> result(different * record_numbers);
  for (float& x : result) x = static_cast<float>(static_cast<std::int64_t>(random() % 4'000'001) - 2'000'000) * 1e-6f;
  return result;
}

/// Records of text, one a line.
std::string lines(std::string_view format) {
  const std::vector<float> all = numbers();
  const bool is_json = format == "json";
  std::string text;
  for (std::size_t r = 0; r < different; ++r) {
    for (std::int64_t i = 0; i < record_numbers; ++i) {
      text += is_json ? str(i == 0 ? "{\"" : ", \"", name_of(i), "\": ") : i == 0 ? "" : ",";
      text += serve::prediction_text(static_cast<double>(all[r * record_numbers + static_cast<std::size_t>(i)]));
    }
    text += is_json ? "}\n" : "\n";
  }
  return text;
}

void save(const std::string& path, const Dataset& data, const char* key, const std::string& value) {
  seed(1);
  nn::Sequential model{nn::Dense(record_numbers, 32, Activation::relu), nn::Dense(32, 2)};
  Trainer trainer(model, loss::sparse_categorical_crossentropy_from_logits, optim::Adam(), {.mode = Mode::eager});
  trainer.fit(data, {.epochs = 1, .verbose = false});
  trainer.set_metadata(key, value);
  trainer.save(path);
}

}  // namespace

std::string record_names() {
  std::string text;
  for (std::int64_t i = 0; i < record_numbers; ++i) text += (i == 0 ? "" : ",") + name_of(i);
  return text;
}

void write_models(const std::string& of_table, const std::string& of_arrays) {
  constexpr std::int64_t rows = 512;
  const std::vector<float> all = numbers();
  std::vector<std::string> names;
  std::vector<std::vector<std::string>> columns;
  std::vector<std::int32_t> classes;
  for (std::int64_t i = 0; i < record_numbers; ++i) {
    names.push_back(name_of(i));
    columns.emplace_back();
    for (std::int64_t r = 0; r < rows; ++r) columns.back().push_back(str(all[static_cast<std::size_t>(r * record_numbers + i)]));
  }
  names.push_back("kind");
  columns.emplace_back();
  for (std::int64_t r = 0; r < rows; ++r) {
    classes.push_back(all[static_cast<std::size_t>(r * record_numbers)] > 0);
    columns.back().push_back(classes.back() ? "fraud" : "normal");
  }
  const data::Table table(names, columns);
  const data::Encoder encoder = data::Encoder::fit(table, {.target = "kind"});
  save(of_table, encoder.dataset(table), "encoder", encoder.to_json());
  const Tensor x(std::span<const float>(all).first(static_cast<std::size_t>(rows * record_numbers)), {rows, record_numbers});
  save(of_arrays, {x, Tensor(classes, {rows})}, "task", "classes");
}

std::string records(std::string_view format, std::size_t count) {
  std::string some;
  if (format == "raw") {
    const std::vector<float> all = numbers();
    some.assign(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(float));
  } else {
    some = lines(format);
  }
  std::string result;
  result.reserve(some.size() * (count / different + 1));
  for (std::size_t left = count; left;) {
    const std::size_t now = std::min(left, different);
    std::size_t bytes = some.size();
    if (now < different && format == "raw") bytes = now * record_numbers * sizeof(float);
    else if (now < different)
      for (std::size_t i = bytes = 0; i < now; ++i) bytes = some.find('\n', bytes) + 1;
    result.append(some, 0, bytes);
    left -= now;
  }
  return result;
}

std::string damaged_records(std::size_t count) {
  constexpr std::string_view bytes = "{}[]\",:\\ 0123456789-+.eEtrufalsn\x80\xff\t\r\x01;'";
  const std::string good = lines("json");
  std::mt19937 random(6);
  std::string result;
  for (std::size_t i = 0, at = 0; i < count; ++i) {
    const std::size_t end = good.find('\n', at);
    std::string line = good.substr(at, end - at);
    at = end + 1 == good.size() ? 0 : end + 1;
    for (std::uint32_t changes = random() % 4; changes && !line.empty(); --changes) {
      const std::size_t where = random() % line.size();
      if (const std::uint32_t kind = random() % 4; kind == 0) line[where] = bytes[random() % bytes.size()];
      else if (kind == 1) line.erase(where, 1 + random() % 8);
      else if (kind == 2) line.insert(where, line.substr(where, 1 + random() % 30));
      else line.resize(where);
    }
    (result += line) += '\n';
  }
  return result;
}

}  // namespace sinter::bench
