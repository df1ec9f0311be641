#include "codegen/vec.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

namespace sinter::codegen {

Builder*& current_builder() {
  thread_local Builder* builder = nullptr;
  return builder;
}

namespace {

Builder& b() { return *current_builder(); }

llvm::Constant* literal(double number, llvm::Type* type) {
  if (type->isFPOrFPVectorTy()) return llvm::ConstantFP::get(type, number);
  return llvm::ConstantInt::get(type, static_cast<std::uint64_t>(static_cast<std::int64_t>(number)));
}

struct Pair {
  llvm::Value *a, *b;
  DType dtype;
};
Pair pair(const Vec& x, const Vec& y) {
  const DType dtype = x.value ? x.dtype : y.dtype;
  return {materialize(x, y), materialize(y, x), dtype};
}

/// The type of x with other elements.
llvm::Type* with_elements(const Vec& x, llvm::Type* element) {
  if (const auto* vector = llvm::dyn_cast<llvm::VectorType>(x.value->getType())) return llvm::VectorType::get(element, vector->getElementCount());
  return element;
}

bool is_signed(DType dtype) { return dtype == DType::i32; }

VecMask compare(const Vec& x, const Vec& y, llvm::CmpInst::Predicate f, llvm::CmpInst::Predicate s, llvm::CmpInst::Predicate u) {
  const Pair p = pair(x, y);
  if (is_float(p.dtype)) return {b().CreateFCmp(f, p.a, p.b)};
  return {b().CreateICmp(is_signed(p.dtype) ? s : u, p.a, p.b)};
}

}  // namespace

llvm::Value* materialize(const Vec& x, const Vec& like) {
  if (x.value) return x.value;
  return literal(x.number, like.value ? like.value->getType() : llvm::Type::getFloatTy(b().getContext()));
}

Vec operator+(const Vec& x, const Vec& y) {
  const Pair p = pair(x, y);
  return {is_float(p.dtype) ? b().CreateFAdd(p.a, p.b) : b().CreateAdd(p.a, p.b), p.dtype};
}
Vec operator-(const Vec& x, const Vec& y) {
  const Pair p = pair(x, y);
  return {is_float(p.dtype) ? b().CreateFSub(p.a, p.b) : b().CreateSub(p.a, p.b), p.dtype};
}
Vec operator*(const Vec& x, const Vec& y) {
  const Pair p = pair(x, y);
  return {is_float(p.dtype) ? b().CreateFMul(p.a, p.b) : b().CreateMul(p.a, p.b), p.dtype};
}
Vec operator/(const Vec& x, const Vec& y) {
  const Pair p = pair(x, y);
  return {b().CreateFDiv(p.a, p.b), p.dtype};
}
Vec operator-(const Vec& x) { return {is_float(x.dtype) ? b().CreateFNeg(x.value) : b().CreateNeg(x.value), x.dtype}; }

VecMask operator<(const Vec& x, const Vec& y) { return compare(x, y, llvm::CmpInst::FCMP_OLT, llvm::CmpInst::ICMP_SLT, llvm::CmpInst::ICMP_ULT); }
VecMask operator<=(const Vec& x, const Vec& y) { return compare(x, y, llvm::CmpInst::FCMP_OLE, llvm::CmpInst::ICMP_SLE, llvm::CmpInst::ICMP_ULE); }
VecMask operator>(const Vec& x, const Vec& y) { return compare(x, y, llvm::CmpInst::FCMP_OGT, llvm::CmpInst::ICMP_SGT, llvm::CmpInst::ICMP_UGT); }
VecMask operator==(const Vec& x, const Vec& y) { return compare(x, y, llvm::CmpInst::FCMP_OEQ, llvm::CmpInst::ICMP_EQ, llvm::CmpInst::ICMP_EQ); }
VecMask operator!=(const Vec& x, const Vec& y) { return compare(x, y, llvm::CmpInst::FCMP_UNE, llvm::CmpInst::ICMP_NE, llvm::CmpInst::ICMP_NE); }

Vec select(const VecMask& condition, const Vec& x, const Vec& y) {
  if (!x.value && !y.value) {  // only literals: as wide as the condition
    const Vec mask{condition.value, DType::boolean};
    return select(condition, Vec(literal(x.number, with_elements(mask, b().getFloatTy())), DType::f32), y);
  }
  const Pair p = pair(x, y);
  return {b().CreateSelect(condition.value, p.a, p.b), p.dtype};
}

Vec sqrt(const Vec& x) { return {b().CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x.value), x.dtype}; }

Vec fma(const Vec& x, const Vec& y, const Vec& z) {
  const Vec& typed = x.value ? x : y.value ? y : z;
  llvm::Value* a = materialize(x, typed);
  return {b().CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, materialize(y, typed), materialize(z, typed)}), DType::f32};
}

Vec as_int(const Vec& x) { return {b().CreateBitCast(x.value, with_elements(x, b().getInt32Ty())), DType::i32}; }
Vec as_float(const Vec& x) { return {b().CreateBitCast(x.value, with_elements(x, b().getFloatTy())), DType::f32}; }
Vec operator&(const Vec& x, const Vec& y) {
  const Pair p = pair(x, y);
  return {b().CreateAnd(p.a, p.b), p.dtype};
}
Vec operator^(const Vec& x, const Vec& y) {
  const Pair p = pair(x, y);
  return {b().CreateXor(p.a, p.b), p.dtype};
}
Vec multiply_high(const Vec& x, const Vec& y) {
  const Pair p = pair(x, y);
  llvm::Type* wide = with_elements(x, b().getInt64Ty());
  llvm::Value* product = b().CreateMul(b().CreateZExt(p.a, wide), b().CreateZExt(p.b, wide));
  return {b().CreateTrunc(b().CreateLShr(product, 32), p.a->getType()), p.dtype};
}
Vec shift_left(const Vec& x, unsigned by) { return {b().CreateShl(x.value, by), x.dtype}; }
Vec shift_right(const Vec& x, unsigned by) { return {b().CreateAShr(x.value, by), x.dtype}; }
Vec widen(const Vec& x) { return {b().CreateFPExt(x.value, with_elements(x, b().getDoubleTy())), DType::f32}; }
Vec narrow(const Vec& x) { return {b().CreateFPTrunc(x.value, with_elements(x, b().getFloatTy())), DType::f32}; }

namespace {

/// A constant of the module.
llvm::GlobalVariable* constant_table(llvm::Constant* numbers) {
  llvm::Module& module = *b().GetInsertBlock()->getModule();
  for (llvm::GlobalVariable& other : module.globals())
    if (other.hasInitializer() && other.getInitializer() == numbers) return &other;
  return new llvm::GlobalVariable(module, numbers->getType(), true, llvm::GlobalValue::PrivateLinkage, numbers, "table");
}

/// For each mask of 8 lanes those that are set, in order.
std::array<std::uint64_t, 256> lanes_of_masks() {
  std::array<std::uint64_t, 256> result{};  // a byte a lane
  for (unsigned mask = 0; mask < 256; ++mask)
    for (unsigned lane = 0, count = 0; lane < 8; ++lane)
      if (mask >> lane & 1) result[mask] |= std::uint64_t{lane} << 8 * count++;
  return result;
}

}  // namespace

llvm::Value* compressed(llvm::Value* numbers, llvm::Value* mask) {
  const unsigned width = llvm::cast<llvm::FixedVectorType>(numbers->getType())->getNumElements();
  if (width == 16) return b().CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_compress, {numbers->getType()}, {numbers, numbers, mask});
  if (width != 8)
    return b().CreateIntrinsic(llvm::Intrinsic::experimental_vector_compress, {numbers->getType()},
                               {numbers, mask, llvm::PoisonValue::get(numbers->getType())});
  const std::array<std::uint64_t, 256> lanes = lanes_of_masks();
  llvm::GlobalVariable* table = constant_table(llvm::ConstantDataArray::get(b().getContext(), llvm::ArrayRef(lanes)));
  llvm::Value* row = b().CreateInBoundsGEP(b().getInt64Ty(), table, {b().CreateZExt(b().CreateBitCast(mask, b().getInt8Ty()), b().getInt64Ty())});
  llvm::Value* bytes = b().CreateAlignedLoad(llvm::FixedVectorType::get(b().getInt8Ty(), 8), row, llvm::Align(8));
  return b().CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd, {}, {numbers, b().CreateZExt(bytes, numbers->getType())});
}

Vec lookup(const std::array<double, 256>& table, const Vec& index) {
  llvm::GlobalVariable* global = constant_table(llvm::ConstantDataArray::get(b().getContext(), table));
  llvm::Value* places = b().CreateGEP(b().getDoubleTy(), global, {b().CreateZExt(index.value, with_elements(index, b().getInt64Ty()))});
  if (!places->getType()->isVectorTy()) return {b().CreateLoad(b().getDoubleTy(), places), DType::f32};
  return {b().CreateMaskedGather(with_elements(index, b().getDoubleTy()), places, llvm::Align(8)), DType::f32};
}

Vec convert(const Vec& x, DType to) {
  if (x.dtype == to) return x;
  llvm::Type* type = with_elements(x, to == DType::f32 ? b().getFloatTy() : b().getIntNTy(to == DType::boolean ? 1 : to == DType::u8 ? 8 : 32));
  if (to == DType::boolean) return {(x != Vec(0.0f)).value, to};
  if (x.dtype == DType::f32) {
    // Saturating: the nearest value of the type, NaN becomes 0.
    return {b().CreateIntrinsic(is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat, {type, x.value->getType()}, {x.value}),
            to};
  }
  if (to == DType::f32) return {is_signed(x.dtype) ? b().CreateSIToFP(x.value, type) : b().CreateUIToFP(x.value, type), to};
  return {is_signed(x.dtype) ? b().CreateSExtOrTrunc(x.value, type) : b().CreateZExtOrTrunc(x.value, type), to};
}

Vec vector_of(const std::vector<Vec>& scalars) {
  Builder& b = *current_builder();
  llvm::Type* type = llvm::FixedVectorType::get(scalars[0].value->getType(), static_cast<unsigned>(scalars.size()));
  llvm::Value* result = llvm::PoisonValue::get(type);
  for (std::size_t i = 0; i < scalars.size(); ++i) result = b.CreateInsertElement(result, scalars[i].value, std::uint64_t{i});
  return {result, scalars[0].dtype};
}

Vec lane(const Vec& x, unsigned number) { return {current_builder()->CreateExtractElement(x.value, std::uint64_t{number}), x.dtype}; }

Vec splat(const Vec& scalar, unsigned width) { return width == 1 ? scalar : Vec(b().CreateVectorSplat(width, scalar.value), scalar.dtype); }

llvm::Value* first_lanes(unsigned valid, unsigned width) {
  std::vector<llvm::Constant*> mask;
  for (unsigned i = 0; i < width; ++i) mask.push_back(b().getInt1(i < valid));
  return llvm::ConstantVector::get(mask);
}

Vec only_valid(const Vec& x, unsigned valid, double fill) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(x.value->getType());
  if (!vector || valid == vector->getNumElements()) return x;
  return {b().CreateSelect(first_lanes(valid, vector->getNumElements()), x.value, materialize(Vec(fill), x)), x.dtype};
}

std::vector<llvm::Value*> transposed(std::vector<llvm::Value*> rows) {
  const std::size_t size = rows.size();
  for (std::size_t half = size / 2; half > 0; half /= 2) {
    std::vector<int> upper(size), lower(size);
    for (std::size_t i = 0; i < size; ++i) {
      const bool right = i & half;
      upper[i] = static_cast<int>(right ? size + (i - half) : i);
      lower[i] = static_cast<int>(right ? size + i : i + half);
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (i & half) continue;
      llvm::Value *first = rows[i], *second = rows[i + half];
      rows[i] = b().CreateShuffleVector(first, second, upper);
      rows[i + half] = b().CreateShuffleVector(first, second, lower);
    }
  }
  return rows;
}

llvm::Value* lane_numbers(llvm::Value* first, unsigned width) {
  if (width == 1) return first;
  std::vector<llvm::Constant*> steps;
  for (unsigned i = 0; i < width; ++i) steps.push_back(llvm::ConstantInt::get(first->getType(), i));
  return b().CreateAdd(b().CreateVectorSplat(width, first), llvm::ConstantVector::get(steps));
}

}  // namespace sinter::codegen
