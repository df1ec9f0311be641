#include "codegen/instrument/access.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <map>

#include "ir/error.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

[[noreturn]] void unknown(const llvm::Instruction& instruction) {
  std::string text;
  llvm::raw_string_ostream out(text);
  instruction.print(out);
  throw InternalError("codegen", str("find_accesses does not know how this touches memory:", text));
}

class Finder {
 public:
  explicit Finder(llvm::Instruction& at) : at_(at), b_(&at), layout_(at.getModule()->getDataLayout()) {}

  /// From an address and the type of the memory there.
  Access whole(Value* pointer, llvm::Type* type, bool store) { return {&at_, pointer, address(pointer), size(type), store}; }

  /// From the first lane of a mask to the last.
  Access masked(Value* pointer, Value* mask, llvm::Type* type, bool store) {
    const auto* vector = llvm::cast<llvm::FixedVectorType>(type);
    const unsigned lanes = vector->getNumElements();
    Value *bits = b_.CreateBitCast(mask, b_.getIntNTy(lanes)), *none = b_.CreateICmpEQ(bits, llvm::ConstantInt::get(bits->getType(), 0));
    const auto count = [&](llvm::Intrinsic::ID end) { return b_.CreateZExt(b_.CreateBinaryIntrinsic(end, bits, b_.getFalse()), b_.getInt64Ty()); };
    Value *before = count(llvm::Intrinsic::cttz), *behind = count(llvm::Intrinsic::ctlz), *element = size(vector->getElementType());
    Value* covered = b_.CreateSub(b_.CreateSub(b_.getInt64(lanes), before), behind);
    return {&at_, pointer, b_.CreateAdd(address(pointer), b_.CreateMul(before, element)),
            b_.CreateSelect(none, b_.getInt64(0), b_.CreateMul(covered, element)), store};
  }

  /// From the lowest address to the highest, of all lanes.
  Access gathered(Value* pointers, llvm::Type* type, bool store) {
    Value *all = b_.CreatePtrToInt(pointers, llvm::VectorType::get(b_.getInt64Ty(), llvm::cast<llvm::VectorType>(type)->getElementCount())),
          *first = b_.CreateIntMinReduce(all), *last = b_.CreateIntMaxReduce(all);
    return {&at_, pointers, first, b_.CreateAdd(b_.CreateSub(last, first), size(type->getScalarType())), store};
  }

 private:
  Value* address(Value* pointer) { return b_.CreatePtrToInt(pointer, b_.getInt64Ty()); }
  Value* size(llvm::Type* type) { return b_.getInt64(layout_.getTypeStoreSize(type)); }

  llvm::Instruction& at_;
  llvm::IRBuilder<> b_;
  const llvm::DataLayout& layout_;
};

/// Whether an instruction only annotates memory.
bool is_hint(const llvm::IntrinsicInst& call) {
  return call.isLifetimeStartOrEnd() || call.isAssumeLikeIntrinsic() || call.getIntrinsicID() == llvm::Intrinsic::prefetch;
}

void add_intrinsic(llvm::IntrinsicInst& call, std::vector<Access>& found) {
  const auto all_lanes = [](const Value* mask) { return llvm::isa<llvm::Constant>(mask) && llvm::cast<llvm::Constant>(mask)->isAllOnesValue(); };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::masked_load:
      return found.push_back(Finder(call).masked(call.getArgOperand(0), call.getArgOperand(2), call.getType(), false));
    case llvm::Intrinsic::masked_store:
      return found.push_back(Finder(call).masked(call.getArgOperand(1), call.getArgOperand(3), call.getArgOperand(0)->getType(), true));
    case llvm::Intrinsic::masked_gather:
      if (!all_lanes(call.getArgOperand(2))) unknown(call);
      return found.push_back(Finder(call).gathered(call.getArgOperand(0), call.getType(), false));
    default:
      if (call.mayReadOrWriteMemory() && !is_hint(call)) unknown(call);
  }
}

}  // namespace

std::vector<Access> find_accesses(llvm::Function& function) {
  std::vector<llvm::Instruction*> all;
  for (llvm::Instruction& instruction : llvm::instructions(function)) all.push_back(&instruction);
  std::vector<Access> found;
  for (llvm::Instruction* at : all) {
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(at)) found.push_back(Finder(*at).whole(load->getPointerOperand(), load->getType(), false));
    else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(at))
      found.push_back(Finder(*at).whole(store->getPointerOperand(), store->getValueOperand()->getType(), true));
    else if (auto* atomic = llvm::dyn_cast<llvm::AtomicRMWInst>(at))
      found.push_back(Finder(*at).whole(atomic->getPointerOperand(), atomic->getType(), true));
    else if (auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(at)) add_intrinsic(*intrinsic, found);
    else if (at->mayReadOrWriteMemory() && !llvm::isa<llvm::CallInst>(at)) unknown(*at);
  }
  return found;
}

std::vector<Access> merge_accesses(const std::vector<Access>& accesses) {
  struct Group {
    Value* base;
    std::int64_t first, last;  ///< offsets from the base: first byte, end
    std::size_t merged;        ///< its index in the result
  };
  std::vector<Access> result;
  std::map<llvm::BasicBlock*, std::vector<Group>> groups;
  for (const Access& access : accesses) {
    const auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(access.bytes);
    if (!bytes || !access.pointer->getType()->isPointerTy()) {
      result.push_back(access);
      continue;
    }
    const llvm::DataLayout& layout = access.at->getModule()->getDataLayout();
    llvm::APInt offset(64, 0);
    Value* base = access.pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
    const std::int64_t first = offset.getSExtValue(), last = first + bytes->getSExtValue();
    std::vector<Group>& here = groups[access.at->getParent()];
    const auto same = [&](const Group& g) { return g.base == base && result[g.merged].store == access.store; };
    const auto found = std::find_if(here.begin(), here.end(), same);
    if (found == here.end()) {
      here.push_back({base, first, last, result.size()});
      result.push_back(access);
      continue;
    }
    found->first = std::min(found->first, first);
    found->last = std::max(found->last, last);
    Access& merged = result[found->merged];
    llvm::IRBuilder<> b(merged.at);
    merged.pointer = base;
    merged.first = b.CreateAdd(b.CreatePtrToInt(base, b.getInt64Ty()), b.getInt64(static_cast<std::uint64_t>(found->first)));
    merged.bytes = b.getInt64(static_cast<std::uint64_t>(found->last - found->first));
  }
  return result;
}

}  // namespace sinter::codegen
