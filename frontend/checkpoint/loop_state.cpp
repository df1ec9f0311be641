#include "frontend/checkpoint/loop_state.h"

#include <algorithm>
#include <map>

#include "frontend/core/nearest.h"
#include "frontend/weights/state_dict.h"

namespace sinter {

void save_state(const std::string& path, const std::vector<StatePart>& parts) {
  weights::StateDict all;
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const Parameter& p : parts[i].parameters()) {
      std::string name = str(i, "/", p.name());
      if (std::any_of(all.begin(), all.end(), [&](const auto& entry) { return entry.first == name; }))
        throw UserError("save_state", str("part ", i, " has two parameters '", p.name(), "'; name them or their modules with set_name"));
      all.emplace_back(std::move(name), p);
    }
  weights::write(path, all);
}

void load_state(const std::string& path, const std::vector<StatePart>& parts) {
  std::vector<weights::StateDict> of_part(parts.size());
  for (auto& [name, tensor] : weights::read(path)) {
    const std::size_t cut = name.find('/');
    std::size_t part = 0;
    while (part < parts.size() && name.substr(0, cut) != std::to_string(part)) ++part;
    if (cut == name.npos || part == parts.size())
      throw UserError(path, str("'", name, "' belongs to none of the ", parts.size(), " parts; load the parts that were saved, in their order"));
    of_part[part].emplace_back(name.substr(cut + 1), std::move(tensor));
  }
  // All is checked before anything is assigned.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::vector<std::string> known;
    for (const Parameter& p : parts[i].optimizer() ? parts[i].optimizer()->created_state() : parts[i].parameters()) {
      known.push_back(p.name());
      const auto entry = [&](const std::string& name) {
        return std::find_if(of_part[i].begin(), of_part[i].end(), [&](const auto& its) { return its.first == name; });
      };
      const auto found = entry(p.name_in_file([&](const std::string& name) { return entry(name) != of_part[i].end(); }));
      if (found == of_part[i].end()) throw UserError(path, str("part ", i, " needs '", p.name(), "', which the file lacks"));
      if (found->second.type() != p.type())
        throw UserError(path, str("'", p.name(), "' of part ", i, " is ", found->second.type(), " in the file, but ", p.type(), " here"));
      found->first = p.name();
    }
    for (const auto& [name, tensor] : of_part[i]) {
      const bool is_slot = parts[i].optimizer() && name.starts_with(parts[i].optimizer()->name() + "/");
      if (!is_slot && std::find(known.begin(), known.end(), name) == known.end())
        throw UserError(path, str("part ", i, " has no '", name, "'", nearest_hint(name, known)));
    }
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].optimizer()) {
      parts[i].optimizer()->load_state(of_part[i]);
      continue;
    }
    const std::map<std::string, Tensor> values(of_part[i].begin(), of_part[i].end());
    for (const Parameter& p : parts[i].parameters()) p.assign(values.at(p.name()));
  }
}

}  // namespace sinter
