// A stream of bytes as records, wherever one read of it ends and the next begins.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/serve/record_scorer.h"

namespace sinter::serve {

/// Cuts a stream into lines, or into raw records, and has each answered once: what one read brought is a batch, of at most 1,024 records a call. The
/// first line of delimited text names the columns, if the scorer needs them.
class StreamReader {
 public:
  /// Receives the texts of answers with their line breaks, and the answers; of delimited text with a header, first the header of the answers, alone.
  using Write = std::function<void(std::string_view text, std::span<const Answer> answers)>;
  static constexpr std::size_t most_batch = 1024;

  /// A line of more than `max_line` bytes is answered by an error, and its bytes are not kept.
  StreamReader(RecordScorer& records, std::size_t max_line, Write write);

  /// Memory for what is read next.
  std::span<char> room(std::size_t bytes);
  /// So many bytes were written to the beginning of room(): all records that are whole are answered. Throws UserError for a header that does not name
  /// the columns, and what `write` throws.
  void take(std::size_t bytes);
  void take(std::string_view bytes);
  /// The stream has ended: answers the last line, if no line break is behind it. Throws UserError if that is in the middle of a raw record.
  void finish();

 private:
  void take_raw();
  void take_lines();
  void take_line(std::string_view line);
  void refuse_long_line();
  void drop(std::size_t bytes);
  void add(std::string_view record);
  void answer();

  RecordScorer& records_;
  std::size_t max_line_;
  Write write_;
  std::vector<char> buffer_;
  std::size_t end_ = 0;        ///< of the bytes that are not answered yet, at the beginning of the buffer
  std::size_t looked_at_ = 0;  ///< up to here no line ends
  bool is_first_ = true, is_skipping_ = false;
};

}  // namespace sinter::serve
