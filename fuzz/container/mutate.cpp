#include "fuzz/container/mutate.h"

#include <algorithm>

#include "frontend/core/random.h"
#include "fuzz/container/sections.h"
#include "fuzz/container/wire.h"
#include "ir/ops.h"
#include "runtime/file/layout.h"

namespace sinter::fuzz {

namespace {

/// Texts that mean something in a graph or an index.
std::vector<std::string> make_words() {
  std::vector<std::string> words{"f32",
                                 "i32",
                                 "u32",
                                 "u8",
                                 "bool",
                                 "[]",
                                 "[N]",
                                 "[N,3]",
                                 "[3,N]",
                                 "[2N,4]",
                                 "[R,3]",
                                 "[0]",
                                 "[N,0]",
                                 "[3,3]",
                                 "[1,1]",
                                 "[1,1,1,1]",
                                 "[9223372036854775807]",
                                 "[N,2147483647]",
                                 "N",
                                 "2N",
                                 "R",
                                 "0",
                                 "1",
                                 "batch",
                                 "fixed",
                                 "table",
                                 "hidden",
                                 "train",
                                 "predict",
                                 "evaluate",
                                 "step",
                                 "predict_floats",
                                 "kind",
                                 "epoch",
                                 "scale",
                                 "inputs",
                                 "outputs",
                                 "learning_rate",
                                 "-1",
                                 "1e38",
                                 "nan",
                                 "step/captured/0"};
  ir::for_each_op([&]<class O>(O) {
    words.emplace_back(O::name);
    std::apply([&](const auto&... f) { (words.emplace_back(f.name), ...); }, O::fields);
  });
  return words;
}

class Mutation {
 public:
  Mutation(std::uint32_t seed, std::size_t most, ByteMutator bytes) : random_(seed, 2), most_(most), mutate_bytes_(bytes) {}

  std::string file(const std::string& original) {
    const auto sections = split_file(original);
    const std::uint32_t kind = below(16);
    if (!sections || kind == 0) return bytes(original);
    if (kind == 1) {  // header and table, and whatever else is hit
      std::string changed = bytes(original);
      repair_file(changed);
      return changed;
    }
    if (kind == 2) {
      const std::size_t head = std::min(original.size(), sizeof(runtime::FileHeader) + sections->size() * sizeof(runtime::SectionEntry));
      std::string changed = original;
      changed[below(head)] = static_cast<char>(random_.next());
      if (below(2)) repair_file(changed);
      return changed;
    }
    std::vector<Section> changed = *sections;
    for (std::uint32_t times = 1 + below(3); times > 0; --times) change(changed);
    return join_file(changed);
  }

 private:
  std::uint32_t below(std::size_t count) { return random_.below(static_cast<std::uint32_t>(count)); }

  std::string bytes(std::string text) {
    const std::size_t size = text.size();
    text.resize(std::max<std::size_t>(1, std::min(most_, size + 64)));
    text.resize(mutate_bytes_(reinterpret_cast<std::uint8_t*>(text.data()), std::min(size, text.size()), text.size()));
    return text;
  }

  void change(std::vector<Section>& sections) {
    if (sections.empty()) return;
    const std::size_t at = below(sections.size());
    switch (below(24)) {
      case 0:
        sections.erase(sections.begin() + at);
        return;
      case 1:
        sections.insert(sections.begin() + at, Section(sections[below(sections.size())]));
        return;
      case 2:
        std::swap(sections[at], sections[below(sections.size())]);
        return;
      case 3:
        sections[at].kind = below(5);
        return;
      default:
        break;
    }
    Section& section = sections[below(3) ? at : 0];
    auto message = section.kind == 3 ? std::nullopt : parse_wire(section.bytes);
    if (!message) {
      section.bytes = bytes(section.bytes);
      return;
    }
    change(*message);
    section.bytes = wire_bytes(*message);
  }

  /// Down to any of the messages within, then one change there.
  void change(WireMessage& message) {
    if (message.empty()) {
      message.push_back({1 + below(9), WireField::Kind::bytes, 0, word(), {}});
      return;
    }
    const std::size_t at = below(message.size());
    WireField& field = message[at];
    if (!field.fields.empty() && below(8)) return change(field.fields);
    switch (below(8)) {
      case 0:
        message.erase(message.begin() + static_cast<std::ptrdiff_t>(at));
        return;
      case 1:
        message.insert(message.begin() + static_cast<std::ptrdiff_t>(at), WireField(message[below(message.size())]));
        return;
      case 2:
        std::swap(field, message[below(message.size())]);
        return;
      case 3:
        field.number = 1 + below(10);
        return;
      default:
        change(field);
    }
  }

  void change(WireField& field) {
    if (field.kind == WireField::Kind::bytes) {
      field.bytes = below(2) ? word() : bytes(field.bytes);
      field.fields.clear();
      return;
    }
    switch (below(4)) {
      case 0:
        field.value = below(12);
        break;
      case 1:
        field.value += below(2) ? 1 : ~std::uint64_t{0};
        break;
      case 2:
        field.value = std::uint64_t{1} << below(64);
        break;
      default:
        field.value = std::uint64_t{random_.next()} << 32 | random_.next();
    }
  }

  std::string word() {
    static const std::vector<std::string> words = make_words();
    return words[below(words.size())];
  }

  RandomStream random_;
  std::size_t most_;
  ByteMutator mutate_bytes_;
};

}  // namespace

std::size_t mutate_container(std::uint8_t* data, std::size_t size, std::size_t most, std::uint32_t seed, ByteMutator bytes) {
  const std::string changed = Mutation(seed, most, bytes).file({reinterpret_cast<const char*>(data), size});
  if (changed.size() > most) return bytes(data, size, most);
  std::copy(changed.begin(), changed.end(), data);
  return changed.size();
}

}  // namespace sinter::fuzz
