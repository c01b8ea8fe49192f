import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  copyPackage,
  installedFolder,
  makeFolder,
  type PlacedPackage,
  placePackages,
} from './catalogue/our-programs.ts'

/** The package that the service itself was installed with. */
const installed = dirname(dirname(fileURLToPath(import.meta.resolve('@stackquay/proxy/control'))))

/**
 * The proxy's program where the proxy's user can read it, whatever folder the service was installed into: a copy in the home
 * with the packages it needs. The folder is named by its content. Answers its `main.ts`.
 */
export function bringProxyProgram(home: string, from: string = installed): string {
  const files = sourceFiles(from)
  const packages = packagesOf(from)
  const to = join(home, 'toolchains', 'programs')
  const target = join(to, `proxy-${nameOf(from, files, packages)}`)
  const main = join(target, 'src', 'main.ts')
  if (existsSync(main)) return main

  const draft = `${target}.${process.pid}`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  for (const path of [dirname(to), to]) chmodSync(path, 0o755)
  makeFolder(draft)
  for (const file of files) {
    makeFolder(dirname(join(draft, file)))
    copyFileSync(join(from, file), join(draft, file))
    chmodSync(join(draft, file), 0o644)
  }
  for (const { folder, place } of packages) copyPackage(folder, draft, place)
  try {
    renameSync(draft, target)
  } catch (error) {
    // Another process of the service brought the same at the same time.
    rmSync(draft, { recursive: true, force: true })
    if (!existsSync(main)) throw error
  }
  return main
}

/** Its source and its `package.json`, which says that it consists of modules. */
function sourceFiles(from: string): readonly string[] {
  const source = readdirSync(join(from, 'src'), { recursive: true, encoding: 'utf8' })
  const modules = source.filter((name) => name.endsWith('.ts')).map((name) => join('src', name))
  return [...modules, 'package.json'].sort()
}

/** A native package has one for each platform beside it; those that were installed here are needed. */
function packagesOf(from: string): readonly PlacedPackage[] {
  const needed = Object.keys(manifestOf(from).dependencies ?? {})
  const platforms = needed.flatMap((name) => {
    const folder = installedFolder(name, from)
    const optional = folder === null ? [] : Object.keys(manifestOf(folder).optionalDependencies ?? {})
    return optional.filter((one) => installedFolder(one, folder!) !== null)
  })
  return placePackages(from, [...needed, ...platforms], 'The proxy')
}

function nameOf(from: string, files: readonly string[], packages: readonly PlacedPackage[]): string {
  const hash = createHash('sha256')
  for (const file of files) {
    const content = readFileSync(join(from, file))
    hash.update(`${file}\0${content.length}\0`).update(content)
  }
  for (const { place, version } of packages) hash.update(`${place}\0${version}\0`)
  return hash.digest('hex').slice(0, 12)
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}
