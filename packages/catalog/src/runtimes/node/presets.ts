import type { Listen, Preset } from '../../entry-types.ts'
import { place } from '../../server-workload.ts'

/**
 * What a framework is started with. `program` is its command line in `node_modules/.bin`; flags are appended to the
 * person's script where that script is nothing but a call of the same program, so their own flags stay.
 */
export interface NodePreset extends Preset {
  readonly program: string | null
  /** Scripts of package.json that serve, first match, by mode. */
  readonly scripts: { readonly development: readonly string[]; readonly production: readonly string[] }
  readonly development: Run
  readonly production: Run
  /** What builds for production when package.json has no `build` script; null when there is nothing to build. */
  readonly build: readonly string[] | null
  /** Packages that tell that a source tree is of this kind. */
  readonly packages: readonly string[]
}

export interface Run {
  /** Words after the program; null where the program does not serve in this mode. */
  readonly words: readonly string[] | null
  /** Files of which the first that is there is run with Node when neither script nor program applies. */
  readonly files: readonly string[]
  flags(listen: Listen): readonly string[]
  /** How the debugger of the server itself is opened: by a flag of the program, by NODE_OPTIONS, or not at all. */
  readonly debug: ((listen: Listen) => readonly string[]) | 'node' | null
}

const entryFiles = ['server.js', 'server.ts', 'server.mjs', 'index.js', 'index.ts', 'index.mjs', 'app.js', 'app.ts']
const entries = [...entryFiles, ...entryFiles.map((file) => `src/${file}`)]
const none = () => []
const plain: Run = { words: null, files: entries, flags: none, debug: 'node' }

// A page served by Vite reaches its hot-reload socket at the page's own host and port, so through the proxy, as long as no
// `server.hmr.clientPort` is set: the client takes `import.meta.url`'s port when none is set. So nothing is set here.
const viteFlags = ({ address, port }: Listen) => ['--host', address, '--port', String(port), '--strictPort']
const nextFlags = ({ address, port }: Listen) => ['-H', address, '-p', String(port)]
const nuxtFlags = ({ address, port }: Listen) => ['--host', address, '--port', String(port)]

export const presets: readonly NodePreset[] = [
  {
    name: 'generic',
    label: 'Node.js',
    port: 3000,
    summary: 'Runs a script of package.json; the server listens on PORT.',
    program: null,
    scripts: { development: ['dev', 'start'], production: ['start'] },
    development: plain,
    production: plain,
    build: null,
    packages: [],
  },
  {
    name: 'express',
    label: 'Express',
    port: 3000,
    summary: 'An Express server that listens on PORT.',
    program: null,
    scripts: { development: ['dev', 'start'], production: ['start'] },
    development: plain,
    production: plain,
    build: null,
    packages: ['express'],
  },
  {
    name: 'vite',
    label: 'Vite',
    port: 5173,
    summary: 'A page with hot reload: React, Vue, Svelte and others.',
    program: 'vite',
    scripts: { development: ['dev'], production: ['preview'] },
    development: { words: [], files: [], flags: viteFlags, debug: 'node' },
    production: { words: ['preview'], files: [], flags: viteFlags, debug: null },
    build: ['vite', 'build'],
    packages: ['vite'],
  },
  {
    name: 'next',
    label: 'Next.js',
    port: 3000,
    summary: 'A Next.js application.',
    program: 'next',
    scripts: { development: ['dev'], production: ['start'] },
    development: { words: ['dev'], files: [], flags: nextFlags, debug: (listen) => [`--inspect=${place(listen)}`] },
    production: { words: ['start'], files: [], flags: nextFlags, debug: null },
    build: ['next', 'build'],
    packages: ['next'],
  },
  {
    name: 'nuxt',
    label: 'Nuxt',
    port: 3000,
    summary: 'A Nuxt application.',
    program: 'nuxt',
    scripts: { development: ['dev'], production: [] },
    development: { words: ['dev'], files: [], flags: nuxtFlags, debug: null },
    production: { words: null, files: ['.output/server/index.mjs'], flags: none, debug: 'node' },
    build: ['nuxt', 'build'],
    packages: ['nuxt'],
  },
  {
    name: 'nest',
    label: 'NestJS',
    port: 3000,
    summary: 'A NestJS server that listens on PORT.',
    program: 'nest',
    scripts: { development: ['start:dev'], production: [] },
    development: {
      words: ['start', '--watch'],
      files: [],
      flags: none,
      debug: (listen) => ['--debug', place(listen)],
    },
    production: { words: null, files: ['dist/main.js'], flags: none, debug: 'node' },
    build: ['nest', 'build'],
    packages: ['@nestjs/core'],
  },
]

export function presetOf(name: string): NodePreset {
  return presets.find((preset) => preset.name === name) ?? presets[0]!
}
