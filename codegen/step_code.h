// The code of a step as it is kept between processes.
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
/// Empty if these are not the bytes of a StepCode.
std::optional<StepCode> parse_step_code(std::string_view bytes);

}  // namespace sinter::codegen
