#include "checkpoint.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "error.hpp"
#include "file.hpp"
#include "json_text.hpp"

namespace glm {
namespace fs = std::filesystem;

checkpoint::checkpoint(const fs::path& folder) : folder_(folder) {
  if (!fs::is_directory(folder)) fail(folder.string(), ": is not a folder");
  const fs::path single = folder / "model.safetensors";
  const fs::path list = folder / "model.safetensors.index.json";
  if (fs::exists(single)) {
    files_.push_back(std::make_unique<safetensors_file>(single));
    for (const auto& named : files_.back()->tensors()) file_of_[named.first] = files_.back().get();
  } else if (fs::exists(list)) {
    open_index(list);
  } else {
    fail(folder.string(), ": has neither model.safetensors nor model.safetensors.index.json");
  }
}

void checkpoint::open_index(const fs::path& list) {
  std::map<std::string, const safetensors_file*> opened;
  std::ifstream in = open_file(list);
  try {
    const auto root = nlohmann::json::parse(in);
    if (!root.is_object() || !root.contains("weight_map") || !root["weight_map"].is_object()) {
      fail("has no object \"weight_map\"");
    }
    for (const auto& [tensor, file] : root["weight_map"].items()) {
      if (!file.is_string()) fail("the file of tensor ", tensor, " is ", shown(file), ", needs a file name");
      const auto name = file.get<std::string>();
      if (fs::path(name).filename() != name || name == "." || name == "..") {
        fail("tensor ", tensor, ": \"", name, "\" is not the name of a file beside the index");
      }
      const safetensors_file*& shard = opened[name];
      if (shard == nullptr) {
        if (!fs::exists(folder_ / name)) fail("tensor ", tensor, " is in ", name, ", which is missing");
        shard = files_.emplace_back(std::make_unique<safetensors_file>(folder_ / name)).get();
      }
      if (shard->tensors().count(tensor) == 0) fail("tensor ", tensor, " is not in ", name);
      file_of_[tensor] = shard;
    }
  } catch (const std::exception& e) {
    fail(list.string(), ": ", e.what());
  }
}

const tensor_entry& checkpoint::entry(const tensor_name& wanted) const {
  const auto found = file_of_.find(wanted.name);
  if (found == file_of_.end())
    fail(folder_.string(), ": tensor ", wanted.name, " ", to_string(wanted.shape), " is missing");
  const tensor_entry& entry = found->second->at(wanted.name);
  if (entry.shape != wanted.shape) {
    fail(found->second->path().string(), ": tensor ", wanted.name, " is ", to_string(entry.shape),
         ", config.json needs ", to_string(wanted.shape));
  }
  if (entry.type->name != "F32" && entry.type->name != "BF16" && entry.type->name != "F16") {
    fail(found->second->path().string(), ": tensor ", wanted.name, " is ", std::string(entry.type->name),
         ", needs F32, BF16 or F16");
  }
  return entry;
}

void checkpoint::check(const config& c) const {
  if (c.layers > static_cast<std::int64_t>(file_of_.size())) {  // before as many names are made
    fail(folder_.string(), ": config.json has ", c.layers, " layers, the files have ", file_of_.size(), " tensors");
  }
  std::set<std::string> wanted;
  for (const tensor_name& name : names_of(c).all()) {
    entry(name);
    wanted.insert(name.name);
  }
  for (const auto& [name, file] : file_of_) {
    if (wanted.count(name) == 0 && !may_be_ignored(name, c)) {
      fail(file->path().string(), ": tensor ", name, " has no place in the model that config.json describes");
    }
  }
}

stored_tensor checkpoint::read(const tensor_name& wanted) const {
  const tensor_entry& found = entry(wanted);
  return {found.type->name, file_of_.at(wanted.name)->read(found)};
}

}  // namespace glm
