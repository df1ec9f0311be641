#include "codegen/emit/kernel_call.h"

#include <cstddef>
#include <utility>

#include "ir/step.h"

namespace sinter::codegen {

using llvm::Value;

Value* StepWords::field(Builder& builder, std::size_t offset, llvm::Type* type) const {
  return builder.CreateLoad(type, builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), context, offset));
}

Value* StepWords::threads(Builder& builder) const {
  return builder.CreateSExt(field(builder, offsetof(StepContext, threads), builder.getInt32Ty()), builder.getInt64Ty());
}

KernelCalls::KernelCalls(EmitContext& context, Builder& builder, bool profile) : context_(context), b_(builder), profile_(profile) {}

void KernelCalls::set_functions(std::vector<llvm::Function*> functions, std::vector<std::vector<llvm::Function*>> sections) {
  functions_ = std::move(functions);
  sections_ = std::move(sections);
  for (const Kernel& kernel : context_.schedule.kernels) arguments_.push_back(buffers_of(kernel, context_.plan));
}

void KernelCalls::call(const StepWords& words, const Loop& loop, std::size_t k, llvm::Function* function, const CallRange& r, Value* first,
                       bool shared) {
  std::vector<Value*> arguments;
  for (const std::uint32_t buffer : arguments_[k]) arguments.push_back(base(words, buffer, loop, first, shared));
  arguments.insert(arguments.end(), {r.begin, r.end, r.chunk, r.piece_begin, r.piece_end, words.n, words.t, words.context});
  spoil(k, arguments);
  Value* before = profile_ ? clock(words) : nullptr;
  Value* check = nullptr;
  if (context_.checked) {
    const auto number = b_.getInt32(static_cast<std::uint32_t>(k));
    check = tell_checks(words, offsetof(CheckHooks, enter), {words.thread, number, words.chunk, b_.getInt1(shared)}, true);
    arguments.push_back(check);
  }
  b_.CreateCall(function, arguments);
  if (check) tell_checks(words, offsetof(CheckHooks, leave), {check}, false);
  if (profile_) tell(words, k, r, before);
}

/// The fault that a test asks for in the arguments of a kernel's call.
void KernelCalls::spoil(std::size_t k, std::vector<Value*>& arguments) {
  const Sabotage& sabotage = context_.sabotage;
  if (sabotage.is(Sabotage::Kind::shifted_pointer, k)) {
    const Type& type = context_.plan.buffers[arguments_[k].at(sabotage.argument)].type;
    const std::int64_t row = symbolic_layout(type.shape).stride.factor() * static_cast<std::int64_t>(size_of(type.dtype));
    arguments[sabotage.argument] = b_.CreateGEP(b_.getInt8Ty(), arguments[sabotage.argument], {number(row)});
  }
  if (sabotage.is(Sabotage::Kind::wide_chunk, k)) {
    Value*& begin = arguments[arguments_[k].size()];
    begin = b_.CreateSub(begin, b_.CreateZExt(b_.CreateICmpNE(begin, number(0)), b_.getInt64Ty()));
  }
}

/// Address of row 0 of a buffer. Chunk scratch holds only the rows of the chunk, so its row 0 lies before it. Threads that share a sample use the
/// first one's, except for what is each kernel call's own: register tiles write past the last row of a product.
Value* KernelCalls::base(const StepWords& words, std::uint32_t buffer, const Loop& loop, Value* begin, bool shared) {
  const BufferSpec& spec = context_.plan.buffers[buffer];
  if (spec.place != Place::scratch) {
    Value* list = words.field(b_, offsetof(StepContext, buffers), b_.getPtrTy());
    return b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), list, buffer));
  }
  Value* thread = shared && !spec.own ? number(0) : b_.CreateSExt(words.thread, b_.getInt64Ty());
  Value* offset = b_.CreateAdd(b_.CreateMul(thread, number(context_.plan.scratch_bytes)), number(spec.offset));
  if (!context_.plan.serves_chunk[buffer]) {
    const SymbolicLayout at = symbolic_layout(spec.type.shape);
    const std::int64_t row = at.stride.factor() * static_cast<std::int64_t>(size_of(spec.type.dtype)),
                       rows = loop.domain.samples ? at.rows.factor() : 1;
    offset = b_.CreateSub(offset, b_.CreateMul(begin, number(row * rows)));
  }
  return b_.CreateGEP(b_.getInt8Ty(), words.field(b_, offsetof(StepContext, scratch), b_.getPtrTy()), {offset});
}

/// Calls one of StepContext::checks.
Value* KernelCalls::tell_checks(const StepWords& words, std::size_t hook, const std::vector<Value*>& with, bool returns) {
  Value* checks = words.field(b_, offsetof(StepContext, checks), b_.getPtrTy());
  Value* function = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), checks, hook));
  std::vector<Value*> arguments{words.context};
  arguments.insert(arguments.end(), with.begin(), with.end());
  std::vector<llvm::Type*> types;
  for (Value* argument : arguments) types.push_back(argument->getType());
  llvm::CallInst* call = b_.CreateCall(llvm::FunctionType::get(returns ? b_.getPtrTy() : b_.getVoidTy(), types, false), function, arguments);
  for (unsigned i = 0; i < arguments.size(); ++i)
    if (arguments[i]->getType()->isIntegerTy(1)) call->addParamAttr(i, llvm::Attribute::ZExt);  // as C++ passes a bool
  return call;
}

Value* KernelCalls::clock(const StepWords& words) {
  return b_.CreateCall(llvm::FunctionType::get(b_.getInt64Ty(), false), words.field(b_, offsetof(StepContext, clock), b_.getPtrTy()));
}

void KernelCalls::tell(const StepWords& words, std::size_t kernel, const CallRange& range, Value* start) {
  llvm::Type *pointer = b_.getPtrTy(), *small = b_.getInt32Ty(), *large = b_.getInt64Ty();
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {pointer, small, small, large, large, large, large}, false);
  b_.CreateCall(type, words.field(b_, offsetof(StepContext, span), pointer),
                {words.context, words.thread, b_.getInt32(static_cast<std::uint32_t>(kernel)), range.begin, range.end, start, clock(words)});
}

}  // namespace sinter::codegen
