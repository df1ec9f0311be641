#include "codegen/emit/emitter.h"

#include <llvm/IR/Intrinsics.h>

#include <cstddef>
#include <utility>

#include "codegen/emit/flow.h"
#include "codegen/instrument/check.h"
#include "codegen/kernels/kinds.h"
#include "codegen/scan_plan.h"

namespace sinter::codegen {

using llvm::Value;

Emitter::Emitter(EmitContext& context, const Kernel& kernel, std::optional<std::size_t> section)
    : context_(context), kernel_(kernel), section_(section), builder_(context.module.getContext()), arguments_(buffers_of(kernel, context.plan)) {}

llvm::Function* Emitter::declare() {
  llvm::LLVMContext& llvm = context_.module.getContext();
  std::vector<llvm::Type*> types(arguments_.size(), llvm::PointerType::getUnqual(llvm));
  types.insert(types.end(), 7, llvm::Type::getInt64Ty(llvm));
  types.insert(types.end(), context_.checked ? 2 : 1, llvm::PointerType::getUnqual(llvm));
  const bool of_step = context_.step_of != ir::no_node;
  function_ = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(llvm), types, false),
                                     of_step ? llvm::Function::InternalLinkage : llvm::Function::ExternalLinkage,
                                     str(context_.kernel_names, kernel_number(), section_ ? str("_section_", *section_) : ""), context_.module);
  if (!of_step) function_->setVisibility(llvm::GlobalValue::HiddenVisibility);
  for (unsigned i = 0; i < arguments_.size(); ++i) {
    function_->addParamAttr(i, llvm::Attribute::NoAlias);
    function_->addParamAttr(i, llvm::Attribute::NoUndef);
  }
  function_->addFnAttr(llvm::Attribute::NoInline);
  if (of_step) return function_;  // a checked kernel has its code in it
  if (context_.checked) function_->addFnAttr(checked_kernel);
  if (context_.checked && (section_ || kernel_.is<Kernel::Pack>() || kernel_.cut.every_range || kernel_.cut.along == Cut::Along::columns))
    function_->addFnAttr(strided_kernel);
  return function_;
}

void Emitter::emit() {
  llvm::LLVMContext& llvm = context_.module.getContext();
  const auto first = static_cast<unsigned>(arguments_.size());
  begin_ = function_->getArg(first);
  end_ = function_->getArg(first + 1);
  chunk_ = function_->getArg(first + 2);
  piece_begin_ = function_->getArg(first + 3);
  piece_end_ = function_->getArg(first + 4);
  n_ = function_->getArg(first + 5);
  t_ = function_->getArg(first + 6);
  ctx_ = function_->getArg(first + 7);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(llvm, "entry", function_));
  Builder* outer = std::exchange(current_builder(), &builder_);
  if (kernel_.mask && kernel_.kind->skips_padding(graph(), kernel_) == KernelKind::Skips::rows) emit_masked_steps();
  else kernel_.kind->emit(*this);
  builder_.CreateRetVoid();
  current_builder() = outer;
}

llvm::Function* Emitter::emit_step_kernel(std::size_t k) {
  const ScanPlan& plan = *kernel_.scan;
  EmitContext context{.module = context_.module,
                      .graph = std::get<ir::Scan>(graph().node(kernel_.anchor).op).body.graph(),
                      .schedule = plan.schedule,
                      .plan = plan.plan,
                      .fault = {context_.fault.node == kernel_.anchor ? context_.fault.of_step : ir::no_node, ir::no_node},
                      .unit = context_.unit,
                      .checked = context_.checked,
                      .kernel_names = str(context_.kernel_names, kernel_number(), "_step_"),
                      .step_of = context_.step_of == ir::no_node ? kernel_.anchor : context_.step_of};
  if (llvm::Function* emitted = context_.module.getFunction(str(context.kernel_names, k))) return emitted;
  Emitter emitter(context, plan.schedule.kernels[k]);
  llvm::Function* function = emitter.declare();
  emitter.emit();
  context_.shared.insert(context.shared.begin(), context.shared.end());
  for (const auto& [number, text] : context.notes) note(str("step: ", text));
  return function;
}

void Emitter::add_step_arguments(std::vector<Value*>& arguments) {
  arguments.insert(arguments.end(), {n_, t_, ctx_});
  if (context_.checked) arguments.push_back(function_->getArg(static_cast<unsigned>(function_->arg_size() - 1)));
}

void Emitter::note(std::string text) { context_.notes.emplace_back(kernel_number(), std::move(text)); }

// ---- control flow ----

Value* Emitter::number(std::int64_t value) const { return llvm::ConstantInt::getSigned(llvm::Type::getInt64Ty(context_.module.getContext()), value); }

Value* Emitter::extent(Dim dim) { return emit_extent(builder_, dim, n_, t_); }

Value* Emitter::chunk_units(const Loop& loop) { return emit_chunk_units(builder_, loop.domain.units, n_, t_, loop.limits); }

void Emitter::loop(Value* begin, Value* end, std::int64_t step, const Body& body) { emit_loop(builder_, begin, end, step, body); }
void Emitter::when(Value* condition, const std::function<void()>& body) { emit_when(builder_, condition, body); }

void Emitter::repeat_while(const std::function<Value*()>& condition, const std::function<void()>& body) {
  llvm::LLVMContext& llvm = context_.module.getContext();
  llvm::BasicBlock* head = llvm::BasicBlock::Create(llvm, "while", function_);
  llvm::BasicBlock* inside = llvm::BasicBlock::Create(llvm, "body", function_);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(llvm, "done", function_);
  builder_.CreateBr(head);
  builder_.SetInsertPoint(head);
  builder_.CreateCondBr(condition(), inside, after);
  builder_.SetInsertPoint(inside);
  body();
  builder_.CreateBr(head);
  builder_.SetInsertPoint(after);
}

llvm::AllocaInst* Emitter::variable(llvm::Type* type, const char* name, unsigned alignment) {
  llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
  llvm::AllocaInst* made = entry.CreateAlloca(type, nullptr, name);
  if (alignment) made->setAlignment(llvm::Align(alignment));
  return made;
}

Value* Emitter::field(std::size_t offset, llvm::Type* type) {
  return builder_.CreateLoad(type, builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), ctx_, offset));
}

void Emitter::fault(ir::NodeId node) {
  if (context_.step_of != ir::no_node) node = context_.step_of;
  Value* fault = builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), ctx_, offsetof(StepContext, fault));
  builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Xchg, fault, builder_.getInt32(node + 1), llvm::Align(4), llvm::AtomicOrdering::Monotonic);
}

// ---- iteration ----

bool is_flat(const Shape& shape) { return shape.rank() > 0 && symbolic_layout(shape).cols == Dim(1) && symbolic_layout(shape).rows != Dim(1); }

Rows Emitter::rows() {
  if (masked_rows_) return *masked_rows_;
  const Dim all = symbolic_layout(kernel_.shape).rows;
  if (kernel_.domain.units == Dim(1)) return {number(0), extent(all)};
  if (!kernel_.domain.samples) return {begin_, end_};
  Value *own = extent(all.per_sample()), *first = builder_.CreateMul(begin_, own), *last = builder_.CreateMul(end_, own);
  if (kernel_.cut.along != Cut::Along::rows) return {first, last};
  return {builder_.CreateAdd(first, piece_begin_), builder_.CreateSub(last, builder_.CreateSub(own, piece_end_))};
}

Rows Emitter::indices(std::size_t axes) {
  const Dim all = kernel_.shape.product(0, axes);
  if (kernel_.domain.units == Dim(1)) return {number(0), extent(all)};
  Value* own = extent(all.per_sample());
  return {builder_.CreateMul(begin_, own), builder_.CreateMul(end_, own)};
}

Range Emitter::masked_steps(Value* sample) {
  Value *length = extent(kernel_.mask->length), *before = builder_.CreateMul(sample, length);
  llvm::AllocaInst *first = variable(builder_.getInt64Ty(), "first_step"), *last = variable(builder_.getInt64Ty(), "last_step");
  const auto value = [&](llvm::AllocaInst* of) { return builder_.CreateLoad(builder_.getInt64Ty(), of); };
  const auto is_left_out = [&](Value* step) {
    Value* at = element_address(kernel_.mask->value, builder_.CreateAdd(before, step));
    return builder_.CreateICmpEQ(builder_.CreateLoad(builder_.getInt8Ty(), at), builder_.getInt8(0));
  };
  // The mask is read at steps that exist alone.
  const auto move_while_left_out = [&](llvm::AllocaInst* place, const std::function<Value*()>& is_inside, Value* by, Value* offset) {
    llvm::AllocaInst* goes_on = variable(builder_.getInt1Ty(), "goes_on");
    builder_.CreateStore(builder_.getTrue(), goes_on);
    repeat_while([&] { return builder_.CreateAnd(builder_.CreateLoad(builder_.getInt1Ty(), goes_on), is_inside()); },
                 [&] {
                   Value* out = is_left_out(builder_.CreateAdd(value(place), offset));
                   builder_.CreateStore(out, goes_on);
                   builder_.CreateStore(builder_.CreateSelect(out, builder_.CreateAdd(value(place), by), value(place)), place);
                 });
  };
  builder_.CreateStore(number(0), first);
  move_while_left_out(first, [&] { return builder_.CreateICmpSLT(value(first), length); }, number(1), number(0));
  builder_.CreateStore(length, last);
  move_while_left_out(last, [&] { return builder_.CreateICmpSGT(value(last), value(first)); }, number(-1), number(-1));
  return {value(first), value(last)};
}

void Emitter::for_each_masked_sample(Rows rows, const std::function<void(Rows all, Rows masked)>& body) {
  Value* length = extent(kernel_.mask->length);
  const auto within = [&](Value* row) {
    row = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, row, rows.first);
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, row, rows.last);
  };
  Value *first = builder_.CreateUDiv(rows.first, length),
        *last = builder_.CreateUDiv(builder_.CreateAdd(rows.last, builder_.CreateSub(length, number(1))), length);
  loop(first, last, 1, [&](Value* sample) {
    const Range steps = masked_steps(sample);
    const auto row = [&](Value* step) { return within(builder_.CreateAdd(builder_.CreateMul(sample, length), step)); };
    const Rows all{row(number(0)), row(length)}, masked{row(steps.first), row(steps.last)};
    body(all, masked);
  });
}

void Emitter::emit_masked_steps() {
  for_each_masked_sample(rows(), [&](Rows all, Rows masked) {
    for (const ValueId value : kernel_.mask->zeros) {
      store_zeros(value, {all.first, masked.first});
      store_zeros(value, {masked.last, all.last});
    }
    when(builder_.CreateICmpSLT(masked.first, masked.last), [&] {
      masked_rows_ = masked;
      kernel_.kind->emit(*this);
      masked_rows_.reset();
    });
  });
}

void Emitter::store_zeros(ValueId value, Rows rows) {
  const Type& type = stored(value).type;
  for_each_site(type.shape, rows, is_flat(type.shape),
                [&](const Site& site) { store({llvm::Constant::getNullValue(memory_type(type.dtype, site.width)), type.dtype}, value, site); });
}

Value* Emitter::for_each_vector(Value* begin, Value* end, unsigned unroll, const std::function<void(Value*, unsigned)>& body) {
  const auto whole = [&](std::int64_t step) { return builder_.CreateAdd(begin, builder_.CreateAnd(builder_.CreateSub(end, begin), number(-step))); };
  Value *first = begin, *stop = whole(lanes);
  if (unroll > 1) {
    first = whole(lanes * unroll);
    loop(begin, first, lanes * unroll, [&](Value* i) {
      for (unsigned turn = 0; turn < unroll; ++turn) body(builder_.CreateAdd(i, number(turn * lanes), "", true, true), turn);
    });
  }
  loop(first, stop, lanes, [&](Value* i) { body(i, 0); });
  return stop;
}

void Emitter::for_each_block(const Shape& shape, Value* row, bool scalar, const SiteBody& body, unsigned unroll) {
  Value* cols = extent(symbolic_layout(shape).cols);
  if (scalar) loop(number(0), cols, 1, [&](Value* c) { body({row, c, 1, 1}); });
  else for_each_block_of(shape, row, {number(0), cols}, body, unroll);
}

void Emitter::for_each_block_of(const Shape& shape, Value* row, Range columns, const SiteBody& body, unsigned unroll) {
  const SymbolicLayout at = symbolic_layout(shape);
  const auto vectors = [&](Value* last) {
    return for_each_vector(columns.first, last, unroll, [&](Value* c, unsigned turn) { body({row, c, lanes, lanes, turn}); });
  };
  if (!at.cols.is_fixed()) {  // not padded: whole vectors, then single elements
    loop(vectors(columns.last), columns.last, 1, [&](Value* c) { body({row, c, 1, 1}); });
    return;
  }
  const std::int64_t cols = at.cols.factor(), whole = cols / lanes * lanes, rest = cols - whole;
  if (cols == 1) {
    body({row, number(0), 1, 1});
    return;
  }
  const auto width = static_cast<unsigned>(std::min<std::int64_t>(lanes, at.stride.factor() - whole));
  const auto tail = [&] { body({row, number(whole), width, static_cast<unsigned>(rest)}); };
  if (columns.last == number(cols)) {
    if (whole) vectors(number(whole));
    if (rest) tail();
    return;
  }
  vectors(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, columns.last, number(whole)));
  if (rest) when(builder_.CreateICmpEQ(columns.last, number(cols)), tail);
}

void Emitter::for_each_site(const Shape& shape, Rows rows, bool scalar, const SiteBody& body, const Body& at_row, unsigned unroll) {
  if (!is_flat(shape)) {
    loop(rows.first, rows.last, 1, [&](Value* row) {
      if (at_row) at_row(row);
      for_each_block(shape, row, scalar, body, unroll);
    });
    return;
  }
  // One column: the lanes of a vector are rows.
  Value* tail = rows.first;
  if (!scalar) tail = for_each_vector(rows.first, rows.last, unroll, [&](Value* i, unsigned turn) { body({number(0), i, lanes, lanes, turn}); });
  loop(tail, rows.last, 1, [&](Value* i) {
    if (at_row) at_row(i);
    body({number(0), i, 1, 1});
  });
}

}  // namespace sinter::codegen
