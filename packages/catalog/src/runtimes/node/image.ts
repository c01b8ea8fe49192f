import type { TypeImage } from '../../entry-types.ts'
import { inImage } from '../in-image.ts'
import { packageManagers } from './package-manager.ts'

export const image: TypeImage = {
  reference: (line) => `node:${line}-bookworm-slim`,
  // With all package managers, and what compiles packages that have parts in C.
  builtIn: 'node',
  program: () => '/usr/local/bin/node',
  helpers: Object.fromEntries(packageManagers.map((name) => [name, inImage(name)])),
  node: '/usr/local/bin/node',
  user: null,
}
