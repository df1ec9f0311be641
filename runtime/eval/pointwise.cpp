// Pointwise ops and broadcast: which operands advance with the output, and which are repeated.
#include "runtime/eval/eval.h"
#include "runtime/isa/kernels.h"

namespace sinter::runtime::eval {

namespace {

/// Maps rows of the output to rows of the operand. Returns whether these are the same rows.
bool set_steps(isa::Operand& operand, const Shape& shape, const Shape& out) {
  const std::size_t lead = out.rank() - shape.rank();
  std::int64_t step = 1;
  bool along = true;
  for (std::size_t axis = out.rank() - 1; axis-- > 0;) {
    const std::int64_t extent = axis >= lead ? shape[axis - lead].factor() : 1;
    operand.steps[axis] = extent == 1 ? 0 : step;
    along = along && extent == out[axis].factor();
    step *= extent;
  }
  return along;
}

isa::Pointwise plan(const void* op, Views in, const View& out) {
  isa::Pointwise task;
  task.op = op;
  task.out = out.data;
  task.dtype = out.type.dtype;
  task.layout = out.layout();
  for (std::size_t k = 0; k < in.size(); ++k) {
    const Layout layout = in[k].layout();
    task.in[k].data = in[k].data;
    task.in[k].dtype = in[k].type.dtype;
    task.in[k].stride = layout.stride;
    task.in[k].splat = layout.cols == 1;
  }
  return task;
}

/// Splits the rows of the output by its leading dimensions, or takes them as one where each operand has the same rows or is one row.
void plan_rows(isa::Pointwise& task, Views in, const View& out) {
  const Shape& shape = out.type.shape;
  task.leading = static_cast<int>(shape.rank()) - 1;
  for (int d = 0; d < task.leading; ++d) task.extents[static_cast<std::size_t>(d)] = shape[static_cast<std::size_t>(d)].factor();
  bool simple = true;
  std::array<std::int64_t, 3> step{};
  for (std::size_t k = 0; k < in.size(); ++k) {
    const bool along = set_steps(task.in[k], in[k].type.shape, shape), one_row = in[k].layout().rows == 1;
    step[k] = along && !one_row;
    simple = simple && (along || one_row);
  }
  if (!simple) return;
  task.leading = 1;
  task.extents[0] = task.layout.rows;
  for (std::size_t k = 0; k < in.size(); ++k) task.in[k].steps[0] = step[k];
}

double traffic(Views in, const View& out) {
  double bytes = bytes_of(out);
  for (const View& view : in) bytes += bytes_of(view);
  return bytes;
}

void run_rows(isa::PointwiseKernel kernel, isa::Pointwise& task, double flops, Views in, const View& out) {
  plan_rows(task, in, out);
  const std::int64_t rows = task.layout.rows, size = std::max<std::int64_t>(1, chunk_elements / std::max<std::int64_t>(1, task.layout.stride));
  for_chunks(divide_up(rows, size), flops, traffic(in, out), [&](std::int64_t chunk) {
    const Range range(chunk, size, rows);
    kernel(task, range.begin, range.end);
  });
}

}  // namespace

void pointwise(const PointwiseOp& op, Views in, const View& out) {
  isa::Pointwise task = plan(op.op, in, out);
  const Layout& layout = task.layout;
  const double flops = op.flops * static_cast<double>(layout.padded_elements());
  const isa::Kernels& kernels = isa::kernels();

  // Equal layouts are processed flat, including pad lanes, with single elements repeated.
  bool flat = true, repeated = false;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const Layout operand = in[k].layout();
    const bool scalar = operand.elements() == 1 && layout.elements() != 1;
    task.in[k].splat = scalar;
    repeated = repeated || scalar;
    flat = flat && (scalar || operand == layout);
  }
  if (!flat) {
    for (std::size_t k = 0; k < in.size(); ++k) task.in[k].splat = in[k].layout().cols == 1;
    return run_rows(kernels.rows[op.index], task, flops, in, out);
  }
  const bool care_for_pads = layout.stride > layout.cols && (repeated || !op.keeps_zero);
  const std::size_t size = size_of(out.type.dtype);
  const isa::PointwiseKernel kernel = kernels.flat[op.index];
  if (layout.rows > 1 && care_for_pads) {
    const std::int64_t rows = std::max<std::int64_t>(1, chunk_elements / layout.stride);
    for_chunks(divide_up(layout.rows, rows), flops, traffic(in, out), [&](std::int64_t chunk) {
      const Range range(chunk, rows, layout.rows);
      kernel(task, range.begin * layout.stride, range.end * layout.stride);
      zero_pads(out.data, layout, size, range.begin, range.end);
    });
  } else {
    const std::int64_t elements = layout.padded_elements();
    for_chunks(divide_up(elements, chunk_elements), flops, traffic(in, out), [&](std::int64_t chunk) {
      const Range range(chunk, chunk_elements, elements);
      kernel(task, range.begin, range.end);
    });
    if (care_for_pads) zero_pads(out);
  }
}

void run(const ir::Broadcast&, Views operands, const View& out) {
  const View& in = operands[0];
  if (in.layout() == out.layout()) return copy_elements(in, out);
  isa::Pointwise task = plan(nullptr, {&in, 1}, out);
  run_rows(isa::kernels().copy, task, 0, {&in, 1}, out);
}

}  // namespace sinter::runtime::eval
