# cmake --install puts the library, its headers and a package config where find_package(Parallax) looks.
