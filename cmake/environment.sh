# Sourced by the Makefile and by CI. Sets PRESET (host or device), EXECUTOR (a phrase that says why) and JOBS.

# Where NVIDIA's packages put the compiler if PATH does not say.
if [ -z "${CUDACXX:-}" ] && ! command -v nvcc >/dev/null 2>&1 && [ -x /usr/local/cuda/bin/nvcc ]; then
  export CUDACXX=/usr/local/cuda/bin/nvcc
fi
nvcc="${CUDACXX:-$(command -v nvcc || true)}"
# Each may be missing: no failure, also where the caller has set -e and pipefail.
gpu="$({ nvidia-smi -L 2>/dev/null || true; } | sed -n 's/^GPU 0: \(.*\) (UUID.*/\1/p')"
nvcc_version="$({ "${nvcc:-false}" --version 2>/dev/null || true; } | sed -n 's/.*release \([0-9.]*\),.*/\1/p')"

PRESET=host
if [ -z "$gpu" ]; then
  EXECUTOR="the host executor: there is no GPU"
elif [ -z "$nvcc_version" ]; then
  EXECUTOR="the host executor: there is a GPU ($gpu), but no CUDA toolkit (nvcc) to build for it"
elif [ "$(printf '12.4\n%s\n' "$nvcc_version" | sort -V | head -n 1)" != 12.4 ]; then
  EXECUTOR="the host executor: there is a GPU ($gpu), but nvcc $nvcc_version is older than 12.4"
else
  PRESET=device
  EXECUTOR="the host executor and the device executor: $gpu"
fi

# A compile takes up to 1.5 GB.
cores="$(nproc 2>/dev/null || echo 2)"
memory_kib="$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo 2>/dev/null || true)"
JOBS=$(( ${memory_kib:-4000000} / 1500000 ))
[ "$JOBS" -lt "$cores" ] || JOBS="$cores"
[ "$JOBS" -ge 1 ] || JOBS=1

# Ninja where it is installed; a build folder keeps the generator that it began with.
if [ ! -f build/CMakeCache.txt ] && command -v ninja >/dev/null 2>&1; then
  export CMAKE_GENERATOR=Ninja
fi
