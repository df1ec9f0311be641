#include "codegen/step_code.h"

#include <cstdint>
#include <cstring>

namespace sinter::codegen {

namespace {

void append(std::string& bytes, std::uint64_t number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof number); }

void append(std::string& bytes, const std::vector<std::string>& list) {
  append(bytes, list.size());
  for (const std::string& item : list) {
    append(bytes, item.size());
    bytes += item;
  }
}

/// Takes a number from the front; false if there is none.
bool take(std::string_view& bytes, std::uint64_t& number) {
  if (bytes.size() < sizeof number) return false;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return true;
}

bool take(std::string_view& bytes, std::vector<std::string>& list) {
  std::uint64_t count = 0, size = 0;
  if (!take(bytes, count)) return false;
  for (; count; --count) {
    if (!take(bytes, size) || size > bytes.size()) return false;
    list.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return true;
}

}  // namespace

std::string to_bytes(const StepCode& code) {
  std::string bytes;
  append(bytes, code.objects);
  append(bytes, code.notes);
  return bytes;
}

std::optional<StepCode> parse_step_code(std::string_view bytes) {
  StepCode code;
  if (!take(bytes, code.objects) || !take(bytes, code.notes) || !bytes.empty() || code.objects.empty()) return std::nullopt;
  return code;
}

}  // namespace sinter::codegen
