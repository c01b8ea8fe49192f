import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ContainerFacts } from '@stackquay/domain'
import type { Accounts } from '@stackquay/engines'
import { nobody } from '../isolation/nobody.ts'

/** Where the Dockerfiles of ours lie, a folder each. */
const imagesFolder = fileURLToPath(new URL('../../../../images', import.meta.url))

export interface ContainerFactsOptions {
  readonly home: string
  /** Whom the files of projects belong to. */
  readonly accounts: Pick<Accounts, 'known'>
  /** What takes the place of an image of the catalogue. */
  readonly imageOf: (reference: string) => string
  /** The Node that runs programs of ours. */
  node(): string
}

/** What a project of an engine of images is made of, besides itself. */
export function createContainerFacts({
  home,
  accounts,
  imageOf,
  node,
}: ContainerFactsOptions): (project: string, pinned: ContainerFacts['pinned']) => ContainerFacts {
  const hashes = new Map<string, string>()
  const hashOf = (name: string) => {
    const known = hashes.get(name)
    if (known !== undefined) return known
    const hash = folderHash(join(imagesFolder, name))
    hashes.set(name, hash)
    return hash
  }
  const programs = join(home, 'toolchains', 'programs')
  makeFolder(programs)
  const userOf = (project: string) => {
    const account = accounts.known(project)
    // Only planned: before it is started it gets a user.
    if (account === undefined) return nobody
    return account ?? { uid: process.getuid?.() ?? 1000, gid: process.getgid?.() ?? 1000 }
  }
  return (project, pinned) => ({
    user: `${userOf(project).uid}:${userOf(project).gid}`,
    image: imageOf,
    ours: (name, base) => {
      const hash = createHash('sha256')
        .update(`${base}\n${hashOf(name)}`)
        .digest('hex')
        .slice(0, 12)
      return { folder: join(imagesFolder, name), tag: `stackquay/${name}:${tagOf(base)}-${hash}` }
    },
    pinned,
    programs: [programs, dirname(node())],
  })
}

/**
 * A container cannot be given a folder that is not there; the first program may come later. What cannot be made keeps those
 * from starting that need it, not the instance.
 */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o755 })
  } catch {}
}

/** The tag of a base, for people; what a digest or a registry's port would spoil is left out. */
function tagOf(base: string): string {
  const last = base.split('/').at(-1) ?? base
  return (last.split('@')[0]?.split(':')[1] ?? 'latest').replace(/[^\w.-]/g, '-').slice(0, 60)
}

function folderHash(folder: string): string {
  const hash = createHash('sha256')
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }).sort(byPath)) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    const content = readFileSync(path)
    hash.update(`${path.slice(folder.length)}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

function byPath(a: { parentPath: string; name: string }, b: { parentPath: string; name: string }): number {
  return join(a.parentPath, a.name) < join(b.parentPath, b.name) ? -1 : 1
}
