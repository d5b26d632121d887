#include "model_session.hpp"

namespace glm {

std::unique_ptr<session> open_f32(const std::filesystem::path& folder, const config& c, place where) {
  return open_model<float>(folder, c, where);
}

}  // namespace glm
