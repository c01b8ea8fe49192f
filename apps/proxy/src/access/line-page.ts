/** Lines of access logs with what is counted of each, in the order in which they came, whichever projects they belong to. */
export interface Lines {
  /** For each line: `@`, the id of its project, a line feed, and the line with its own. */
  readonly bytes: Buffer
  /** For each line six numbers: where it begins and ends in `bytes`, milliseconds since 1970, status, seconds, bytes. */
  readonly facts: Float64Array
}

export const factsOfLine = 6
/** The lines themselves are JSON objects and begin with a brace. */
export const projectMark = '@'
export const linesOfPage = 2_048

/**
 * Memory in which lines gather. All that a request does is to add to its end, so a thousand busy projects cost it no more
 * than ten: what is kept for each project is in no cache of the processor when its next line comes.
 */
export class LinePage implements Lines {
  /** More than what is in use. */
  readonly memory: Buffer
  readonly numbers = new Float64Array(linesOfPage * factsOfLine)
  #size = 0
  #count = 0

  constructor(bytes: number) {
    this.memory = Buffer.allocUnsafeSlow(bytes)
  }

  /** The lines that are there now. */
  get bytes(): Buffer {
    return this.memory.subarray(0, this.#size)
  }

  get facts(): Float64Array {
    return this.numbers.subarray(0, this.#count * factsOfLine)
  }

  /** Ids are ASCII. Answers how many bytes it took; 0: it is full. */
  add(project: string, line: string, time: number, status: number, seconds: number, bytes: number): number {
    const text = `${projectMark}${project}\n${line}`
    // Of UTF-8 it is at most three bytes for each unit of a string.
    if (this.#count === linesOfPage || this.#size + text.length * 3 > this.memory.length) return 0
    const taken = this.memory.write(text, this.#size)
    const numbers = this.numbers
    const at = this.#count * factsOfLine
    numbers[at] = this.#size + project.length + 2
    numbers[at + 1] = this.#size + taken
    numbers[at + 2] = time
    numbers[at + 3] = status
    numbers[at + 4] = seconds
    numbers[at + 5] = bytes
    this.#size += taken
    this.#count += 1
    return taken
  }

  /** The same for many. */
  addLines({ bytes, facts }: Lines): number {
    const count = facts.length / factsOfLine
    if (this.#count + count > linesOfPage || this.#size + bytes.length > this.memory.length) return 0
    this.memory.set(bytes, this.#size)
    const from = this.#count * factsOfLine
    this.numbers.set(facts, from)
    for (let at = from; at < from + facts.length; at += factsOfLine) {
      this.numbers[at]! += this.#size
      this.numbers[at + 1]! += this.#size
    }
    this.#size += bytes.length
    this.#count += count
    return bytes.length
  }

  clear(): void {
    this.#size = 0
    this.#count = 0
  }
}
