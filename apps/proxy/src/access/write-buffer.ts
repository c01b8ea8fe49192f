import { setImmediate as breathe } from 'node:timers/promises'
import { factsOfLine, LinePage, type Lines, linesOfPage } from './line-page.ts'

/** Lines that wait to be written: in order of arrival while they wait, by project when they are taken. */
export interface WriteBuffer {
  /** Bytes of what waits and was not taken. */
  readonly waiting: number
  /** False: too much waits or is being written, and the line is lost. */
  add(project: string, line: string, time: number, status: number, seconds: number, bytes: number): boolean
  /** The same for lines that gathered in another process, no more than a page of this one holds. */
  addLines(lines: Lines): boolean
  /** The bytes of what waits that came since this was asked last. */
  fresh(): readonly Buffer[]
  /** Puts in order what waits. It goes on waiting, but for what is taken out of it. */
  sort(): Promise<Batch>
  /** All that waits, in order. Later lines wait for the next batch. */
  take(): Promise<Batch>
  /** Gives back memory that the last batch did not need. */
  trim(): void
}

/** Lines by project. One at a time is worked on. */
export interface Batch {
  readonly projects: readonly string[]
  /** The lines of one project as they are written, each once, and how many; `count` gets what is counted of each. */
  takeOut(project: string, count: CountLine, scratch: Scratch): { readonly bytes: Buffer; readonly count: number }
  /** All of them are written or lost. */
  release(): void
}

/** Where lines are brought together: used again for the next project, when those of the one before are written. */
export interface Scratch {
  memory: Buffer
}

export function createScratch(): Scratch {
  return { memory: Buffer.alloc(0) }
}

export type CountLine = (time: number, status: number, seconds: number, bytes: number) => void

/** A line takes a small part of it. */
const pageBytes = 256 * 1024

/** At most so many bytes, give or take a page. */
export function createWriteBuffer(most: number): WriteBuffer {
  const free: LinePage[] = []
  let open = new Heap()
  let taken = 0
  let lastNeeded = 1

  const hasRoom = () => open.size + taken < most
  const nextPage = () => {
    const page = free.pop() ?? new LinePage(pageBytes)
    open.pages.push(page)
    return page
  }

  return {
    get waiting() {
      return open.size
    },
    add(project, line, time, status, seconds, bytes) {
      if (!hasRoom()) return false
      const size = open.pages.at(-1)?.add(project, line, time, status, seconds, bytes) ?? 0
      open.size += size === 0 ? nextPage().add(project, line, time, status, seconds, bytes) : size
      return true
    },
    addLines(lines) {
      if (!hasRoom()) return false
      const size = open.pages.at(-1)?.addLines(lines) ?? 0
      open.size += size === 0 ? nextPage().addLines(lines) : size
      return true
    },
    fresh: () => open.fresh(),
    async sort() {
      const heap = open
      await heap.sort()
      return { projects: heap.projects, takeOut: (...asked) => heap.takeOut(...asked), release: () => {} }
    },
    async take() {
      const heap = open
      open = new Heap()
      taken += heap.size
      await heap.sort()
      return {
        projects: heap.projects,
        takeOut: (...asked) => heap.takeOut(...asked),
        release() {
          taken -= heap.size
          lastNeeded = heap.pages.length
          for (const page of heap.pages) page.clear()
          free.push(...heap.pages)
        },
      }
    },
    trim() {
      free.splice(lastNeeded)
      lastNeeded = 1
    },
  }
}

/** The pages of one batch. */
class Heap {
  readonly pages: LinePage[] = []
  size = 0
  /** Of each project the numbers of its lines, counted over all pages. */
  readonly #places = new Map<string, number[]>()
  #sorted = { page: 0, line: 0 }
  #reported = { page: 0, bytes: 0 }

  get projects(): readonly string[] {
    return [...this.#places.keys()]
  }

  fresh(): readonly Buffer[] {
    const { page, bytes } = this.#reported
    const chunks = this.pages.slice(page).map((one, index) => one.bytes.subarray(index === 0 ? bytes : 0))
    this.#reported = { page: Math.max(0, this.pages.length - 1), bytes: this.pages.at(-1)?.bytes.length ?? 0 }
    return chunks
  }

  /** A page at a time, because requests wait meanwhile. */
  async sort(): Promise<void> {
    for (;;) {
      const { page, line } = this.#sorted
      const lines = this.pages[page]
      if (lines === undefined) return
      const count = this.#sortPage(page, lines, line)
      const isLast = page === this.pages.length - 1
      this.#sorted = isLast ? { page, line: count } : { page: page + 1, line: 0 }
      if (isLast) return
      await breathe()
    }
  }

  #sortPage(page: number, { bytes, facts }: Lines, from: number): number {
    const count = facts.length / factsOfLine
    for (let line = from; line < count; line += 1) {
      const at = line * factsOfLine
      const before = line === 0 ? 0 : facts[at - factsOfLine + 1]!
      const project = bytes.toString('latin1', before + 1, facts[at]! - 1)
      const places = this.#places.get(project)
      const place = page * linesOfPage + line
      if (places === undefined) this.#places.set(project, [place])
      else places.push(place)
    }
    return count
  }

  takeOut(project: string, count: CountLine, scratch: Scratch): { readonly bytes: Buffer; readonly count: number } {
    const places = this.#places.get(project) ?? []
    this.#places.delete(project)
    let size = 0
    for (const place of places) {
      const { numbers } = this.pages[Math.floor(place / linesOfPage)]!
      const at = (place % linesOfPage) * factsOfLine
      size += numbers[at + 1]! - numbers[at]!
    }
    if (size > scratch.memory.length) scratch.memory = Buffer.allocUnsafeSlow(size * 2)
    const gathered = scratch.memory.subarray(0, size)
    let to = 0
    for (const place of places) {
      const { memory, numbers } = this.pages[Math.floor(place / linesOfPage)]!
      const at = (place % linesOfPage) * factsOfLine
      to += memory.copy(gathered, to, numbers[at], numbers[at + 1])
      count(numbers[at + 2]!, numbers[at + 3]!, numbers[at + 4]!, numbers[at + 5]!)
    }
    return { bytes: gathered, count: places.length }
  }
}
