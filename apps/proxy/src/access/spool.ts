import { setImmediate as breath } from 'node:timers/promises'
import { factsOfLine, type Lines, linesOfSheet, Sheet } from './sheet.ts'

/** Lines that wait to be written: in order of arrival while they wait, by project when they are taken. */
export interface Spool {
  /** Bytes of what waits and was not taken. */
  readonly waiting: number
  /** False: too much waits or is being written, and the line is lost. */
  add(project: string, line: string, time: number, status: number, seconds: number, bytes: number): boolean
  /** The same for lines that gathered in another process, no more than a sheet of this one holds. */
  addLines(lines: Lines): boolean
  /** The bytes of what waits that came since this was asked last. */
  fresh(): readonly Buffer[]
  /** Puts in order what waits. It goes on waiting, but for what is taken out of it. */
  sort(): Promise<Batch>
  /** What waits, in order. What comes from now on waits for the next batch. */
  take(): Promise<Batch>
  /** Gives back memory that the last batch did not need. */
  trim(): void
}

/** Lines by project. One at a time is worked on. */
export interface Batch {
  readonly projects: readonly string[]
  /** The lines of one project as they are written, each once, and how many; `tell` hears what is counted of each. */
  takeOut(project: string, tell: TellLine, room: Room): { readonly bytes: Buffer; readonly count: number }
  /** All of them are written or lost. */
  release(): void
}

/** Where lines are brought together: used again for the next project, when those of the one before are written. */
export interface Room {
  memory: Buffer
}

export function createRoom(): Room {
  return { memory: Buffer.alloc(0) }
}

export type TellLine = (time: number, status: number, seconds: number, bytes: number) => void

/** A line takes a small part of it. */
const sheetBytes = 256 * 1024

/** At most so many bytes, give or take a sheet. */
export function createSpool(most: number): Spool {
  const free: Sheet[] = []
  let open = new Heap()
  let taken = 0
  let lastNeeded = 1

  const hasRoom = () => open.size + taken < most
  const nextSheet = () => {
    const sheet = free.pop() ?? new Sheet(sheetBytes)
    open.sheets.push(sheet)
    return sheet
  }

  return {
    get waiting() {
      return open.size
    },
    add(project, line, time, status, seconds, bytes) {
      if (!hasRoom()) return false
      const size = open.sheets.at(-1)?.add(project, line, time, status, seconds, bytes) ?? 0
      open.size += size === 0 ? nextSheet().add(project, line, time, status, seconds, bytes) : size
      return true
    },
    addLines(lines) {
      if (!hasRoom()) return false
      const size = open.sheets.at(-1)?.addLines(lines) ?? 0
      open.size += size === 0 ? nextSheet().addLines(lines) : size
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
          lastNeeded = heap.sheets.length
          for (const sheet of heap.sheets) sheet.clear()
          free.push(...heap.sheets)
        },
      }
    },
    trim() {
      free.splice(lastNeeded)
      lastNeeded = 1
    },
  }
}

/** The sheets of one batch. */
class Heap {
  readonly sheets: Sheet[] = []
  size = 0
  /** Of each project the numbers of its lines, counted over all sheets. */
  readonly #places = new Map<string, number[]>()
  #sorted = { sheet: 0, line: 0 }
  #told = { sheet: 0, bytes: 0 }

  get projects(): readonly string[] {
    return [...this.#places.keys()]
  }

  fresh(): readonly Buffer[] {
    const { sheet, bytes } = this.#told
    const pieces = this.sheets.slice(sheet).map((one, index) => one.bytes.subarray(index === 0 ? bytes : 0))
    this.#told = { sheet: Math.max(0, this.sheets.length - 1), bytes: this.sheets.at(-1)?.bytes.length ?? 0 }
    return pieces
  }

  /** A sheet at a time, because requests wait meanwhile. */
  async sort(): Promise<void> {
    for (;;) {
      const { sheet, line } = this.#sorted
      const lines = this.sheets[sheet]
      if (lines === undefined) return
      const count = this.#sortSheet(sheet, lines, line)
      const isLast = sheet === this.sheets.length - 1
      this.#sorted = isLast ? { sheet, line: count } : { sheet: sheet + 1, line: 0 }
      if (isLast) return
      await breath()
    }
  }

  #sortSheet(sheet: number, { bytes, facts }: Lines, from: number): number {
    const count = facts.length / factsOfLine
    for (let line = from; line < count; line += 1) {
      const at = line * factsOfLine
      const before = line === 0 ? 0 : facts[at - factsOfLine + 1]!
      const project = bytes.toString('latin1', before + 1, facts[at]! - 1)
      const places = this.#places.get(project)
      const place = sheet * linesOfSheet + line
      if (places === undefined) this.#places.set(project, [place])
      else places.push(place)
    }
    return count
  }

  takeOut(project: string, tell: TellLine, room: Room): { readonly bytes: Buffer; readonly count: number } {
    const places = this.#places.get(project) ?? []
    this.#places.delete(project)
    let size = 0
    for (const place of places) {
      const { numbers } = this.sheets[Math.floor(place / linesOfSheet)]!
      const at = (place % linesOfSheet) * factsOfLine
      size += numbers[at + 1]! - numbers[at]!
    }
    if (size > room.memory.length) room.memory = Buffer.allocUnsafeSlow(size * 2)
    const gathered = room.memory.subarray(0, size)
    let to = 0
    for (const place of places) {
      const { memory, numbers } = this.sheets[Math.floor(place / linesOfSheet)]!
      const at = (place % linesOfSheet) * factsOfLine
      to += memory.copy(gathered, to, numbers[at], numbers[at + 1])
      tell(numbers[at + 2]!, numbers[at + 3]!, numbers[at + 4]!, numbers[at + 5]!)
    }
    return { bytes: gathered, count: places.length }
  }
}
