#include "runtime/file/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "ir/error.h"
#include "runtime/file/disk.h"
#include "runtime/file/events.pb.h"

namespace sinter::runtime {

namespace {

constexpr std::size_t most_pending = std::size_t{1} << 20;

/// RFC 3720, section 12.1: the polynomial 0x1EDC6F41, here with its bits reversed; what each value of a byte adds.
constexpr std::array<std::uint32_t, 256> crc_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) table[i] = (table[i] >> 1) ^ (table[i] & 1 ? 0x82F63B78 : 0);
  }
  return table;
}();

/// TFRecord stores checksums so, because the checksum of data that holds its own checksum is a constant (tensorflow/core/lib/hash/crc32c.h).
std::uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(std::as_bytes(std::span(bytes))), 15) + 0xa282ead8; }

template <class T>
std::string little_endian(T number) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

/// Upper ends of the buckets, ascending.
const std::vector<double>& bucket_limits() {
  static const std::vector<double> limits = [] {
    std::vector<double> positive, all;
    for (double limit = 1e-12; limit < 1e20; limit *= 1.1) positive.push_back(limit);
    positive.push_back(std::numeric_limits<double>::max());
    std::transform(positive.rbegin(), positive.rend(), std::back_inserter(all), [](double limit) { return -limit; });
    all.push_back(0);
    all.insert(all.end(), positive.begin(), positive.end());
    return all;
  }();
  return limits;
}

void fill(events::HistogramProto& proto, std::span<const float> values) {
  const std::vector<double>& limits = bucket_limits();
  std::vector<double> counts(limits.size());
  double low = limits.back(), high = limits.front(), number = 0, sum = 0, squares = 0;
  for (const float x : values) {
    if (!std::isfinite(x)) continue;
    const double value = static_cast<double>(x);
    ++counts[static_cast<std::size_t>(std::upper_bound(limits.begin(), limits.end(), value) - limits.begin())];
    low = std::min(low, value);
    high = std::max(high, value);
    ++number;
    sum += value;
    squares += value * value;
  }
  proto.set_min(low);
  proto.set_max(high);
  proto.set_num(number);
  proto.set_sum(sum);
  proto.set_sum_squares(squares);
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (counts[i] == 0)  // the last of a run of empty ones represents all
      while (i + 1 < limits.size() && counts[i + 1] == 0) ++i;
    proto.add_bucket_limit(limits[i]);
    proto.add_bucket(counts[i]);
  }
}

events::Event event_at(double time, std::int64_t step) {
  events::Event event;
  event.set_wall_time(time);
  event.set_step(step);
  return event;
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] ? name.data() : "localhost";
}

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes) {
  std::uint32_t crc = ~std::uint32_t{0};
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ crc_table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xff];
  return ~crc;
}

double wall_time() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

EventFile::EventFile(const std::filesystem::path& folder, Clock clock) : path_(folder), clock_(std::move(clock)) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    errno = error.value();
    fail("make the folder");
  }
  const double now = clock_();
  static std::atomic<unsigned> counter{0};
  do {
    path_ = folder / str("events.out.tfevents.", static_cast<std::int64_t>(now), ".", host_name(), ".", ::getpid(), ".", counter++);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail("create it");
  events::Event version;
  version.set_wall_time(now);
  version.set_file_version("brain.Event:2");
  append(version.SerializeAsString());
}

EventFile::EventFile(EventFile&& other) noexcept
    : path_(std::move(other.path_)),
      clock_(std::move(other.clock_)),
      pending_(std::move(other.pending_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

EventFile::~EventFile() {
  if (descriptor_ < 0) return;
  try {
    flush();
  } catch (const UserError&) {  // call flush() to get errors
  }
  ::close(descriptor_);
}

void EventFile::fail(const char* what) const {
  throw UserError(path_.string(), str("cannot write events for TensorBoard: failed to ", what, " (", error_text(errno),
                                      "); choose a folder that is writable and has space"));
}

void EventFile::append(const std::string& event) {
  const std::string length = little_endian(std::uint64_t{event.size()});
  pending_ += length + little_endian(masked_crc(length)) + event + little_endian(masked_crc(event));
  if (pending_.size() > most_pending) flush();
}

void EventFile::scalar(std::string_view tag, std::int64_t step, double value) {
  events::Event event = event_at(clock_(), step);
  events::Summary::Value& entry = *event.mutable_summary()->add_value();
  entry.set_tag(std::string(tag));
  entry.set_simple_value(static_cast<float>(value));
  append(event.SerializeAsString());
}

void EventFile::histogram(std::string_view tag, std::int64_t step, std::span<const float> values) {
  events::Event event = event_at(clock_(), step);
  events::Summary::Value& entry = *event.mutable_summary()->add_value();
  entry.set_tag(std::string(tag));
  fill(*entry.mutable_histo(), values);
  append(event.SerializeAsString());
}

void EventFile::flush() {
  std::string_view left = pending_;
  while (!left.empty()) {
    const ssize_t count = ::write(descriptor_, left.data(), left.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int reason = errno;
      pending_.erase(0, pending_.size() - left.size());  // written bytes are not written again
      errno = reason;
      fail("write to it");
    }
    left.remove_prefix(static_cast<std::size_t>(count));
  }
  pending_.clear();
}

}  // namespace sinter::runtime
