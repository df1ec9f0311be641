// The code of a step as it is kept from process to process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter::codegen {

struct StepCode {
  std::vector<std::string> objects;  ///< relocatable, to be linked with each other
  std::vector<std::string> notes;    ///< Report::products
};

std::string to_bytes(const StepCode& code);
/// None if these are not the bytes of a StepCode.
std::optional<StepCode> parse_step_code(std::string_view bytes);

}  // namespace sinter::codegen
