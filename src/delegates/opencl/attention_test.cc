// Tests attention against the reference kernel, with both storages and both kernels.
#include <limits>
#include <optional>
#include <vector>

#include "delegates/opencl/opencl_test_util.h"

namespace parallax::opencl {
namespace {

using Axes = std::vector<std::int64_t>;
constexpr float kNever = -std::numeric_limits<float>::infinity();

void expect_in_both_storages(const KernelRun& run, const std::string& what) {
  RegionOptions options;
  expect_as_reference(run, what, options);
  options.half = true;
  expect_as_reference(run, what + " (16 bits)", options);
}

KernelRun attention(const Dims& q, const Dims& k, const Dims& v,
                    std::optional<Dims> mask = std::nullopt) {
  KernelRun run{OpKind::kFusedAttention,
                test_inputs(random_tensor(q, 1), random_tensor(k, 2), random_tensor(v, 3)),
                test_attributes({{"scale", -0.7F}})};
  if (mask) run.inputs.emplace_back(random_tensor(*mask, 4, -2, 2));
  return run;
}

Tensor random_bools(const Dims& dims) {
  Tensor bools = std::move(Tensor::allocate(DType::kBool, dims)).value();
  std::mt19937 random(5);
  for (std::byte& one : bools.mutable_view().bytes) one = std::byte(random() & 1U);
  return bools;
}

TEST(OpenClAttention, AnyShape) {
  PX_NEEDS_DEVICE();
  const struct {
    Dims q, k, v;
    std::optional<Dims> mask;
  } cases[] = {
      {{7, 5}, {5, 9}, {9, 3}, {}},
      {{1, 1}, {1, 1}, {1, 1}, {}},
      {{2, 1, 16}, {2, 16, 33}, {2, 33, 16}, {}},  // one query
      {{17, 70}, {70, 65}, {65, 5}, Dims{65}},     // more than one step of each
      {{5, 4}, {4, 20}, {20, 145}, Dims{5, 20}},   // wide
      {{2, 3, 13, 8}, {1, 3, 8, 70}, {3, 70, 17}, Dims{2, 1, 1, 70}},
      {{5, 8}, {2, 3, 8, 6}, {2, 1, 6, 7}, Dims{3, 5, 6}},
      {{2, 0, 4}, {2, 4, 5}, {2, 5, 3}, {}},
      {{2, 3, 4}, {2, 4, 5}, {2, 5, 0}, {}},
      {{2, 3, 4}, {2, 4, 0}, {2, 0, 5}, {}},  // no keys
      {{3, 0}, {0, 5}, {5, 4}, {}},           // scores of nothing
  };
  for (const auto& c : cases) {
    KernelRun run = attention(c.q, c.k, c.v, c.mask);
    expect_in_both_storages(run, c.q.to_string() + " " + c.k.to_string());
    // Keys one after the other, as projections leave them.
    Dims rows = c.k;
    const int last = rows.rank() - 1;
    std::swap(rows[last], rows[last - 1]);
    Axes perm;
    for (std::int64_t axis = 0; axis <= last; ++axis) perm.push_back(axis);
    std::swap(perm[static_cast<std::size_t>(last)], perm[static_cast<std::size_t>(last) - 1]);
    run.inputs[1] = random_tensor(rows, 2);
    run.attributes.set("k_perm", perm);
    expect_in_both_storages(run, "rows of " + rows.to_string());
  }
}

TEST(OpenClAttention, AChoiceFillsScores) {
  PX_NEEDS_DEVICE();
  for (const Dims& choice : {Dims{37}, Dims{5, 37}, Dims{2, 1, 1, 37}}) {
    for (const bool masked : {false, true}) {
      for (const std::int64_t form : {0, 1, 2, 3}) {
        KernelRun run = attention({2, 3, 5, 8}, {2, 3, 8, 37}, {2, 3, 37, 17});
        run.inputs.emplace_back();
        if (masked) run.inputs.back() = random_tensor({3, 5, 37}, 4, -2, 2);
        run.inputs.emplace_back(random_bools(choice));
        run.attributes.set("fill", 1.5F);
        run.attributes.set("fill_where", form % 2);
        run.attributes.set("fill_last", form / 2);
        expect_in_both_storages(run, choice.to_string() + " " + std::to_string(form));
      }
    }
  }
}

TEST(OpenClAttention, HeadsShareKeysAndOperandsLieTurned) {
  PX_NEEDS_DEVICE();
  for (const std::optional<Dims>& mask : {std::optional<Dims>(), std::optional(Dims{2, 6, 5, 33}),
                                          std::optional(Dims{2, 1, 1, 33})}) {
    KernelRun run = attention({2, 6, 5, 8}, {2, 2, 8, 33}, {2, 2, 33, 17}, mask);
    run.attributes.set("group", std::int64_t{3});
    expect_in_both_storages(run, "shared heads");
    KernelRun turned = attention({2, 5, 6, 8}, {2, 33, 2, 8}, {2, 33, 2, 17}, mask);
    turned.attributes.set("group", std::int64_t{3});
    turned.attributes.set("q_perm", Axes{0, 2, 1, 3});
    turned.attributes.set("k_perm", Axes{0, 2, 3, 1});
    turned.attributes.set("v_perm", Axes{0, 2, 1, 3});
    turned.attributes.set("y_perm", Axes{0, 2, 1, 3});
    expect_in_both_storages(turned, "turned");
  }
}

/// Returns a mask of 5 queries: two see no keys, one the last keys only, one the first.
Tensor hiding_mask(std::int64_t keys, float hidden) {
  std::vector<float> mask(static_cast<std::size_t>(5 * keys), 0.0F);
  const auto hide = [&](std::int64_t query, std::int64_t begin, std::int64_t end) {
    std::fill(mask.begin() + query * keys + begin, mask.begin() + query * keys + end, hidden);
  };
  hide(0, 0, keys);
  hide(1, 0, keys - 2);
  hide(2, 1, keys);
  hide(4, 0, keys);
  return test_tensor<float>({5, keys}, mask);
}

TEST(OpenClAttention, MasksThatHideWholeRows) {
  PX_NEEDS_DEVICE();
  for (const float hidden : {kNever, std::numeric_limits<float>::lowest(), -1e4F}) {
    for (const std::int64_t nan_is_zero : {0, 1}) {
      for (const std::int64_t keys : {3, 67, 150}) {
        KernelRun run = attention({2, 5, 8}, {2, 8, keys}, {2, keys, 7});
        run.inputs.emplace_back(hiding_mask(keys, hidden));
        run.attributes.set("nan_is_zero", nan_is_zero);
        expect_in_both_storages(run, std::to_string(hidden) + " " + std::to_string(keys));
      }
    }
  }
}

TEST(OpenClAttention, NumbersThatAreNone) {
  PX_NEEDS_DEVICE();
  const float none = std::numeric_limits<float>::quiet_NaN();
  const struct {
    std::size_t input, at;
    float number;
  } cases[] = {{0, 11, none},    {0, 11, -kNever}, {1, 70, none},
               {1, 70, -kNever}, {2, 40, none},    {2, 40, -kNever}};
  for (const auto& c : cases) {
    for (const std::int64_t nan_is_zero : {0, 1}) {
      KernelRun run = attention({5, 8}, {8, 67}, {67, 7});
      auto numbers = test_values<float>(*run.inputs[c.input]);
      numbers[c.at] = c.number;
      run.inputs[c.input] = test_tensor<float>(run.inputs[c.input]->dims(), numbers);
      run.inputs.emplace_back(hiding_mask(67, kNever));
      run.attributes.set("nan_is_zero", nan_is_zero);
      expect_in_both_storages(run, std::to_string(c.input) + " " + std::to_string(c.number));
    }
  }
}

TEST(OpenClAttention, GridsThatADeviceDoesNotTakeWhole) {
  PX_NEEDS_DEVICE();
  RegionOptions few;
  few.most_groups = 2;
  expect_as_reference(attention({3, 70, 5}, {3, 5, 9}, {3, 9, 300}), "", few);
}

}  // namespace
}  // namespace parallax::opencl
