// Objects for other machines: every op's kernel, and a whole training step.
#include <elf.h>

#include <cstring>

#include "codegen/compile.h"
#include "tests/codegen/graphs.h"

namespace sinter::test::object_test {
namespace {

using ::testing::HasSubstr;

template <class T>
T read(const std::string& object, std::size_t offset) {
  T value;
  std::memcpy(&value, object.data() + offset, sizeof value);
  return value;
}

/// The machine of an ELF object; fails for undefined symbols and for one without sinter_step.
int machine_of(const std::string& object) {
  const auto header = read<Elf64_Ehdr>(object, 0);
  EXPECT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  bool entry = false;
  for (int i = 0; i < header.e_shnum; ++i) {
    const auto section = read<Elf64_Shdr>(object, header.e_shoff + static_cast<std::size_t>(i) * header.e_shentsize);
    if (section.sh_type != SHT_SYMTAB) continue;
    const auto names = read<Elf64_Shdr>(object, header.e_shoff + section.sh_link * header.e_shentsize);
    for (std::size_t at = sizeof(Elf64_Sym); at < section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read<Elf64_Sym>(object, section.sh_offset + at);
      const std::string name = object.c_str() + names.sh_offset + symbol.st_name;
      EXPECT_NE(symbol.st_shndx, SHN_UNDEF) << name;
      entry = entry || name == "sinter_step";
    }
  }
  EXPECT_TRUE(entry);
  return header.e_machine;
}

const std::vector<std::pair<const char*, int>> targets{{"aarch64", EM_AARCH64}, {"x86-64-v3", EM_X86_64}, {"x86-64-v4", EM_X86_64}};

template <class O>
void emit_samples() {
  if constexpr (!ir::IsLeaf<O> && !ir::IsScan<O>) {
    for (const auto& sample : O::samples()) {
      ir::Graph graph("sample");
      std::vector<ir::NodeId> operands;
      for (const ir::SampleInput& input : sample.inputs) {
        const bool leads = input.type.shape.rank() && input.type.shape[0] == Dim::batch();
        if (input.type.shape.has_batch() && !leads) break;
        operands.push_back(
            graph.add_input({str("in", operands.size()), input.type, input.type.shape.has_batch() ? InputKind::batch : InputKind::fixed}).id);
      }
      if (operands.size() != sample.inputs.size()) continue;
      graph.add_output(graph.add(sample.op, operands, {}));
      passes::optimize(graph);
      for (const auto& [target, machine] : targets)
        EXPECT_EQ(machine_of(codegen::emit_object(graph, target)), machine) << O::name << " for " << target;
    }
  }
}

template <class... Ops>
void emit_all(std::variant<Ops...>*) {
  (emit_samples<Ops>(), ...);
}

TEST(Object, OfEveryOpForEveryTarget) { emit_all(static_cast<ir::Op*>(nullptr)); }

TEST(Object, OfATrainingStep) {
  const ir::Graph graph = training_graph({784, 70, 30, 10});
  for (const auto& [target, machine] : targets) EXPECT_EQ(machine_of(codegen::emit_object(graph, target)), machine) << target;
}

TEST(Object, UnknownTarget) {
  EXPECT_THAT(error_of([&] { (void)codegen::emit_object(training_graph({4, 3, 2}), "vax"); }),
              HasSubstr("[emit_object] the target must be x86-64-v3, x86-64-v4 or aarch64, got 'vax'"));
}

}  // namespace
}  // namespace sinter::test::object_test
