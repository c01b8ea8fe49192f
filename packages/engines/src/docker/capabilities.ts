import type { FixedCapabilities } from '@stackquay/engine-api'

export const dockerCapabilities: FixedCapabilities = {
  processes: false,
  images: true,
  mayBeAway: true,
  // Another instance, made from a copy of this one, may use the same daemon.
  exclusive: false,
}
