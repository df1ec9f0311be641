// The functions behind the table of targets.
#pragma once

#include "fuzz/target.h"

namespace sinter::fuzz {

// ---- models.cpp ----
/// A .sinter file: what is accepted can be written and read again, and a step in it runs, line by line and compiled, or is refused.
void run_sinter_file(Bytes bytes);
/// A trainer's file or a checkpoint: a run goes on from what is accepted, and it predicts and trains a step, or refuses to.
void run_checkpoint(Bytes bytes);

// ---- programs.cpp ----
/// Bytes as a program (fuzz/program): all paths agree.
void run_program(Bytes bytes);
std::string describe_program(Bytes bytes);
std::string summary_of_programs();

// ---- seeds ----
using Seeds = std::vector<std::pair<std::string, std::string>>;
Seeds model_seeds();       ///< steps, of many ops
Seeds checkpoint_seeds();  ///< trainers, and runs of fit
Seeds program_seeds();
Seeds idx_seeds();
Seeds csv_seeds();
Seeds cifar_seeds();
Seeds npy_seeds();
Seeds npz_seeds();
Seeds safetensors_seeds();

}  // namespace sinter::fuzz
