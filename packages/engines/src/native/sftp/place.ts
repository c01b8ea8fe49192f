import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, type Stats } from 'node:fs'

/*
 * Finding a place below the root while a program swaps folders for symbolic links, as `as-user/beneath.ts` does it: every step is
 * taken from a descriptor of the folder before it (`/proc/self/fd/<n>/<name>` is what openat(2) does). Synchronous, because this
 * process serves one session alone and a step costs microseconds. Elsewhere than on Linux each step is checked and then taken.
 */

/** Where something is: a folder that is held, and a name in it. `.` is the folder itself. */
export interface Place {
  readonly name: string
  /** What to give to the functions of `node:fs`. The name is not followed where those do not follow. */
  readonly path: Buffer
  /** From the root on, links resolved. */
  readonly trail: readonly string[]
}

/** A path that leads out of the root. */
export class OutsideError extends Error {
  override readonly name = 'OutsideError'
  readonly code = 'EACCES'
}

export interface Root {
  /** Holds the place while `use` works there. `last`: whether the last name is followed when it is a link. */
  at<T>(path: string, last: 'follow' | 'keep', use: (place: Place) => T): T
}

/** open(2) of Linux, the same number on every architecture that Node runs on: the place of a file, not its content. */
const O_PATH = 0o10000000
const heldByDescriptor = process.platform === 'linux'
const mostLinks = 40
const longestPath = 4096

/** Paths are the client’s: `/` is the root. One that begins with the root’s own path means the same place, as programs in the project see it. */
export function openRoot(root: string): Root {
  const real = Buffer.from(root).toString('latin1').replace(/\/+$/, '')
  const top = enter(Buffer.from(`${root.replace(/\/+$/, '')}`))
  return {
    at(path, last, use) {
      const walk = new Walk(top, real)
      try {
        return use(walk.to(path, last))
      } finally {
        walk.close()
      }
    },
  }
}

/** One way through the tree. It holds the folder where it stands. */
class Walk {
  readonly #top: Folder
  readonly #real: string
  #folder: Folder
  #trail: readonly string[] = []

  constructor(top: Folder, real: string) {
    this.#top = top
    this.#real = real
    this.#folder = top
  }

  to(path: string, last: 'follow' | 'keep'): Place {
    if (path.includes('\0') || path.length > longestPath) throw new OutsideError('a path that cannot be')
    let rest = namesOf(belowRoot(path, this.#real) ?? path)
    for (let followed = 0; ; ) {
      const [name, ...others] = rest
      if (name === undefined) return { name: '.', path: inside(this.#folder, '.'), trail: this.#trail }
      if (name === '..') {
        // Above the root is the root, as in any file system.
        this.#begin(this.#trail.slice(0, -1))
        rest = others
        continue
      }
      const isLast = others.length === 0
      const target = isLast ? (last === 'keep' ? null : linkAt(this.#folder, name)) : this.#step(name)
      if (target !== null) {
        followed += 1
        if (followed > mostLinks) throw Object.assign(new Error('Too many levels of links'), { code: 'ELOOP' })
        rest = [...this.#follow(target), ...others]
        continue
      }
      if (isLast) return { name, path: inside(this.#folder, name), trail: [...this.#trail, name] }
      rest = others
    }
  }

  close(): void {
    if (this.#folder !== this.#top) this.#folder.close()
    this.#folder = this.#top
  }

  /** What is left to walk of a link’s target. */
  #follow(target: string): readonly string[] {
    if (!target.startsWith('/')) {
      const names = namesOf(target)
      if (climbsOut(this.#trail.length, names)) throw new OutsideError('The link leads out of the project')
      return names
    }
    const below = belowRoot(target, this.#real)
    if (below === null) throw new OutsideError('The link leads out of the project')
    this.#begin([])
    return namesOf(below)
  }

  #begin(names: readonly string[]): void {
    this.close()
    this.#trail = []
    for (const name of names) this.#enter(name)
  }

  /** Into a folder; answers the target when a link is there. Most are folders, so that is tried first. */
  #step(name: string): string | null {
    try {
      this.#enter(name)
      return null
    } catch (error) {
      const target = (error as NodeJS.ErrnoException).code === 'ENOTDIR' ? linkAt(this.#folder, name) : null
      if (target === null) throw error
      return target
    }
  }

  #enter(name: string): void {
    const next = enter(inside(this.#folder, name))
    this.close()
    this.#folder = next
    this.#trail = [...this.#trail, name]
  }
}

/** Holds what is there itself, whatever takes its name meanwhile. `path` reaches it for `node:fs`; links are not followed. */
export function pinned<T>(place: Pick<Place, 'path'>, use: (path: string | Buffer, info: Stats) => T): T {
  if (!heldByDescriptor) return use(place.path, lstatSync(place.path))
  const fd = openSync(place.path, O_PATH | constants.O_NOFOLLOW)
  try {
    return use(`/proc/self/fd/${fd}`, fstatSync(fd))
  } finally {
    closeSync(fd)
  }
}

/** The names of a path, without empty ones and `.`. */
export function namesOf(path: string): readonly string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}

/** Where a path of the machine lies below the root; null when it does not. */
export function belowRoot(path: string, real: string): string | null {
  if (path === real) return '/'
  return real !== '' && path.startsWith(`${real}/`) ? path.slice(real.length) : null
}

/** Whether names that are walked from so deep below the root go above it. */
export function climbsOut(depth: number, names: readonly string[]): boolean {
  let at = depth
  for (const name of names) {
    at += name === '..' ? -1 : 1
    if (at < 0) return true
  }
  return false
}

interface Folder {
  readonly path: Buffer
  close(): void
}

function enter(path: Buffer): Folder {
  if (!heldByDescriptor) {
    if (!lstatSync(path).isDirectory()) throw Object.assign(new Error('Not a folder'), { code: 'ENOTDIR' })
    return { path, close: () => {} }
  }
  const fd = openSync(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  return { path: Buffer.from(`/proc/self/fd/${fd}`), close: () => closeSync(fd) }
}

function inside(folder: Folder, name: string): Buffer {
  return Buffer.concat([folder.path, slash, Buffer.from(name, 'latin1')])
}

/** Null for what is no link, or not there yet: whoever goes on is told. An error costs more than the look before. */
function linkAt(folder: Folder, name: string): string | null {
  const path = inside(folder, name)
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return null
  try {
    return readlinkSync(path, 'latin1')
  } catch (error) {
    // It went meanwhile, or became something else.
    if (['EINVAL', 'ENOENT', 'UNKNOWN'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

const slash = Buffer.from('/')
