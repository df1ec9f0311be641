// publish(): what clones of steps read while another step trains, all parameters replaced together.
#pragma once

#include <initializer_list>
#include <span>

#include "frontend/core/parameter.h"

namespace sinter {

/// From now on clones of steps (Step::clone) read the values that these parameters have now: a call of a clone that begins after this returns reads
/// all of them, one that began before reads none. No clone ever waits. To be called between steps, by the thread that trains. Copies nothing: the
/// next step that assigns such a parameter copies it first. Throws UserError inside a trace, for a parameter that was never set, and if a compiled
/// step assigns one of them at this moment.
void publish(std::span<const Parameter> parameters);
inline void publish(std::initializer_list<Parameter> parameters) { publish(std::span<const Parameter>(parameters.begin(), parameters.size())); }

}  // namespace sinter
