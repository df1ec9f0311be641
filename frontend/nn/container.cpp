#include "frontend/nn/container.h"

namespace sinter::nn {

void Container::append(std::shared_ptr<Module> layer) {
  if (!layer) throw UserError(label(), str("layer ", layers_->size() + 1, " is null"));
  add(*layer);
  layers_->push_back(std::move(layer));
}

Module& Container::operator[](std::size_t i) const {
  if (i >= layers_->size()) throw UserError(label(), str("there is no layer ", i, "; there are ", layers_->size(), ", counted from 0"));
  return *(*layers_)[i];
}

}  // namespace sinter::nn
