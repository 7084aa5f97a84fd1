# shellcheck shell=bash
# What ./quickstart and ./check share: from a bare machine to a built tree. Sourced by them, in the
# project's folder. Every step looks first at what is there, so a second run does nothing twice.

readonly BUILD=build/release
readonly TORCH_FROM_PIP="torch==2.13.0"

say() { printf '\n==> %s\n' "$*"; }

# fail CODE MESSAGE...: the first word of the message is what went wrong, the last what to do.
fail() {
  local code=$1
  shift
  printf '\n%s: %s\n' "${0##*/}" "$*" >&2
  exit "$code"
}

have() { command -v "$1" >/dev/null 2>&1; }

installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# at_least FOUND WANTED: whether version FOUND is not older.
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$2" ]; }

cmake_is_new_enough() {
  have cmake && at_least "$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')" 3.22
}

# Whether a C++ compiler is there that knows C++20.
compiler_is_new_enough() {
  have "${CXX:-c++}" && echo 'int main() {}' | "${CXX:-c++}" -std=c++20 -x c++ -fsyntax-only - 2>/dev/null
}

python_makes_environments() { have python3 && python3 -c 'import ensurepip, venv' 2>/dev/null; }

# Prints the names of Debian's and Ubuntu's packages that are still needed, one a line.
missing_packages() {
  compiler_is_new_enough || echo g++
  cmake_is_new_enough || echo cmake
  have ninja || echo ninja-build
  have ccache || echo ccache
  have git || echo git
  have python3 || echo python3
  python_makes_environments || echo python3-venv
  if have dpkg-query; then
    local library
    for library in nlohmann-json3-dev libsentencepiece-dev libutf8proc-dev libcli11-dev libgtest-dev libpng-dev libturbojpeg0-dev zlib1g-dev; do
      installed "$library" || echo "$library"
    done
  fi
}

# Runs apt-get as root, however that is possible; fails if it is not.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

can_be_root() {
  [ "$(id -u)" = 0 ] && return
  have sudo || return
  # With a terminal sudo may ask for the password; without one it must work as it is.
  sudo -n true 2>/dev/null || { [ -t 0 ] && [ -z "${CI:-}" ]; }
}

install_packages() {
  local packages
  mapfile -t packages < <(missing_packages)
  [ "${#packages[@]}" = 0 ] && return

  if ! have apt-get; then
    fail 2 "this system has no apt-get, and these are missing (by Debian's names): ${packages[*]}.
Install them with your system's package manager, then run this again."
  fi
  local line="apt-get update && apt-get install -y --no-install-recommends ${packages[*]}"
  if ! can_be_root; then
    fail 2 "some packages are missing, and only an administrator can install them. Ask for this line, then run this again:

  sudo sh -c '$line'"
  fi
  say "Installing ${packages[*]}"
  as_root apt-get -o DPkg::Lock::Timeout=300 update -qq ||
    fail 1 "apt-get update failed; its message is above. Packages still missing: ${packages[*]}"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
    install -y --no-install-recommends "${packages[@]}" ||
    fail 1 "apt-get could not install ${packages[*]}. Its message is above. On Ubuntu they lie in the
section universe: sudo add-apt-repository universe"
  # cmake or g++ may be there now and still be too old: an old distribution.
  cmake_is_new_enough || fail 2 "CMake 3.22 or later is needed, but $(cmake --version | head -n 1) is installed."
  compiler_is_new_enough || fail 2 "a compiler for C++20 is needed (g++ 11 or clang++ 14, or later): set CXX to one."
}

# Makes sure that cmake will find a LibTorch: one given, the active Python's, or one in .venv.
get_torch() {
  local folder
  folder=$(cmake -P cmake/zoo_find_torch.cmake) || fail 2 "LibTorch cannot be used; the reason is above."
  if [ -z "$folder" ]; then
    say "Getting LibTorch: pip installs $TORCH_FROM_PIP into .venv (0.2 GB; 3 GB where pip has only the CUDA build)"
    if [ ! -x .venv/bin/python ] || ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
      python3 -m venv --clear .venv
    fi
    .venv/bin/python -m pip install --disable-pip-version-check "$TORCH_FROM_PIP" ||
      fail 1 "pip could not install $TORCH_FROM_PIP for $(python3 --version). Its message is above.
With a LibTorch from elsewhere no network is needed: ZOO_TORCH=FOLDER $0"
    folder=$(cmake -P cmake/zoo_find_torch.cmake)
  fi
  say "LibTorch: $folder"
}

# Compilers that fit into the free memory: each takes up to 2 GB for a file that includes torch.
jobs_that_fit() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ {print int($2 / 2000000)}' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo $((memory < cores ? memory : cores))
}

# build TARGET...: configures where needed, then builds.
build() {
  local generator=() jobs
  [ -f "$BUILD/CMakeCache.txt" ] || generator=(-G Ninja)
  say "Configuring $BUILD"
  cmake -S . -B "$BUILD" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release ||
    fail 1 "CMake could not configure the build; its message is above."
  jobs=$(jobs_that_fit)
  say "Building with $jobs compilers at a time"
  cmake --build "$BUILD" --parallel "$jobs" --target "$@" ||
    fail 1 "the build failed; the compiler's message is above."
}

# The steps before a build. A LibTorch may be given as the first argument.
set_up() {
  if [ -n "${1:-}" ]; then
    export ZOO_TORCH=$1
  fi
  install_packages
  get_torch
}
