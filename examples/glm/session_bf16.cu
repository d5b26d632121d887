#include "model_session.hpp"

namespace glm {

std::unique_ptr<session> open_bf16(const std::filesystem::path& folder, const config& c, place where) {
  return open_model<kiln::bf16>(folder, c, where);
}

}  // namespace glm
