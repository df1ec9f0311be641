#include "runtime/file/graph.h"

#include <array>
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
        else static_assert(!sizeof(T), "a kind of attribute is not written to files");
      },
      attribute);
}

ir::Attribute read(const file::Attribute& from) {
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
    case file::Attribute::VALUE_NOT_SET:
      break;
  }
  throw UserError(str("attribute '", from.name(), "' has no value that this version knows"));
}

void check_elements(const Type& type) {
  const std::size_t first = type.shape.rank() && type.shape[0].is_rows();
  if (type.shape.product(first, type.shape.rank()).factor() > max_elements) throw UserError(str(type, " has more than ", max_elements, " elements"));
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

file::Node to_message(const ir::Graph& graph, ir::NodeId id, const std::vector<std::uint32_t>& numbers) {
  const ir::Node& node = graph.node(id);
  file::Node message;
  message.set_op(std::string(ir::name(node.op)));
  for (const ir::NodeId input : node.inputs) message.add_operand(numbers[input]);
  message.set_layer(node.origin.layer);
  message.set_file(node.origin.file);
  message.set_line(node.origin.line);
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
  if (message.ByteSizeLong() > max_record_bytes)
    throw UserError(node.origin.text(),
                    str("node %", id, " takes ", message.ByteSizeLong(), " bytes in a file, more than ", max_record_bytes, "; use shorter names"));
  return message;
}

bool knows_all_fields(const google::protobuf::Message& message) { return message.GetReflection()->GetUnknownFields(message).empty(); }

void check_known(const file::Node& node) {
  bool known = knows_all_fields(node) && knows_all_fields(node.input()) && knows_all_fields(node.state());
  for (const file::Attribute& attribute : node.attribute()) known = known && knows_all_fields(attribute);
  if (!known) throw UserError("it has a field that this version does not know; update Sinter");
}

void add_node(ir::Graph& graph, const file::Node& node) {
  const Origin origin{node.layer(), node.file(), node.line()};
  check_known(node);
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
  ir::Attributes attributes;
  std::set<std::string> names;
  for (const file::Attribute& attribute : node.attribute()) {
    if (!names.insert(attribute.name()).second) throw UserError(str("attribute '", attribute.name(), "' is given twice"));
    attributes.emplace_back(attribute.name(), read(attribute));
  }
  check_elements(graph.add(ir::make_op(node.op(), attributes), std::vector<ir::NodeId>(node.operand().begin(), node.operand().end()), origin).type());
}

/// Calls f and puts the file and the part of it before the text of what it throws.
template <class F>
void within(const std::string& where, const std::string& part, F&& f) {
  try {
    f();
  } catch (const UserError& error) {
    throw UserError(where, str(part, ": ", error.what()));
  }
}

}  // namespace

std::string serialize_graph(const ir::Graph& graph, const std::vector<std::string>& passes) {
  file::Graph message;
  message.set_name(graph.name());
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

ParsedGraph parse_graph(std::string_view bytes, const std::string& where) {
  if (bytes.size() > max_message_bytes)
    throw UserError(where, str("a graph takes at most ", max_message_bytes, " bytes in a file, got ", bytes.size()));
  ParsedGraph result;
  ir::Graph& graph = result.graph;
  graph.set_name({});
  FieldReader reader(bytes, where);
  std::vector<ir::NodeId> outputs, updates;
  file::Node node;
  while (reader.next()) {
    const std::string_view payload = reader.payload();
    switch (reader.field()) {
      case file::Graph::kNameFieldNumber:
        graph.set_name(std::string(payload));
        break;
      case file::Graph::kPassFieldNumber:
        if (result.passes.size() == max_nodes) reader.fail("too many passes");
        result.passes.emplace_back(payload);
        break;
      case file::Graph::kNodeFieldNumber: {
        if (graph.size() == max_nodes) reader.fail(str("a graph has at most ", max_nodes, " nodes"));
        const std::string part = str("node %", graph.size());
        if (payload.size() > max_record_bytes) reader.fail(str(part, " takes ", payload.size(), " bytes, more than ", max_record_bytes));
        if (!node.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) reader.fail(str(part, " is no valid message"));
        within(where, str(part, " (", node.op(), ")"), [&] { add_node(graph, node); });
        if (node.gradient_of()) graph.set_gradient_of(static_cast<ir::NodeId>(graph.size() - 1), node.gradient_of() - 1);
        break;
      }
      case file::Graph::kOutputFieldNumber:
        if (!outputs.empty()) reader.fail("the outputs are given twice");
        outputs = reader.numbers(max_nodes);
        break;
      case file::Graph::kUpdateFieldNumber:
        if (!updates.empty()) reader.fail("the updates are given twice");
        updates = reader.numbers(graph.states().size());
        break;
      default:
        reader.fail(str("field ", reader.field(), " of a graph is unknown"));
    }
  }
  for (const ir::NodeId id : outputs)
    if (id >= graph.size()) reader.fail(str("output %", id, " does not exist"));
  graph.set_outputs(outputs);
  if (updates.size() != graph.states().size()) reader.fail(str("there are ", updates.size(), " updates for ", graph.states().size(), " states"));
  for (std::size_t i = 0; i < updates.size(); ++i) {
    if (updates[i] == 0) continue;
    if (updates[i] > graph.size()) reader.fail(str("the update %", updates[i] - 1, " of state '", graph.states()[i].name, "' does not exist"));
    within(where, str("update of state ", i), [&] { graph.set_update(i, updates[i] - 1); });
  }
  for (ir::NodeId id = 0; id < graph.size(); ++id)
    if (const ir::NodeId of = graph.node(id).gradient_of; of != ir::no_node && of >= graph.size())
      reader.fail(str("node %", id, " is the gradient of %", of, ", which does not exist"));
  within(where, "the graph breaks a rule", [&] { ir::verify(graph); });
  return result;
}

}  // namespace sinter::runtime
