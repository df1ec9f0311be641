#include "frontend/file/model_file.h"

namespace sinter {

runtime::NamedArray to_array(std::string name, const Type& type, const runtime::Buffer& buffer) {
  runtime::NamedArray array{std::move(name), type.dtype, type.shape.extents(1), {}};
  array.bytes.resize(static_cast<std::size_t>(type.shape.elements().factor()) * size_of(type.dtype));
  runtime::copy_to_dense({type, buffer.data()}, array.bytes.data());
  return array;
}

namespace {

std::string captured_name(const std::string& graph, std::size_t index) { return str(graph, "/captured/", index); }

/// The array of this name, which must have this type.
Tensor find_array(const runtime::Archive& archive, const std::string& path, const std::string& name, const Type& type) {
  for (const runtime::NamedArray& array : archive.arrays) {
    if (array.name != name) continue;
    const Type stored{array.dtype, Shape::fixed(array.shape)};
    if (stored != type) throw UserError(path, str("array '", name, "' is ", stored, " but its graph needs ", type, "; the file is damaged"));
    return Tensor::from_bytes(type, array.bytes.data());
  }
  throw UserError(path, str("array '", name, "' is missing; the file is damaged"));
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
      if (fresh) archive.arrays.push_back(to_array(known->first, cell.type, cell.buffer));
      else if (known->second != &cell)
        throw UserError(path, str("two different states are named '", known->first, "'; give parameters names of their own"));
    }
    const std::size_t declared = traced.graph.inputs().size() - traced.captured.size();
    for (std::size_t i = 0; i < traced.captured.size(); ++i)
      archive.arrays.push_back(to_array(captured_name(name, declared + i), traced.captured[i].type(), traced.captured[i].buffer()));
  }
  return archive;
}

void write_model_file(const std::string& path, const std::map<std::string, Traced>& graphs, const std::map<std::string, std::string>& metadata) {
  runtime::save(path, model_archive(path, graphs, metadata));
}

ModelFile read_model_file(const std::string& path) {
  const runtime::Archive archive = runtime::load(path);
  ModelFile file;
  file.metadata = archive.metadata;
  for (const runtime::NamedGraph& named : archive.graphs) {
    Traced traced{named.graph, {}, {}};
    for (const ir::StateSpec& state : named.graph.states()) {
      const Parameter* known = nullptr;
      for (const Parameter& p : file.states)
        if (p.name() == state.name) known = &p;
      if (known && known->type() != state.type)
        throw UserError(path,
                        str("state '", state.name, "' is ", known->type(), " in one graph and ", state.type, " in another; the file is damaged"));
      if (!known) known = &file.states.emplace_back(state.name, find_array(archive, path, state.name, state.type), state.trainable);
      traced.cells.push_back(known->cell());
    }
    bool hidden = false;
    for (std::size_t i = 0; i < named.graph.inputs().size(); ++i) {
      const ir::InputSpec& input = named.graph.inputs()[i];
      if (input.kind == ir::InputSpec::Kind::hidden) traced.captured.push_back(find_array(archive, path, captured_name(named.name, i), input.type));
      else if (hidden) throw UserError(path, str("input '", input.name, "' of graph '", named.name, "' follows a captured one; the file is damaged"));
      hidden = hidden || input.kind == ir::InputSpec::Kind::hidden;
    }
    file.graphs.emplace(named.name, std::move(traced));
  }
  return file;
}

}  // namespace sinter
