import type { Job } from '@stackquay/engine-api'
import type {
  Preset,
  RuntimeCommands,
  RuntimeInput,
  RuntimeType,
  Settings,
  SourceFiles,
  WorkloadSpec,
} from '../../entry-types.ts'
import { RelativeFolder, runtimeSettings } from '../../runtime-settings.ts'
import {
  atEveryStart,
  below,
  cacheFolder,
  inSource,
  installVariables,
  refuseDebug,
  searchPath,
  serverWorkload,
} from '../../server-workload.ts'
import { commandEnvironment } from '../command-environment.ts'
import { goActions } from './actions.ts'

const presets: readonly Preset[] = [
  {
    name: 'server',
    label: 'Go server',
    port: 8080,
    summary: 'A program that listens on PORT; built again on change in development.',
  },
]

export const go: RuntimeType = {
  kind: 'runtime',
  name: 'go',
  label: 'Go',
  summary: 'A Go program, built from its module.',
  urlOrder: 30,
  settings: runtimeSettings(
    presets,
    { package: RelativeFolder.describe('Folder of the main package, such as "cmd/web"; "." is the project itself.') },
    { package: '.', debugPort: 2345 },
  ),
  presets,
  presetDrops: [],
  toolchain: {
    name: 'go',
    programs: ['go'],
    places: ['/usr/local/go/bin/go', '/usr/lib/go-*/bin/go', '/opt/homebrew/bin/go'],
    versionArgs: ['version'],
    versionPattern: '^go version go(\\d+\\.\\d+(?:\\.\\d+)?)',
  },
  helpers: [],
  image: {
    reference: (line) => `golang:${line}-bookworm`,
    program: () => '/usr/local/go/bin/go',
    user: null,
  },
  // A line is kept until two newer ones are out; the date of the newest ones is not known yet.
  releases: [
    { version: '1.27', endOfLife: null },
    { version: '1.26', endOfLife: null },
    { version: '1.25', endOfLife: '2026-08-11' },
    { version: '1.24', endOfLife: '2026-02-10' },
  ],
  lineOf: (version) => version.split('.').slice(0, 2).join('.'),
  install: { debian: 'apt-get install -y golang-go', other: 'Install Go from go.dev/dl.' },
  sourceFiles: (stored: Settings) => [
    ...new Set(['go.mod', inSource(String(stored.package ?? '.'), 'go.mod'), 'main.go']),
  ],
  detect,
  toWorkloads,
  commandFiles: () => [],
  programs: { files: [], find: () => [] },
  commands,
  rebuildable: [],
}

function detect(source: SourceFiles) {
  if (!('go.mod' in source)) return null
  return {
    confidence: 'main.go' in source ? 0.9 : 0.7,
    because: 'go.mod is there',
    settings: { preset: 'server' },
  }
}

function toWorkloads(input: RuntimeInput): readonly WorkloadSpec[] {
  const { settings } = input
  if (!settings.server) return []
  refuseDebug(
    input,
    'The debugger of Go programs is not offered yet.',
    'Set "debug" to false, or run Delve yourself with "command".',
  )
  const { cwd, target } = moduleOf(input)
  const program = `${input.project.toolsPath}/go-bin/server`
  const isDevelopment = settings.mode === 'development'
  const { node, file } = input.ourProgram('go-watch')
  const jobs = [
    downloadJob(input, cwd),
    isDevelopment || settings.command !== null ? null : buildJob(input, cwd, target, program),
  ]
  return [
    serverWorkload(input, {
      name: 'go',
      title: 'Go server',
      argv: isDevelopment
        ? [node, file, '--go', input.toolchain.program, '--package', target, '--output', `${program}-development`]
        : [program],
      cwd,
      env: goVariables(input),
      path: [input.toolchain.directory],
      setup: jobs.filter((job) => job !== null),
      requires: [
        {
          anyOf: [`${cwd}/go.mod`],
          hint: `No go.mod in ${cwd}: make one with "go mod init NAME", or set "package" to the folder of the program.`,
        },
      ],
    }),
  ]
}

function commands(input: RuntimeInput): RuntimeCommands {
  const { cwd } = moduleOf(input)
  return {
    environment: commandEnvironment(input, {
      cwd,
      env: goVariables(input),
      // Programs of "go install" are found as usual.
      path: [input.toolchain.directory, `${input.project.toolsPath}/go/bin`],
      install: () => downloadJob(input, cwd),
    }),
    actions: goActions({ program: input.toolchain.program, hasModule: modFile(input, cwd) in input.source }),
  }
}

function modFile(input: RuntimeInput, cwd: string): string {
  return inSource(cwd.slice(input.project.path.length + 1) || '.', 'go.mod')
}

/** The folder of the module, and the main package as seen from it: a package may have a module of its own. */
function moduleOf(input: RuntimeInput): { cwd: string; target: string } {
  const folder = input.settings.package as string
  const root = input.project.path
  if (inSource(folder, 'go.mod') in input.source) return { cwd: below(root, folder), target: '.' }
  return { cwd: root, target: `./${inSource(folder, '').replace(/\/$/, '')}` }
}

function downloadJob(input: RuntimeInput, cwd: string): Job | null {
  const text = input.source[modFile(input, cwd)]
  if (typeof text === 'string' && !/^[ \t]*require\b/m.test(text)) return null
  if (text === undefined) return null
  return {
    name: 'install',
    title: 'Download modules (go mod download)',
    argv: [input.toolchain.program, 'mod', 'download'],
    cwd,
    env: { ...goVariables(input), ...installVariables(input.env), PATH: searchPath([input.toolchain.directory]) },
    timeoutSeconds: 600,
    inputs: [`${cwd}/go.mod`, `${cwd}/go.sum`],
    creates: cacheFolder(input, 'go-modules'),
  }
}

/** Runs at each start: the compiler's cache makes it quick when nothing changed. */
function buildJob(input: RuntimeInput, cwd: string, target: string, program: string): Job {
  return {
    name: 'build',
    title: `Build (go build ${target})`,
    argv: [input.toolchain.program, 'build', '-o', program, target],
    cwd,
    env: { ...goVariables(input), ...installVariables(input.env), PATH: searchPath([input.toolchain.directory]) },
    timeoutSeconds: 900,
    inputs: [],
    creates: atEveryStart(input),
  }
}

function goVariables(input: RuntimeInput) {
  return {
    GOPATH: `${input.project.toolsPath}/go`,
    GOMODCACHE: cacheFolder(input, 'go-modules'),
    // Compiling the standard library for the first time takes longer than everything else a start does.
    GOCACHE: cacheFolder(input, 'go-build'),
    // The version the project chose, not another one fetched in silence because go.mod asks for it.
    GOTOOLCHAIN: 'local',
    // Without version control stamps: git refuses to look into folders of other users, and the build would fail.
    // The module cache stays writable, so that it can be deleted with the project.
    GOFLAGS: '-buildvcs=false -modcacherw',
  }
}
