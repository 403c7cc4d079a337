//===- Sniff.cpp - names what a file is by its first bytes ----------------===//
#include "frontend/onnx/program/Sniff.h"

namespace tcc::onnx {

using std::string_view_literals::operator""sv;

namespace {
struct Signature {
  size_t offset;
  std::string_view bytes;
  const char *what;
};
} // namespace

static constexpr Signature kSignatures[] = {
    {0, "\x89PNG\r\n\x1a\n"sv, "it starts with a PNG signature"},
    {0, "\xff\xd8\xff"sv, "it starts with a JPEG signature"},
    {0, "GIF8"sv, "it starts with a GIF signature"},
    {0, "%PDF"sv, "it is a PDF document"},
    {0, "PK\x03\x04"sv,
     "it is a zip archive (a PyTorch file or a tcc package must be named .pt or .tcc; otherwise unzip it first)"},
    {0, "\x1f\x8b"sv, "it is compressed with gzip; unpack it first"},
    {0, "\x28\xb5\x2f\xfd"sv, "it is compressed with zstd; unpack it first"},
    {0,
     "\xfd"
     "7zXZ"sv,
     "it is compressed with xz; unpack it first"},
    {0, "\x93NUMPY"sv, "it is a numpy array"},
    {0, "\x89HDF\r\n"sv, "it is an HDF5 file (Keras); export the model to ONNX"},
    {0,
     "\x7f"
     "ELF"sv,
     "it is an executable or library"},
    {0, "GGUF"sv, "it is a GGUF file; export the model to ONNX"},
    {0, "version https://git-lfs"sv, "it is a Git LFS pointer; run 'git lfs pull' to get the model itself"},
    {4, "TFL3"sv, "it is a TensorFlow Lite model; export the model to ONNX"},
    {4, "ORTM"sv, "it is in ONNX Runtime's own .ort format; use the .onnx file it was made from"},
    {8, "{\""sv, "it looks like a safetensors file; export the model to ONNX"},
    {0, "\x80\x02"sv, "it is a Python pickle (an old PyTorch file); export the model to ONNX"},
    {0, "<!DOCTYPE"sv, "it is an HTML page; the download went wrong"},
    {0, "<html"sv, "it is an HTML page; the download went wrong"},
    {0, "{"sv, "it is a text file (JSON)"},
};

std::string sniff(std::string_view firstBytes) {
  for (const Signature &signature : kSignatures)
    if (firstBytes.size() >= signature.offset + signature.bytes.size() &&
        firstBytes.substr(signature.offset, signature.bytes.size()) == signature.bytes)
      return signature.what;
  size_t printable = 0;
  for (unsigned char c : firstBytes)
    printable += (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
  if (firstBytes.size() >= 16 && printable == firstBytes.size())
    return "it is a text file";
  return "";
}

} // namespace tcc::onnx
