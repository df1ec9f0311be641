#include "codegen/instrument/origin.h"

#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "ir/error.h"
#include "ir/step.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

[[noreturn]] void lost(const Value& pointer) {
  std::string text;
  llvm::raw_string_ostream out(text);
  pointer.print(out);
  throw InternalError("codegen", str("a checked step cannot tell where this pointer comes from:", text));
}

/// The memory that a pointer is loaded from, if it is the kernel's own.
const llvm::AllocaInst* list_of(const llvm::LoadInst& load) {
  return llvm::dyn_cast<llvm::AllocaInst>(load.getPointerOperand()->stripInBoundsOffsets());
}

}  // namespace

Origins::Origins(llvm::Function& kernel, std::size_t inputs) : kernel_(kernel), inputs_(inputs), b_(kernel.getContext()) {
  llvm::BasicBlock& entry = kernel.getEntryBlock();
  std::vector<llvm::AllocaInst*> variables;
  for (llvm::Instruction& instruction : entry)
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) variables.push_back(variable);
  for (llvm::AllocaInst* variable : variables) variable->moveBefore(&*entry.begin());
  llvm::Instruction* code = &*entry.begin();
  while (llvm::isa<llvm::AllocaInst>(code)) code = code->getNextNode();
  entry.splitBasicBlock(code);
  start_ = entry.getTerminator();
}

bool Origins::is_buffer(const Value* origin) const {
  // After the buffers come six numbers, the context and the check.
  const auto* argument = llvm::dyn_cast<llvm::Argument>(origin);
  return argument && argument->getType()->isPointerTy() && argument->getArgNo() + 2 < kernel_.arg_size();
}

const std::vector<Value*>& Origins::of(Value* pointer) {
  const auto [found, made] = origins_.try_emplace(pointer);
  if (made) {
    std::vector<Value*> all, seen;
    add(pointer, all, seen);
    origins_[pointer] = std::move(all);
  }
  return origins_[pointer];
}

void Origins::add(Value* pointer, std::vector<Value*>& found, std::vector<Value*>& seen) {
  if (std::find(seen.begin(), seen.end(), pointer) != seen.end()) return;
  seen.push_back(pointer);
  const auto is_origin = [&] {
    if (std::find(found.begin(), found.end(), pointer) == found.end()) found.push_back(pointer);
  };
  if (auto* step = llvm::dyn_cast<llvm::GEPOperator>(pointer)) return add(step->getPointerOperand(), found, seen);
  if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(pointer)) {
    add(choice->getTrueValue(), found, seen);
    return add(choice->getFalseValue(), found, seen);
  }
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(pointer)) {
    for (Value* from : phi->incoming_values()) add(from, found, seen);
    return;
  }
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(pointer)) {
    if (const llvm::AllocaInst* list = list_of(*load)) {  // any pointer that was stored there
      for (llvm::BasicBlock& block : kernel_)
        for (llvm::Instruction& instruction : block)
          if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
              store && store->getValueOperand()->getType()->isPointerTy() && store->getPointerOperand()->stripInBoundsOffsets() == list)
            add(store->getValueOperand(), found, seen);
      return;
    }
    // The context's list of tables' rows.
    llvm::APInt offset(64, 0);
    const Value* base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(kernel_.getParent()->getDataLayout(), offset, true);
    if (base == kernel_.getArg(kernel_.arg_size() - 2) && offset == offsetof(StepContext, table_rows)) return is_origin();
    lost(*pointer);
  }
  // Lanes of a gather whose indices are known are constants.
  if (auto* lanes = llvm::dyn_cast<llvm::Constant>(pointer); lanes && lanes->getType()->isVectorTy()) {
    const unsigned count = llvm::cast<llvm::FixedVectorType>(lanes->getType())->getNumElements();
    for (unsigned i = 0; i < count; ++i) add(lanes->getAggregateElement(i), found, seen);
    return;
  }
  if (!llvm::isa<llvm::Argument>(pointer) && !llvm::isa<llvm::AllocaInst>(pointer) && !llvm::isa<llvm::GlobalVariable>(pointer)) lost(*pointer);
  is_origin();
}

Region Origins::region_of_origin(Value* origin) {
  b_.SetInsertPoint(start_);
  const llvm::DataLayout& layout = kernel_.getParent()->getDataLayout();
  const auto size = [&](std::size_t bytes) { return b_.getInt64(bytes); };
  if (is_buffer(origin)) {
    Value* check = kernel_.getArg(kernel_.arg_size() - 1);
    const auto field = [&](Value* base, std::size_t offset, llvm::Type* type) {
      return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, offset));
    };
    Value* list = field(check, offsetof(KernelCheck, buffers), b_.getPtrTy());
    const std::size_t at = llvm::cast<llvm::Argument>(origin)->getArgNo() * sizeof(BufferCheck);
    return {field(list, at + offsetof(BufferCheck, begin), b_.getInt64Ty()), field(list, at + offsetof(BufferCheck, bytes), b_.getInt64Ty()),
            b_.getTrue()};
  }
  Value* bytes = nullptr;
  if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(origin)) bytes = size(variable->getAllocationSize(layout)->getFixedValue());
  else if (auto* global = llvm::dyn_cast<llvm::GlobalVariable>(origin)) bytes = size(layout.getTypeAllocSize(global->getValueType()));
  else if (llvm::isa<llvm::LoadInst>(origin)) bytes = size(inputs_ * sizeof(std::int64_t));
  else bytes = size(sizeof(StepContext));
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(origin)) b_.SetInsertPoint(load->getNextNode());
  return {b_.CreatePtrToInt(origin, b_.getInt64Ty()), bytes, b_.getFalse()};
}

Region Origins::region(Value* pointer) {
  if (const auto found = regions_.find(pointer); found != regions_.end()) return found->second;
  const std::vector<Value*>& origins = of(pointer);
  if (origins.size() == 1) {
    if (pointer == origins[0]) return regions_[pointer] = region_of_origin(pointer);
    return regions_[pointer] = region(origins[0]);
  }
  // Chosen at run time: the region is chosen as the pointer is.
  if (auto* step = llvm::dyn_cast<llvm::GEPOperator>(pointer)) return regions_[pointer] = region(step->getPointerOperand());
  if (auto* choice = llvm::dyn_cast<llvm::SelectInst>(pointer)) {
    const Region yes = region(choice->getTrueValue()), no = region(choice->getFalseValue());
    b_.SetInsertPoint(choice);
    const auto either = [&](Value* a, Value* b) { return b_.CreateSelect(choice->getCondition(), a, b); };
    return regions_[pointer] = {either(yes.begin, no.begin), either(yes.bytes, no.bytes), either(yes.is_buffer, no.is_buffer)};
  }
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(pointer)) {  // from a list of pointers: it is of that memory in which it lies
    Region chosen = region(origins[0]);
    for (std::size_t i = 1; i < origins.size(); ++i) {
      const Region other = region(origins[i]);
      b_.SetInsertPoint(load->getNextNode());
      Value* lies = b_.CreateICmpULT(b_.CreateSub(b_.CreatePtrToInt(load, b_.getInt64Ty()), other.begin), other.bytes);
      const auto either = [&](Value* a, Value* b) { return b_.CreateSelect(lies, a, b); };
      chosen = {either(other.begin, chosen.begin), either(other.bytes, chosen.bytes), either(other.is_buffer, chosen.is_buffer)};
    }
    return regions_[pointer] = chosen;
  }
  if (auto* phi = llvm::dyn_cast<llvm::PHINode>(pointer)) {
    b_.SetInsertPoint(phi);
    const unsigned ways = phi->getNumIncomingValues();
    auto *begin = b_.CreatePHI(b_.getInt64Ty(), ways), *bytes = b_.CreatePHI(b_.getInt64Ty(), ways), *is_buffer = b_.CreatePHI(b_.getInt1Ty(), ways);
    regions_[pointer] = {begin, bytes, is_buffer};
    for (unsigned i = 0; i < ways; ++i) {
      const Region from = region(phi->getIncomingValue(i));
      begin->addIncoming(from.begin, phi->getIncomingBlock(i));
      bytes->addIncoming(from.bytes, phi->getIncomingBlock(i));
      is_buffer->addIncoming(from.is_buffer, phi->getIncomingBlock(i));
    }
    return regions_[pointer];
  }
  lost(*pointer);
}

}  // namespace sinter::codegen
