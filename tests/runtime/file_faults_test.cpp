// Every fault of a .sinter file that the reader tells apart, by its message: each names the file, the part, its byte and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ir/verify.h"
#include "runtime/file/graph.h"
#include "tests/runtime/file_bytes.h"

namespace sinter::runtime::file_faults_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace std::string_literals;

struct Fault {
  std::string name;
  std::function<std::string()> bytes;  ///< of the file
  std::string message;
};

/// Changes the header or an entry of the table of the sample and makes the checksums right.
std::string with_header(const std::function<void(FileHeader&)>& change, const std::string& behind = {}) {
  std::string bytes = to_bytes(sample()) + behind;
  FileHeader header = header_of(bytes);
  change(header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return sealed(bytes);
}
std::string with_entry(std::size_t index, const std::function<void(SectionEntry&)>& change) {
  std::string bytes = to_bytes(sample());
  SectionEntry entry = entry_of(bytes, index);
  change(entry);
  std::memcpy(bytes.data() + sizeof(FileHeader) + index * sizeof entry, &entry, sizeof entry);
  return sealed(bytes);
}
/// The sample with one byte changed, under the old checksums or under right ones.
std::string with_byte(std::size_t section, std::uint64_t offset, std::uint8_t value, bool seal) {
  std::string bytes = to_bytes(sample());
  bytes[entry_of(bytes, section).offset + offset] = static_cast<char>(value);
  return seal ? sealed(bytes) : bytes;
}

const std::string again = "; the file is damaged, copy or save it again", newer = "; the file is damaged, or from a newer version of Sinter";

std::vector<Fault> container_faults() {
  return {
      {"Empty", [] { return ""s; }, "is no Sinter file: the header takes 64 bytes, the file has 0; check the path or copy it again"},
      {"Short", [] { return to_bytes(sample()).substr(0, 63); }, "is no Sinter file: the header takes 64 bytes, the file has 63"},
      {"Magic", [] { return std::string(100, 'x'); }, "is no Sinter file: it does not begin with 'SINTER' (byte 0); check the path"},
      {"TextMode", [] { return with_header([](FileHeader& h) { h.magic[6] = '\n'; }); },
       "is a Sinter file that was changed at byte 6 by a transfer in text mode; copy it as binary"},
      {"Version", [] { return with_header([](FileHeader& h) { h.version = 9; }); },
       "format version 9 (byte 8) is unknown, this build reads version 1; update Sinter or save the file again"},
      {"NoSections", [] { return with_header([](FileHeader& h) { h.sections = 0; }); },
       "the header (byte 12) counts no sections; the first is the index" + again},
      {"TooManySections", [] { return with_header([](FileHeader& h) { h.sections = 0xffffffff; }); },
       "the header (byte 12) counts 4294967295 sections, but there is room for 32" + again},
      {"Size", [] { return with_header([](FileHeader& h) { h.file_size += 1; }); },
       "the header (byte 16) says that the file has 1089 bytes, it has 1088" + again},
      {"Truncated", [] { return to_bytes(sample()).substr(0, 1087); }, "the header (byte 16) says that the file has 1088 bytes, it has 1087" + again},
      {"HeadChecksum",
       [] {
         std::string bytes = to_bytes(sample());
         bytes[24] = static_cast<char>(bytes[24] ^ 1);
         return bytes;
       },
       "the checksum of header and section table (byte 24) is wrong" + again},
      {"Reserved", [] { return with_header([](FileHeader& h) { h.reserved[3] = 1; }); },
       "reserved bytes 32 to 63 of the header are not 0; the file is from a newer version of Sinter"},
      {"Kind", [] { return with_entry(2, [](SectionEntry& e) { e.kind = 77; }); },
       "section 2 (table entry at byte 128) is of the unknown kind 77; update Sinter"},
      {"EntryReserved", [] { return with_entry(2, [](SectionEntry& e) { e.reserved = 3; }); },
       "section 2 (table entry at byte 128) has the reserved field 3, not 0; the file is from a newer version of Sinter"},
      {"TwoIndexes", [] { return with_entry(2, [](SectionEntry& e) { e.kind = 1; }); },
       "section 2 (table entry at byte 128): the first section, and no other, is the index" + again},
      {"NoIndex", [] { return with_entry(0, [](SectionEntry& e) { e.kind = 2; }); },
       "section 0 (table entry at byte 64): the first section, and no other, is the index" + again},
      {"Misaligned", [] { return with_entry(2, [](SectionEntry& e) { e.offset += 1; }); },
       "section 2 (table entry at byte 128) begins at byte 705, no multiple of 64" + again},
      {"Overlap", [] { return with_entry(2, [](SectionEntry& e) { e.offset -= 64; }); },
       "section 2 (table entry at byte 128) begins at byte 640 and overlaps the part that ends at byte 644" + again},
      {"Gap", [] { return with_entry(2, [](SectionEntry& e) { e.offset += 64; }); },
       "section 2 (table entry at byte 128) begins at byte 768, not at 704 after the previous one" + again},
      {"HugeSection", [] { return with_entry(3, [](SectionEntry& e) { e.size = ~std::uint64_t{0}; }); },
       "section 3 (table entry at byte 160) has 18446744073709551615 bytes from byte 832 on, but the file ends at 1088" + again},
      {"LargeMessage", [] { return file_of({{SectionKind::index, std::string(max_message_bytes + 1, 'x')}}); },
       "section 0 (table entry at byte 64) has 16777217 bytes; the index and each graph have at most 16777216"},
      {"Padding",
       [] {
         std::string bytes = to_bytes(sample());
         bytes[entry_of(bytes, 4).offset - 1] = 1;
         return sealed(bytes);
       },
       "the padding before section 4 (table entry at byte 192) is not 0" + again},
      {"TrailingBytes", [] { return with_header([](FileHeader& h) { h.file_size += 3; }, "xxx"); },
       "the last section ends at byte 1088, the file at 1091" + again},
      {"IndexChecksum", [] { return with_byte(0, 0, 1, false); }, "the checksum of section 0 (bytes 320 to 454) is wrong" + again},
      {"GraphChecksum", [] { return with_byte(1, 0, 1, false); }, "the checksum of section 1 (bytes 512 to 644) is wrong" + again},
      {"ArrayChecksum", [] { return with_byte(3, 0, 1, false); }, "the checksum of section 3 (bytes 832 to 856) is wrong" + again},
      {"Boolean", [] { return with_byte(5, 2, 9, true); }, "array 'mask' of bool holds 9 at byte 962; a boolean is 0 or 1" + again},
      {"MoreGraphsThanSections", [] { return with_entry(2, [](SectionEntry& e) { e.kind = 3; }); },
       "the index names more graphs than the 1 graph sections, from byte 332 on" + newer},
      {"MoreArraysThanSections", [] { return with_entry(7, [](SectionEntry& e) { e.kind = 2; }); },
       "the index names more arrays than the 4 array sections, from byte 403 on" + newer},
  };
}

/// A file of an index with this in it and an array of 8 bytes. The index lies at byte 128.
std::string with_index(const std::string& index) { return file_of({{SectionKind::index, index}, {SectionKind::array, "12345678"}}); }
std::string description(const std::string& name, const std::string& dtype, std::initializer_list<std::uint64_t> extents,
                        const std::string& rest = {}) {
  return field(2, field(1, name) + field(2, dtype) + field(3, numbers(extents)) + rest);
}
std::string entry(const std::string& key, const std::string& value) { return field(3, field(1, key) + field(2, value)); }

std::vector<Fault> index_faults() {
  const std::string good = description("a", "f32", {2});  // 13 bytes
  const auto fault = [](const std::string& name, const std::string& index, const std::string& message) {
    return Fault{name, [index] { return with_index(index); }, message};
  };
  const std::string first = "array 0 of the index";
  const std::uint64_t negative = ~std::uint64_t{0};
  return {
      fault("Tag", good + "\x08\x01", "the field at byte 141 has no valid tag" + newer),
      fault("NoSize", good + "\x1a", "field 3 at byte 141 has no valid size" + newer),
      fault("PastTheEnd", good + "\x1a\x7f\x0a", "field 3 at byte 141 says that it has 127 bytes, but 1 are left" + newer),
      fault("Order", entry("k", "v") + good, "field 2 at byte 136 comes after field 3; fields are in ascending order" + newer),
      fault("UnknownField", good + field(5, "new"), "field 5 of the index, at byte 141, is unknown" + newer),
      fault("BrokenArray", field(2, "\x0a\x7f"), first + ", at byte 128, is no valid message" + newer),
      fault("UnknownFieldOfAnArray", description("a", "f32", {2}, field(9, "new")), first + ", at byte 128, has the unknown field 9" + newer),
      fault("LongArray", description(std::string(max_record_bytes, 'x'), "f32", {2}),
            first + ", at byte 128, takes 65548 bytes, more than 65536" + newer),
      fault("ElementType", description("a", "f64", {2}),
            first + " ('a'), at byte 128: an element type is f32, i32, u32, u8 or bool, got 'f64'" + newer),
      fault("NegativeExtent", description("a", "f32", {negative}), first + " ('a'), at byte 128: a dimension cannot be negative, got -1" + newer),
      fault("TooManyDimensions", description("a", "f32", {1, 1, 1, 1, 1, 1, 1}), first + " ('a'), at byte 128: at most 6 dimensions, got 7" + newer),
      fault("TooManyElements", description("a", "f32", {1 << 20, 1 << 20, 2}),
            first + " ('a'), at byte 128: f32[1048576,1048576,2] has more than 1099511627776 elements" + newer),
      fault("TooManyElementsButForAZero", description("a", "f32", {0, std::uint64_t{1} << 41}),
            first + " ('a'), at byte 128: f32[0,2199023255552] has more than 1099511627776 elements" + newer),
      fault("ArrayWithoutName", description("", "f32", {2}), "the index has an empty array name, at byte 128" + newer),
      fault("MoreArrays", good + good, "the index names more arrays than the 1 array sections, from byte 141 on" + newer),
      fault("ArrayMissing", "", "the index at byte 128 names 0 arrays, there are 1 array sections" + newer),
      fault("GraphMissing", field(1, "g") + good, "the index names more graphs than the 0 graph sections, from byte 128 on" + newer),
      fault("MetadataTwice", good + entry("k", "v") + entry("k", "w"), "the metadata 'k' is in the index twice, again at byte 149" + newer),
      fault("BrokenMetadata", good + field(3, "\x0a\x7f"), "metadata entry 0, at byte 141, is no valid message" + newer),
      fault("UnknownFieldOfMetadata", good + field(3, field(3, "new")), "metadata entry 0, at byte 141, has the unknown field 3" + newer),
      fault("ArraySize", description("a", "f32", {3}), "array 'a' is f32[3], which takes 12 bytes, but section 1 at byte 192 has 8" + again),
      {"DuplicateArray",
       [=] { return file_of({{SectionKind::index, good + good}, {SectionKind::array, "12345678"}, {SectionKind::array, "12345678"}}); },
       "the array 'a' is in the index twice, again at byte 205" + newer},
      {"DuplicateGraph",
       [] { return file_of({{SectionKind::index, field(1, "g") + field(1, "g")}, {SectionKind::graph, ""}, {SectionKind::graph, ""}}); },
       "the graph 'g' is in the index twice, again at byte 195" + newer},
      {"MoreSectionsThanGraphs", [] { return file_of({{SectionKind::index, ""}, {SectionKind::graph, ""}}); },
       "the index at byte 128 names 0 graphs, there are 1 graph sections" + newer},
      {"GraphWithoutName", [] { return file_of({{SectionKind::index, field(1, "")}, {SectionKind::graph, ""}}); },
       "the index has an empty graph name, at byte 128" + newer},
  };
}

/// A file of this graph, which lies at byte 192.
std::string with_graph(const std::string& graph) { return file_of({{SectionKind::index, field(1, "step")}, {SectionKind::graph, graph}}); }

std::vector<Fault> graph_faults() {
  const auto fault = [](const std::string& name, const std::string& graph, const std::string& message) {
    return Fault{name, [graph] { return with_graph(graph); }, message};
  };
  const std::string g = field(1, "g");                                               // bytes 192 to 194
  const std::string x = input("x", "f32", "[N,3]", "batch"), w = state("w", "[3]");  // x: bytes 195 to 229
  const std::string gx = g + x;
  const auto first = [](const std::string& op) { return "node %0, at byte 195 (" + op + "): "; };
  const auto second = [](const std::string& op) { return "node %1, at byte 230 (" + op + "): "; };
  const auto clip = [&](double low, double high) { return gx + node("clip", {0}, attribute("low", low) + attribute("high", high)); };
  const auto repeated = [](const std::string& part, std::size_t count) {
    std::string all;
    for (std::size_t i = 0; i < count; ++i) all += part;
    return all;
  };
  const std::string group(1, 15 << 3 | 3), group_end(1, 15 << 3 | 4);
  return {
      fault("Tag", g + "\x08\x01", "the field at byte 195 has no valid tag" + newer),
      fault("Order", field(2, "p") + g, "field 1 at byte 195 comes after field 2; fields are in ascending order" + newer),
      fault("UnknownField", g + field(9, "?"), "field 9 of a graph, at byte 195, is unknown" + newer),
      fault("NameTwice", g + g, "the name is given twice, again at byte 195" + newer),
      fault("TooManyPasses", g + repeated(field(2, "p"), max_passes + 1), "a graph has at most 1024 passes, more come at byte 3267" + newer),
      fault("TooManyNodes", g + repeated(node("extent", {}, attribute("dim", 6, "2")), max_nodes + 1),
            "a graph has at most 262144 nodes, more come at byte 5767363" + newer),
      fault("BrokenNode", g + field(3, "\x0a\x7f"), "node %0, at byte 195, is no valid message" + newer),
      fault("LongNode", gx + node("neg", {0}, field(4, std::string(max_record_bytes, 'x'))),
            "node %1, at byte 230, takes 65548 bytes, more than 65536" + newer),
      fault("DeepNode", gx + node("neg", {0}, field(3, group + group + group_end + group_end)), "node %1, at byte 230, is no valid message" + newer),
      fault("UnknownFieldOfANode", gx + node("neg", {0}, field(15, "new")), "node %1, at byte 230, has the unknown field 15" + newer),
      fault("UnknownFieldOfAnAttribute", gx + node("neg", {0}, field(3, field(9, "new"))), "node %1, at byte 230, has the unknown field 9" + newer),
      fault("UnknownFieldOfAnInput", g + node("input", {}, field(7, field(6, "new"))), "node %0, at byte 195, has the unknown field 6" + newer),
      fault("UnknownOp", g + node("warp", {}), first("warp") + "unknown op 'warp'; it needs a newer version of Sinter"),
      fault("NoDeclaration", g + node("state", {}), first("state") + "the op and its declaration do not match"),
      fault("DeclarationOfAnotherOp", g + node("neg", {}, field(8, field(1, "w"))), first("neg") + "the op and its declaration do not match"),
      fault("LeafWithOperands", gx + node("input", {0}, field(7, field(1, "y"))), second("input") + "a leaf has no operands and no attributes"),
      fault("LateOperand", gx + node("neg", {1}), second("neg") + "operand %1 does not come before it"),
      fault("Operands", gx + node("add", {0}), second("add") + "add: takes 2 operands, got 1"),
      fault("ShapeRule", gx + node("reshape", {0}, attribute("shape", 7, "[N,4]")),
            second("reshape") + "reshape: cannot reshape [N,3] (3N elements) to [N,4]"),
      fault("AttributeMissing", gx + node("clip", {0}), second("clip") + "attribute 'low' is missing"),
      fault("UnknownAttribute", gx + node("neg", {0}, attribute("alpha", 1.0)), second("neg") + "expected 0 attributes, got 1"),
      fault("AttributeTwice", gx + node("clip", {0}, attribute("low", 1.0) + attribute("low", 1.0)),
            second("clip") + "attribute 'low' is given twice"),
      fault("AttributeType", gx + node("clip", {0}, attribute("low", 5, "f32") + attribute("high", 1.0)),
            second("clip") + "attribute 'low' has the wrong type"),
      fault("AttributeWithoutValue", gx + node("neg", {0}, field(3, field(1, "low"))),
            second("neg") + "attribute 'low' has no value that this version knows"),
      fault("AttributeNaN", clip(0, NAN), second("clip") + "attribute 'high' is NaN"),
      fault("AttributeOutOfRange", clip(1e300, 0), second("clip") + "attribute 'low' is 1e+300, which is out of range"),
      fault("AttributeInexact", clip(0, 0.1), second("clip") + "attribute 'high' is 0.1, which is out of range"),
      fault("AttributeElementType", gx + node("cast", {0}, attribute("dtype", 5, "f16")),
            second("cast") + "an element type is f32, i32, u32, u8 or bool, got 'f16'"),
      fault("AttributeDim", g + node("extent", {}, attribute("dim", 6, "2M")),
            first("extent") + "a dimension is k, N, T or R, or kN, kT or kNT, got '2M'"),
      fault("AttributeRows", g + node("extent", {}, attribute("dim", 6, "R")),
            "node %0, at byte 195, breaks a rule: node %0 (extent): attribute 'dim' is R; only a table input has R"),
      fault("AttributeLarge", g + node("extent", {}, attribute("dim", 6, "1099511627777N")),
            first("extent") + "attribute 'dim' is 1099511627777N, more than 1099511627776"),
      fault("AttributeShape", gx + node("reshape", {0}, attribute("shape", 7, "N,3")), second("reshape") + "a shape is written [N,70], got 'N,3'"),
      fault("Axis", gx + node("sum", {0}, attribute("first", std::int64_t{-5}) + attribute("last", std::int64_t{2})), second("sum")),
      fault("ConstantInexact", g + node("constant", {}, attribute("value", 0.1) + attribute("dtype", 5, "f32")),
            "node %0, at byte 195, breaks a rule: node %0 (constant): constant 0.1 is not exact in f32"),
      fault("InputKind", g + input("x", "f32", "[N,3]", "wild"), first("input") + "an input is batch, fixed, table or hidden, got 'wild'"),
      fault("InputElementType", g + input("x", "f64", "[N,3]", "batch"), first("input") + "an element type is f32, i32, u32, u8 or bool, got 'f64'"),
      fault("InputShape", g + input("x", "f32", "[N,-3]", "batch"), first("input") + "a dimension is k, N, T or R, or kN, kT or kNT, got '-3'"),
      fault("InputWithTwoN", g + input("x", "f32", "[N,N]", "batch"), first("input") + "at most one batch dimension per shape, got [N,N]"),
      fault("InputTooLarge", g + input("x", "f32", "[N,9000000000,9000]", "batch"),
            first("input") + "f32[N,9000000000,9000] has more than 1099511627776 elements"),
      fault("InputFarTooLarge", g + input("x", "f32", "[N,9000000000,9000000000,9000000000]", "batch"), "has more than 1099511627776 elements"),
      fault("ResultTooLarge",
            gx + node("pad", {0},
                      attribute("axis", std::int64_t{1}) + attribute("before", 6, "0") + attribute("after", 6, "1099511627776") +
                          attribute("value", 0.0)),
            second("pad") + "f32[N,1099511627779] has more than 1099511627776 elements"),
      fault("InputOfAnotherKind", g + input("x", "f32", "[3,N]", "batch"),
            "node %0, at byte 195, breaks a rule: input 'x' is f32[3,N]; batch inputs lead with N, tables with R, all others have neither"),
      fault("NoName", g + input("", "f32", "[N,3]", "batch"), "node %0, at byte 195, breaks a rule: an input or state has no name"),
      fault("NameOfTwoLeaves", gx + x, "node %1, at byte 230, breaks a rule: the name 'x' is used twice"),
      fault("StateWithN", g + state("w", "[N]") + field(5, numbers({0})), first("state") + "a state cannot have a batch dimension, got f32[N]"),
      fault("TableRead", g + input("t", "f32", "[R,3]", "table") + node("neg", {0}),
            "breaks a rule: node %1 (neg): reads a table (f32[R,3]); only gather_rows may, as its first operand"),
      fault("TableReturned", g + input("t", "f32", "[R,3]", "table") + field(4, numbers({0})),
            "node %0, at byte 195, breaks a rule: node %0 (input): a table cannot be an output"),
      fault("OutputsTwice", gx + field(4, numbers({0})) + field(4, numbers({0})), "the outputs are given twice, again at byte 233" + newer),
      fault("OutputMissing", gx + field(4, numbers({7})), "output %7 (field 4 at byte 230) does not exist" + newer),
      fault("OutputIsNoNumber", gx + field(4, "\x80"), "field 4 at byte 230 holds no 32-bit number before its byte 1" + newer),
      fault("OutputIsTooLarge", gx + field(4, varint(std::uint64_t{1} << 40)),
            "field 4 at byte 230 holds no 32-bit number before its byte 6" + newer),
      fault("TooManyOutputs", gx + field(4, std::string(max_nodes + 1, '\0')), "field 4 at byte 230 holds more than 262144 numbers" + newer),
      fault("UpdatesTwice", g + w + field(5, numbers({0})) + field(5, numbers({0})), "the updates are given twice, again at byte 224" + newer),
      fault("UpdatesMissing", g + w, "there are 0 updates (field 5 at byte 221) for 1 states" + newer),
      fault("TooManyUpdates", g + w + field(5, numbers({0, 0})), "field 5 at byte 221 holds more than 1 numbers" + newer),
      fault("UpdateMissing", g + w + field(5, numbers({9})), "the update %8 of state 'w' (field 5 at byte 221) does not exist" + newer),
      fault("UpdateType", g + w + state("v", "[4]") + field(5, numbers({2, 0})),
            "update of state 0 (field 5 at byte 247): cannot assign f32[4] to 'w', which is f32[3]"),
      fault("GradientOfNothing", gx + node("neg", {0}, "\x48\x09"), "node %1, at byte 230, is the gradient of %8, which does not exist" + newer),
  };
}

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

class FileFault : public testing::TestWithParam<Fault> {};

TEST_P(FileFault, HasAMessageOfItsOwn) {
  const std::string bytes = GetParam().bytes();
  try {
    from_bytes(bytes, "net.sinter");
    FAIL() << "expected: " << GetParam().message;
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), StartsWith("[net.sinter"));
    EXPECT_THAT(error.what(), HasSubstr(GetParam().message));
  }
}

const auto name_of = [](const testing::TestParamInfo<Fault>& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Container, FileFault, testing::ValuesIn(container_faults()), name_of);
INSTANTIATE_TEST_SUITE_P(Index, FileFault, testing::ValuesIn(index_faults()), name_of);
INSTANTIATE_TEST_SUITE_P(Graph, FileFault, testing::ValuesIn(graph_faults()), name_of);

TEST(FileFault, AGraphThatHoldsIsTaken) {
  const std::string graph = field(1, "g") + input("x", "f32", "[N,3]", "batch") + node("neg", {0}) + field(4, numbers({1}));
  EXPECT_EQ(from_bytes(with_graph(graph), "ok").graphs[0].graph.size(), 2u);
}

TEST(FileFault, WhatTheBytesOfAGraphAreCountedFrom) {
  try {
    parse_graph(field(1, "g") + field(9, "?"), "graph");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("[graph] field 9 of a graph, at byte 3, is unknown"));
  }
  EXPECT_THROW(parse_graph(std::string(max_message_bytes + 1, 'x'), "graph"), UserError);
}

/// Numbers that no shape rule expects: each op refuses them or makes a value of sound size.
TEST(FileFault, ExtremeAttributesAreErrorsOrGraphs) {
  const auto variants = [](const ir::Attribute& value) {
    std::vector<std::string> fields;
    const auto text = [](int number, const std::string& t) { return field(number, t); };
    const auto integer = [](std::int64_t i) { return attribute("", i).substr(4); };
    if (std::holds_alternative<std::int64_t>(value))
      for (const std::int64_t i :
           {std::int64_t{-1}, std::int64_t{6}, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
        fields.push_back(integer(i));
    if (std::holds_alternative<double>(value))
      for (const double d : {-HUGE_VAL, 0.0, HUGE_VAL}) fields.push_back(attribute("", d).substr(4));
    if (std::holds_alternative<Dim>(value))
      for (const char* t : {"0", "N", "R", "1099511627776", "1099511627776N"}) fields.push_back(text(6, t));
    if (const auto* shape = std::get_if<Shape>(&value)) {
      for (const char* t : {"[]", "[0]", "[N]", "[R]"}) fields.push_back(text(7, t));
      for (const char* t : {"0", "N", "R", "1099511627776", "1099511627776N"})
        for (std::size_t axis = 0; axis < shape->rank(); ++axis) {
          std::string changed = "[";
          for (std::size_t i = 0; i < shape->rank(); ++i) changed += (i ? "," : "") + (i == axis ? std::string(t) : to_string((*shape)[i]));
          fields.push_back(text(7, changed + "]"));
        }
    }
    return fields;
  };
  const auto own = [](const std::string& name, const ir::Attribute& value) {
    return std::visit(
        [&]<class T>(const T& v) {
          if constexpr (std::is_same_v<T, bool>) return field(3, field(1, name) + "\x10" + (v ? "\1"s : "\0"s));
          else if constexpr (std::is_same_v<T, std::int64_t>) return attribute(name, v);
          else if constexpr (std::is_same_v<T, double>) return attribute(name, v);
          else if constexpr (std::is_same_v<T, DType>) return attribute(name, 5, std::string(sinter::name(v)));
          else return attribute(name, std::is_same_v<T, Dim> ? 6 : 7, to_string(v));
        },
        value);
  };
  std::size_t taken = 0, refused = 0;
  ir::for_each_op([&]<class O>(O) {
    if constexpr (!ir::IsLeaf<O>) {
      const auto sample = O::samples().front();
      const ir::Attributes attributes = ir::attributes_of(sample.op);
      for (std::size_t changed = 0; changed < attributes.size(); ++changed)
        for (const std::string& value : variants(attributes[changed].second)) {
          std::string graph, operands, fields;
          for (std::size_t i = 0; i < sample.inputs.size(); ++i) {
            const Shape& shape = sample.inputs[i].type.shape;
            const bool leads = shape.rank() && shape[0] == Dim::batch(), rows = shape.rank() && shape[0].is_rows();
            graph += input(str("x", i), std::string(sinter::name(sample.inputs[i].type.dtype)), to_string(shape),
                           leads  ? "batch"
                           : rows ? "table"
                                  : "fixed");
            operands += varint(i);
          }
          for (std::size_t i = 0; i < attributes.size(); ++i)
            fields += i == changed ? field(3, field(1, attributes[i].first) + value) : own(attributes[i].first, attributes[i].second);
          graph += field(3, field(1, std::string(O::name)) + field(2, operands) + fields);
          try {
            const ParsedGraph parsed = parse_graph(graph, "test");
            for (ir::NodeId id = 0; id < parsed.graph.size(); ++id) check_elements(parsed.graph.node(id).type);
            ++taken;
          } catch (const UserError&) {
            ++refused;
          }
        }
    }
  });
  EXPECT_GT(taken, 20u);
  EXPECT_GT(refused, 200u);
}

TEST(FileFault, AsMuchAsTheLimitsAllowIsReadInGoodTime) {
  std::string many = input("x", "f32", "[N,3]", "batch");  // one value that all nodes read
  for (std::size_t i = 1; i < max_nodes; ++i) many += field(3, field(1, "neg") + field(2, std::string(1, '\0')));
  EXPECT_EQ(parse_graph(many, "many nodes").graph.size(), max_nodes);
  std::string wide = input("x", "f32", "[N,1]", "batch");
  const std::string operands(60'000, '\0'), concat = field(3, field(1, "concat") + field(2, operands) + attribute("axis", std::int64_t{1}));
  for (int i = 0; i < 200; ++i) wide += concat;
  EXPECT_EQ(parse_graph(wide, "wide nodes").graph.size(), 201u);
}

}  // namespace
}  // namespace sinter::runtime::file_faults_test
