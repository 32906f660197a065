# Cross build with Debian's g++-aarch64-linux-gnu. Headers of the arm64 packages are the same as the host's for what is
# header-only; libraries are not linked (the library is static), so compiling is all this asks for.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
