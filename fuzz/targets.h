// The functions behind the table of targets.
#pragma once

#include "fuzz/target.h"
#include "ir/graph.h"

namespace sinter::fuzz {

// ---- models.cpp ----
/// A .sinter file: what is accepted can be written and read again, and a step in it runs, line by line and compiled, or is refused.
void run_sinter_file(Bytes bytes);
/// A trainer's file or a checkpoint: a run goes on from what is accepted, and it predicts and trains a step, or refuses to.
void run_checkpoint(Bytes bytes);

/// Whether running it on n samples and tables of so many rows takes little memory and time: a file may ask for a lot of both.
bool is_small(const ir::Graph& graph, std::int64_t n, std::int64_t rows);
/// Compiling takes a thousand times as long as reading: one of 16 files is compiled, always the same.
bool is_compiled(Bytes bytes);

// ---- command_line.cpp ----
/// A model file: `sinter` inspects, converts, runs and verifies it, or says why not.
void run_command_line(Bytes bytes);
/// What a model of the seeds may be given to predict from.
inline constexpr std::string_view table_of_seeds = "area,town,rooms\n1.5,Bonn,2\n4,Kiel,\n-2,Bonn,NA\n";

// ---- streams.cpp ----
/// The format and the length of the pieces that are read, then a stream of records: each is answered once, with a text of the format.
void run_stream(Bytes bytes);

// ---- texts.cpp ----
/// The kind, then a file of JSON lines (j), one with tabs (t), a text with a .model file of SentencePiece (m) or the description of a vocabulary: a
/// table is whole, its texts make a vocabulary, and that knows its words.
void run_text(Bytes bytes);

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
Seeds keras_seeds();
Seeds encoder_seeds();
Seeds stream_seeds();
Seeds text_seeds();
Seeds command_line_seeds();

}  // namespace sinter::fuzz
