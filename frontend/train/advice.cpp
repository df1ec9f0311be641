#include "frontend/train/advice.h"

#include <algorithm>

#include "frontend/core/ops.h"

namespace sinter {

std::string ClassesOfPieces::look(const Dataset& piece) {
  constexpr std::int64_t enough_samples = 20, enough_pieces = 3;
  if (is_settled_) return "";
  is_settled_ = true;
  if (piece.y.size() != 1 || !data::are_class_numbers(piece.y[0].type())) return "";
  const std::vector<std::int32_t> classes = cast(piece.y[0], DType::i32).to_vector<std::int32_t>();
  if (!std::all_of(classes.begin(), classes.end(), [&](std::int32_t its) { return its == classes[0]; })) return "";
  differ_ = differ_ || (pieces_ > 0 && classes[0] != class_);
  class_ = classes[0];
  ++pieces_;
  agreeing_ += piece.size() - 1;
  is_settled_ = differ_ && pieces_ >= enough_pieces && agreeing_ >= enough_samples;
  if (!is_settled_) return "";
  return str("each of the first ", pieces_, " pieces of the generator has samples of a single class, and a model that sees one class at a time ",
             "forgets the others; mix the classes within pieces, or set FitOptions::shuffle_buffer to as many pieces as have all of them");
}

}  // namespace sinter
