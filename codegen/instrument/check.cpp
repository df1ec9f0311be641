#include "codegen/instrument/check.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <limits>
#include <map>
#include <set>

#include "codegen/emit/step.h"
#include "codegen/instrument/origin.h"
#include "codegen/jit.h"
#include "ir/error.h"
#include "ir/step.h"

namespace sinter::codegen {

using llvm::Value;

namespace {

class KernelChecker {
 public:
  KernelChecker(llvm::Function& kernel, std::size_t inputs)
      : kernel_(kernel), b_(kernel.getContext()), check_(kernel.getArg(kernel.arg_size() - 1)), origins_(kernel, inputs) {}

  void run() {
    std::vector<Access> accesses = find_accesses(kernel_);
    std::erase_if(accesses, stays_inside);
    if (!is_strided()) accesses = merge_accesses(accesses);
    std::vector<llvm::ReturnInst*> returns;
    for (llvm::Instruction& instruction : llvm::instructions(kernel_)) {
      if (auto* found = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) returns.push_back(found);
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      const llvm::Function* called = call ? call->getCalledFunction() : nullptr;
      if (called && !called->isIntrinsic())
        throw InternalError("codegen", str("a checked kernel calls ", called->getName().str(), ", which is not checked"));
    }
    make_outside();
    for (const Access& access : accesses)
      if (access.store) stored_.insert(origins_.of(access.pointer).begin(), origins_.of(access.pointer).end());
    for (const Access& access : accesses) check(access);
    for (llvm::ReturnInst* at : returns) tell(at);
  }

 private:
  /// Offsets of the first byte that was accessed and of the end.
  struct Span {
    llvm::AllocaInst *first, *last;
  };

  bool is_strided() const { return kernel_.hasFnAttribute(strided_kernel); }
  llvm::Type* number() { return b_.getInt64Ty(); }

  /// Whether an access is to the kernel's own memory, at an offset that is known at compile time.
  static bool stays_inside(const Access& access) {
    const auto* bytes = llvm::dyn_cast<llvm::ConstantInt>(access.bytes);
    if (!bytes || !access.pointer->getType()->isPointerTy()) return false;
    const llvm::DataLayout& layout = access.at->getModule()->getDataLayout();
    llvm::APInt offset(64, 0);
    const auto* memory =
        llvm::dyn_cast<llvm::AllocaInst>(access.pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true));
    if (!memory) return false;
    const auto size = static_cast<std::int64_t>(memory->getAllocationSize(layout)->getFixedValue());
    return !offset.isNegative() && offset.getSExtValue() + bytes->getSExtValue() <= size;
  }

  /// The block to which all forbidden accesses branch.
  void make_outside() {
    outside_ = llvm::BasicBlock::Create(kernel_.getContext(), "outside", &kernel_);
    b_.SetInsertPoint(outside_);
    for (llvm::Type* type : {number(), number(), number(), static_cast<llvm::Type*>(b_.getInt1Ty())}) what_.push_back(b_.CreatePHI(type, 0));
    Value* ctx = kernel_.getArg(kernel_.arg_size() - 2);
    Value* hooks = field(ctx, offsetof(StepContext, checks), b_.getPtrTy());
    auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy(), b_.getPtrTy(), number(), number(), b_.getInt1Ty()}, false);
    llvm::CallInst* call = b_.CreateCall(type, field(hooks, offsetof(CheckHooks, outside), b_.getPtrTy()),
                                         {ctx, check_, b_.CreateIntToPtr(what_[0], b_.getPtrTy()), what_[1], what_[2], what_[3]});
    call->addParamAttr(5, llvm::Attribute::ZExt);  // as C++ passes a bool
    b_.CreateRetVoid();
  }

  Value* field(Value* base, std::size_t offset, llvm::Type* type) {
    return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), base, offset));
  }

  void check(const Access& access) {
    const std::vector<Value*>& origins = origins_.of(access.pointer);
    const Region region = origins_.region(access.pointer);
    b_.SetInsertPoint(access.at);
    Value *offset = b_.CreateSub(access.first, region.begin), *end = b_.CreateAdd(offset, access.bytes), *none = b_.getInt64(0);
    Value* allowed = b_.CreateAnd(b_.CreateICmpSGE(offset, none), b_.CreateICmpSLE(end, region.bytes));
    if (llvm::isa<llvm::LoadInst>(access.at)) {  // a vector load must begin inside; memory extends a little past the end
      Value* begins = b_.CreateICmpULT(offset, region.bytes);
      Value* ends = b_.CreateICmpSLE(end, b_.CreateAdd(region.bytes, b_.getInt64(readable_behind)));
      allowed = b_.CreateOr(allowed, b_.CreateAnd(region.is_buffer, b_.CreateAnd(begins, ends)));
    }
    Value* idle = b_.CreateICmpEQ(access.bytes, none);
    if (!llvm::isa<llvm::Constant>(access.bytes)) allowed = b_.CreateOr(allowed, idle);
    llvm::BasicBlock *before = access.at->getParent(), *after = before->splitBasicBlock(access.at);
    before->getTerminator()->eraseFromParent();
    b_.SetInsertPoint(before);
    b_.CreateCondBr(allowed, after, outside_, llvm::MDBuilder(kernel_.getContext()).createBranchWeights(1u << 20, 1));
    Value* facts[] = {region.begin, offset, access.bytes, b_.getInt1(access.store)};
    for (std::size_t i = 0; i < what_.size(); ++i) what_[i]->addIncoming(facts[i], before);

    // The range that is accessed of each buffer that it may be.
    b_.SetInsertPoint(access.at);
    for (Value* origin : origins) {
      const auto* argument = llvm::dyn_cast<llvm::Argument>(origin);
      if (!argument || !origins_.is_buffer(origin)) continue;
      const Span& span = touched(argument->getArgNo(), access.store);
      if (is_strided() && stored_.contains(origin)) begin_span(access, span, argument->getArgNo(), offset, end);
      Value *first = b_.CreateLoad(number(), span.first), *last = b_.CreateLoad(number(), span.last);
      Value *lower = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, first, offset),
            *upper = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, last, b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, region.bytes));
      Value* counts = b_.CreateNot(idle);
      if (origins.size() > 1) counts = b_.CreateAnd(counts, b_.CreateICmpEQ(region.begin, origins_.region(origin).begin));
      b_.CreateStore(b_.CreateSelect(counts, lower, first), span.first);
      b_.CreateStore(b_.CreateSelect(counts, upper, last), span.last);
    }
  }

  /// Where an access is not adjacent to those before it, they are reported and reset.
  void begin_span(const Access& access, const Span& span, unsigned argument, Value* offset, Value* end) {
    llvm::Instruction* at = access.at;
    Value* adjoins =
        b_.CreateAnd(b_.CreateICmpSLE(offset, b_.CreateLoad(number(), span.last)), b_.CreateICmpSGE(end, b_.CreateLoad(number(), span.first)));
    b_.SetInsertPoint(llvm::SplitBlockAndInsertIfThen(b_.CreateNot(adjoins), at, false));
    tell_span(argument, access.store, span);
    Value* ctx = kernel_.getArg(kernel_.arg_size() - 2);
    b_.CreateCall(llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false),
                  field(field(ctx, offsetof(StepContext, checks), b_.getPtrTy()), offsetof(CheckHooks, leave), b_.getPtrTy()), {ctx, check_});
    clear(b_, span);
    b_.SetInsertPoint(at);
  }

  const Span& touched(unsigned argument, bool store) {
    const auto [found, made] = spans_.try_emplace({argument, store});
    if (made) {
      llvm::IRBuilder<> entry(origins_.start());
      found->second = {entry.CreateAlloca(number()), entry.CreateAlloca(number())};
      clear(entry, found->second);
    }
    return found->second;
  }

  static void clear(llvm::IRBuilder<>& b, const Span& span) {
    b.CreateStore(b.getInt64(std::numeric_limits<std::int64_t>::max()), span.first);
    b.CreateStore(b.getInt64(0), span.last);
  }

  void tell_span(unsigned argument, bool store, const Span& span) {
    Value* list = field(check_, offsetof(KernelCheck, buffers), b_.getPtrTy());
    const auto set = [&](std::size_t member, llvm::AllocaInst* from) {
      b_.CreateStore(b_.CreateLoad(number(), from), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), list, argument * sizeof(BufferCheck) + member));
    };
    set(store ? offsetof(BufferCheck, store_begin) : offsetof(BufferCheck, load_begin), span.first);
    set(store ? offsetof(BufferCheck, store_end) : offsetof(BufferCheck, load_end), span.last);
  }

  void tell(llvm::ReturnInst* at) {
    b_.SetInsertPoint(at);
    for (const auto& [which, span] : spans_) tell_span(which.first, which.second, span);
  }

  llvm::Function& kernel_;
  llvm::IRBuilder<> b_;
  Value* check_;
  Origins origins_;
  llvm::BasicBlock* outside_ = nullptr;
  std::vector<llvm::PHINode*> what_;  ///< begin of the buffer, offset, bytes, whether it is a store
  std::map<std::pair<unsigned, bool>, Span> spans_;
  std::set<Value*> stored_;  ///< origins of memory that the kernel stores to
};

}  // namespace

void check_accesses(llvm::Module& module, llvm::TargetMachine& machine, std::size_t inputs) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.hasFnAttribute(called_by_launcher) || function.hasFnAttribute(checked_kernel)) continue;
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  run_passes(module, machine, "always-inline,function(sroa,early-cse)");
  for (llvm::Function& function : module)
    if (!function.isDeclaration() && function.hasFnAttribute(checked_kernel)) KernelChecker(function, inputs).run();
}

}  // namespace sinter::codegen
