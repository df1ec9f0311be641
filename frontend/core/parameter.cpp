#include "frontend/core/parameter.h"

#include <atomic>

#include "frontend/core/assignment_log.h"
#include "frontend/core/name.h"
#include "frontend/core/record_node.h"
#include "frontend/core/scan.h"
#include "frontend/core/trace.h"

namespace sinter {

Parameter::Parameter(std::string name, const Tensor& initial, bool trainable) {
  require_name("Parameter", name);
  if (!initial.buffer())
    throw UserError(name, "a parameter needs a value to start from, not a traced or missing tensor; compute it before the trace");
  cell_ = std::make_shared<Cell>(Cell{std::move(name), {}, initial.type(), trainable, 0, initial.padded().buffer()});
}

void Parameter::set_name(std::string name) {
  require_name("Parameter", name);
  cell_->name = std::move(name);
  cell_->qualified_name.clear();
}

void Cell::changed() {
  static std::atomic<std::uint64_t> versions{0};
  version = ++versions;
}

void Cell::require_unassigned(const char* advice) const {
  if (is_assigning()) throw UserError(name, str("a step on another thread is assigning it; ", advice));
}

bool Parameter::trainable() const {
  if (Trace* trace = Trace::current()) return trace->read_flag({cell_, &cell_->trainable});
  return cell_->trainable;
}

Tensor Parameter::read() const {
  if (!cell_) throw UserError("Parameter", "reading a parameter that was never set");
  if (Trace* trace = Trace::current()) return trace->read(cell_);
  cell_->require_unassigned("read it between steps, on the thread that trains");
  if (!cell_->trainable || !is_float(cell_->type.dtype)) return {cell_->type, cell_->buffer};
  return {cell_->type, cell_->buffer, make_record(Record::Read{cell_, cell_->version})};
}

void Parameter::assign(const Tensor& value, std::source_location where) const {
  if (!cell_) throw UserError(Origin::from(where).text(), "assigning to a parameter that was never set");
  if (value.type() != cell_->type)
    throw UserError(Origin::from(where).text(), str("cannot assign ", value.type(), " to '", cell_->name, "', which is ", cell_->type));
  if (detail::is_in_step())
    throw UserError(
        Origin::from(where, current_layer()).text(),
        str("the step of a scan cannot assign '", cell_->name, "'; return what it computes as a carry or an output, and assign after the scan"));
  if (Trace* trace = Trace::current()) return trace->assign(cell_, value, where);
  if (!value.buffer())
    throw UserError(Origin::from(where).text(), str("cannot assign a traced or missing tensor to '", cell_->name, "' outside of its trace"));
  cell_->require_unassigned("assign between steps, on the thread that trains");
  AssignmentLog::note(cell_);
  cell_->buffer = value.padded().buffer();
  cell_->changed();
}

}  // namespace sinter
