import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Real projects with a failing test each: what generators and package registries give, and a line that breaks one. */

const run = promisify(execFile)
const cache = fileURLToPath(new URL('../../.cache/real-suites', import.meta.url))

/**
 * A folder that is made once in this working copy, because its packages take their time; `recipe` names its content. Made
 * beside its place and moved there whole, so that a run that was cut off leaves no half of it.
 */
export async function prepared(name: string, recipe: string, make: (path: string) => Promise<void>): Promise<string> {
  const path = join(cache, `${name}-${createHash('sha256').update(recipe).digest('hex').slice(0, 12)}`)
  if (existsSync(path)) return path
  await mkdir(cache, { recursive: true })
  const beside = await mkdtemp(join(cache, 'making-'))
  try {
    await make(beside)
    await rename(beside, path).catch((error: unknown) => {
      // Another run was quicker.
      if (!existsSync(path)) throw error
    })
  } finally {
    await rm(beside, { recursive: true, force: true })
  }
  return path
}

/** A temporary folder with these files. */
export async function projectOf(files: Readonly<Record<string, string>>): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'stackquay-suite-'))
  await putFiles(path, files)
  return path
}

export async function putFiles(path: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), { recursive: true })
    await writeFile(join(path, name), text)
  }
}

export async function command(
  program: string,
  args: readonly string[],
  cwd: string,
  env: object = {},
): Promise<string> {
  const { stdout } = await run(program, args, {
    cwd,
    env: { ...process.env, ...env } as NodeJS.ProcessEnv,
    maxBuffer: 64 << 20,
    timeout: 280_000,
  })
  return stdout
}

/** The project that `create-vue` makes with Vite and Vitest, its packages installed. */
export function vueProject(): Promise<string> {
  const generator = `create-vue@${createVue}`
  return prepared('vue', `${generator} 1`, async (path) => {
    // npm works in the nearest folder that has one.
    await writeFile(join(path, 'package.json'), '{}')
    await command('npm', ['exec', '--yes', '--', generator, 'app', '--ts', '--vitest', '--force'], path)
    await cp(join(path, 'app'), path, { recursive: true })
    await rm(join(path, 'app'), { recursive: true })
    // The generator asks for what builds and shows the page too; its test needs less.
    const file = join(path, 'package.json')
    const json = JSON.parse(await readFile(file, 'utf8')) as { devDependencies: Record<string, string> }
    for (const name of ['vue-tsc', 'npm-run-all2', '@types/jsdom', '@types/node']) delete json.devDependencies[name]
    await writeFile(file, JSON.stringify(json, null, 2))
    await npmInstall(path)
  })
}

export function npmProject(name: string, packageJson: object): Promise<string> {
  const text = JSON.stringify(packageJson, null, 2)
  return prepared(name, text, async (path) => {
    await writeFile(join(path, 'package.json'), text)
    await npmInstall(path)
  })
}

async function npmInstall(path: string): Promise<void> {
  await command('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'], path)
}

/** A virtual environment; answers its folder. */
export async function pythonPackages(packages: readonly string[]): Promise<string> {
  // Its scripts know their own path, so it is made where it stays, and a file says that it is whole.
  const path = await prepared('venv', packages.join(' '), async () => {})
  if (existsSync(join(path, 'whole'))) return path
  await command(systemPython, ['-m', 'venv', path], path)
  await command(
    join(path, 'bin/python'),
    ['-m', 'pip', 'install', '-q', '--disable-pip-version-check', ...packages],
    path,
  )
  await writeFile(join(path, 'whole'), '')
  return path
}

/** The one that every user can run: another in front of it in PATH may be private to root. */
const systemPython = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3'

/** A copy of a public Go module, with files replaced. */
export async function goModule(module: string, change: (path: string) => Promise<void>): Promise<string> {
  const env = goVariables()
  await mkdir(cache, { recursive: true })
  const json = await command('go', ['mod', 'download', '-json', module], cache, env)
  const path = await mkdtemp(join(tmpdir(), 'stackquay-suite-'))
  await cp((JSON.parse(json) as { Dir: string }).Dir, path, { recursive: true })
  await change(path)
  return path
}

export function goVariables(): Readonly<Record<string, string>> {
  return {
    GOMODCACHE: join(cache, 'go-modules'),
    GOCACHE: join(cache, 'go-build'),
    GOFLAGS: '-buildvcs=false -modcacherw',
    GOTOOLCHAIN: 'local',
  }
}

/** Makes one text of a file another; the file must have it. */
export async function broken(path: string, text: string, by: string): Promise<void> {
  const before = await readFile(path, 'utf8')
  if (!before.includes(text)) throw new Error(`${path} has no "${text}".`)
  await writeFile(path, before.replace(text, by))
}

export const createVue = '3.24.0'
