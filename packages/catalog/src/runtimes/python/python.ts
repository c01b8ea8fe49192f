import type { RequiredFile } from '@stackquay/engine-api'
import { z } from 'zod'
import {
  type RuntimeCommands,
  type RuntimeInput,
  type RuntimeType,
  type Settings,
  SettingsError,
  type WorkloadSpec,
} from '../../entry-types.ts'
import { RelativeFolder, runtimeSettings } from '../../runtime-settings.ts'
import { below, inSource, place, serverWorkload } from '../../server-workload.ts'
import { commandEnvironment } from '../command-environment.ts'
import { inImage } from '../in-image.ts'
import { commandFiles, pythonActions } from './actions.ts'
import { applicationFiles, findApplication, moduleFiles } from './application.ts'
import { detect } from './detect.ts'
import { dependencyFiles, environmentFolder, installerVariables, installJob, needsEnvironment } from './install-job.ts'
import { presetOf, presets } from './presets.ts'
import { programs } from './programs.ts'

const Application = z
  .string()
  .max(300)
  .regex(/^[A-Za-z_][\w.]*(:[A-Za-z_][\w.]*(\(\))?)?$/, 'must be "module" or "module:attribute", such as "app:app"')
  .nullable()

export const python: RuntimeType = {
  kind: 'runtime',
  name: 'python',
  label: 'Python',
  summary: 'Flask, Django, FastAPI and other Python servers, in a virtual environment of their own.',
  urlOrder: 20,
  settings: runtimeSettings(
    presets,
    {
      application: Application.describe('The application as module:attribute; null looks for it in the source.'),
      package: RelativeFolder.describe('Folder of the application; "." is the project itself.'),
      packageManager: z.enum(['pip', 'uv']).describe('What installs the dependencies.'),
    },
    { application: null, package: '.', packageManager: 'pip', debugPort: 5678 },
  ),
  presets: presets.map(({ name, label, port, summary }) => ({ name, label, port, summary })),
  presetDrops: ['application'],
  toolchain: {
    name: 'python',
    programs: [
      'python3',
      ...['3.15', '3.14', '3.13', '3.12', '3.11', '3.10', '3.9'].map((line) => `python${line}`),
      'python',
    ],
    places: ['/usr/bin/python3', '/usr/local/bin/python3', '/opt/homebrew/bin/python3'],
    versionArgs: ['--version'],
    versionPattern: '^Python (3\\.\\d+\\.\\d+)',
  },
  helpers: [
    {
      name: 'uv',
      programs: ['uv'],
      places: ['/usr/local/bin/uv', '/opt/homebrew/bin/uv'],
      versionArgs: ['--version'],
      versionPattern: '^uv (\\d+\\.\\d+\\.\\d+)',
    },
  ],
  image: {
    reference: (line) => `python:${line}-slim-bookworm`,
    builtIn: 'python',
    program: () => '/usr/local/bin/python3',
    helpers: { uv: inImage('uv') },
    user: null,
  },
  releases: [
    { version: '3.15', endOfLife: '2031-10-31' },
    { version: '3.14', endOfLife: '2030-10-31' },
    { version: '3.13', endOfLife: '2029-10-31' },
    { version: '3.12', endOfLife: '2028-10-31' },
    { version: '3.11', endOfLife: '2027-10-31' },
    { version: '3.10', endOfLife: '2026-10-31' },
    { version: '3.9', endOfLife: '2025-10-31' },
  ],
  lineOf: (version) => version.split('.').slice(0, 2).join('.'),
  install: { debian: 'apt-get install -y python3 python3-venv', other: 'Install Python 3 from python.org.' },
  sourceFiles,
  detect,
  toWorkloads,
  commandFiles: (stored: Settings) => commandFiles(String(stored.package ?? '.')),
  commands,
  programs,
  rebuildable: ['__pycache__', '.venv', 'venv', '.pytest_cache', '.mypy_cache', '.ruff_cache', '.tox', '.nox'],
}

function sourceFiles(stored: Settings): readonly string[] {
  const folder = String(stored.package ?? '.')
  const files = ['manage.py', ...applicationFiles, ...dependencyFiles]
  return [...new Set([...files.map((file) => inSource(folder, file)), ...dependencyFiles])]
}

function toWorkloads(input: RuntimeInput): readonly WorkloadSpec[] {
  const { settings } = input
  if (!settings.server) return []
  const cwd = below(input.project.path, settings.package as string)
  const { application, requires } = applicationOf(input, cwd)
  const { extra, venv, program } = interpreter(input)
  const server = { mode: settings.mode, application, listen: input.listen('python', 'http') }
  return [
    serverWorkload(input, {
      name: 'python',
      title: 'Python server',
      argv: [program, ...debuggerWords(input), ...presetOf(settings.preset).words(server)],
      cwd,
      env: pythonVariables(venv),
      path: pythonPath(input, venv),
      setup: venv === null ? [] : [installJob(input, extra)],
      requires,
      debug: settings.debug,
      stop: { signal: 'SIGTERM', deadlineSeconds: settings.mode === 'production' ? 35 : 10 },
    }),
  ]
}

function commands(input: RuntimeInput): RuntimeCommands {
  const { extra, venv, program } = interpreter(input)
  return {
    environment: commandEnvironment(input, {
      cwd: below(input.project.path, input.settings.package as string),
      env: { ...installerVariables(input), ...pythonVariables(venv) },
      path: pythonPath(input, venv),
      install: venv === null ? null : () => installJob(input, extra),
    }),
    actions: pythonActions(input, program, extra),
  }
}

/** The virtual environment's Python where there is anything to install, else the toolchain's own. */
function interpreter(input: RuntimeInput) {
  const extra = extraPackages(input)
  const venv = needsEnvironment(input, extra) ? environmentFolder(input) : null
  return { extra, venv, program: venv === null ? input.toolchain.program : `${venv}/bin/python` }
}

function pythonVariables(venv: string | null): Readonly<Record<string, string>> {
  return { PYTHONUNBUFFERED: '1', ...(venv === null ? {} : { VIRTUAL_ENV: venv }) }
}

function pythonPath(input: RuntimeInput, venv: string | null): readonly string[] {
  return [...(venv === null ? [] : [`${venv}/bin`]), input.toolchain.directory]
}

/** The application and the files it needs. In an empty folder the server waits for one of the usual files. */
function applicationOf(input: RuntimeInput, cwd: string): { application: string; requires: readonly RequiredFile[] } {
  const { settings, source } = input
  const folder = settings.package as string
  if (settings.command !== null) return { application: '', requires: [] }
  const usesManage = settings.preset === 'django'
  const application = (settings.application as string | null) ?? findApplication(settings.preset, folder, source)
  const hasSource = [...applicationFiles, 'manage.py'].some((file) => inSource(folder, file) in source)
  if (application === null && hasSource && !(usesManage && settings.mode === 'development')) {
    throw new SettingsError(
      'application',
      `No ${presetOf(settings.preset).label} application was found in ${shown(folder)}.`,
      settings.preset === 'module'
        ? 'Set "application" to the module to run, such as "tasks.server".'
        : 'Set "application" to module:attribute, such as "app:app" for the variable "app" in app.py.',
    )
  }
  if (usesManage) {
    return { application: application ?? '', requires: [required(cwd, ['manage.py'], folder)] }
  }
  const files = application === null ? usualFiles : moduleFiles(application)
  return { application: application ?? 'app:app', requires: [required(cwd, files, folder)] }
}

const usualFiles = ['app.py', 'main.py', 'wsgi.py', 'asgi.py'] as const

function required(cwd: string, files: readonly string[], folder: string): RequiredFile {
  const paths = files.map((file) => below(cwd, file)) as [string, ...string[]]
  return {
    anyOf: paths,
    hint: `${files[0]} is missing in ${shown(folder)}: add it, or set "application" and "package" to where the application is.`,
  }
}

function shown(folder: string): string {
  return folder === '.' ? 'the project' : `"${folder}"`
}

function extraPackages(input: RuntimeInput): readonly string[] {
  if (input.settings.command !== null) return []
  const server = presetOf(input.settings.preset).serverPackage(input.settings.mode)
  return [...(server === null ? [] : [server]), ...(input.settings.debug ? ['debugpy'] : [])]
}

/** Editors attach with the Debug Adapter Protocol; debugpy follows the process that a reloader starts. */
function debuggerWords(input: RuntimeInput): readonly string[] {
  return input.settings.debug ? ['-m', 'debugpy', '--listen', place(input.listen('python', 'debug'))] : []
}
