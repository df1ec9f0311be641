// The elementary functions of ir/vector_math.h in LLVM IR.
#include "codegen/vec.h"
#include "ir/vector_math.h"

namespace sinter::codegen {

Vec exp(const Vec& x) { return ir::vector_math::exp(x); }
Vec exp2(const Vec& x) { return ir::vector_math::exp2(x); }
Vec expm1(const Vec& x) { return ir::vector_math::expm1(x); }
Vec log1p(const Vec& x) { return ir::vector_math::log1p(x); }
Vec floor(const Vec& x) { return ir::vector_math::floor(x); }
Vec rint(const Vec& x) { return ir::vector_math::rint(x); }
Vec log(const Vec& x) { return ir::vector_math::log(x); }
Vec tanh(const Vec& x) { return ir::vector_math::tanh(x); }
Vec erf(const Vec& x) { return ir::vector_math::erf(x); }
Vec sin(const Vec& x) { return ir::vector_math::sin(x); }
Vec cos(const Vec& x) { return ir::vector_math::cos(x); }
Vec pow(const Vec& x, const Vec& y) { return ir::vector_math::pow(x, y); }

}  // namespace sinter::codegen
