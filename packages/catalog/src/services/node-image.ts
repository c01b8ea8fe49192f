import type { TypeImage } from '../entry-types.ts'

/** For services that are built-in programs. */
export const nodeImage: TypeImage = {
  reference: () => 'node:26-bookworm-slim',
  program: () => '/usr/local/bin/node',
  node: '/usr/local/bin/node',
  user: null,
  data: () => '/data',
}
