// matmul and dense: chunks of rows of the result, or of columns where there are few rows.
#include "ir/step.h"
#include "runtime/eval/eval.h"
#include "runtime/isa/kernels.h"

namespace sinter::runtime::eval {

namespace {

/// About 30 µs on one core.
constexpr double chunk_flops = 3e6;

/// Rows (or columns) per chunk, of `flops` each: a multiple of the tiles of every target, or, if that gives few chunks, of cache lines.
std::int64_t chunk_size(double flops, std::int64_t step, std::int64_t all) {
  const double wanted = chunk_flops / std::max(1.0, flops);
  if (wanted >= static_cast<double>(all)) return std::max<std::int64_t>(1, all);
  const std::int64_t unit = all < 4 * step ? step / 5 : step;
  return divide_up(std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted)), unit) * unit;
}

/// `bias` may be null.
void product(bool transpose_a, bool transpose_b, const View& a, const View& b, const View* bias, const View& out) {
  const Layout x = a.layout(), w = b.layout(), y = out.layout();
  const std::int64_t m = y.rows, f = y.cols, k = transpose_a ? x.rows : x.cols;
  const double flops_a_row = 2.0 * static_cast<double>(k) * static_cast<double>(f), flops = flops_a_row * static_cast<double>(m);
  const std::int64_t rows = chunk_size(flops_a_row, 80, m), row_chunks = divide_up(m, rows);
  const std::int64_t columns = row_chunks > 1 ? f : chunk_size(flops / static_cast<double>(std::max<std::int64_t>(1, f)), 240, f),
                     column_chunks = divide_up(f, columns);
  for_chunks(row_chunks * column_chunks, flops, bytes_of(a) + bytes_of(b) + bytes_of(out), [&](std::int64_t chunk) {
    const Range r(chunk / column_chunks, rows, m), c(chunk % column_chunks, columns, f);
    float* to = out.as<float>() + r.begin * y.stride + c.begin;
    const isa::GemmCall call{.a = a.as<float>() + r.begin * (transpose_a ? 1 : x.stride),
                             .b = b.as<float>() + c.begin * (transpose_b ? w.stride : 1),
                             .c = to,
                             .m = r.end - r.begin,
                             .k = k,
                             .f = c.end - c.begin,
                             .lda = x.stride,
                             .ldb = w.stride,
                             .ldc = y.stride,
                             .transpose_a = transpose_a,
                             .transpose_b = transpose_b};
    isa::kernels().gemm(&call);
    if (bias) {
      const float* added = bias->as<float>() + c.begin;
      for (std::int64_t i = 0; i < call.m; ++i)
        for (std::int64_t j = 0; j < call.f; ++j) to[i * y.stride + j] += added[j];
    }
    if (c.end == f) zero_pads(out.data, y, sizeof(float), r.begin, r.end);
  });
}

}  // namespace

void run(const ir::Matmul& op, Views in, const View& out) { product(op.transpose_a, op.transpose_b, in[0], in[1], nullptr, out); }
void run(const ir::Dense&, Views in, const View& out) { product(false, false, in[0], in[1], &in[2], out); }

/// One product per pair of matrices.
void run(const ir::BatchMatmul& op, Views operands, const View& out) {
  const View &a = operands[0], &b = operands[1];
  const Shape &left = a.type.shape, &shape = out.type.shape;
  const std::size_t rank = shape.rank();
  const Layout x = a.layout(), w = b.layout(), y = out.layout();
  const std::int64_t m = shape[rank - 2].factor(), f = shape[rank - 1].factor(), k = left[rank - (op.transpose_a ? 2 : 1)].factor(),
                     matrices = shape.product(0, rank - 2).factor(), x_rows = op.transpose_a ? k : m, w_rows = op.transpose_b ? f : k;
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(f);
  const auto size = static_cast<std::int64_t>(std::max(1.0, chunk_flops / std::max(1.0, flops)));
  for_chunks(divide_up(matrices, size), flops * static_cast<double>(matrices), bytes_of(a) + bytes_of(b) + bytes_of(out), [&](std::int64_t chunk) {
    const Range range(chunk, size, matrices);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const isa::GemmCall call{.a = a.as<float>() + i * x_rows * x.stride,
                               .b = b.as<float>() + i * w_rows * w.stride,
                               .c = out.as<float>() + i * m * y.stride,
                               .m = m,
                               .k = k,
                               .f = f,
                               .lda = x.stride,
                               .ldb = w.stride,
                               .ldc = y.stride,
                               .transpose_a = op.transpose_a,
                               .transpose_b = op.transpose_b};
      isa::kernels().gemm(&call);
    }
    zero_pads(out.data, y, sizeof(float), range.begin * m, range.end * m);
  });
}

}  // namespace sinter::runtime::eval
