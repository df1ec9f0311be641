#include "runtime/file/graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "ir/verify.h"
#include "runtime/file/sinter.pb.h"
#include "runtime/file/wire.h"

namespace sinter::runtime {

namespace {

using Kind = ir::InputSpec::Kind;
constexpr std::array<std::string_view, 4> kind_names{"batch", "fixed", "table", "hidden"};

Kind parse_kind(const std::string& text) {
  for (std::size_t i = 0; i < kind_names.size(); ++i)
    if (kind_names[i] == text) return static_cast<Kind>(i);
  throw UserError(str("an input is batch, fixed, table or hidden, got '", text, "'"));
}

void write(const ir::Attribute& attribute, file::Attribute& to) {
  std::visit(
      [&]<class T>(const T& value) {
        if constexpr (std::is_same_v<T, bool>) to.set_truth(value);
        else if constexpr (std::is_same_v<T, std::int64_t>) to.set_integer(value);
        else if constexpr (std::is_same_v<T, double>) to.set_number(value);
        else if constexpr (std::is_same_v<T, DType>) to.set_dtype(std::string(name(value)));
        else if constexpr (std::is_same_v<T, Dim>) to.set_dim(to_string(value));
        else if constexpr (std::is_same_v<T, Shape>) to.set_shape(to_string(value));
        else if constexpr (std::is_same_v<T, ir::Body>) to.set_body(serialize_graph(value.graph()));
        else static_assert(!sizeof(T), "a kind of attribute is not written to files");
      },
      attribute);
}

ir::Body read_body(std::string_view bytes, std::size_t depth);

/// `depth`: how many bodies the attribute is in.
ir::Attribute read(const file::Attribute& from, std::size_t depth) {
  switch (from.value_case()) {
    case file::Attribute::kTruth:
      return from.truth();
    case file::Attribute::kInteger:
      return std::int64_t{from.integer()};
    case file::Attribute::kNumber:
      return from.number();
    case file::Attribute::kDtype:
      return parse_dtype(from.dtype());
    case file::Attribute::kDim:
      return parse_dim(from.dim());
    case file::Attribute::kShape:
      return parse_shape(from.shape());
    case file::Attribute::kBody:
      return read_body(from.body(), depth + 1);
    case file::Attribute::VALUE_NOT_SET:
      break;
  }
  throw UserError(str("attribute '", from.name(), "' has no value that this version knows"));
}

template <class Leaf>
Type read_type(const Leaf& leaf) {
  const Type type{parse_dtype(leaf.dtype()), parse_shape(leaf.shape())};
  check_elements(type);
  return type;
}

template <class Leaf>
void write_type(const Type& type, Leaf& to) {
  to.set_dtype(std::string(name(type.dtype)));
  to.set_shape(to_string(type.shape));
}

std::size_t body_bytes(const file::Node& node) {
  std::size_t bytes = 0;
  for (const file::Attribute& attribute : node.attribute()) bytes += attribute.body().size();
  return bytes;
}

file::Node to_message(const ir::Graph& graph, ir::NodeId id, const std::vector<std::uint32_t>& numbers) {
  const ir::Node& node = graph.node(id);
  file::Node message;
  message.set_op(std::string(ir::name(node.op)));
  for (const ir::NodeId input : node.inputs) message.add_operand(numbers[input]);
  message.set_layer(node.origin.layer);
  message.set_file(node.origin.file);
  message.set_line(node.origin.line);
  message.set_gradient_rule(node.origin.gradient_of);
  if (node.gradient_of != ir::no_node && !graph.node(node.gradient_of).dead) message.set_gradient_of(numbers[node.gradient_of] + 1);
  if (const auto* input = std::get_if<ir::Input>(&node.op)) {
    const ir::InputSpec& spec = graph.inputs()[static_cast<std::size_t>(input->index)];
    message.mutable_input()->set_name(spec.name);
    message.mutable_input()->set_kind(std::string(kind_names[static_cast<std::size_t>(spec.kind)]));
    write_type(spec.type, *message.mutable_input());
  } else if (const auto* state = std::get_if<ir::State>(&node.op)) {
    const ir::StateSpec& spec = graph.states()[static_cast<std::size_t>(state->index)];
    message.mutable_state()->set_name(spec.name);
    message.mutable_state()->set_trainable(spec.trainable);
    write_type(spec.type, *message.mutable_state());
  } else {
    for (const auto& [name, value] : ir::attributes(node.op)) {
      file::Attribute& attribute = *message.add_attribute();
      attribute.set_name(name);
      write(value, attribute);
    }
  }
  const std::size_t bodies = body_bytes(message), others = message.ByteSizeLong() - bodies;
  if (others > max_record_bytes)
    throw UserError(node.origin.text(),
                    str("node %", id, " takes ", others, " bytes in a file, more than ", max_record_bytes, "; use shorter names"));
  if (bodies > max_body_bytes)
    throw UserError(node.origin.text(),
                    str("the body of node %", id, " takes ", bodies, " bytes in a file, more than ", max_body_bytes, "; make its step smaller"));
  return message;
}

void check_value(const std::string& name, const ir::Attribute& value) {
  const auto* dim = std::get_if<Dim>(&value);
  const auto* shape = std::get_if<Shape>(&value);
  const auto too_large = [](Dim d) { return d.factor() > max_elements; };
  if ((dim && too_large(*dim)) || (shape && std::any_of(shape->begin(), shape->end(), too_large)))
    throw UserError(str("attribute '", name, "' is ", ir::to_string(value), ", more than ", max_elements));
}

/// The op, whose attributes must equal the file's exactly: a writer never writes a number that the op would round.
ir::Op read_op(const file::Node& node, std::size_t depth) {
  ir::Attributes attributes;
  std::set<std::string, std::less<>> names;
  for (const file::Attribute& attribute : node.attribute()) {
    if (!names.insert(attribute.name()).second) throw UserError(str("attribute '", attribute.name(), "' is given twice"));
    attributes.emplace_back(attribute.name(), read(attribute, depth));
    check_value(attribute.name(), attributes.back().second);
  }
  ir::Op op = ir::make_op(node.op(), attributes);
  for (const auto& [name, value] : ir::attributes(op)) {
    const auto given = std::find_if(attributes.begin(), attributes.end(), [&, n = name](const auto& a) { return a.first == n; });
    if (const auto* number = std::get_if<double>(&given->second); number && std::isnan(*number)) {
      if (!ir::may_be_nan(op)) throw UserError(str("attribute '", name, "' is NaN"));
      continue;
    }
    if (given->second != value) throw UserError(str("attribute '", name, "' is ", ir::to_string(given->second), ", which is out of range"));
  }
  return op;
}

void add_node(ir::Graph& graph, const file::Node& node, std::size_t depth) {
  const Origin origin{node.layer(), node.file(), node.line(), node.gradient_rule()};
  const bool is_input = node.op() == ir::Input::name, is_state = node.op() == ir::State::name;
  if (is_input != node.has_input() || is_state != node.has_state()) throw UserError("the op and its declaration do not match");
  if (is_input || is_state) {
    if (node.operand_size() || node.attribute_size()) throw UserError("a leaf has no operands and no attributes");
    const ir::OriginScope scope(graph, origin);
    if (is_input) {
      const Type type = read_type(node.input());
      const Kind kind = parse_kind(node.input().kind());
      graph.add_input({node.input().name(), type, kind});
      return;
    }
    const Type type = read_type(node.state());
    graph.add_state({node.state().name(), type, node.state().trainable()});
    return;
  }
  for (const std::uint32_t operand : node.operand())
    if (operand >= graph.size()) throw UserError(str("operand %", operand, " does not come before it"));
  check_elements(graph.add(read_op(node, depth), std::vector<ir::NodeId>(node.operand().begin(), node.operand().end()), origin).type());
}

/// Calls f, and prefixes the text of what it throws with the file and the part of it.
template <class F>
void within(const std::string& where, const std::string& part, F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    throw UserError(where, str(part, ": ", error.message()));
  }
}

ParsedGraph parse(std::string_view bytes, const std::string& where, std::uint64_t start, std::size_t depth);

}  // namespace

void check_elements(const Type& type) {
  std::int64_t elements = 1;
  for (const Dim d : type.shape)
    if (!d.is_rows() && d.factor() && (__builtin_mul_overflow(elements, d.factor(), &elements) || elements > max_elements))
      throw UserError(str(type, " has more than ", max_elements, " elements"));
}

std::string serialize_graph(const ir::Graph& graph, const std::vector<std::string>& passes) {
  file::Graph message;
  message.set_name(graph.name());
  if (passes.size() > max_passes) throw UserError(graph.name(), str("a graph in a file has at most ", max_passes, " passes, got ", passes.size()));
  for (const std::string& pass : passes) message.add_pass(pass);
  std::vector<std::uint32_t> numbers(graph.size());
  std::uint32_t next = 0;
  const std::vector<ir::NodeId> order = graph.topological_order();
  for (const ir::NodeId id : order) numbers[id] = next++;
  for (const ir::NodeId id : order) *message.add_node() = to_message(graph, id, numbers);
  for (const ir::NodeId id : graph.outputs()) message.add_output(numbers[id]);
  for (const ir::NodeId id : graph.updates()) message.add_update(id == ir::no_node ? 0 : numbers[id] + 1);
  if (next > max_nodes) throw UserError(graph.name(), str("a graph in a file has at most ", max_nodes, " nodes, got ", next));
  if (message.ByteSizeLong() > max_message_bytes)
    throw UserError(graph.name(), str("a graph takes at most ", max_message_bytes, " bytes in a file, got ", message.ByteSizeLong()));
  return message.SerializeAsString();
}

namespace {

ir::Body read_body(std::string_view bytes, std::size_t depth) {
  if (depth > ir::Body::max_depth) throw UserError(str("bodies are nested more than ", ir::Body::max_depth, " deep"));
  ir::Body body;
  within("body", "in its body", [&] { body = ir::Body(parse(bytes, "body", 0, depth).graph); });
  return body;
}

/// `depth`: 0, or how many bodies this is in; a body is checked by the op that has it.
ParsedGraph parse(std::string_view bytes, const std::string& where, std::uint64_t start, std::size_t depth) {
  if (bytes.size() > max_message_bytes)
    throw UserError(where, str("a graph takes at most ", max_message_bytes, " bytes in a file, got ", bytes.size()));
  ParsedGraph result;
  ir::Graph& graph = result.graph;
  graph.set_name({});
  FieldReader reader(bytes, where, start);
  std::vector<std::uint64_t> places;  // of the nodes
  std::vector<ir::NodeId> outputs, updates;
  std::uint64_t outputs_at = start + bytes.size(), updates_at = outputs_at;
  file::Node node;
  const auto node_text = [&](std::size_t id) { return str("node %", id, ", at byte ", places[id]); };
  while (reader.next()) {
    const std::string_view payload = reader.payload();
    switch (reader.field()) {
      case file::Graph::kNameFieldNumber:
        if (!graph.name().empty()) reader.fail(str("the name is given twice, again at byte ", reader.at()));
        graph.set_name(std::string(payload));
        break;
      case file::Graph::kPassFieldNumber:
        if (result.passes.size() == max_passes) reader.fail(str("a graph has at most ", max_passes, " passes, more come at byte ", reader.at()));
        result.passes.emplace_back(payload);
        break;
      case file::Graph::kNodeFieldNumber: {
        if (graph.size() == max_nodes) reader.fail(str("a graph has at most ", max_nodes, " nodes, more come at byte ", reader.at()));
        places.push_back(reader.at());
        reader.parse(node, str("node %", graph.size()), max_record_bytes + max_body_bytes);
        if (const std::size_t others = payload.size() - body_bytes(node); others > max_record_bytes)
          reader.fail(str(node_text(graph.size()), ", takes ", others, " bytes, more than ", max_record_bytes));
        within(where, str(node_text(graph.size()), " (", node.op(), ")"), [&] { add_node(graph, node, depth); });
        if (node.gradient_of()) graph.set_gradient_of(static_cast<ir::NodeId>(graph.size() - 1), node.gradient_of() - 1);
        break;
      }
      case file::Graph::kOutputFieldNumber:
        if (!outputs.empty()) reader.fail(str("the outputs are given twice, again at byte ", reader.at()));
        outputs = reader.numbers(max_nodes);
        outputs_at = reader.at();
        break;
      case file::Graph::kUpdateFieldNumber:
        if (!updates.empty()) reader.fail(str("the updates are given twice, again at byte ", reader.at()));
        updates = reader.numbers(graph.states().size());
        updates_at = reader.at();
        break;
      default:
        reader.fail(str("field ", reader.field(), " of a graph, at byte ", reader.at(), ", is unknown"));
    }
  }
  for (const ir::NodeId id : outputs)
    if (id >= graph.size()) reader.fail(str("output %", id, " (field 4 at byte ", outputs_at, ") does not exist"));
  graph.set_outputs(outputs);
  if (updates.size() != graph.states().size())
    reader.fail(str("there are ", updates.size(), " updates (field 5 at byte ", updates_at, ") for ", graph.states().size(), " states"));
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if (updates[i] == 0) continue;
    if (updates[i] > graph.size())
      reader.fail(str("the update %", updates[i] - 1, " of state '", graph.states()[i].name, "' (field 5 at byte ", updates_at, ") does not exist"));
    within(where, str("update of state ", i, " (field 5 at byte ", updates_at, ")"), [&] { graph.set_update(i, updates[i] - 1); });
  }
  for (ir::NodeId id = 0; id < graph.size(); ++id)
    if (const ir::NodeId of = graph.node(id).gradient_of; of != ir::no_node && of >= graph.size())
      reader.fail(str(node_text(id), ", is the gradient of %", of, ", which does not exist"));
  if (depth) return result;
  try {
    ir::verify(graph);
  } catch (const ir::NodeError& error) {
    throw UserError(where, str(node_text(error.node()), ", breaks a rule: ", error.message()));
  } catch (const UserError& error) {
    throw UserError(where, str("the graph at byte ", start, " breaks a rule: ", error.message()));
  }
  return result;
}

}  // namespace

ParsedGraph parse_graph(std::string_view bytes, const std::string& where, std::uint64_t start) { return parse(bytes, where, start, 0); }

}  // namespace sinter::runtime
