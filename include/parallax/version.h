// The version of Parallax, as of these headers. C and C++. CMakeLists.txt reads it from here. While
// the major version is 0, each minor version may change the API.
#pragma once

#define PARALLAX_VERSION_MAJOR 0
#define PARALLAX_VERSION_MINOR 1
#define PARALLAX_VERSION_PATCH 0
/// "MAJOR.MINOR.PATCH".
#define PARALLAX_VERSION "0.1.0"
