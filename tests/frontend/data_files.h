// What the tests of data readers share: a folder of their own, files of given bytes, and errors by their text.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <string>

#include "ir/error.h"
#include "tests/support/bytes.h"
#include "tests/support/temporary_folder.h"

namespace sinter::data {

class DataFiles : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    test::write_bytes(folder_ / name, bytes);
    return folder_ / name;
  }

  const test::TemporaryFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path;
};

template <class F>
void expect_user_error(F&& f, const std::string& text) {
  try {
    f();
    ADD_FAILURE() << "expected: " << text;
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(text));
  }
}

/// An IDX file with this element type code.
inline std::string idx(int code, std::initializer_list<std::uint32_t> extents, const std::string& elements) {
  std::string bytes{0, 0, static_cast<char>(code), static_cast<char>(extents.size())};
  for (const std::uint32_t extent : extents) bytes += test::big_endian(extent);
  return bytes + elements;
}

inline std::string gzip(const std::string& bytes) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string result(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, Z_FINISH);
  result.resize(stream.total_out);
  deflateEnd(&stream);
  return result;
}

}  // namespace sinter::data
