#include <gtest/gtest.h>

#include "kernels/cpu/cpu_test_util.h"

namespace parallax {
namespace {

using Ints = std::vector<std::int64_t>;

Attributes pool_attributes(const Ints& kernel, const Ints& strides, const Ints& pads,
                           const Ints& dilations, std::int64_t count_pads) {
  return test_attributes({{"layout", std::string("NHWC")},
                          {"kernel_shape", kernel},
                          {"strides", strides},
                          {"pads", pads},
                          {"dilations", dilations},
                          {"count_include_pad", count_pads}});
}

TEST(CpuPool, AgreesWithReferenceInNhwc) {
  struct Case {
    Dims dims;
    Ints kernel, strides, pads, dilations;
  };
  for (const Case& c : {Case{{1, 20, 20, 128}, {5, 5}, {1, 1}, {2, 2, 2, 2}, {1, 1}},
                        Case{{2, 9, 7, 3}, {3, 2}, {2, 2}, {1, 0, 1, 1}, {1, 1}},
                        Case{{1, 12, 11, 33}, {3, 3}, {1, 2}, {2, 0, 1, 3}, {2, 2}},
                        Case{{3, 1, 1, 17}, {1, 1}, {1, 1}, {0, 0, 0, 0}, {1, 1}},
                        Case{{2, 7, 9, 35}, {2, 2}, {2, 2}, {1, 1, 0, 0}, {1, 1}},
                        Case{{1, 5, 2, 16}, {2, 4}, {1, 1}, {1, 3, 1, 2}, {1, 1}},
                        Case{{1, 60, 64, 64}, {2, 2}, {2, 2}, {0, 0, 0, 0}, {1, 1}}}) {
    SCOPED_TRACE(c.dims.to_string());
    Attributes attributes = pool_attributes(c.kernel, c.strides, c.pads, c.dilations, 1);
    expect_same_as_reference(
        {OpKind::kAveragePool, test_inputs(random_floats(c.dims, 1)), attributes}, {1e-6, 1e-6});
    attributes.set("count_include_pad", std::int64_t{0});
    expect_same_as_reference(
        {OpKind::kAveragePool, test_inputs(random_floats(c.dims, 1)), attributes}, {1e-6, 1e-6});
    attributes.erase("count_include_pad");
    expect_same_as_reference({OpKind::kMaxPool, test_inputs(random_floats(c.dims, 1)), attributes});
  }
}

TEST(CpuPool, FindsTheFirstMaximum) {
  std::vector<float> x(std::size_t{2} * 9 * 8 * 37);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 7);
  for (std::size_t i = 0; i < x.size(); i += 29) x[i] = std::nanf("");
  for (std::size_t i = 0; i < 40; ++i) x[i] = -std::numeric_limits<float>::infinity();
  for (const std::int64_t side : {1, 2, 3}) {
    for (const std::int64_t storage_order : {0, 1}) {
      Attributes attributes = pool_attributes({side, 2}, {2, 1}, {0, 1, side - 1, 0}, {2, 1}, 1);
      attributes.erase("count_include_pad");
      attributes.set("storage_order", storage_order);
      // NaN equals NaN here; all indices are exact.
      expect_same_as_reference(
          {OpKind::kMaxPool, test_inputs(test_tensor<float>({2, 9, 8, 37}, x)), attributes, 2},
          {1e-9, 0});
    }
  }
}

TEST(CpuPool, KeepsNan) {
  std::vector<float> x(16, 1.0F);
  x[5] = std::nanf("");
  expect_same_as_reference(
      {OpKind::kMaxPool, test_inputs(test_tensor<float>({1, 4, 4, 1}, x)),
       test_attributes({{"layout", std::string("NHWC")}, {"kernel_shape", Ints{2, 2}}})},
      {1e-9, 0});
}

TEST(CpuPool, AgreesWithReferenceOnPlanes) {
  struct Case {
    Dims dims;
    Ints kernel, strides, pads, dilations;
  };
  for (const Case& c :
       {Case{{1, 5, 20, 21}, {3, 3}, {2, 2}, {1, 1, 1, 1}, {1, 1}},
        Case{{2, 3, 9, 7}, {3, 2}, {1, 1}, {1, 0, 1, 1}, {1, 1}},
        Case{{1, 2, 12, 40}, {3, 3}, {1, 3}, {2, 0, 1, 3}, {2, 2}},
        Case{{1, 4, 100}, {5}, {5}, {0, 4}, {1}},
        Case{{1, 3, 6, 7, 8}, {2, 3, 2}, {2, 1, 2}, {0, 1, 1, 1, 1, 0}, {1, 1, 1}}}) {
    SCOPED_TRACE(c.dims.to_string());
    for (const std::int64_t ceil_mode : {0, 1}) {
      Attributes attributes = pool_attributes(c.kernel, c.strides, c.pads, c.dilations, 1);
      attributes.set("layout", std::string("NCHW"));
      attributes.set("ceil_mode", ceil_mode);
      expect_same_as_reference(
          {OpKind::kAveragePool, test_inputs(random_floats(c.dims, 1)), attributes}, {1e-6, 1e-6});
      attributes.set("count_include_pad", std::int64_t{0});
      expect_same_as_reference(
          {OpKind::kAveragePool, test_inputs(random_floats(c.dims, 1)), attributes}, {1e-6, 1e-6});
      attributes.erase("count_include_pad");
      expect_same_as_reference(
          {OpKind::kMaxPool, test_inputs(random_floats(c.dims, 1)), attributes});
    }
  }
}

TEST(CpuGridSample, AgreesWithReference) {
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const Dims& dims : {Dims{2, 3, 9, 11}, Dims{1, 2, 4, 5, 6}, Dims{1, 1, 7}}) {
        SCOPED_TRACE(std::string(mode) + " " + padding + " " + dims.to_string());
        const std::int64_t axes = dims.rank() - 2;
        Dims grid = {dims[0]};
        for (std::int64_t axis = 0; axis < axes; ++axis) grid.push_back(axis == 0 ? 300 : 2);
        grid.push_back(axes);
        std::vector<float> at = test_values<float>(random_floats(grid, 2, -1.6F, 1.6F));
        at[0] = std::nanf("");
        at[static_cast<std::size_t>(axes)] = 1e30F;
        for (const std::int64_t corners : {0, 1}) {
          expect_same_as_reference(
              {OpKind::kGridSample,
               test_inputs(random_floats(dims, 1), test_tensor<float>(grid, at)),
               test_attributes({{"mode", std::string(mode)},
                                {"padding_mode", std::string(padding)},
                                {"align_corners", corners}})},
              {1e-4, 1e-5});
        }
      }
    }
  }
}

TEST(CpuGridSample, GivesAPlaceTheSameBitsWhereverItLies) {
  const auto sample = [](const std::vector<float>& at) {
    const auto places = static_cast<std::int64_t>(at.size() / 2);
    const auto y = run_kernel(
        {OpKind::kGridSample,
         test_inputs(random_floats({1, 1, 9, 11}, 1), test_tensor<float>({1, places, 1, 2}, at)),
         test_attributes({{"mode", std::string("cubic")}})},
        KernelLibrary::kCpu);
    return y ? test_values<float>((*y)[0]) : std::vector<float>{};
  };
  const std::vector<float> at = test_values<float>(random_floats({37, 2}, 2, -1.0F, 1.0F));
  const std::vector<float> together = sample(at);
  ASSERT_EQ(together.size(), 37U);
  for (std::size_t i = 0; i < together.size(); ++i)
    EXPECT_EQ(sample({at[2 * i], at[2 * i + 1]}), std::vector<float>{together[i]});
}

TEST(CpuResize, FiltersAsReference) {
  for (const char* layout : {"NCHW", "NHWC"}) {
    for (const char* mode : {"linear", "cubic"}) {
      for (const std::int64_t antialias : {0, 1}) {
        for (const Dims& size : {Dims{2, 3, 9, 11}, Dims{2, 3, 3, 2}}) {
          SCOPED_TRACE(std::string(layout) + " " + mode + " " + size.to_string());
          const bool nhwc = std::string(layout) == "NHWC";
          const Dims x = nhwc ? Dims{2, 6, 5, 3} : Dims{2, 3, 6, 5};
          std::vector<std::int64_t> sizes(size.begin(), size.end());
          KernelRun run{OpKind::kResize,
                        test_inputs(random_floats(x, 1), std::nullopt, std::nullopt,
                                    test_tensor<std::int64_t>({4}, sizes)),
                        test_attributes({{"layout", std::string(layout)},
                                         {"mode", std::string(mode)},
                                         {"antialias", antialias}})};
          run.constants = 0b1000;
          expect_same_as_reference(run, {1e-5, 1e-5});
        }
      }
    }
  }
}

TEST(CpuResize, RepeatsElementsAsReference) {
  for (const char* layout : {"NCHW", "NHWC"}) {
    for (const auto& [coordinates, rounding] :
         {std::pair<const char*, const char*>{"asymmetric", "floor"},
          {"half_pixel", "round_prefer_floor"},
          {"half_pixel_symmetric", "round_prefer_ceil"}}) {
      for (const float factor : {1.0F, 2.0F, 3.0F}) {
        SCOPED_TRACE(std::string(layout) + " " + coordinates);
        KernelRun run{OpKind::kResize, test_inputs(random_floats({2, 5, 4, 6}, 1)),
                      test_attributes({{"layout", std::string(layout)},
                                       {"mode", std::string("nearest")},
                                       {"coordinate_transformation_mode", std::string(coordinates)},
                                       {"nearest_mode", std::string(rounding)}}),
                      1, 0b1100};
        run.inputs.emplace_back();
        run.inputs.emplace_back(test_tensor<float>({4}, {1, 1, factor, 2}));
        expect_same_as_reference(run);
      }
    }
  }
}

TEST(CpuResize, TakesTheNearestAsReference) {
  for (const char* coordinates : {"align_corners", "half_pixel", "asymmetric"}) {
    for (const auto& [height, width] : {std::pair{1.5F, 2.0F}, {0.5F, 3.3F}, {1.0F, 0.3F}}) {
      for (const bool nhwc : {false, true}) {
        SCOPED_TRACE(coordinates);
        const Dims x = nhwc ? Dims{2, 4, 7, 3} : Dims{2, 3, 4, 7};
        const auto scales = [&, h = height, w = width] {
          return nhwc ? test_tensor<float>({4}, {1, h, w, 1})
                      : test_tensor<float>({4}, {1, 1, h, w});
        };
        const Attributes attributes =
            test_attributes({{"mode", std::string("nearest")},
                             {"coordinate_transformation_mode", std::string(coordinates)}});
        expect_same_as_reference({OpKind::kResize,
                                  test_inputs(random_floats(x, 1), std::nullopt, scales()),
                                  attributes, 1, 0b100});
        expect_same_as_reference(
            {OpKind::kResize,
             test_inputs(random_integers<std::uint8_t>(x, 1, 0, 255), std::nullopt, scales()),
             attributes, 1, 0b100});
      }
    }
  }
}

TEST(CpuResize, DeclinesOtherModesOfFourAxes) {
  KernelRun run{OpKind::kResize,
                test_inputs(random_floats({1, 2, 4, 6}, 1), std::nullopt,
                            test_tensor<float>({4}, {1, 1.5F, 2, 2})),
                test_attributes({{"mode", std::string("linear")}}), 1, 0b1100};
  EXPECT_TRUE(cpu_declines(run));
}

TEST(CpuResize, InterpolatesAsReference) {
  for (const char* layout : {"NCHW", "NHWC"}) {
    for (const char* coordinates : {"half_pixel", "pytorch_half_pixel", "align_corners",
                                    "asymmetric", "half_pixel_symmetric"}) {
      for (const auto& [rows, columns] : {std::pair<float, float>{2, 2}, {1, 3}, {0.5F, 1.7F}}) {
        for (const Dims& dims : {Dims{2, 5, 4, 6}, Dims{1, 3, 1, 7}, Dims{1, 40, 2, 33}}) {
          SCOPED_TRACE(std::string(layout) + " " + coordinates);
          KernelRun run{
              OpKind::kResize, test_inputs(random_floats(dims, 1)),
              test_attributes({{"layout", std::string(layout)},
                               {"mode", std::string("linear")},
                               {"coordinate_transformation_mode", std::string(coordinates)}}),
              1, 0b1100};
          run.inputs.emplace_back();
          run.inputs.emplace_back(test_tensor<float>({4}, {1, 1, rows, columns}));
          expect_same_as_reference(run, {1e-6, 1e-6});
        }
      }
    }
  }
}

TEST(CpuCast, AgreesWithReference) {
  for (const std::int64_t to : {1, 6, 7, 9}) {
    const Attributes attributes = test_attributes({{"to", to}});
    for (const Dims& dims : {Dims{}, Dims{7, 11}, Dims{0, 2}, Dims{70001}}) {
      expect_same_as_reference({OpKind::kCast,
                                test_inputs(random_integers<std::int64_t>(dims, 1, -300, 300)),
                                attributes});
      expect_same_as_reference({OpKind::kCast,
                                test_inputs(random_integers<std::int32_t>(dims, 1, -300, 300)),
                                attributes});
      expect_same_as_reference(
          {OpKind::kCast, test_inputs(random_integers<std::uint8_t>(dims, 1, 0, 255)), attributes});
    }
  }
  const std::int64_t int64 = 7;
  EXPECT_TRUE(cpu_declines(
      {OpKind::kCast, test_inputs(random_floats({3}, 1)), test_attributes({{"to", int64}})}));
}

}  // namespace
}  // namespace parallax
