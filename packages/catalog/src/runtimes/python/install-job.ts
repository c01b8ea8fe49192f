import type { Job } from '@stackquay/engine-api'
import { type RuntimeInput, SettingsError } from '../../entry-types.ts'
import { below, cacheFolder, inSource, installVariables, searchPath } from '../../server-workload.ts'

/** Files that say what is needed, the most exact first. */
export const dependencyFiles = ['uv.lock', 'requirements.txt', 'pyproject.toml', 'setup.py']

/** The project's own virtual environment, one for each release line: its interpreter is a link to the toolchain's. */
export function environmentFolder(input: RuntimeInput): string {
  return `${input.project.toolsPath}/venv-${input.toolchain.version.split('.').slice(0, 2).join('.')}`
}

/** Whether anything at all is to be installed; if not, the toolchain's own interpreter runs the program. */
export function needsEnvironment(input: RuntimeInput, extra: readonly string[]): boolean {
  return extra.length > 0 || dependencyFolder(input) !== null
}

/**
 * Makes the virtual environment and installs into it. One job for both: an environment without its packages, or the other
 * way round, must never count as done. `extra` are packages (a server, a debugger) that the project does not name.
 */
export function installJob(input: RuntimeInput, extra: readonly string[]): Job {
  const folder = dependencyFolder(input)
  const cwd = below(input.project.path, folder ?? '.')
  const venv = environmentFolder(input)
  const missing = extra.filter((name) => !names(input, name))
  const { argv, title } =
    input.settings.packageManager === 'uv'
      ? withUv(input, folder, venv, missing)
      : withPip(input, folder, venv, missing)
  return {
    name: 'install',
    title: `Install dependencies (${title})`,
    argv,
    cwd,
    env: {
      ...installerVariables(input),
      ...installVariables(input.env),
      PATH: searchPath([input.toolchain.directory]),
    },
    timeoutSeconds: 900,
    inputs: [...dependencyFiles, ...includedFiles(input, folder)].map((file) => below(cwd, file)),
    creates: `${venv}/bin/python`,
  }
}

/** pip and uv of a command put things where the job puts them. */
export function installerVariables(input: RuntimeInput): Readonly<Record<string, string>> {
  return {
    PIP_CACHE_DIR: cacheFolder(input, 'pip'),
    UV_CACHE_DIR: cacheFolder(input, 'uv'),
    UV_PROJECT_ENVIRONMENT: environmentFolder(input),
  }
}

function withPip(input: RuntimeInput, folder: string | null, venv: string, extra: readonly string[]) {
  const wanted = [...(folder === null ? [] : pipWords(input, folder)), ...extra]
  const options = ['--disable-pip-version-check', '--no-input']
  return {
    argv: ['/bin/sh', '-c', pipScript, 'install', input.toolchain.program, venv, ...options, ...wanted] as const,
    title: `pip install ${wanted.join(' ')}`,
  }
}

function pipWords(input: RuntimeInput, folder: string): readonly string[] {
  return inSource(folder, 'requirements.txt') in input.source ? ['-r', 'requirements.txt'] : ['.']
}

// A run that was cut off may have left half an environment; one whose pip does not answer is made anew.
const pipScript = `python=$1 venv=$2
shift 2
if ! "$venv/bin/python" -m pip --version > /dev/null 2>&1; then
  rm -rf "$venv"
  if ! "$python" -m venv "$venv"; then
    rm -rf "$venv"
    echo 'Trying virtualenv instead of venv.'
    if ! "$python" -m virtualenv "$venv"; then
      echo "$python can make no virtual environments. Install its module venv (Debian: apt-get install -y python3-venv) and try again." >&2
      exit 1
    fi
  fi
fi
exec "$venv/bin/python" -m pip install "$@"
`

function withUv(input: RuntimeInput, folder: string | null, venv: string, extra: readonly string[]) {
  const uv = input.helpers === undefined ? 'uv' : input.helpers.uv?.program
  if (uv === undefined) {
    throw new SettingsError(
      'packageManager',
      'uv is not installed on this machine.',
      'Install it (docs.astral.sh/uv), or set "packageManager" to "pip".',
    )
  }
  const isLocked = folder !== null && inSource(folder, 'uv.lock') in input.source
  const wanted = folder === null || isLocked ? [] : pipWords(input, folder)
  const script = isLocked ? uvSyncScript : uvPipScript
  return {
    argv: ['/bin/sh', '-c', script, 'install', uv, input.toolchain.program, venv, ...wanted, ...extra] as const,
    title: isLocked ? 'uv sync' : `uv pip install ${[...wanted, ...extra].join(' ')}`,
  }
}

const uvPipScript = `set -eu
uv=$1 python=$2 venv=$3
shift 3
[ -x "$venv/bin/python" ] || "$uv" venv --clear --python "$python" "$venv"
exec "$uv" pip install --python "$venv/bin/python" "$@"
`

const uvSyncScript = `set -eu
uv=$1 python=$2 venv=$3
shift 3
"$uv" sync --frozen --python "$python"
[ $# -eq 0 ] || exec "$uv" pip install --python "$venv/bin/python" "$@"
`

/** The package's own folder, else the project's. */
export function dependencyFolder(input: RuntimeInput): string | null {
  const folders = [input.settings.package as string, '.']
  return folders.find((folder) => dependencyFiles.some((file) => inSource(folder, file) in input.source)) ?? null
}

/**
 * Whether the project asks for a package itself, perhaps in a version of its choice. Other files do not count, whoever has
 * asked for them: server and commands must come to the same job.
 */
function names(input: RuntimeInput, name: string): boolean {
  const word = new RegExp(`(^|[\\s"'\\[,=])${name}([\\s"'\\[\\]<>=!~;,]|$)`, 'im')
  return Object.entries(input.source).some(
    ([file, text]) =>
      typeof text === 'string' && dependencyFiles.includes(file.slice(file.lastIndexOf('/') + 1)) && word.test(text),
  )
}

/** `-r base.txt` and `-c constraints.txt` inside requirements.txt. */
function includedFiles(input: RuntimeInput, folder: string | null): readonly string[] {
  const text = input.source[inSource(folder ?? '.', 'requirements.txt')]
  if (typeof text !== 'string') return []
  const included = text.matchAll(/^[ \t]*(?:-r|--requirement|-c|--constraint)[ \t=]+([^\s#]+)/gm)
  return [...included].flatMap(([, file]) => (file === undefined || /^\/|:\/\/|\.\./.test(file) ? [] : [file]))
}
