// The warm half's compiler of kernels that a package has no code for: through the workers, each kept in the cache by
// itself, so that a process that finds all of them there starts no worker and loads no NVRTC.
#pragma once

#include "compiler/worker_client.h"
#include "runtime/cache.h"
#include "runtime/devices/images.h"

namespace tcc {

// Both must outlive it.
devices::CompileImages ImageCompiler(ArtifactCache& cache, WorkerPool& workers);

// Makes that of the process's cache and workers the one of the runtime (devices::RegisterImageCompiler).
void RegisterProcessImageCompiler();

}  // namespace tcc
