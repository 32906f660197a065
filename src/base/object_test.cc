#include "parallax/object.h"

#include <gtest/gtest.h>

#include <utility>

namespace parallax {
namespace {

Tensor floats(std::initializer_list<float> list) {
  Tensor tensor = *Tensor::allocate(DType::kF32, Dims{static_cast<std::int64_t>(list.size())});
  std::ranges::copy(list, tensor.mutable_view().as<float>());
  return tensor;
}

TEST(Object, HoldsTensors) {
  const Object object = Object::tensor(floats({1, 2}));
  EXPECT_EQ(object.type(), ObjectType::kTensor);
  EXPECT_EQ(object.dtype(), DType::kF32);
  EXPECT_EQ(object.dims(), (Dims{2}));
  EXPECT_EQ(object.tensor_view().as<float>()[1], 2);
  EXPECT_TRUE(object.strings().empty());
}

TEST(Object, HoldsStrings) {
  const auto object = Object::strings({2}, {"a", ""});
  ASSERT_TRUE(object);
  EXPECT_EQ(object->dtype(), DType::kString);
  EXPECT_EQ(object->strings()[0], "a");
  EXPECT_TRUE(object->tensor_view().bytes.empty());
  EXPECT_FALSE(Object::strings({3}, {"a"}));
  EXPECT_TRUE(Object::strings({0, 3}, {}));
}

TEST(Object, ANewOneIsAnEmptyOptional) {
  EXPECT_EQ(Object().type(), ObjectType::kOptional);
  EXPECT_TRUE(Object().elements().empty());
  EXPECT_EQ(Object::optional(Object()).elements().size(), 1U);
}

TEST(Object, MapsHaveAsManyKeysAsValues) {
  const Object two = *Object::strings({2}, {"a", "b"});
  EXPECT_TRUE(Object::map(two, Object::tensor(floats({1, 2}))));
  EXPECT_FALSE(Object::map(two, Object::tensor(floats({1}))));
  EXPECT_FALSE(Object::map(Object::tensor(floats({1, 2})), two));
  EXPECT_FALSE(Object::map(Object(), Object()));
}

TEST(Object, DeepOnesEndWithoutRecursion) {
  Object object;
  for (int i = 0; i < 1000000; ++i) object = Object::optional(std::move(object));
  EXPECT_EQ(object.elements().size(), 1U);
}

TEST(Object, OwnersGoWithTheLastCopy) {
  const auto owner = std::make_shared<int>(0);
  Object object = Object::sequence({}, owner);
  Object copy = object;
  object = Object();
  EXPECT_EQ(owner.use_count(), 2);
  copy = Object();
  EXPECT_EQ(owner.use_count(), 1);
}

}  // namespace
}  // namespace parallax
