import type { ProcessRun } from '@stackquay/engine-api'
import { type ActionDefinition, type RuntimeInput, SettingsError } from '../../entry-types.ts'
import { below, inSource, onPath } from '../../server-workload.ts'
import { type ActionParts, actionList } from '../actions.ts'
import { blockerOf } from '../command-environment.ts'
import { findApplication } from './application.ts'
import { dependencyFolder, installJob } from './install-job.ts'
import { projectScripts } from './project-scripts.ts'

export function commandFiles(folder: string): readonly string[] {
  return ['alembic.ini', 'migrations/alembic.ini'].map((file) => inSource(folder, file))
}

/** What installs, Django's own commands, migrations, and the scripts of pyproject.toml. `program` is the project's Python. */
export function pythonActions(
  input: RuntimeInput,
  program: string,
  extra: readonly string[],
): readonly ActionDefinition[] {
  const framework = [...djangoActions(input, program), ...flaskActions(input, program), ...alembicActions(input)]
  const taken = new Set(['install', ...framework.map(({ name }) => name)])
  return actionList([...installActions(input, program, extra), ...framework, ...scriptActions(input, program, taken)])
}

/** The installation's own job, so that packages land where commands look for them. */
function installActions(input: RuntimeInput, program: string, extra: readonly string[]): readonly ActionParts[] {
  const base = {
    name: 'install',
    summary: 'Installs the dependencies into the project’s virtual environment.',
    needsSetup: false,
  }
  const usual = input.settings.packageManager === 'uv' ? 'uv sync' : 'pip install'
  const folder = dependencyFolder(input)
  if (folder === null) {
    const reason = 'Nothing says what to install: add a requirements.txt or a pyproject.toml.'
    return [{ ...base, label: usual, argv: [program, '-m', 'pip', 'install'], reason }]
  }
  try {
    const { argv, title, cwd } = installJob(input, extra)
    const label = /\((.*)\)$/.exec(title)?.[1] ?? usual
    const isHere = cwd === below(input.project.path, input.settings.package as string)
    return [
      {
        ...base,
        label,
        argv: isHere ? argv : ['/bin/sh', '-c', 'cd "$1" && shift && exec "$@"', 'install', cwd, ...argv],
      },
    ]
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    return [{ ...base, label: usual, argv: onPath(['uv', 'sync']), reason: blockerOf(error) }]
  }
}

function djangoActions(input: RuntimeInput, program: string): readonly ActionParts[] {
  if (!(inSource(input.settings.package as string, 'manage.py') in input.source)) return []
  return djangoCommands.map(({ name, options, summary, destructive }) => ({
    name,
    label: ['python', 'manage.py', name, ...options].join(' '),
    summary,
    argv: [program, 'manage.py', name, ...options],
    destructive: destructive === true,
  }))
}

interface ManageCommand {
  readonly name: string
  readonly options: readonly string[]
  readonly summary: string
  readonly destructive?: true
}

/** Those that ask no questions. */
const djangoCommands: readonly ManageCommand[] = [
  { name: 'check', options: [], summary: 'Looks for common mistakes in the project.' },
  { name: 'migrate', options: ['--noinput'], summary: 'Runs the migrations that have not run yet.' },
  { name: 'makemigrations', options: ['--noinput'], summary: 'Writes migrations for changed models.' },
  { name: 'showmigrations', options: [], summary: 'Lists migrations and whether they have run.' },
  { name: 'collectstatic', options: ['--noinput'], summary: 'Collects static files in STATIC_ROOT.' },
  { name: 'clearsessions', options: [], summary: 'Deletes sessions that have expired.' },
  { name: 'flush', options: ['--noinput'], summary: 'Deletes all rows of all tables.', destructive: true },
]

function flaskActions(input: RuntimeInput, program: string): readonly ActionParts[] {
  const { settings, source } = input
  if (settings.preset !== 'flask') return []
  const folder = settings.package as string
  const application = (settings.application as string | null) ?? findApplication('flask', folder, source)
  if (application === null) return []
  const call = (words: readonly string[]): ProcessRun['argv'] => [
    program,
    '-m',
    'flask',
    '--app',
    application,
    ...words,
  ]
  const routes = { name: 'routes', label: 'flask routes', summary: 'Lists all routes.', argv: call(['routes']) }
  if (!(inSource(folder, 'migrations/alembic.ini') in source)) return [routes]
  return [
    routes,
    {
      name: 'db.upgrade',
      label: 'flask db upgrade',
      summary: 'Runs the migrations that have not run yet.',
      argv: call(['db', 'upgrade']),
    },
    {
      name: 'db.downgrade',
      label: 'flask db downgrade',
      summary: 'Takes the last migration back, with the tables it made.',
      argv: call(['db', 'downgrade']),
      destructive: true,
    },
  ]
}

function alembicActions(input: RuntimeInput): readonly ActionParts[] {
  if (!(inSource(input.settings.package as string, 'alembic.ini') in input.source)) return []
  const call = (words: readonly string[]) => ({
    label: ['alembic', ...words].join(' '),
    argv: onPath(['alembic', ...words]),
  })
  return [
    { name: 'alembic.upgrade', summary: 'Runs the migrations that have not run yet.', ...call(['upgrade', 'head']) },
    { name: 'alembic.current', summary: 'Tells which migration the database is at.', ...call(['current']) },
    {
      name: 'alembic.downgrade',
      summary: 'Takes the last migration back, with the tables it made.',
      ...call(['downgrade', '-1']),
      destructive: true,
    },
  ]
}

/**
 * The function that a script names is called from the source, not from an installed copy of it, which would be as old as
 * the last installation.
 */
function scriptActions(input: RuntimeInput, program: string, taken: ReadonlySet<string>): readonly ActionParts[] {
  const folder = input.settings.package as string
  return projectScripts(input.source[inSource(folder, 'pyproject.toml')]).map(({ name, module, attribute }) => ({
    name: taken.has(name) ? `script:${name}` : name,
    label: name,
    summary: `Calls ${attribute} of ${module}.`,
    argv: [program, '-c', callScript, name, module, attribute],
  }))
}

const callScript = `import functools, importlib, sys
name, module, attribute = sys.argv[1:4]
sys.argv[:] = [name]
sys.path.insert(0, "src")
sys.exit(functools.reduce(getattr, attribute.split("."), importlib.import_module(module))())
`
