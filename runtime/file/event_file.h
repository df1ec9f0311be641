// Event files for TensorBoard. Records in TensorFlow's framing (TFRecord) of Protobuf messages (events.proto).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace sinter::runtime {

/// CRC-32C (Castagnoli), as RFC 3720 and TFRecord use it.
std::uint32_t crc32c(std::span<const std::byte> bytes);

/// Seconds since 1970.
double wall_time();

/// One file `events.out.tfevents.<seconds>.<host>.<pid>.<n>`, to which values are appended. Events are buffered until flush(), 1 MiB or the end.
/// Errors are UserErrors that name the file and the system's reason.
class EventFile {
 public:
  using Clock = std::function<double()>;
  /// Creates the folder if it is missing, and a new file. `clock` gives the times in its name and in all events.
  explicit EventFile(const std::filesystem::path& folder, Clock clock = wall_time);
  ~EventFile();
  EventFile(EventFile&&) noexcept;
  EventFile& operator=(EventFile&&) = delete;

  void scalar(std::string_view tag, std::int64_t step, double value);
  /// A histogram with TensorFlow's buckets (tensorflow/core/lib/histogram): limits ±1e-12 · 1.1^k up to 1e20, 0, and ± the greatest double; runs of
  /// empty buckets are one. NaN and infinite values are left out.
  void histogram(std::string_view tag, std::int64_t step, std::span<const float> values);
  /// Writes all events to the system.
  void flush();
  const std::filesystem::path& path() const { return path_; }

 private:
  void append(const std::string& event);
  [[noreturn]] void fail(const char* what) const;

  std::filesystem::path path_;
  Clock clock_;
  std::string pending_;
  int descriptor_ = -1;
};

}  // namespace sinter::runtime
