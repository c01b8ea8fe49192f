import type { FixedCapabilities } from '@stackquay/engine-api'

export const nativeCapabilities: FixedCapabilities = {
  processes: true,
  images: false,
  mayBeAway: false,
  exclusive: true,
}
