#include "frontend/file/model_file.h"

#include <unordered_map>

#include "frontend/core/name.h"

namespace sinter {

runtime::NamedArray to_array(std::string name, const Tensor& value) {
  const runtime::View view = value.view();
  const std::size_t size = static_cast<std::size_t>(value.elements()) * size_of(value.dtype());
  runtime::Buffer memory = value.buffer();
  if (!view.layout().is_dense()) {
    memory = runtime::Buffer::allocate(size);
    runtime::copy_to_dense(view, memory.data());
  }
  return {std::move(name), value.dtype(), value.shape().extents(1), {memory.data(), size}, memory};
}

Tensor to_tensor(const runtime::NamedArray& array) {
  const Type type{array.dtype, Shape::fixed(array.shape)};
  const bool unpadded = rests_unpadded(type.shape);
  runtime::Buffer buffer = runtime::to_buffer(array, unpadded);
  return unpadded ? Tensor::unpadded(type, std::move(buffer)) : Tensor(type, std::move(buffer));
}

namespace {

std::string captured_name(const std::string& graph, std::size_t index) { return str(graph, "/captured/", index); }

/// The arrays of a file by name.
class Arrays {
 public:
  Arrays(const runtime::Archive& archive, const std::string& where) : where_(where) {
    for (const runtime::NamedArray& array : archive.arrays) arrays_.emplace(array.name, &array);
  }

  /// The array of this name, which must have this type.
  Tensor find(const std::string& name, const Type& type) const {
    const auto found = arrays_.find(name);
    if (found == arrays_.end()) throw UserError(where_, str("array '", name, "' is missing; the file is damaged"));
    const Type stored{found->second->dtype, Shape::fixed(found->second->shape)};
    if (stored != type) throw UserError(where_, str("array '", name, "' is ", stored, " but its graph needs ", type, "; the file is damaged"));
    return to_tensor(*found->second);
  }

 private:
  const std::string& where_;
  std::unordered_map<std::string_view, const runtime::NamedArray*> arrays_;
};

ModelFile model_of(const runtime::Archive& archive, const std::string& where) {
  const Arrays arrays(archive, where);
  std::unordered_map<std::string_view, std::size_t> states;
  ModelFile file;
  file.metadata = archive.metadata;
  for (const runtime::NamedGraph& named : archive.graphs) {
    Traced traced{named.graph, {}, {}};
    for (const ir::StateSpec& state : named.graph.states()) {
      require_name(where, state.name);
      const auto [known, fresh] = states.try_emplace(state.name, file.states.size());
      if (fresh) file.states.emplace_back(state.name, arrays.find(state.name, state.type), state.trainable);
      const Parameter& cell = file.states[known->second];
      if (cell.type() != state.type)
        throw UserError(where,
                        str("state '", state.name, "' is ", cell.type(), " in one graph and ", state.type, " in another; the file is damaged"));
      traced.cells.push_back(cell.cell());
    }
    bool hidden = false;
    for (std::size_t i = 0; i < named.graph.inputs().size(); ++i) {
      const ir::InputSpec& input = named.graph.inputs()[i];
      if (input.kind == ir::InputSpec::Kind::hidden) traced.captured.push_back(arrays.find(captured_name(named.name, i), input.type));
      else if (hidden)
        throw UserError(where, str("input '", input.name, "' of graph '", named.name, "' follows a captured one; the file is damaged"));
      hidden = hidden || input.kind == ir::InputSpec::Kind::hidden;
    }
    file.graphs.emplace(named.name, std::move(traced));
  }
  return file;
}

}  // namespace

runtime::Archive model_archive(const std::string& path, const std::map<std::string, Traced>& graphs,
                               const std::map<std::string, std::string>& metadata) {
  runtime::Archive archive;
  archive.metadata = metadata;
  std::map<std::string, const Cell*> written;
  for (const auto& [name, traced] : graphs) {
    archive.graphs.push_back({name, traced.graph});
    for (std::size_t i = 0; i < traced.cells.size(); ++i) {
      const Cell& cell = *traced.cells[i];
      const auto [known, fresh] = written.try_emplace(traced.graph.states()[i].name, &cell);
      if (fresh) archive.arrays.push_back(to_array(known->first, Tensor(cell.type, cell.buffer)));
      else if (known->second != &cell)
        throw UserError(path, str("two different states are named '", known->first, "'; give parameters names of their own"));
    }
    const std::size_t declared = traced.graph.inputs().size() - traced.captured.size();
    for (std::size_t i = 0; i < traced.captured.size(); ++i)
      archive.arrays.push_back(to_array(captured_name(name, declared + i), traced.captured[i]));
  }
  return archive;
}

void write_model_file(const std::string& path, const std::map<std::string, Traced>& graphs, const std::map<std::string, std::string>& metadata) {
  runtime::save(path, model_archive(path, graphs, metadata));
}

ModelFile read_model_file(const std::string& path) { return model_of(runtime::load(path), path); }

ModelFile parse_model_file(std::string_view bytes, const std::string& where) { return model_of(runtime::from_bytes(bytes, where), where); }

}  // namespace sinter
