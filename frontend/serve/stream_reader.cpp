#include "frontend/serve/stream_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/error.h"

namespace sinter::serve {

StreamReader::StreamReader(RecordScorer& records, std::size_t max_line, Write write)
    : records_(records), max_line_(max_line), write_(std::move(write)) {}

std::span<char> StreamReader::room(std::size_t bytes) {
  if (buffer_.size() < end_ + bytes) buffer_.resize(end_ + bytes);
  return std::span(buffer_).subspan(end_);
}

void StreamReader::take(std::size_t bytes) {
  end_ += bytes;
  if (records_.format() == Format::raw) take_raw();
  else take_lines();
  answer();
}

void StreamReader::take(std::string_view bytes) {
  std::copy(bytes.begin(), bytes.end(), room(bytes.size()).begin());
  take(bytes.size());
}

void StreamReader::finish() {
  const std::size_t left = std::exchange(end_, 0);
  if (records_.format() == Format::raw && left)
    throw UserError("stream", str("it ends in the middle of a record, after ", left, " of its ", records_.record_bytes(), " bytes"));
  if (left) take_line({buffer_.data(), left});
  answer();
}

void StreamReader::take_raw() {
  const std::size_t bytes = records_.record_bytes();
  std::size_t at = 0;
  for (; end_ - at >= bytes; at += bytes) add({buffer_.data() + at, bytes});
  drop(at);
}

void StreamReader::take_lines() {
  std::size_t at = 0;
  for (std::size_t from = looked_at_; from < end_;) {
    const auto* found = static_cast<const char*>(std::memchr(buffer_.data() + from, '\n', end_ - from));
    if (!found) break;
    const auto end = static_cast<std::size_t>(found - buffer_.data());
    take_line({buffer_.data() + at, end - at});
    at = from = end + 1;
  }
  drop(at);
  if (end_ > max_line_ && !std::exchange(is_skipping_, true)) refuse_long_line();
  if (is_skipping_) end_ = 0;
  looked_at_ = end_;
}

void StreamReader::take_line(std::string_view line) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  if (std::exchange(is_skipping_, false)) return;  // the end of a line that was refused
  if (std::exchange(is_first_, false) && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  if (line.size() > max_line_) return refuse_long_line();
  if (!records_.needs_header()) return add(line);
  try {
    records_.read_header(line);
  } catch (const UserError&) {
    rethrow_at("stream", "the header: ");
  }
  write_(records_.header() + "\n", {});
}

void StreamReader::refuse_long_line() {
  const std::string error = str("a line is longer than the ", max_line_, " bytes that are allowed");
  is_first_ = false;
  if (records_.needs_header()) throw UserError("stream", error);
  records_.add_error(error);
  if (records_.size() == most_batch) answer();
}

void StreamReader::drop(std::size_t bytes) {
  if (bytes) std::memmove(buffer_.data(), buffer_.data() + bytes, end_ - bytes);
  end_ -= bytes;
}

void StreamReader::add(std::string_view record) {
  records_.add(record);
  if (records_.size() == most_batch) answer();
}

void StreamReader::answer() {
  if (records_.size() == 0) return;
  const std::span<const Answer> answers = records_.flush();
  write_(records_.lines(), answers);
}

}  // namespace sinter::serve
