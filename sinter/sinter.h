// Everything that a user of Sinter needs.
#pragma once

#include "frontend/compile/step.h"
#include "frontend/core/grad.h"
#include "frontend/core/ops.h"
#include "frontend/core/parameter.h"
#include "frontend/core/tensor.h"
#include "frontend/nn/activation.h"
#include "frontend/nn/dense.h"
#include "frontend/nn/init.h"
#include "frontend/nn/loss.h"
#include "frontend/nn/sequential.h"
#include "frontend/optim/optimizer.h"
#include "frontend/train/dataset.h"
#include "frontend/train/trainer.h"
#include "ir/print.h"
