// publish(): makes new parameter values visible to clones of steps, all of them together, while another step trains.
#pragma once

#include <initializer_list>
#include <span>

#include "frontend/core/parameter.h"

namespace sinter {

/// From now on clones of steps (Step::clone) read the values that these parameters have now: a call of a clone that begins after this returns reads
/// all of them, one that began before reads none. Clones never block. Call it between steps, from the training thread. Copies nothing: the
/// next step that assigns such a parameter copies it first. Throws UserError inside a trace, for a parameter that was never set, and if a compiled
/// step that is running assigns one of them.
void publish(std::span<const Parameter> parameters);
inline void publish(std::initializer_list<Parameter> parameters) { publish(std::span<const Parameter>(parameters.begin(), parameters.size())); }

}  // namespace sinter
