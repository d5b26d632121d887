// Folders of one or several files; tensors that are missing, misshapen, of another type, or have no place.
#include "examples/glm/checkpoint.hpp"

#include <fstream>

#include "examples/glm/error.hpp"
#include "tests/glm/generator.hpp"
#include "tests/glm/golden.hpp"

namespace {

using namespace glm_test;

/// The tensors of tiny-glm, by name, to spoil one and write them.
class GlmCheckpoint : public testing::Test {
 protected:
  GlmCheckpoint() {
    for (auto& t : make_weights(golden_json("tiny-glm"))) tensors[t.name] = std::move(t);
  }
  void write() const {
    std::vector<glm::tensor_to_write> list;
    for (const auto& [name, t] : tensors) list.push_back(t);
    glm::write_safetensors(folder.path() / "model.safetensors", list);
  }
  std::string refusal() const {
    try {
      glm::checkpoint(folder.path()).check(config);
    } catch (const glm::error& e) {
      return e.what();
    }
    return "accepted";
  }
  void write_index(const std::string& text) const {
    std::ofstream(folder.path() / "model.safetensors.index.json") << text;
  }

  scratch_folder folder;
  std::map<std::string, glm::tensor_to_write> tensors;
  glm::config config = glm::read_config(model_folder("tiny-glm") / "config.json");
};

TEST_F(GlmCheckpoint, TakesOneFileOrSeveral) {
  glm::checkpoint(model_folder("tiny-glm")).check(config);
  const auto sharded = glm::read_config(model_folder("tiny-glm4") / "config.json");
  const glm::checkpoint shards(model_folder("tiny-glm4"));
  shards.check(sharded);
  for (const auto& wanted : glm::names_of(sharded).all()) {
    EXPECT_EQ(shards.read(wanted).type, "BF16");
    EXPECT_EQ(shards.read(wanted).bytes,
              make_tensor(wanted.name, golden_json("tiny-glm4")["generator"]["tensors"][wanted.name],
                          golden_json("tiny-glm4")["seed"])
                  .bytes);
  }
}

// GLM-06: a required bias that is missing is an error, and so is one that the model has no place for.
TEST_F(GlmCheckpoint, RefusesBiasesThatAreMissingOrHaveNoPlace) {
  const std::string bias = "model.layers.1.self_attn.k_proj.bias";
  auto missing = tensors.extract(bias);
  write();
  EXPECT_TRUE(says(refusal(), "tensor " + bias + " [32] is missing"));

  tensors.insert(std::move(missing));
  tensors["model.layers.1.self_attn.o_proj.bias"] =
      glm::float32_tensor("model.layers.1.self_attn.o_proj.bias", {64}, std::vector<float>(64));
  write();
  EXPECT_TRUE(says(refusal(), "model.layers.1.self_attn.o_proj.bias has no place"));

  tensors.erase("model.layers.1.self_attn.o_proj.bias");
  write();
  EXPECT_EQ(refusal(), "accepted");
  config.qkv_bias = false;
  EXPECT_TRUE(says(refusal(), "self_attn.k_proj.bias has no place"));
}

TEST_F(GlmCheckpoint, RefusesOtherShapesAndTypes) {
  auto& head = tensors.at("lm_head.weight");
  head.shape = {64, 131};
  write();
  EXPECT_TRUE(says(refusal(), "lm_head.weight is [64, 131], config.json needs [131, 64]"));
  head.shape = {131, 64};
  head.type = "I16";
  write();
  EXPECT_TRUE(says(refusal(), "lm_head.weight is I16, needs F32, BF16 or F16"));
}

TEST_F(GlmCheckpoint, IgnoresWhatTheForwardDoesNotNeed) {
  const auto frequencies = "model.layers.0.self_attn.rotary_emb.inv_freq";
  tensors[frequencies] = glm::float32_tensor(frequencies, {4}, {1, 2, 3, 4});
  config.tied_head = true;  // and lm_head.weight stays in the file
  write();
  EXPECT_EQ(refusal(), "accepted");
  tensors.erase("lm_head.weight");
  write();
  EXPECT_EQ(refusal(), "accepted");
  config.tied_head = false;
  EXPECT_TRUE(says(refusal(), "lm_head.weight [131, 64] is missing"));
}

// Before it makes names for them.
TEST_F(GlmCheckpoint, RefusesMoreLayersThanThereAreTensors) {
  config.layers = 1 << 30;
  write();
  EXPECT_TRUE(says(refusal(), "config.json has 1073741824 layers, the files have 25 tensors"));
}

TEST_F(GlmCheckpoint, RefusesFoldersWithoutAModel) {
  EXPECT_TRUE(says(refusal(), "has neither model.safetensors nor"));
  EXPECT_THROW(glm::checkpoint(folder.path() / "absent"), glm::error);
}

TEST_F(GlmCheckpoint, RefusesFoldersInTheFilesPlaces) {
  for (const char* name : {"model.safetensors.index.json", "model.safetensors"}) {  // the second wins over the first
    std::filesystem::create_directory(folder.path() / name);
    EXPECT_TRUE(says(refusal(), std::string(name) + ": is a folder, needs a file"));
  }
  std::filesystem::create_directory(folder.path() / "config.json");
  try {
    glm::read_config(folder.path() / "config.json");
    FAIL() << "a folder was read";
  } catch (const glm::error& e) {
    EXPECT_TRUE(says(e.what(), "config.json: is a folder, needs a file"));
  }
}

TEST_F(GlmCheckpoint, RefusesIndexesThatDoNotFitTheFiles) {
  write_index("{}");
  EXPECT_TRUE(says(refusal(), "weight_map"));
  write_index("{");
  EXPECT_TRUE(says(refusal(), "parse error"));
  write_index(R"({"weight_map": {"a": 1}})");
  EXPECT_TRUE(says(refusal(), "file of tensor a is 1"));
  write_index(R"({"weight_map": {"a": "../a.safetensors"}})");
  EXPECT_TRUE(says(refusal(), "not the name of a file beside the index"));
  write_index(R"({"weight_map": {"a": "shard.safetensors"}})");
  EXPECT_TRUE(says(refusal(), "shard.safetensors, which is missing"));
  glm::write_safetensors(folder.path() / "shard.safetensors", {glm::float32_tensor("b", {1}, {1})});
  EXPECT_TRUE(says(refusal(), "tensor a is not in shard.safetensors"));
}

// total_size may be a float in older indexes; where both are there, the single file is taken.
TEST_F(GlmCheckpoint, PrefersTheSingleFileAndIgnoresTotals) {
  fs::copy(model_folder("tiny-glm") / "model.safetensors", folder.path() / "shard.safetensors");
  nlohmann::json list{{"metadata", {{"total_size", 1.5e9}}}};
  for (const auto& [name, t] : tensors) list["weight_map"][name] = "shard.safetensors";
  write_index(list.dump());
  EXPECT_EQ(refusal(), "accepted");
  tensors.erase("model.norm.weight");
  write();
  EXPECT_TRUE(says(refusal(), "model.norm.weight [64] is missing"));
}

TEST(GlmTensorNames, FollowTheRemoteCodeLayout) {
  glm::config c;
  c.names = glm::naming::chatglm;
  const auto names = glm::names_of(c).all();
  EXPECT_EQ(names.size(), 283u);
  EXPECT_EQ(glm::names_of(c).layers[3].qkv[0].name,
            "transformer.encoder.layers.3.self_attention.query_key_value.weight");
  EXPECT_EQ(glm::names_of(c).layers[3].qkv[0].shape, (std::vector<std::int64_t>{4608, 4096}));
}

TEST(GlmTensorNames, CountTheTensorsOfTheReleasedModels) {
  glm::config c;  // GLM-4-9B
  EXPECT_EQ(glm::names_of(c).all().size(), 443u);
  c.arch = glm::architecture::glm4;
  EXPECT_EQ(glm::names_of(c).all().size(), 523u);
  c.qkv_bias = false;
  c.layers = 61;
  EXPECT_EQ(glm::names_of(c).all().size(), 613u);
}

}  // namespace
