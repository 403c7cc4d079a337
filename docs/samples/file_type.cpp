// Names the type of files with magika's published model, through the C++ API.
// usage: file_type MODEL.onnx CONFIG.json FILE...
//
// The first run compiles the model; later runs, in other processes too, find it in the cache.
#include <tcc/tcc.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

// What the model expects of a file: its first and last bytes without surrounding white space, padded to a fixed length
// (magika's config.min.json).
std::vector<int32_t> Features(const std::string& content, const nlohmann::json& config) {
  const size_t begin_size = config["beg_size"], end_size = config["end_size"], block = config["block_size"];
  const int32_t padding = config["padding_token"];
  const char* const white_space = " \t\n\r\v\f";
  std::string begin = content.substr(0, block);
  begin.erase(0, begin.find_first_not_of(white_space));
  begin.resize(std::min(begin.size(), begin_size));
  std::string end = content.substr(content.size() - std::min(content.size(), block));
  end.erase(end.find_last_not_of(white_space) + 1);
  end = end.substr(end.size() - std::min(end.size(), end_size));

  std::vector<int32_t> features(begin_size + end_size, padding);
  auto byte = [](char c) { return static_cast<int32_t>(static_cast<unsigned char>(c)); };
  std::transform(begin.begin(), begin.end(), features.begin(), byte);
  std::transform(end.begin(), end.end(), features.end() - static_cast<std::ptrdiff_t>(end.size()), byte);
  return features;
}

// Of the config what the program uses, or an exception.
void Check(const nlohmann::json& config) {
  for (const char* key : {"beg_size", "end_size", "block_size"}) (void)config.at(key).get<size_t>();
  (void)config.at("padding_token").get<int32_t>();
  (void)config.at("target_labels_space").get<std::vector<std::string>>();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: file_type MODEL.onnx CONFIG.json FILE...\n";
    return 2;
  }
  nlohmann::json config;
  std::ifstream config_file(argv[2]);
  if (!config_file) {
    std::cerr << "file_type: cannot read " << argv[2] << "\n";
    return 2;
  }
  try {
    config = nlohmann::json::parse(config_file);
    Check(config);
  } catch (const nlohmann::json::exception& error) {
    std::cerr << "file_type: " << argv[2] << " is not the model's config, a JSON file: " << error.what() << "\n";
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<tcc::Callable> model = tcc::Compile(tcc::Load(argv[1]));
  if (!model.ok()) {
    std::cerr << "file_type: " << model.status().message() << "\n";
    return 2;
  }
  for (int i = 3; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::cerr << "file_type: cannot read " << argv[i] << "\n";
      return 2;
    }
    const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::vector<int32_t> features = Features(content, config);
    const int64_t dims[] = {1, static_cast<int64_t>(features.size())};
    absl::StatusOr<std::vector<tcc::Tensor>> out =
        (*model)({tcc::Tensor::Wrap(features.data(), tcc::DType::kI32, dims)});
    if (!out.ok()) {
      std::cerr << "file_type: " << out.status().message() << "\n";
      return 1;
    }
    const auto labels = static_cast<int64_t>(config["target_labels_space"].size());
    if (out->empty() || out->front().dtype() != tcc::DType::kF32 || out->front().num_elements() != labels) {
      std::cerr << "file_type: the model does not score the " << labels << " types of " << argv[2] << "\n";
      return 2;
    }
    const float* scores = out->front().data_as<float>();
    const float* best = std::max_element(scores, scores + out->front().num_elements());
    std::cout << argv[i] << ": " << config["target_labels_space"][best - scores].get<std::string>() << " ("
              << static_cast<int>(*best * 100) << " %)\n";
  }
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  std::cout << "in " << elapsed.count() << " ms\n";
}
