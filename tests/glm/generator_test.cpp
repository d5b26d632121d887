// The rule that makes weights gives the stored files byte for byte, and so does the safetensors writer.
#include "tests/glm/generator.hpp"

#include <fstream>
#include <iterator>

#include "tests/glm/golden.hpp"

namespace {

using namespace glm_test;

std::string file_bytes(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(GlmGenerator, MakesTheStoredFileByteForByte) {
  const scratch_folder folder;
  const fs::path made = folder.path() / "model.safetensors";
  glm::write_safetensors(made, make_weights(golden_json("tiny-glm")), {{"format", "pt"}});
  const std::string stored = file_bytes(model_folder("tiny-glm") / "model.safetensors");
  ASSERT_FALSE(stored.empty());
  EXPECT_TRUE(file_bytes(made) == stored);
}

TEST(GlmGenerator, MakesEveryTensorOfTheShards) {
  const auto golden = golden_json("tiny-glm4");
  std::size_t compared = 0;
  for (int shard = 1; shard <= 4; ++shard) {
    const glm::safetensors_file file(model_folder("tiny-glm4") /
                                     ("model-0000" + std::to_string(shard) + "-of-00004.safetensors"));
    for (const auto& [name, entry] : file.tensors()) {
      const auto made = make_tensor(name, golden.at("generator").at("tensors").at(name), golden.at("seed"));
      EXPECT_EQ(made.shape, entry.shape) << name;
      EXPECT_TRUE(made.bytes == file.read(entry)) << name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, golden.at("generator").at("tensors").size());
}

// The middle model's weights are stored nowhere; its table has the state of each tensor and its first values.
TEST(GlmGenerator, StartsEveryTensorOfTheMiddleModelAsTold) {
  const auto golden = golden_json("mid-glm");
  for (const auto& [name, line] : golden.at("generator").at("tensors").items()) {
    const std::uint64_t state = state_of(name, golden.at("seed"));
    EXPECT_EQ(state, std::stoull(line.at("state").get<std::string>(), nullptr, 16)) << name;
    for (std::uint64_t i = 0; i < line.at("first").size(); ++i) {
      const std::uint16_t made = to_bf16(value(state, i, line.at("center"), line.at("amp")));
      EXPECT_EQ(std::bit_cast<float>(std::uint32_t{made} << 16), line.at("first")[i].get<float>()) << name << " " << i;
    }
  }
}

}  // namespace
