/** Round numbers of bytes for the axis: 1, 2, 5, 10 … MB. */
export const byteSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024, 2048, 5120, 10_240, 20_480, 51_200].map(
  (size) => size * 1024 ** 2,
)
