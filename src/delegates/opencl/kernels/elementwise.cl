// Functions that expressions of elementwise.def call. Conversions of floats to integers are those of Cast: towards zero, held within the
// type, the least integer for NaN.
inline int int_of(float x) { return x != x ? INT_MIN : convert_int_sat(x); }
inline long long_of(float x) { return x != x ? LONG_MIN : convert_long_sat(x); }

/// The larger and the smaller one; NaN where either is.
inline float larger_f32(float a, float b) { return a != a ? a : (a < b || b != b) ? b : a; }
inline float smaller_f32(float a, float b) { return a != a ? a : (b < a || b != b) ? b : a; }
