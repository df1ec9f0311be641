#include "codegen/emit/kernel_emitter.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "codegen/support.h"

namespace sinter::codegen {

using llvm::Value;

KernelEmitter::KernelEmitter(EmitContext& context, const Kernel& kernel)
    : context_(context), kernel_(kernel), builder_(context.module.getContext()), arguments_(buffers_of(kernel, context.plan)) {}

llvm::Function* declare_shared(EmitContext& context, const std::string& name, llvm::FunctionType* type, std::size_t size,
                               const std::function<void(EmitContext&)>& define) {
  context.shared.try_emplace(name, SharedFunction{size, define});
  if (llvm::Function* made = context.module.getFunction(name)) return made;
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name, context.module);
  if (!context.named) function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->addFnAttr(llvm::Attribute::NoInline);  // constants of an epilogue around it would take registers
  return function;
}

llvm::Function* KernelEmitter::declare() {
  llvm::LLVMContext& llvm = context_.module.getContext();
  std::vector<llvm::Type*> types(arguments_.size(), llvm::PointerType::getUnqual(llvm));
  types.insert(types.end(), 6, llvm::Type::getInt64Ty(llvm));
  types.insert(types.end(), context_.checked ? 2 : 1, llvm::PointerType::getUnqual(llvm));
  function_ = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(llvm), types, false), llvm::Function::ExternalLinkage,
                                     str("kernel_", number()), context_.module);
  if (!context_.named) function_->setVisibility(llvm::GlobalValue::HiddenVisibility);
  for (unsigned i = 0; i < arguments_.size(); ++i) {
    function_->addParamAttr(i, llvm::Attribute::NoAlias);
    function_->addParamAttr(i, llvm::Attribute::NoUndef);
  }
  function_->addFnAttr(llvm::Attribute::NoInline);
  if (context_.checked) function_->addFnAttr(checked_kernel);
  if (context_.checked && kernel_.kind == Kernel::Kind::pack) function_->addFnAttr(strided_kernel);
  return function_;
}

void KernelEmitter::emit() {
  llvm::LLVMContext& llvm = context_.module.getContext();
  const auto first = static_cast<unsigned>(arguments_.size());
  begin_ = function_->getArg(first);
  end_ = function_->getArg(first + 1);
  chunk_ = function_->getArg(first + 2);
  piece_begin_ = function_->getArg(first + 3);
  piece_end_ = function_->getArg(first + 4);
  n_ = function_->getArg(first + 5);
  ctx_ = function_->getArg(first + 6);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(llvm, "entry", function_));
  current_builder() = &builder_;
  switch (kernel_.kind) {
    case Kernel::Kind::partial:
      is_convolution(context_.graph.node(kernel_.anchor).op) ? emit_convolution_weight() : emit_partial();
      break;
    case Kernel::Kind::combine:
      emit_combine();
      break;
    case Kernel::Kind::pack:
      is_convolution(context_.graph.node(kernel_.anchor).op) ? emit_convolution_pack() : emit_pack();
      break;
    case Kernel::Kind::copy:
      emit_copy();
      break;
    case Kernel::Kind::nodes:
      emit_nodes();
      break;
  }
  builder_.CreateRetVoid();
  current_builder() = nullptr;
}

void KernelEmitter::emit_nodes() {
  if (kernel_.anchor == ir::no_node) return emit_pointwise();
  const ir::Op& anchor = context_.graph.node(kernel_.anchor).op;
  switch (std::visit([]<class O>(const O&) { return require_kernel_kind<O>(); }, anchor)) {
    case KernelKind::pointwise:
      return emit_pointwise();
    case KernelKind::product:
      return emit_product();
    case KernelKind::convolution:
      return emit_convolution();
    case KernelKind::collected:
      return emit_collected();
    case KernelKind::softmax:
      return emit_softmax(std::holds_alternative<ir::LogSoftmax>(anchor));
    case KernelKind::argmax:
      return emit_argmax();
    case KernelKind::reduction:
      return emit_reduction();
    case KernelKind::convolution_weight:  // always in parts
    case KernelKind::none:
      break;
  }
  throw InternalError("codegen", str("no kernel for ", ir::name(anchor)));
}

// ---- control flow ----

Value* KernelEmitter::constant(std::int64_t value) const {
  return llvm::ConstantInt::getSigned(llvm::Type::getInt64Ty(context_.module.getContext()), value);
}

Value* KernelEmitter::extent(Dim dim) { return dim.is_batch() ? builder_.CreateMul(n_, constant(dim.factor())) : constant(dim.factor()); }

void KernelEmitter::loop(Value* begin, Value* end, std::int64_t step, const Body& body) {
  llvm::LLVMContext& llvm = context_.module.getContext();
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  llvm::BasicBlock* head = llvm::BasicBlock::Create(llvm, "loop", function_);
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(llvm, "body", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(llvm, "done", function_);
  builder_.CreateBr(head);
  builder_.SetInsertPoint(head);
  llvm::PHINode* i = builder_.CreatePHI(begin->getType(), 2);
  i->addIncoming(begin, before);
  builder_.CreateCondBr(builder_.CreateICmpSLT(i, end), inside, after);
  builder_.SetInsertPoint(inside);
  body(i);
  i->addIncoming(builder_.CreateAdd(i, constant(step), "", true, true), builder_.GetInsertBlock());
  builder_.CreateBr(head);
  builder_.SetInsertPoint(after);
}

void KernelEmitter::when(Value* condition, const Body& body) {
  llvm::LLVMContext& llvm = context_.module.getContext();
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(llvm, "then", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(llvm, "after", function_);
  builder_.CreateCondBr(condition, inside, after);
  builder_.SetInsertPoint(inside);
  body(nullptr);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

void KernelEmitter::repeat_while(const std::function<Value*()>& condition, const Body& body) {
  llvm::LLVMContext& llvm = context_.module.getContext();
  llvm::BasicBlock* head = llvm::BasicBlock::Create(llvm, "while", function_);
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(llvm, "body", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(llvm, "done", function_);
  builder_.CreateBr(head);
  builder_.SetInsertPoint(head);
  builder_.CreateCondBr(condition(), inside, after);
  builder_.SetInsertPoint(inside);
  body(nullptr);
  builder_.CreateBr(head);
  builder_.SetInsertPoint(after);
}

llvm::AllocaInst* KernelEmitter::variable(llvm::Type* type, const char* name, unsigned alignment) {
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  llvm::AllocaInst* made = entry.CreateAlloca(type, nullptr, name);
  if (alignment) made->setAlignment(llvm::Align(alignment));
  return made;
}

// ---- iteration ----

bool KernelEmitter::is_flat(const Shape& shape) {
  return shape.rank() > 0 && symbolic_layout(shape).cols == Dim(1) && symbolic_layout(shape).rows != Dim(1);
}

Value* KernelEmitter::rows_begin(const Shape& shape) {
  if (!kernel_.domain.samples) return begin_;
  const std::int64_t rows = symbolic_layout(shape).rows.factor();
  Value* first = builder_.CreateMul(begin_, constant(rows));
  return kernel_.piece == Piece::rows ? builder_.CreateAdd(first, piece_begin_) : first;
}

Value* KernelEmitter::rows_end(const Shape& shape) {
  if (!kernel_.domain.samples) return end_;
  const std::int64_t rows = symbolic_layout(shape).rows.factor();
  Value* last = builder_.CreateMul(end_, constant(rows));
  return kernel_.piece == Piece::rows ? builder_.CreateSub(last, builder_.CreateSub(constant(rows), piece_end_)) : last;
}

Value* KernelEmitter::for_each_vector(Value* begin, Value* end, unsigned unroll, const std::function<void(Value*, unsigned)>& body) {
  const auto whole = [&](std::int64_t step) {
    return builder_.CreateAdd(begin, builder_.CreateAnd(builder_.CreateSub(end, begin), constant(-step)));
  };
  Value *first = begin, *stop = whole(lanes);
  if (unroll > 1) {
    first = whole(lanes * unroll);
    loop(begin, first, lanes * unroll, [&](Value* i) {
      for (unsigned turn = 0; turn < unroll; ++turn) body(builder_.CreateAdd(i, constant(turn * lanes), "", true, true), turn);
    });
  }
  loop(first, stop, lanes, [&](Value* i) { body(i, 0); });
  return stop;
}

void KernelEmitter::for_each_block(const Shape& shape, Value* row, bool scalar, const std::function<void(const Site&)>& body, unsigned unroll) {
  const SymbolicLayout at = symbolic_layout(shape);
  if (scalar) {
    loop(constant(0), extent(at.cols), 1, [&](Value* c) { body({row, c, 1, 1}); });
    return;
  }
  const auto vectors = [&](Value* cols) {
    return for_each_vector(constant(0), cols, unroll, [&](Value* c, unsigned turn) { body({row, c, lanes, lanes, turn}); });
  };
  if (at.cols.is_batch()) {  // not padded: whole vectors, then single elements
    Value* cols = extent(at.cols);
    loop(vectors(cols), cols, 1, [&](Value* c) { body({row, c, 1, 1}); });
    return;
  }
  const std::int64_t cols = at.cols.factor(), whole = cols / lanes * lanes, rest = cols - whole;
  if (cols == 1) {
    body({row, constant(0), 1, 1});
    return;
  }
  if (whole) vectors(constant(whole));
  if (rest) {
    const auto width = static_cast<unsigned>(std::min<std::int64_t>(lanes, at.stride.factor() - whole));
    body({row, constant(whole), width, static_cast<unsigned>(rest)});
  }
}

void KernelEmitter::for_each_site(const Shape& shape, Value* begin, Value* end, bool scalar, const std::function<void(const Site&)>& body,
                                  const Body& at_row, unsigned unroll) {
  if (!is_flat(shape)) {
    loop(begin, end, 1, [&](Value* row) {
      if (at_row) at_row(row);
      for_each_block(shape, row, scalar, body, unroll);
    });
    return;
  }
  // One column: the lanes of a vector are rows.
  Value* tail = begin;
  if (!scalar) tail = for_each_vector(begin, end, unroll, [&](Value* i, unsigned turn) { body({constant(0), i, lanes, lanes, turn}); });
  loop(tail, end, 1, [&](Value* i) {
    if (at_row) at_row(i);
    body({constant(0), i, 1, 1});
  });
}

/// Chunks of the loop that filled this kernel's slots.
Value* KernelEmitter::slot_count() {
  for (const Kernel& other : context_.schedule.kernels) {
    if (other.kind != Kernel::Kind::partial || other.slots != kernel_.slots) continue;
    const Loop& loop = context_.schedule.phases[other.phase].loops[other.loop];
    Value* units = extent(loop.domain.units);
    Value* size = emit_chunk_units(builder_, units, loop.limits);
    return builder_.CreateUDiv(builder_.CreateAdd(units, builder_.CreateSub(size, constant(1))), size);
  }
  throw InternalError("codegen", "partial sums without a kernel that makes them");
}

Value* emit_chunk_units(Builder& b, Value* units, const ChunkLimits& limits) {
  const auto number = [&](std::int64_t n) { return b.getInt64(static_cast<std::uint64_t>(n)); };
  Value* eighth = b.CreateUDiv(b.CreateAdd(units, number(7)), number(8));
  Value* rounded = b.CreateAnd(b.CreateAdd(eighth, number(limits.granule - 1)), number(-limits.granule));
  Value* least = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, rounded, number(limits.least));
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, least, number(std::max<std::int64_t>(1, limits.most)));
}

}  // namespace sinter::codegen
