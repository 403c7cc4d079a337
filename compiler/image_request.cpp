#include "compiler/image_request.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace tcc {
namespace {

using Json = nlohmann::json;

template <typename F>
auto Guarded(F read) -> decltype(read()) {
  try {
    return read();
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("request for kernels: ", error.what()));
  }
}

}  // namespace

Json ImageRequestToJson(const ImageRequest& request) {
  Json kernels = Json::array();
  for (const ImageRequest::Kernel& kernel : request.kernels) {
    kernels.push_back({{"symbol", kernel.symbol}, {"source", kernel.source}, {"uses", kernel.uses}});
  }
  return {{"kernels", std::move(kernels)}, {"arch", request.arch}, {"kernel_cache", request.kernel_cache}};
}

absl::StatusOr<ImageRequest> ImageRequestFromJson(const Json& json) {
  return Guarded([&]() -> absl::StatusOr<ImageRequest> {
    ImageRequest request;
    for (const Json& kernel : json.at("kernels")) {
      request.kernels.push_back({kernel.at("symbol").get<std::string>(), kernel.at("source").get<std::string>(),
                                 kernel.at("uses").get<std::vector<std::string>>()});
    }
    request.arch = json.at("arch").get<std::string>();
    request.kernel_cache = json.at("kernel_cache").get<std::string>();
    return request;
  });
}

Json BinariesToJson(const std::vector<std::string>& binaries) {
  Json list = Json::array();
  for (const std::string& bytes : binaries) list.push_back(absl::Base64Escape(bytes));
  return list;
}

absl::StatusOr<std::vector<std::string>> BinariesFromJson(const Json& json) {
  return Guarded([&]() -> absl::StatusOr<std::vector<std::string>> {
    std::vector<std::string> binaries;
    for (const Json& text : json) {
      if (!absl::Base64Unescape(text.get<std::string>(), &binaries.emplace_back())) {
        return absl::InternalError("kernels: a binary that is none");
      }
    }
    return binaries;
  });
}

}  // namespace tcc
