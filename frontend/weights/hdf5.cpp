#include "frontend/weights/hdf5.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include "frontend/data/extents.h"
#include "frontend/data/narrow.h"
#include "ir/error.h"

namespace sinter::weights {

namespace {

constexpr std::uint64_t nowhere = ~std::uint64_t{0};
constexpr std::string_view damaged = "; the file is damaged", save_again = "; save it again with Keras's model.save_weights";

/// The kinds of messages in the header of an object.
enum class MessageKind : std::uint16_t {
  space = 1,
  link_info = 2,
  data_type = 3,
  link = 6,
  other_files = 7,
  layout = 8,
  filters = 11,
  attribute = 12,
  continuation = 16,
  symbol_table = 17
};

/// How HDF5 describes a little-endian IEEE number: class and version, its bits, its size, and where sign, exponent and mantissa lie.
struct FloatType {
  std::size_t size;
  std::array<std::uint8_t, 19> description;  ///< after class and version
};
constexpr std::array<FloatType, 3> float_types{{{2, {0x20, 15, 0, 2, 0, 0, 0, 0, 0, 16, 0, 10, 5, 0, 10, 15, 0, 0, 0}},
                                                {4, {0x20, 31, 0, 4, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 127, 0, 0, 0}},
                                                {8, {0x20, 63, 0, 8, 0, 0, 0, 0, 0, 64, 0, 52, 11, 0, 52, 0xff, 3, 0, 0}}}};

/// A text that may end before its bytes do.
std::string_view text_of(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

}  // namespace

/// Reads numbers from a block in order.
class Hdf5File::Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& where) : rest_(bytes), where_(where) {}

  std::span<const std::byte> bytes(std::size_t count) {
    if (count > rest_.size()) fail(str("needs ", count, " bytes where ", rest_.size(), " are left", damaged));
    const auto result = rest_.first(count);
    rest_ = rest_.subspan(count);
    return result;
  }
  template <class T>
  T take() {
    T value;
    std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::size_t left() const { return rest_.size(); }
  /// For messages, which it shares with readers of parts.
  const std::string& where() const { return where_; }
  Reader with(std::span<const std::byte> part) const { return {part, where_}; }
  [[noreturn]] void fail(const std::string& message) const { throw UserError(where_, message); }
  void expect(std::string_view mark) {
    const auto there = bytes(mark.size());
    if (std::memcmp(there.data(), mark.data(), mark.size()) != 0) fail(str("has no signature '", mark, "' where one must be", damaged));
  }

 private:
  std::span<const std::byte> rest_;
  const std::string& where_;
};

struct Hdf5File::Message {
  MessageKind kind;
  std::vector<std::byte> bytes;
};

Hdf5File::Hdf5File(const std::filesystem::path& path) : path_(path.string()), file_(path), left_(file_.size()) {
  constexpr std::string_view mark = "\x89HDF\r\n\x1a\n";
  constexpr std::size_t size = 96;
  std::array<std::byte, size> start{};
  const std::size_t have = std::min<std::uint64_t>(file_.size(), size);
  file_.read(0, std::span(start).first(have));
  if (have < mark.size() || std::memcmp(start.data(), mark.data(), mark.size()) != 0)
    throw UserError(path_, "is no HDF5 file: it does not begin with the format's signature; check the path");
  const auto version = static_cast<int>(start[mark.size()]);
  if (have > mark.size() && version != 0) throw UserError(path_, str("is HDF5 of version ", version, ", Keras writes version 0", save_again));
  const std::vector<std::byte> head = block(0, size, path_);
  Reader reader(head, path_);
  reader.bytes(13);
  const auto offset_size = reader.take<std::uint8_t>(), length_size = reader.take<std::uint8_t>();
  if (offset_size != 8 || length_size != 8)
    reader.fail(str("has offsets of ", int{offset_size}, " and lengths of ", int{length_size}, " bytes, not 8", save_again));
  reader.bytes(9);
  const auto base = reader.take<std::uint64_t>();
  reader.bytes(sizeof(std::uint64_t));
  const auto end = reader.take<std::uint64_t>(), driver = reader.take<std::uint64_t>();
  if (base != 0 || driver != nowhere) reader.fail(str("is split into several files or embedded in another one", save_again));
  if (end > file_.size()) reader.fail(str("must have ", end, " bytes, but has ", file_.size(), "; copy it again"));
  reader.bytes(sizeof(std::uint64_t));
  root_ = reader.take<std::uint64_t>();
}

void Hdf5File::claim(std::uint64_t offset, std::uint64_t size, const std::string& where) {
  if (offset > file_.size() || size > file_.size() - offset)
    throw UserError(where, str("needs ", size, " bytes from byte ", offset, " on, but the file has ", file_.size(), damaged));
  if (size > left_) throw UserError(where, str("needs bytes that another object also uses", damaged));
  left_ -= size;
}

std::vector<std::byte> Hdf5File::block(std::uint64_t offset, std::uint64_t size, const std::string& where) {
  claim(offset, size, where);
  std::vector<std::byte> bytes(size);
  file_.read(offset, bytes);
  return bytes;
}

std::vector<Hdf5File::Message> Hdf5File::header(Object object, const std::string& where) {
  constexpr std::size_t prefix = 16;
  const std::vector<std::byte> start = block(object, prefix, where);
  Reader head(start, where);
  if (head.take<std::uint8_t>() != 1) head.fail(str("has no header of version 1, as Keras writes", save_again));
  head.bytes(7);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts{{object + prefix, head.take<std::uint32_t>()}};
  std::vector<Message> messages;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const std::vector<std::byte> bytes = block(parts[part].first, parts[part].second, where);
    for (Reader reader(bytes, where); reader.left() >= 8;) {
      const auto kind = MessageKind{reader.take<std::uint16_t>()};
      const auto size = reader.take<std::uint16_t>();
      const bool shared = reader.take<std::uint8_t>() & 2;
      reader.bytes(3);
      const auto body = reader.bytes(size);
      Reader content(body, where);
      switch (kind) {
        case MessageKind::continuation: {
          const auto offset = content.take<std::uint64_t>();
          parts.emplace_back(offset, content.take<std::uint64_t>());
          break;
        }
        case MessageKind::link_info:
        case MessageKind::link:
          content.fail(str("has links of a kind that Keras does not write, which may lead to other files", save_again));
        case MessageKind::other_files:
          content.fail(str("keeps its numbers in another file, which is not read", save_again));
        case MessageKind::filters:
          content.fail(str("is compressed by filters", save_again));
        case MessageKind::attribute:
        case MessageKind::space:
        case MessageKind::data_type:
        case MessageKind::layout:
        case MessageKind::symbol_table:
          if (shared) content.fail(str("shares its description with other objects", save_again));
          messages.push_back({kind, {body.begin(), body.end()}});
          break;
        default:
          break;
      }
    }
  }
  return messages;
}

std::vector<std::int64_t> Hdf5File::extents(Reader& of_space) {
  const int version = of_space.take<std::uint8_t>();
  const std::size_t rank = of_space.take<std::uint8_t>();
  of_space.bytes(1);  // flags for what follows the extents
  const int kind = of_space.take<std::uint8_t>();
  if (version == 1) of_space.bytes(4);
  else if (version != 2 || kind > 1) of_space.fail(str("has a shape of version ", version, " and kind ", kind, save_again));
  if (rank > Shape::max_rank) of_space.fail(str("has ", rank, " dimensions, at most ", Shape::max_rank, " are supported"));
  std::vector<std::int64_t> shape;
  for (std::size_t axis = 0; axis < rank; ++axis) shape.push_back(of_space.take<std::int64_t>());
  return shape;
}

const Hdf5File::Object* Hdf5File::Group::find(std::string_view name) const {
  const auto found = std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == name; });
  return found == members.end() ? nullptr : &found->second;
}

Hdf5File::Group Hdf5File::group(Object object, const std::string& name) {
  const std::string where = str(path_, ", ", name);
  const std::vector<Message> messages = header(object, where);
  const auto table = std::find_if(messages.begin(), messages.end(), [](const Message& m) { return m.kind == MessageKind::symbol_table; });
  if (table == messages.end()) throw UserError(where, str("is no group", save_again));
  Reader reader(table->bytes, where);
  const auto tree = reader.take<std::uint64_t>(), heap = reader.take<std::uint64_t>();

  constexpr std::size_t heap_head = 32;
  const std::vector<std::byte> head = block(heap, heap_head, where);
  Reader of_heap(head, where);
  of_heap.expect("HEAP");
  of_heap.bytes(4);
  const auto size = of_heap.take<std::uint64_t>();
  of_heap.bytes(sizeof(std::uint64_t));
  const std::vector<std::byte> names = block(of_heap.take<std::uint64_t>(), size, where);

  Group group;
  constexpr int highest = 255;  // a level is a byte
  add_members(group.members, tree, highest + 1, names, where);
  for (const Message& message : messages)
    if (message.kind == MessageKind::attribute) group.attributes.push_back(message.bytes);
  return group;
}

/// An attribute, as the message that describes it has it.
struct Hdf5File::Attribute {
  std::string_view name;
  Reader type, space, values;

  static Attribute of(Reader message) {
    const int version = message.take<std::uint8_t>();
    message.bytes(1);
    const std::size_t of_name = message.take<std::uint16_t>(), of_type = message.take<std::uint16_t>(), of_space = message.take<std::uint16_t>();
    if (version < 1 || version > 3) message.fail(str("has an attribute of version ", version, save_again));
    if (version == 3) message.bytes(1);
    const auto part = [&](std::size_t size) {
      const auto bytes = message.bytes(size);
      if (version == 1) message.bytes((8 - size % 8) % 8);
      return message.with(bytes);
    };
    Reader letters = part(of_name), type = part(of_type), space = part(of_space);
    const std::string_view name = text_of(letters.bytes(of_name));
    return {name, type, space, message};
  }
};

std::optional<std::vector<std::string>> Hdf5File::texts(const Group& group, std::string_view name, const std::string& group_name) {
  constexpr int fixed_text = 3, variable_text = 9;
  constexpr std::size_t longest = 1000, reference_size = 16;
  const std::string where = str(path_, ", ", group_name);
  for (const std::vector<std::byte>& bytes : group.attributes) {
    Attribute attribute = Attribute::of(Reader(bytes, where));
    if (attribute.name != name) continue;
    const int kind = attribute.type.take<std::uint8_t>() & 15;
    attribute.type.bytes(3);
    const std::size_t size = attribute.type.take<std::uint32_t>();
    const std::uint64_t total = data::claimed_bytes(extents(attribute.space), size).value_or(nowhere);
    std::vector<std::string> texts;
    if (total == 0) return texts;
    if (kind != fixed_text && (kind != variable_text || size != reference_size))
      attribute.values.fail(str("has an attribute '", name, "' that is no list of texts", save_again));
    for (Reader values = attribute.values.with(attribute.values.bytes(total)); values.left() > 0;) {
      const std::string_view text = kind == fixed_text ? text_of(values.bytes(size)) : referenced(values);
      if (text.size() > longest)
        values.fail(str("has a name of more than ", longest, " bytes, '", text.substr(0, 40), "...'; rename the model's layers"));
      texts.emplace_back(text);
    }
    return texts;
  }
  return std::nullopt;
}

std::string_view Hdf5File::referenced(Reader& reader) {
  const std::size_t length = reader.take<std::uint32_t>();
  const auto address = reader.take<std::uint64_t>();
  const auto number = reader.take<std::uint32_t>();
  const std::map<std::uint32_t, std::string>& known = collection(address, reader.where());
  const auto found = known.find(number);
  if (found == known.end() || found->second.size() < length) reader.fail(str("has a text that is not in the file", damaged));
  return std::string_view(found->second).substr(0, length);
}

const std::map<std::uint32_t, std::string>& Hdf5File::collection(std::uint64_t address, const std::string& where) {
  const auto [place, is_new] = collections_.try_emplace(address);
  if (!is_new) return place->second;
  constexpr std::size_t head_size = 16;
  const std::vector<std::byte> head = block(address, head_size, where);
  Reader of_head(head, where);
  of_head.expect("GCOL");
  of_head.bytes(4);
  const auto size = of_head.take<std::uint64_t>();
  if (size < head_size) of_head.fail(str("has a collection of ", size, " bytes", damaged));
  const std::vector<std::byte> rest = block(address + head_size, size - head_size, where);
  for (Reader reader(rest, where); reader.left() >= head_size;) {
    const std::uint32_t number = reader.take<std::uint16_t>();
    reader.bytes(6);
    const auto length = reader.take<std::uint64_t>();
    if (number == 0) break;  // what is free
    const auto bytes = reader.bytes(length);
    place->second.emplace(number, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    reader.bytes(std::min<std::size_t>((8 - length % 8) % 8, reader.left()));
  }
  return place->second;
}

/// Adds the members of a node of the tree below this level, and of those below it.
void Hdf5File::add_members(Members& members, std::uint64_t node, int level, const std::vector<std::byte>& names, const std::string& where) {
  constexpr std::size_t node_head = 24, leaf_head = 8, entry_size = 40;
  const std::vector<std::byte> head = block(node, node_head, where);
  Reader reader(head, where);
  reader.expect("TREE");
  const int kind = reader.take<std::uint8_t>(), here = reader.take<std::uint8_t>();
  if (kind != 0 || here >= level) reader.fail(str("has a tree whose node at byte ", node, " is of kind ", kind, " and level ", here, damaged));
  const std::size_t children = reader.take<std::uint16_t>();
  const std::vector<std::byte> keys = block(node + node_head, (2 * children + 1) * sizeof(std::uint64_t), where);
  Reader of_keys(keys, where);
  for (std::size_t i = 0; i < children; ++i) {
    of_keys.bytes(sizeof(std::uint64_t));
    const auto child = of_keys.take<std::uint64_t>();
    if (here > 0) {
      add_members(members, child, here, names, where);
      continue;
    }
    const std::vector<std::byte> leaf = block(child, leaf_head, where);
    Reader of_leaf(leaf, where);
    of_leaf.expect("SNOD");
    of_leaf.bytes(2);
    const std::size_t count = of_leaf.take<std::uint16_t>();
    const std::vector<std::byte> entries = block(child + leaf_head, count * entry_size, where);
    Reader entry(entries, where);
    for (std::size_t e = 0; e < count; ++e) {
      const auto place = entry.take<std::uint64_t>();
      const Object object = entry.take<std::uint64_t>();
      const auto link_kind = entry.take<std::uint32_t>();
      entry.bytes(20);
      const auto begin = names.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(place, names.size()));
      const auto end = std::find(begin, names.end(), std::byte{0});
      if (end == names.end()) entry.fail(str("has a member whose name is not in the file", damaged));
      std::string name(reinterpret_cast<const char*>(names.data() + place), static_cast<std::size_t>(end - begin));
      constexpr std::uint32_t soft_link = 2;
      if (link_kind >= soft_link) entry.fail(str("has '", name, "', a soft link, which Keras does not write", save_again));
      members.emplace_back(std::move(name), object);
    }
  }
}

data::ArrayReader Hdf5File::read(Object data_set, const std::string& name) {
  const std::string where = str(path_, ", ", name);
  const std::vector<Message> messages = header(data_set, where);
  const auto find = [&](MessageKind kind, std::string_view what) {
    const auto found = std::find_if(messages.begin(), messages.end(), [&](const Message& m) { return m.kind == kind; });
    if (found == messages.end()) throw UserError(where, str("is no data set: it has no ", what, damaged));
    return Reader(found->bytes, where);
  };

  Reader of_space = find(MessageKind::space, "shape");
  std::vector<std::int64_t> shape = extents(of_space);

  Reader of_type = find(MessageKind::data_type, "element type");
  constexpr int float_class = 1;
  if ((of_type.take<std::uint8_t>() & 15) != float_class) of_type.fail("does not hold floating-point numbers");
  const auto description = of_type.bytes(float_types[0].description.size());
  const auto type = std::find_if(float_types.begin(), float_types.end(),
                                 [&](const FloatType& t) { return std::memcmp(t.description.data(), description.data(), description.size()) == 0; });
  if (type == float_types.end()) of_type.fail("holds floating-point numbers that are not of 16, 32 or 64 bits, little-endian; save it as float32");

  Reader of_layout = find(MessageKind::layout, "layout");
  const int layout_version = of_layout.take<std::uint8_t>(), layout_kind = of_layout.take<std::uint8_t>();
  constexpr int contiguous = 1, virtual_set = 3;
  if (layout_version >= 3 && layout_kind == virtual_set) of_layout.fail(str("is made of other data sets, which may lie in other files", save_again));
  if (layout_version < 3 || layout_version > 4 || layout_kind != contiguous) of_layout.fail(str("is not contiguous", save_again));
  const auto place = of_layout.take<std::uint64_t>(), size = of_layout.take<std::uint64_t>();
  if (data::claimed_bytes(shape, type->size) != size)
    of_layout.fail(str("claims other numbers than it has: ", Shape::fixed(shape), " of ", type->size, " bytes each in ", size, " bytes", damaged));
  if (size > 0 && place == nowhere) of_layout.fail(str("has no numbers", save_again));
  if (size > 0) claim(place, size, where);
  const data::Narrow narrow = type->size == 2 ? data::narrow_f16 : type->size == 8 ? data::narrow_f64 : nullptr;
  return {where, DType::f32, std::move(shape), type->size, narrow, [this, at = place](std::span<std::byte> into) mutable {
            file_.read(at, into);
            at += into.size();
          }};
}

}  // namespace sinter::weights
