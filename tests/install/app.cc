// What a user's first program looks like: load a model, say what it takes.
#include <iostream>

#include "parallax/parallax.h"

int main(int argc, char** argv) {
  auto model = parallax::Model::load(argc > 1 ? argv[1] : "");
  if (!model) {
    std::cerr << model.error().to_string() << '\n';
    return 1;
  }
  for (const auto& input : model->inputs()) {
    std::cout << input.name;
    for (const auto& dim : input.shape)
      std::cout << ' ' << (dim.value >= 0 ? std::to_string(dim.value) : dim.symbol);
    std::cout << '\n';
  }
}
