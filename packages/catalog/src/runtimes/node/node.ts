import { z } from 'zod'
import type { RuntimeInput, RuntimeType, Settings, WorkloadSpec } from '../../entry-types.ts'
import { Port, RelativeFolder, readOnlyPort, runtimeSettings } from '../../runtime-settings.ts'
import { below, inSource, onPath, serverWorkload } from '../../server-workload.ts'
import { binFolders, buildJob } from './build-job.ts'
import { commandFiles, commands } from './commands.ts'
import { detect } from './detect.ts'
import { image } from './image.ts'
import { type Launch, launch, type Target } from './launch.ts'
import { nodeVariables } from './node-variables.ts'
import { installJob, lockFiles, packageManagerQueries, packageManagers } from './package-manager.ts'
import { presets } from './presets.ts'
import { programs } from './programs.ts'

const presetNames = presets.map((preset) => preset.name) as [string, ...string[]]

const devServer = {
  enabled: z.boolean(),
  preset: z.enum(presetNames),
  script: z.string().min(1).max(200),
  port: Port,
}

const settings = runtimeSettings(
  presets,
  {
    packageManager: z.enum(packageManagers).describe('What installs the dependencies and runs the scripts.'),
    script: z
      .string()
      .min(1)
      .max(200)
      .nullable()
      .describe('Script of package.json that serves; null takes the preset’s.'),
    buildScript: z
      .string()
      .min(1)
      .max(200)
      .nullable()
      .describe('Script that builds for production; null takes the preset’s.'),
    package: RelativeFolder.describe('Folder of the package in a workspace; "." is the project itself.'),
    devServer: z
      .strictObject(devServer)
      .describe('A second process beside another runtime, at <slug>-dev.<base domain>.'),
  },
  {
    packageManager: 'npm',
    script: null,
    buildScript: null,
    package: '.',
    devServer: { enabled: false, preset: 'vite', script: 'dev', port: 5173 },
  },
  {
    devServer: z.strictObject({ ...z.object(devServer).partial().shape, hostPort: readOnlyPort.optional() }).optional(),
  },
  { devServer: z.strictObject({ ...devServer, hostPort: readOnlyPort }) },
)

export const node: RuntimeType = {
  kind: 'runtime',
  name: 'node',
  label: 'Node.js',
  summary: 'JavaScript and TypeScript on the server, and the tools of the page.',
  urlOrder: 60,
  settings,
  presets: presets.map(({ name, label, port, summary }) => ({ name, label, port, summary })),
  presetDrops: [],
  toolchain: {
    name: 'node',
    programs: ['node'],
    places: ['/usr/local/bin/node', '/usr/bin/node', '/opt/node*/bin/node', '/opt/homebrew/bin/node'],
    versionArgs: ['--version'],
    versionPattern: '^v(\\d+\\.\\d+\\.\\d+)',
  },
  helpers: packageManagerQueries,
  image,
  releases: [
    { version: '26', endOfLife: '2029-04-30' },
    { version: '24', endOfLife: '2028-04-30' },
    { version: '22', endOfLife: '2027-04-30' },
    { version: '20', endOfLife: '2026-04-30' },
  ],
  lineOf: (version) => version.split('.')[0] ?? version,
  install: { debian: 'apt-get install -y nodejs npm', other: 'Install Node.js from nodejs.org.' },
  sourceFiles,
  detect,
  toWorkloads,
  commandFiles: (stored: Settings) => commandFiles(String(stored.package ?? '.')),
  commands,
  programs,
  rebuildable: [
    'node_modules',
    '.next',
    '.nuxt',
    '.output',
    '.svelte-kit',
    '.astro',
    '.angular',
    '.turbo',
    '.parcel-cache',
    '.vite',
  ],
}

function sourceFiles(stored: Settings): readonly string[] {
  const folder = String(stored.package ?? '.')
  const beside = ['package.json', '.yarnrc.yml', ...Object.values(lockFiles).flat()]
  const entries = presets.flatMap((preset) => [...preset.development.files, ...preset.production.files])
  const own = [...beside, ...entries].map((file) => inSource(folder, file))
  return [...new Set([...own, ...beside])]
}

function toWorkloads(input: RuntimeInput): readonly WorkloadSpec[] {
  const { server } = input.settings
  const own = input.settings.devServer as { enabled: boolean; preset: string; script: string }
  const main = server ? [serverSpec(input)] : []
  const beside = own.enabled ? [devServerSpec(input, own, main.length > 0)] : []
  return [...main, ...beside]
}

function serverSpec(input: RuntimeInput): WorkloadSpec {
  const { settings: stored } = input
  const { mode } = stored
  const spec = nodeWorkload(input, 'node', 'Node.js server', {
    preset: stored.preset,
    script: stored.script as string | null,
    field: 'script',
    mode,
    listen: input.listen('node', 'http'),
    debug: stored.debug ? input.listen('node', 'debug') : null,
  })
  const install = installJob(input)
  const build = mode === 'production' ? buildJob(input, { ...spec.env, NODE_ENV: 'production' }) : null
  return { ...spec, setup: [install, build].filter((job) => job !== null) }
}

/** Depends on the server where there is one: both live in the same folder, and one installation is enough. */
function devServerSpec(
  input: RuntimeInput,
  own: { readonly preset: string; readonly script: string },
  besideServer: boolean,
): WorkloadSpec {
  const withoutOverrides = {
    ...input,
    settings: { ...input.settings, command: null, mode: 'development' as const },
    healthCheck: null,
    dependsOn: besideServer ? [...input.dependsOn, 'node'] : input.dependsOn,
  }
  const spec = nodeWorkload(withoutOverrides, 'node-dev', 'Node.js development server', {
    preset: own.preset,
    script: own.script,
    field: 'devServer/script',
    mode: 'development',
    listen: input.listen('node-dev', 'http'),
    debug: null,
  })
  const install = besideServer ? null : installJob(input)
  return { ...spec, setup: install === null ? [] : [install] }
}

function nodeWorkload(input: RuntimeInput, name: string, title: string, target: Target): WorkloadSpec {
  // The person's own command needs neither script nor preset.
  const { command } = input.settings
  const { argv, env, requires } =
    command === null ? launch(input, target) : { argv: onPath(command), env: {}, requires: [] }
  return serverWorkload(input, {
    name,
    title,
    argv,
    cwd: below(input.project.path, input.settings.package as string),
    env: {
      NODE_ENV: target.mode,
      ...nodeVariables(input),
    },
    forced: withOwnNodeOptions(input, env),
    path: [...binFolders(input), input.toolchain.directory],
    requires,
    debug: target.debug !== null,
  })
}

/** The debugger's option is added to the person's NODE_OPTIONS; the later of two equal options counts. */
function withOwnNodeOptions(input: RuntimeInput, env: Launch['env']): Launch['env'] {
  const theirs = input.env.NODE_OPTIONS
  const added = env.NODE_OPTIONS
  if (theirs === undefined || typeof added !== 'string') return env
  const parts = typeof theirs === 'string' ? [theirs] : theirs
  return { ...env, NODE_OPTIONS: [...parts, ` ${added}`] }
}
