import type { KindImage } from '../kind.ts'

/** For services whose programs are ours. */
export const nodeImage: KindImage = {
  reference: () => 'node:26-bookworm-slim',
  program: () => '/usr/local/bin/node',
  node: '/usr/local/bin/node',
  user: null,
  data: () => '/data',
}
