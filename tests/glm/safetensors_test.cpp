// Reading checks every rule of the format and says which one a file breaks; writing gives files that reading accepts.
#include "examples/glm/safetensors.hpp"

#include <cstring>
#include <fstream>

#include "examples/glm/error.hpp"
#include "tests/glm/golden.hpp"

namespace {

using namespace glm_test;

/// A file with this header, as it is, and `data_bytes` of data behind it.
fs::path file_with(const scratch_folder& folder, const std::string& header, std::size_t data_bytes) {
  const fs::path path = folder.path() / "made.safetensors";
  std::ofstream out(path, std::ios::binary);
  const std::uint64_t n = header.size();
  out.write(reinterpret_cast<const char*>(&n), 8);
  out << header << std::string(data_bytes, '\1');
  return path;
}

std::string refusal(const fs::path& path) {
  try {
    const glm::safetensors_file file(path);
  } catch (const glm::error& e) {
    return e.what();
  }
  return "accepted";
}

struct broken_header {
  const char* name;
  std::string header;
  std::size_t data_bytes;
  const char* message;  ///< a part of what must be said
};

class SafetensorsRefusal : public testing::TestWithParam<broken_header> {};

TEST_P(SafetensorsRefusal, NamesTheRuleAndTheFile) {
  const scratch_folder folder;
  const std::string text = refusal(file_with(folder, GetParam().header, GetParam().data_bytes));
  EXPECT_TRUE(says(text, GetParam().message));
  EXPECT_TRUE(says(text, "made.safetensors"));
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
}

INSTANTIATE_TEST_SUITE_P(
    All, SafetensorsRefusal,
    testing::Values(
        broken_header{"NotJson", "{\"a\":", 0, "parse error"},
        broken_header{"NotAnObject", "[1]", 0, "does not begin with {"},
        broken_header{"Empty", "   ", 0, "does not begin with {"},
        broken_header{"ByteOrderMark", "\xEF\xBB\xBF{}", 0, "does not begin with {"},
        broken_header{"ZeroByte", std::string("{}\0", 3), 0, "zero byte"},
        broken_header{"InvalidUtf8", "{\"\xFF\":1}", 0, "invalid"},
        broken_header{"NameTwice",
                      "{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("a", "F32", "[1]", "[4,8]") + "}", 8,
                      "\"a\" twice"},
        broken_header{"KeyTwice", R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4,
                      "\"dtype\" twice"},
        broken_header{"UnknownDtype", "{" + entry("a", "F31", "[1]", "[0,4]") + "}", 4, "unknown dtype \"F31\""},
        broken_header{"NoShape", R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", 4, "no \"shape\""},
        broken_header{"EntryIsNumber", R"({"a":1})", 0, "not a JSON object"},
        broken_header{"NegativeExtent", "{" + entry("a", "F32", "[-1]", "[0,4]") + "}", 4, "is -1"},
        broken_header{"FractionalExtent", "{" + entry("a", "F32", "[1.0]", "[0,4]") + "}", 4, "is 1.0"},
        broken_header{"ShapeOverflows", "{" + entry("a", "U8", "[4294967296,4294967296]", "[0,4]") + "}", 4, "64 bits"},
        broken_header{"BytesOverflow", "{" + entry("a", "F64", "[2305843009213693952]", "[0,4]") + "}", 4, "64 bits"},
        broken_header{"DeepShape",
                      "{" + entry("a", "F32", std::string(200000, '[') + std::string(200000, ']'), "[0,4]") + "}", 4,
                      "an extent of its shape is an array of 1, needs a whole number"},
        broken_header{"ThreeOffsets", "{" + entry("a", "F32", "[1]", "[0,4,8]") + "}", 8, "[begin, end]"},
        broken_header{"EndBeforeBegin", "{" + entry("a", "F32", "[1]", "[4,0]") + "}", 4, "do not span"},
        broken_header{"SizeIsNotTheShapes", "{" + entry("a", "F32", "[2]", "[0,4]") + "}", 4,
                      "do not span the 8 bytes"},
        broken_header{"HalfAByte", "{" + entry("a", "F4", "[3]", "[0,1]") + "}", 1, "whole bytes"},
        broken_header{"FirstIsNotZero", "{" + entry("a", "F32", "[1]", "[4,8]") + "}", 8, "hole from 0"},
        broken_header{"Hole", "{" + entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "F32", "[1]", "[8,12]") + "}",
                      12, "hole from 4"},
        broken_header{"Overlap",
                      "{" + entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "F32", "[1]", "[4,8]") + "}", 8,
                      "inside the tensor that ends at 8"},
        broken_header{"DataBehindTheLast", "{" + entry("a", "F32", "[1]", "[0,4]") + "}", 5, "5 bytes of data"},
        broken_header{"DataCutOff", "{" + entry("a", "F32", "[1]", "[0,4]") + "}", 3, "3 bytes of data"},
        broken_header{"MetadataIsNotText", R"({"__metadata__":{"format":1}})", 0, "not a string"},
        broken_header{"MetadataIsAList", R"({"__metadata__":[]})", 0, "__metadata__"}),
    [](const auto& made) { return made.param.name; });

TEST(Safetensors, RefusesFilesWhoseLengthsCannotBe) {
  const scratch_folder folder;
  const auto raw = [&](const std::string& bytes) {
    const fs::path path = folder.path() / "raw.safetensors";
    std::ofstream(path, std::ios::binary) << bytes;
    return refusal(path);
  };
  EXPECT_TRUE(says(raw(""), "0 bytes"));
  EXPECT_TRUE(says(raw("1234567"), "7 bytes"));
  EXPECT_TRUE(says(raw(std::string("\x03\0\0\0\0\0\0\0{}", 10)), "only 2 follow"));
  EXPECT_TRUE(says(raw(std::string("\x01\xE1\xF5\x05\0\0\0\0{}", 10)), "at most 100000000"));
  EXPECT_TRUE(says(raw(std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10)), "at most 100000000"));
  EXPECT_TRUE(says(refusal(folder.path() / "absent"), "cannot be opened"));
}

TEST(Safetensors, AcceptsWhatTheFormatAllows) {
  const scratch_folder folder;
  const std::string header = " {" + entry("later", "BF16", "[2,3]", "[4,16]") + "," +
                             entry("empty", "F32", "[0,5]", "[4,4]") + "," + entry("scalar", "F32", "[]", "[0,4]") +
                             "," + entry("none", "I64", "[0]", "[16,16]") +
                             ",\"__metadata__\":{\"format\":\"pt\"}} \n\t ";
  const glm::safetensors_file file(file_with(folder, header, 16));
  EXPECT_EQ(file.tensors().size(), 4u);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.at("later").offset, 8 + header.size() + 4);
  EXPECT_EQ(file.read(file.at("later")).size(), 12u);
  EXPECT_EQ(file.values<float>("scalar").size(), 1u);
  EXPECT_TRUE(file.read(file.at("empty")).empty());
  EXPECT_THROW(file.at("absent"), glm::error);
  EXPECT_THROW(file.values<float>("later"), glm::error);
  EXPECT_EQ(glm::safetensors_file(file_with(folder, "{}", 0)).tensors().size(), 0u);
}

TEST(Safetensors, WritesWhatItReads) {
  const scratch_folder folder;
  const fs::path path = folder.path() / "out.safetensors";
  const std::vector<float> values{1.5f, -0.0f, 3e38f, 1e-42f, 7, 8};
  glm::write_safetensors(path,
                         {glm::float32_tensor("logits", {2, 3}, values), glm::float32_tensor("empty", {0, 4}, {})});
  const glm::safetensors_file file(path);
  EXPECT_EQ(file.at("logits").shape, (std::vector<std::int64_t>{2, 3}));
  const auto read = file.values<float>("logits");
  ASSERT_EQ(read.size(), values.size());
  EXPECT_EQ(std::memcmp(read.data(), values.data(), sizeof(float) * values.size()), 0);
  EXPECT_EQ(file.at("logits").offset % 8, 0u);
}

TEST(Safetensors, RefusesToWriteWhatCannotBeRead) {
  const scratch_folder folder;
  const fs::path path = folder.path() / "out.safetensors";
  EXPECT_THROW(glm::write_safetensors(path, {glm::float32_tensor("a", {2}, {1.0f})}), glm::error);
  EXPECT_THROW(glm::write_safetensors(path, {glm::float32_tensor("a", {1}, {1}), glm::float32_tensor("a", {1}, {1})}),
               glm::error);
  EXPECT_THROW(glm::write_safetensors(folder.path() / "no" / "such", {}), glm::error);
}

}  // namespace
