// Keras's weights files as HDF5's own library writes them: what Keras writes is read, and what would lead to other files is refused unread.
#include <hdf5.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <functional>
#include <iterator>

#include "frontend/weights/keras.h"
#include "tests/frontend/helpers.h"
#include "tests/support/bytes.h"

namespace sinter::test::hdf5_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// An HDF5 file that is written with the library, in the folders that Keras's have.
class Writer {
 public:
  explicit Writer(const std::string& path, hid_t access = H5P_DEFAULT) : file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access)) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    layers = H5Gcreate2(file, "layers", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  }
  ~Writer() {
    H5Fclose(file);
    H5close();  // flushes, and closes what is still open
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  hid_t vars(const std::string& layer = "dense") const {
    const hid_t group = H5Gcreate2(layers, layer.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    return H5Gcreate2(group, "vars", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  }
  /// A data set of these numbers; none are written where there are none.
  static hid_t add(hid_t group, const char* name, std::vector<hsize_t> extents, const std::vector<float>& numbers, hid_t type = H5T_IEEE_F32LE,
                   hid_t creation = H5P_DEFAULT) {
    const hid_t space = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
    const hid_t set = H5Dcreate2(group, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (!numbers.empty()) H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data());
    return set;
  }

  hid_t file, layers;
};

/// Whether anybody opens a file while this lives.
class Watch {
 public:
  explicit Watch(const std::string& path) : events_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) { inotify_add_watch(events_, path.c_str(), IN_OPEN); }
  ~Watch() { close(events_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  bool was_opened() const {
    std::array<char, 4096> events;
    return ::read(events_, events.data(), events.size()) > 0;
  }

 private:
  int events_;
};

class Hdf5 : public testing::Test {
 protected:
  data::NamedArrays read() const { return weights::read_keras(path); }
  std::string error() const {
    return error_of([&] { read(); });
  }
  /// Of reading a file that the function fills.
  std::string error_with(const std::function<void(Writer&)>& fill) const {
    {
      Writer writer(path);
      fill(writer);
    }
    return error();
  }

  const TemporaryFolder folder;
  const std::string path = folder.path + "/model.weights.h5";
};

const std::vector<float> six{1, 2, 3, 4, 5, 6};

TEST_F(Hdf5, ReadsWhatKerasWrites) {
  {
    const Writer writer(path);
    Writer::add(writer.vars("dense"), "0", {2, 3}, six);
    const hid_t vars = writer.vars("dense_1");
    Writer::add(vars, "0", {}, {7});
    Writer::add(vars, "1", {0, 3}, {});
    Writer::add(vars, "2", {2}, {0.5f, -65504}, H5T_IEEE_F64LE);
    const hid_t half = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(half, 15, 10, 5, 0, 10);
    H5Tset_size(half, 2);
    H5Tset_ebias(half, 15);
    Writer::add(vars, "3", {2}, {0.5f, -65504}, half);
    H5Gcreate2(writer.layers, "flatten", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  }
  const data::NamedArrays arrays = read();
  ASSERT_EQ(arrays.size(), 5u);
  const auto expect = [&](std::size_t i, const std::string& name, const std::vector<std::int64_t>& shape, const std::vector<float>& numbers) {
    const auto& [found, array] = arrays[i];
    EXPECT_EQ(found, name);
    EXPECT_EQ(array.dtype, DType::f32);
    EXPECT_EQ(array.shape, shape);
    EXPECT_EQ(std::vector<float>(array.values<float>().begin(), array.values<float>().end()), numbers);
  };
  expect(0, "dense/0", {2, 3}, six);
  expect(1, "dense_1/0", {}, {7});
  expect(2, "dense_1/1", {0, 3}, {});
  expect(3, "dense_1/2", {2}, {0.5f, -65504});
  expect(4, "dense_1/3", {2}, {0.5f, -65504});
}

TEST_F(Hdf5, ReadsLayersInsideOfOthersButNoSeeds) {
  {
    const Writer writer(path);
    const auto group = [](hid_t in, const char* name) { return H5Gcreate2(in, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT); };
    const hid_t outer = group(writer.layers, "bidirectional");
    group(outer, "vars");
    Writer::add(group(group(group(outer, "forward_layer"), "cell"), "vars"), "0", {2, 3}, six);
    Writer::add(group(group(group(writer.layers, "dropout"), "seed_generator"), "vars"), "0", {1}, {1});
  }
  const data::NamedArrays arrays = read();
  ASSERT_EQ(arrays.size(), 1u);
  EXPECT_EQ(arrays[0].first, "bidirectional/forward_layer/cell/0");
}

/// Each of the objects below would get a copy of it.
TEST_F(Hdf5, NamesHaveALimit) {
  const auto group = [](hid_t in, const std::string& name) { return H5Gcreate2(in, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT); };
  {
    const Writer writer(path);
    Writer::add(writer.vars(std::string(999, 'a')), "0", {1}, {1});
  }
  EXPECT_THAT(error_of([&] { read(); }), HasSubstr("] has a name of more than 1000 bytes, 'aaaaaaaa"));
  {
    const Writer writer(path);
    hid_t inner = group(writer.layers, "deep");
    for (int i = 0; i < 500; ++i) inner = group(inner, "x");
  }
  EXPECT_THAT(error_of([&] { read(); }), HasSubstr("] has a name of more than 1000 bytes, 'deep/x/x/x/"));
}

TEST_F(Hdf5, ReadsManyLayersWithLongNames) {
  constexpr int count = 700;  // a tree of several levels
  const auto name = [](int i) { return str("dense_", i, std::string(static_cast<std::size_t>(i) % 60, 'x')); };
  {
    const Writer writer(path);
    for (int i = 0; i < count; ++i) Writer::add(writer.vars(name(i)), "0", {1}, {static_cast<float>(i)});
  }
  std::map<std::string, float> found;
  for (const auto& [layer, array] : read()) found[layer] = array.values<float>()[0];
  ASSERT_EQ(found.size(), static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) EXPECT_EQ(found.at(name(i) + "/0"), static_cast<float>(i));
}

// ---- other files ----

class OtherFile : public Hdf5 {
 protected:
  OtherFile() {
    {
      const Writer writer(secret);
      Writer::add(writer.vars(), "0", {2, 3}, six);
    }
    watch.emplace(secret);
  }

  const std::string secret = folder.path + "/secret.h5";
  std::optional<Watch> watch;
};

TEST_F(OtherFile, WithTheNumbersIsNotRead) {
  EXPECT_THAT(error_with([&](Writer& writer) {
                const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
                H5Pset_external(creation, secret.c_str(), 0, 24);
                Writer::add(writer.vars(), "0", {2, 3}, {}, H5T_IEEE_F32LE, creation);
              }),
              StartsWith(str("[", path, ", dense/0] keeps its numbers in another file, which is not read; save it again")));
  EXPECT_FALSE(watch->was_opened());
}

TEST_F(OtherFile, BehindAnExternalLinkIsNotRead) {
  for (const bool layer : {true, false}) {
    EXPECT_THAT(error_with([&](Writer& writer) {
                  if (layer) H5Lcreate_external(secret.c_str(), "/layers/dense", writer.layers, "dense", H5P_DEFAULT, H5P_DEFAULT);
                  else H5Lcreate_external(secret.c_str(), "/layers/dense/vars/0", writer.vars(), "0", H5P_DEFAULT, H5P_DEFAULT);
                }),
                HasSubstr(str(layer ? ", layers]" : ", dense]", " has links of a kind that Keras does not write, which may lead to other files")));
    EXPECT_FALSE(watch->was_opened());
  }
}

TEST_F(OtherFile, OfAVirtualDataSetIsNotRead) {
  EXPECT_THAT(error_with([&](Writer& writer) {
                const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
                const std::array<hsize_t, 2> extents{2, 3};
                const hid_t space = H5Screate_simple(2, extents.data(), nullptr);
                H5Pset_virtual(creation, space, secret.c_str(), "/layers/dense/vars/0", space);
                Writer::add(writer.vars(), "0", {2, 3}, {}, H5T_IEEE_F32LE, creation);
              }),
              HasSubstr(", dense/0] is made of other data sets, which may lie in other files"));
  EXPECT_FALSE(watch->was_opened());
}

TEST_F(OtherFile, BehindASoftLinkIsNotRead) {
  for (const char* target : {"/layers/dense/vars/0", "/nowhere"})
    EXPECT_THAT(error_with([&](Writer& writer) {
                  const hid_t vars = writer.vars();
                  Writer::add(vars, "0", {2, 3}, six);
                  H5Lcreate_soft(target, vars, "1", H5P_DEFAULT, H5P_DEFAULT);
                }),
                HasSubstr(", dense] has '1', a soft link, which Keras does not write"));
}

TEST_F(OtherFile, BehindALinkOfTheUsersOwnKindIsNotRead) {
  EXPECT_THAT(error_with([&](Writer& writer) {
                const auto follow = [](const char*, hid_t, const void*, std::size_t, hid_t, hid_t) -> hid_t { return -1; };
                H5L_class_t kind{};
                kind.version = 0;  // of this struct
                kind.id = static_cast<H5L_type_t>(H5L_TYPE_UD_MIN + 6);
                kind.trav_func = follow;
                H5Lregister(&kind);
                H5Lcreate_ud(writer.vars(), "0", kind.id, "data", 4, H5P_DEFAULT, H5P_DEFAULT);
              }),
              HasSubstr(", dense] has links of a kind that Keras does not write"));
}

TEST_F(OtherFile, ThatHoldsAPartOfTheFileIsNotRead) {
  {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_split(access, "", H5P_DEFAULT, "-raw", H5P_DEFAULT);
    const Writer writer(path, access);
    Writer::add(writer.vars(), "0", {2, 3}, six);
  }
  EXPECT_THAT(error(), HasSubstr("is split into several files or embedded in another one"));
}

// ---- what else Keras does not write ----

TEST_F(Hdf5, FiltersAreNotLoaded) {
  EXPECT_THAT(error_with([](Writer& writer) {
                const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
                const std::array<hsize_t, 2> chunk{1, 3};
                H5Pset_chunk(creation, 2, chunk.data());
                H5Pset_deflate(creation, 9);
                Writer::add(writer.vars(), "0", {2, 3}, six, H5T_IEEE_F32LE, creation);
              }),
              HasSubstr(", dense/0] is compressed by filters; save it again with Keras's model.save_weights"));
}

TEST_F(Hdf5, OtherPlacesAndTypesAreRefused) {
  const auto with = [&](hid_t type, hid_t creation) {
    return error_with([&](Writer& writer) { Writer::add(writer.vars(), "0", {2, 3}, six, type, creation); });
  };
  const auto creation = [](auto&& set) {
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    set(list);
    return list;
  };
  const std::array<hsize_t, 2> chunk{1, 3};
  EXPECT_THAT(with(H5T_IEEE_F32LE, creation([&](hid_t list) { H5Pset_chunk(list, 2, chunk.data()); })), HasSubstr("is not contiguous"));
  EXPECT_THAT(with(H5T_IEEE_F32LE, creation([](hid_t list) { H5Pset_layout(list, H5D_COMPACT); })), HasSubstr("is not contiguous"));
  EXPECT_THAT(with(H5T_STD_I32LE, H5P_DEFAULT), HasSubstr("does not hold floating-point numbers"));
  EXPECT_THAT(with(H5T_IEEE_F32BE, H5P_DEFAULT), HasSubstr("not of 16, 32 or 64 bits, little-endian; save it as float32"));
  EXPECT_THAT(error_with([](Writer& writer) { Writer::add(writer.vars(), "0", {2, 3}, {}); }), HasSubstr("has no numbers"));
  EXPECT_THAT(error_with([](Writer& writer) {
                const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
                H5Tcommit2(writer.file, "type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
                Writer::add(writer.vars(), "0", {2, 3}, six, type);
              }),
              HasSubstr("shares its description with other objects"));
  EXPECT_THAT(error_with([](Writer& writer) { H5Gcreate2(writer.vars(), "0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT); }),
              HasSubstr(", dense/0] is no data set"));
  EXPECT_THAT(error_with([](Writer& writer) { Writer::add(writer.layers, "dense", {2, 3}, six); }), HasSubstr(", dense] is no group"));
}

TEST_F(Hdf5, WhatIsThereTwiceIsReadOnce) {
  EXPECT_THAT(error_with([](Writer& writer) {
                const hid_t vars = writer.vars();
                Writer::add(vars, "0", {100, 100}, std::vector<float>(10'000, 1));
                for (int i = 1; i < 100; ++i) H5Lcreate_hard(vars, "0", vars, std::to_string(i).c_str(), H5P_DEFAULT, H5P_DEFAULT);
              }),
              HasSubstr("needs bytes that another object also uses; the file is damaged"));
}

TEST_F(Hdf5, DamageIsNamed) {
  {
    const Writer writer(path);
    Writer::add(writer.vars(), "0", {2, 3}, six);
  }
  const std::string sound = read_bytes(path);
  const auto error_of_damage = [&](std::size_t at, const std::string& bytes) {
    EXPECT_LT(at, sound.size());
    write_bytes(path, std::string(sound).replace(at, bytes.size(), bytes));
    return error();
  };
  const std::size_t root_place = 64, extents = sound.find(little_endian(2) + little_endian(3)), shape = extents - 8, message = shape - 8;
  std::uint64_t root = 0;
  std::memcpy(&root, sound.data() + root_place, sizeof root);
  EXPECT_THAT(error_of_damage(13, "\4"), HasSubstr("has offsets of 4 and lengths of 8 bytes, not 8"));
  EXPECT_THAT(error_of_damage(40, little_endian(1 << 20)), HasSubstr("must have 1048576 bytes, but has "));
  EXPECT_THAT(error_of_damage(root_place, little_endian(1 << 30)), HasSubstr("/] needs 16 bytes from byte 1073741824 on, but the file has "));
  EXPECT_THAT(error_of_damage(root, "\2"), HasSubstr("/] has no header of version 1, as Keras writes"));
  EXPECT_THAT(error_of_damage(sound.find("HEAP"), "HEAT"), HasSubstr("/] has no signature 'HEAP' where one must be; the file is damaged"));
  EXPECT_THAT(error_of_damage(sound.find("TREE") + 4, "\1"),
              testing::ContainsRegex("/\\] has a tree whose node at byte [0-9]+ is of kind 1 and level 0"));
  EXPECT_THAT(error_of_damage(sound.find("layers"), std::string(500, 'x')), HasSubstr("has a member whose name is not in the file"));
  EXPECT_THAT(error_of_damage(message + 2, "\xff\xff"), HasSubstr(", dense/0] needs 65535 bytes where "));
  EXPECT_THAT(error_of_damage(shape, "\3"), HasSubstr(", dense/0] has a shape of version 3 and kind 0"));
  EXPECT_THAT(error_of_damage(shape + 1, "\7"), HasSubstr(", dense/0] has 7 dimensions, at most 6 are supported"));
  EXPECT_THAT(error_of_damage(extents, little_endian(5)),
              HasSubstr(", dense/0] claims other numbers than it has: [5,3] of 4 bytes each in 24 bytes"));
}

TEST_F(Hdf5, OtherVersionsAreRefused) {
  {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const Writer writer(path, access);
    Writer::add(writer.vars(), "0", {2, 3}, six);
  }
  EXPECT_THAT(error(), HasSubstr("is HDF5 of version 3, Keras writes version 0; save it again with Keras's model.save_weights"));
}

TEST_F(Hdf5, WhatIsNoFileOfKerasIsNamed) {
  write_bytes(path, "text");
  EXPECT_THAT(error(), HasSubstr("is no HDF5 file: it does not begin with the format's signature"));
  {
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
  }
  EXPECT_THAT(error(), HasSubstr("has neither a group 'layers', which Keras 3 writes with model.save_weights"));
  EXPECT_THAT(error_of([] { weights::read_keras("nowhere.h5"); }), HasSubstr("[nowhere.h5] cannot open the file: No such file or directory"));
}

}  // namespace
}  // namespace sinter::test::hdf5_test
