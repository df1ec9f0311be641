// Seeds of the target `keras`: the smallest files that have all that Hdf5File knows.
#include <cstring>

#include "fuzz/targets.h"

namespace sinter::fuzz {

namespace {

constexpr std::uint64_t nowhere = ~std::uint64_t{0};

/// Little-endian, of `size` bytes.
std::string number(std::uint64_t value, std::size_t size = 8) { return {reinterpret_cast<const char*>(&value), size}; }

/// A file that grows at its end, from data sets to the root.
class Hdf5Writer {
 public:
  std::uint64_t data_set(const std::vector<std::uint64_t>& extents, std::size_t size, const std::string& numbers) {
    const std::uint64_t place = numbers.empty() ? nowhere : append(numbers);
    std::string shape{1, static_cast<char>(extents.size()), 0, 0, 0, 0, 0, 0}, layout{3, 1};
    for (const std::uint64_t extent : extents) shape += number(extent);
    layout += number(place) + number(numbers.size());
    const std::string float_16("\x11\x20\x0f\0\2\0\0\0\0\0\x10\0\x0a\5\0\x0a\x0f\0\0\0", 20);
    const std::string float_32("\x11\x20\x1f\0\4\0\0\0\0\0\x20\0\x17\x08\0\x17\x7f\0\0\0", 20);
    // The last message stands in a part of the header of its own.
    const std::string last = message(8, layout);
    const std::uint64_t part = append(last);
    return header({message(1, shape), message(3, size == 2 ? float_16 : float_32), message(16, number(part) + number(last.size()))});
  }

  /// `attributes`: messages that list() makes.
  std::uint64_t group(const std::vector<std::pair<std::string, std::uint64_t>>& members, std::vector<std::string> attributes = {}) {
    std::string names(8, '\0'), leaf = "SNOD" + number(1, 2) + number(members.size(), 2);
    for (const auto& [name, object] : members) {
      leaf += number(names.size()) + number(object) + std::string(24, '\0');
      names += name + '\0';
    }
    const std::uint64_t leaf_at = append(leaf), names_at = append(names);
    const std::uint64_t heap = append("HEAP" + number(0, 4) + number(names.size()) + number(1) + number(names_at));
    const std::uint64_t tree =
        append("TREE" + number(0, 2) + number(1, 2) + number(nowhere) + number(nowhere) + number(0) + number(leaf_at) + number(8));
    attributes.push_back(message(17, number(tree) + number(heap)));
    return header(attributes);
  }

  /// An attribute that lists texts: of a fixed length, or in a collection of their own.
  std::string list(const std::string& name, const std::vector<std::string>& texts, bool is_fixed) {
    constexpr std::size_t length = 12, reference = 16;
    std::string values, heap;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      values += is_fixed ? texts[i] + std::string(length - texts[i].size(), '\0') : number(texts[i].size(), 4) + "<address>" + number(i + 1, 4);
      heap += number(i + 1, 2) + number(0, 6) + number(texts[i].size()) + padded(texts[i]);
    }
    if (!is_fixed) {
      const std::string address = number(append("GCOL" + number(1, 4) + number(16 + heap.size()) + heap));
      for (std::size_t at = 0; (at = values.find("<address>", at)) != values.npos; at += address.size()) values.replace(at, 9, address);
    }
    const std::string type = std::string(is_fixed ? "\x13\0\0\0" : "\x19\1\0\0", 4) + number(is_fixed ? length : reference, 4);
    const std::string space = std::string("\1\1\0\0\0\0\0\0", 8) + number(texts.size());
    return message(12, number(1, 2) + number(name.size() + 1, 2) + number(type.size(), 2) + number(space.size(), 2) + padded(name + '\0') + type +
                           space + values);
  }

  std::string finish(std::uint64_t root) {
    const std::string start = "\x89HDF\r\n\x1a\n" + number(0, 5) + number(0x0808, 3) + number(0x100004, 8) + number(0) + number(nowhere) +
                              number(bytes_.size()) + number(nowhere) + number(0) + number(root);
    return bytes_.replace(0, start.size(), start);
  }

 private:
  static std::string padded(std::string bytes) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    return bytes;
  }
  static std::string message(int type, const std::string& content) {
    const std::string all = padded(content);
    return number(static_cast<std::uint64_t>(type), 2) + number(all.size(), 2) + std::string(4, '\0') + all;
  }
  std::uint64_t header(const std::vector<std::string>& messages) {
    std::string all;
    for (const std::string& one : messages) all += one;
    return append(number(1, 2) + number(messages.size(), 2) + number(1, 4) + number(all.size(), 8) + all);
  }
  std::uint64_t append(const std::string& part) {
    const std::uint64_t at = bytes_.size();
    bytes_ += part;
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    return at;
  }

  std::string bytes_ = std::string(96, '\0');
};

}  // namespace

Seeds keras_seeds() {
  const auto layers = [](Hdf5Writer& file, std::uint64_t vars) {
    const std::uint64_t dense = file.group({{"vars", vars}}), flatten = file.group({});
    return file.finish(file.group({{"layers", file.group({{"dense", dense}, {"flatten", flatten}})}}));
  };
  Hdf5Writer dense, half, empty;
  const std::uint64_t weight = dense.data_set({2, 3}, 4, std::string(24, '\x3f')), bias = dense.data_set({3}, 4, std::string(12, '\x40'));
  const auto keras_2 = [](bool is_fixed) {
    Hdf5Writer file;
    const std::uint64_t kernel = file.data_set({2, 3}, 4, std::string(24, '\x3f')), bias = file.data_set({3}, 4, std::string(12, '\x40'));
    const std::uint64_t weights = file.group({{"kernel:0", kernel}, {"bias:0", bias}});
    const std::uint64_t layer = file.group({{"d", weights}}, {file.list("weight_names", {"d/kernel:0", "d/bias:0"}, is_fixed)});
    return file.finish(file.group({{"d", layer}}, {file.list("layer_names", {"d"}, is_fixed)}));
  };
  const std::uint64_t scalar = half.data_set({}, 2, std::string(2, '\x3c')), none = empty.data_set({0, 4}, 4, "");
  return {{"dense", layers(dense, dense.group({{"0", weight}, {"1", bias}}))},
          {"half", layers(half, half.group({{"0", scalar}}))},
          {"empty", layers(empty, empty.group({{"0", none}}))},
          {"keras_2", keras_2(true)},
          {"keras_2_collections", keras_2(false)}};
}

}  // namespace sinter::fuzz
