import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { programFile, programPackages } from '@stackquay/catalog/folders'

/** Programs of ours that workloads run, where the unprivileged user can read them whatever folder the service was cloned into. */
export interface OurPrograms {
  file(name: string): string
}

/** Of the catalogue, what is asked here. */
export interface ProgramSource {
  file(name: string): string
  packages(name: string): readonly string[]
}

/**
 * A program may import the modules beside it, so all of its folder goes along, with the packages it names and all they depend
 * on. Folders are named by their content.
 */
export function createOurPrograms(
  home: string,
  source: ProgramSource = { file: programFile, packages: programPackages },
): OurPrograms {
  const copied = new Map<string, string>()
  return {
    file: (name) => {
      const known = copied.get(name)
      if (known !== undefined) return known
      const program = source.file(name)
      const packages = placePackages(dirname(program), source.packages(name), `The program "${name}"`)
      const file = join(bring(dirname(program), packages, join(home, 'toolchains', 'programs')), basename(program))
      copied.set(name, file)
      return file
    },
  }
}

export interface PlacedPackage {
  /** Where it is installed. */
  readonly folder: string
  /** Where its copy goes, relative to the program: `node_modules/a`, `node_modules/b/node_modules/a` for another version. */
  readonly place: string
  readonly version: string
}

/**
 * Places for the packages that `folder` finds under these names, and for all they depend on, so that each finds the version it
 * finds now, wherever the package manager has put it. Throws, naming what to install, when one is missing.
 */
export function placePackages(folder: string, names: readonly string[], who: string): readonly PlacedPackage[] {
  const placed = new Map<string, PlacedPackage>()

  /** Of a package at `place`, what it finds: the nearest `node_modules` at its own place or above holds it. */
  function visible(name: string, place: string): PlacedPackage | undefined {
    for (let at = place; ; at = at.slice(0, Math.max(at.lastIndexOf('/node_modules/'), 0))) {
      const found = placed.get(at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`)
      if (found !== undefined || at === '') return found
    }
  }

  // All that a package needs has its place before what those need has: a place inside a package is filled by it alone, so
  // nothing comes between a package and what was found for it earlier.
  function provide(needs: readonly string[], from: string, place: string, needer: string): void {
    const added: { found: PlacedPackage; needs: readonly string[] }[] = []
    for (const name of needs) {
      const installed = installedFolder(name, from)
      if (installed === null) {
        throw new Error(
          `${needer} needs the package "${name}", which is not installed. Run "npm ci" in the service's folder.`,
        )
      }
      const seen = visible(name, place)
      if (seen?.folder === installed) continue
      const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as Manifest
      const inside = seen === undefined || place === '' ? '' : `${place}/`
      const found = { folder: installed, place: `${inside}node_modules/${name}`, version: manifest.version ?? '' }
      placed.set(found.place, found)
      added.push({ found, needs: Object.keys(manifest.dependencies ?? {}).sort() })
    }
    for (const { found, needs } of added) provide(needs, found.folder, found.place, `The package "${found.folder}"`)
  }

  provide([...names].sort(), folder, '', who)
  return [...placed.values()].sort((a, b) => (a.place < b.place ? -1 : 1))
}

interface Manifest {
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

/** As Node looks for it: in `node_modules` of the folder and of each above. Symbolic links (workspaces) are followed. */
export function installedFolder(name: string, from: string): string | null {
  for (let folder = realpathSync(from); ; folder = dirname(folder)) {
    const candidate = join(folder, 'node_modules', name)
    if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate)
    if (folder === dirname(folder)) return null
  }
}

function bring(folder: string, packages: readonly PlacedPackage[], to: string): string {
  const modules = readdirSync(folder)
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => ({ name, content: readFileSync(join(folder, name)) }))
  // A package.json of its own keeps Node from looking for one in folders above, which the user may not read.
  modules.push({ name: 'package.json', content: Buffer.from('{"type":"module"}\n') })
  const hash = createHash('sha256')
  for (const { name, content } of modules) hash.update(`${name}\0${content.length}\0`).update(content)
  for (const { place, version } of packages) hash.update(`${place}\0${version}\0`)
  const target = join(to, hash.digest('hex').slice(0, 12))
  if (existsSync(target)) return target
  const temporary = `${target}.${process.pid}`
  rmSync(temporary, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  for (const path of [dirname(to), to]) chmodSync(path, 0o755)
  makeFolder(temporary)
  for (const { name, content } of modules) {
    writeFileSync(join(temporary, name), content)
    chmodSync(join(temporary, name), 0o644)
  }
  for (const { folder: installed, place } of packages) copyPackage(installed, temporary, place)
  try {
    renameSync(temporary, target)
  } catch (error) {
    // Another process of the service brought the same at the same time.
    rmSync(temporary, { recursive: true, force: true })
    if (!existsSync(target)) throw error
  }
  return target
}

/** Packages inside it have places of their own. */
export function copyPackage(folder: string, root: string, place: string): void {
  let path = root
  for (const part of place.split('/')) {
    path = join(path, part)
    makeFolder(path)
  }
  copyFolder(folder, path)
}

function copyFolder(from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory() && entry.name !== 'node_modules') {
      makeFolder(target)
      copyFolder(source, target)
    } else if (entry.isFile() && !isForReaders.test(entry.name)) bringFile(source, target)
  }
}

/** Types, maps and texts: no program loads them, and they are half of all files. */
const isForReaders = /\.([cm]?ts|map|md|markdown|flow)$/i

/**
 * As another name of the same file where that is possible and everybody may read it: a thousand copies keep the service from all else
 * for a second. A package manager replaces files, so that what was brought stays as it was.
 */
function bringFile(source: string, target: string): void {
  if ((statSync(source).mode & 0o777) === 0o644) {
    try {
      linkSync(source, target)
      return
    } catch {
      // Another file system, or another's file.
    }
  }
  copyFileSync(source, target)
  chmodSync(target, 0o644)
}

/** Readable for every user of the machine, whatever the umask. */
export function makeFolder(path: string): void {
  mkdirSync(path, { recursive: true })
  chmodSync(path, 0o755)
}
