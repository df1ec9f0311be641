// Records of a stream, one at a time.
#include "frontend/data/record_encoder.h"

#include <limits>

#include "tests/frontend/helpers.h"
#include "tests/support/allocations.h"

namespace sinter::test::record_encoder_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double none = std::numeric_limits<double>::quiet_NaN();

data::Table houses() {
  return {{"id", "area", "town", "rooms", "price"},
          {{"1", "2", "3", "4"}, {"70.5", "-3", "", "1e3"}, {"Bonn", "Ulm", "", "Bonn"}, {"3", "4.0", "3.0", "NA"}, {"100", "200", "300", "400"}}};
}
data::Encoder encoder_of_houses() {
  return data::Encoder::fit(houses(), {.target = "price", .categorical = {"rooms"}, .ignore = {"id"}, .missing = {"-999"}});
}

std::vector<float> encoded(data::RecordEncoder& records, const std::vector<std::string_view>& fields) {
  std::vector<float> out(static_cast<std::size_t>(records.width()), 7);
  EXPECT_TRUE(records.encode(fields, out));
  return out;
}

TEST(RecordEncoder, GivesTheBytesOfFeatures) {
  const data::Table t = houses();
  const data::Encoder encoder = encoder_of_houses();
  const std::vector<float> all = encoder.features(t).to_vector<float>();
  // Columns in another order, the target absent, one that the encoder does not read.
  data::RecordEncoder records(encoder, {"town", "colour", "rooms", "area"});
  EXPECT_THAT(records.columns(), ElementsAre("town", "colour", "rooms", "area"));
  ASSERT_EQ(records.width(), encoder.width());
  const auto width = static_cast<std::size_t>(records.width());
  for (std::size_t r = 0; r < t.rows(); ++r)
    EXPECT_EQ(encoded(records, {t.field(r, 2), "red", t.field(r, 3), t.field(r, 1)}),
              std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(r * width), all.begin() + static_cast<std::ptrdiff_t>((r + 1) * width)))
        << r;
}

TEST(RecordEncoder, NumbersNeedNoText) {
  const data::Encoder encoder = encoder_of_houses();
  data::RecordEncoder records(encoder, {"area", "town", "rooms"});
  std::vector<float> out(static_cast<std::size_t>(records.width()));
  const auto mixed = [&](double area, std::string_view town, double rooms) {
    const std::vector<data::Field> fields{area, town, rooms};
    EXPECT_TRUE(records.encode(fields, out));
    return out;
  };
  EXPECT_EQ(mixed(70.5, "Bonn", 3), encoded(records, {"70.5", "Bonn", "3"}));
  EXPECT_EQ(mixed(none, "", none), encoded(records, {"", "NA", "null"}));
  EXPECT_EQ(mixed(-999, "Ulm", -999), encoded(records, {"-999", "Ulm", "-999"}));
  EXPECT_EQ(records.summary()[2].unseen, 0u);

  const data::Table numbers{{"x", "n"}, {{"1.5", "2.5", "1e7"}, {"7", "-0.25", "9e20"}}};
  for (const char decimal : {'.', ','}) {
    data::Table written = numbers;
    if (decimal == ',') written = {{"x", "n"}, {{"1,5", "2,5", "1e7"}, {"7", "-0,25", "9e20"}}};
    const data::Encoder two = data::Encoder::fit(written, {.categorical = {"n"}, .decimal = decimal});
    data::RecordEncoder of_numbers(two, {"n", "x"});
    std::vector<float> row(static_cast<std::size_t>(two.width()));
    const std::vector<float> all = two.features(written).to_vector<float>();
    const std::vector<std::vector<double>> values{{7, 1.5}, {-0.25, 2.5}, {9e20, 1e7}};
    for (std::size_t r = 0; r < values.size(); ++r) {
      EXPECT_TRUE(of_numbers.encode(values[r], row));
      EXPECT_EQ(row, std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(r * row.size()),
                                        all.begin() + static_cast<std::ptrdiff_t>((r + 1) * row.size())))
          << r << decimal;
    }
  }
}

TEST(RecordEncoder, CountsWhatItDoesNotKnow) {
  data::RecordEncoder records(encoder_of_houses(), {"area", "town", "rooms"});
  EXPECT_THAT(encoded(records, {"", "Graz", "3"}), ElementsAre(0, 1, 0, 0, 1, 0));
  (void)encoded(records, {"1", "Wien", "inf"});
  EXPECT_EQ(records.summary()[0].missing, 1u);
  EXPECT_EQ(records.summary()[1].unseen, 2u);
  EXPECT_EQ(records.summary()[1].first_unseen, "Graz");
  EXPECT_EQ(records.summary()[2].first_unseen, "inf");
  std::vector<float> out(6);
  const std::vector<data::Field> infinite{1.0, "Ulm", std::numeric_limits<double>::infinity()};
  EXPECT_TRUE(records.encode(infinite, out));
  EXPECT_EQ(records.summary()[2].unseen, 2u);
}

TEST(RecordEncoder, RefusesWhatItCannotRead) {
  const data::Encoder encoder = encoder_of_houses();
  data::RecordEncoder records(encoder, {"area", "town", "rooms"});
  std::vector<float> out(6), small(5);
  const auto error = [&](const std::vector<data::Field>& fields, std::span<float> room) {
    return error_of([&] { (void)records.encode(fields, room); });
  };
  EXPECT_EQ(error({"many", "Ulm", "3"}, out),
            "[encoder] column 'area' holds numbers, but a record has 'many', which cannot be read as a number that f32 can hold");
  EXPECT_THAT(error({1e39, "Ulm", "3"}, out), HasSubstr("'area' holds numbers, but a record has '1e+39', which"));
  EXPECT_THAT(error({std::string_view(std::string(100, 'x')), "Ulm", "3"}, out), HasSubstr("'" + std::string(40, 'x') + "'"));
  EXPECT_EQ(error({1.0, "Ulm"}, out), "[encoder] a record has 3 columns, got 2 fields");
  EXPECT_EQ(error({1.0, "Ulm", "3"}, small), "[encoder] a record becomes 6 numbers, but there is room for 5");
  EXPECT_EQ(error_of([&] { data::RecordEncoder(encoder, {"are", "town", "rooms"}); }), "[encoder] there is no column 'area'; the nearest is 'are'");
  EXPECT_EQ(error_of([&] { data::RecordEncoder(encoder, {"area", "town", "rooms", "town"}); }),
            "[encoder] column 'town' is given twice; give each column of the records once");
  const data::Encoder narrow = data::Encoder::fit(data::Table{{"x"}, {{"1e-20", "2e-20"}}}, {});
  data::RecordEncoder of_narrow(narrow, {"x"});
  EXPECT_THAT(error_of([&] { (void)of_narrow.encode(std::vector<double>{1e30}, std::span(out).first(1)); }),
              HasSubstr("column 'x': a record has 1e+30, which is too far from the mean 1.5e-20 for f32"));
}

TEST(RecordEncoder, MayOutliveItsEncoderAndMoves) {
  std::vector<data::RecordEncoder> all;
  all.push_back(data::RecordEncoder(encoder_of_houses(), {"area", "town", "rooms"}));
  data::RecordEncoder moved = std::move(all[0]);
  all.clear();
  EXPECT_THAT(encoded(moved, {"", "Ulm", "4"}), ElementsAre(0, 1, 0, 1, 0, 1));
}

TEST(RecordEncoder, ItsColumnsAreThoseThatAnEncoderReads) {
  const auto read = [](const data::EncoderOptions& options) { return data::Encoder::fit(houses(), options).columns_read(); };
  EXPECT_THAT(encoder_of_houses().columns_read(), ElementsAre("area", "town", "rooms"));
  EXPECT_THAT(read({.target = "price", .columns = {"area"}, .keep = {"price > 0", "id < 9", "area not empty", "id > 0"}}),
              ElementsAre("area", "price", "id"));
  data::RecordEncoder(encoder_of_houses(), encoder_of_houses().columns_read());
}

TEST(RecordEncoder, AllocatesNothing) {
  if (!allocations_are_counted) GTEST_SKIP() << "the sanitizer has its own malloc";
  const data::Table t{{"x", "town"}, {{"1.234,5", "-2.000.123,25", "3"}, {"a town whose name is long", "another one, no shorter", "17"}}};
  const data::Encoder encoder = data::Encoder::fit(t, {.decimal = ',', .thousands = ".", .strip = {"EUR"}});
  data::RecordEncoder records(encoder, {"x", "town"});
  std::vector<float> out(static_cast<std::size_t>(records.width()));
  const std::vector<std::vector<std::string_view>> rows{{"-2.000.123.456,25 EUR", "a town whose name is long"},
                                                        {"", "17,0000000000000000000000000"},
                                                        {"123.456.789.123.456", "a town that nobody has heard of"}};
  const std::vector<std::vector<data::Field>> mixed{{-1e-300, "another one, no shorter"}, {none, 17.0}, {1.0, -123456.789e-12}};
  const auto all = [&] {
    for (const std::vector<std::string_view>& row : rows) EXPECT_TRUE(records.encode(row, out));
    for (const std::vector<data::Field>& row : mixed) EXPECT_TRUE(records.encode(row, out));
  };
  for (int i = 0; i < 3; ++i) all();
  const std::int64_t before = allocations();
  for (int i = 0; i < 100; ++i) all();
  EXPECT_EQ(allocations() - before, 0);
}

}  // namespace
}  // namespace sinter::test::record_encoder_test
