// The functions and operators of the language. Each works the same eagerly and in a trace; operands broadcast as in NumPy.
#pragma once

#include "frontend/core/ops/activation.h"
#include "frontend/core/ops/arithmetic.h"
#include "frontend/core/ops/comparison.h"
#include "frontend/core/ops/index.h"
#include "frontend/core/ops/order.h"
#include "frontend/core/ops/product.h"
#include "frontend/core/ops/random.h"
#include "frontend/core/ops/reduction.h"
#include "frontend/core/ops/shape.h"
