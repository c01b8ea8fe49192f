import { ProblemError } from '@stackquay/contract'
import type { LiveProgram } from '@stackquay/domain'
import { outputOf, type ProgramDeps } from '../backups/data-programs.ts'

/** Data that is held, by the program of its type, while its files are copied. */
export interface HeldData {
  /** All but what is copied later is there. Answers the files that belong into the copy. */
  files(): Promise<Readonly<Record<string, string>>>
  /** Lets it go; the copy is whole only when this has succeeded. */
  finish(): Promise<void>
  /** Lets it go, whatever becomes of it. */
  abandon(): Promise<void>
}

/** Resolves when the files may be copied. */
export async function holdData(
  { program, project, title }: { readonly program: LiveProgram; readonly project: string; readonly title: string },
  deps: ProgramDeps,
  signal: AbortSignal,
): Promise<HeldData> {
  const input = createInput()
  const left = new AbortController()
  const until = AbortSignal.any([signal, left.signal])
  const failed = (_code: number | null, words: string) =>
    new ProblemError('job_failed', `${title} could not be held for a copy: ${words.split('\n').at(-1) ?? ''}`, {
      hint: 'Look at its log. Stop it, and its data is copied without that.',
    })
  const { leftOut: _leftOut, later: _later, ...run } = program
  const lines = linesOf(outputOf(run, { project, input: input.chunks(), failed }, deps, until))
  const line = async () => {
    const next = await lines.next()
    if (next.done === true) throw failed(null, 'its program ended early')
    return next.value
  }
  const abandon = async () => {
    input.end()
    // Ended the hard way where it has not ended: who waits for its next line would wait on.
    left.abort()
    await lines.return().catch(() => undefined)
  }
  try {
    if ((await within(line(), () => failed(null, 'it was not ready in time'))) !== 'ready')
      throw failed(null, 'its program said something that is not known')
  } catch (error) {
    await abandon()
    throw error
  }
  return {
    files: async () => {
      input.write('copied\n')
      return filesIn(await line(), failed)
    },
    finish: async () => {
      input.end()
      while ((await lines.next()).done !== true) {
        // To its end, which tells of a failure.
      }
    },
    abandon,
  }
}

/** A checkpoint of a busy server takes its time. */
const readyMs = 600_000
const mostLine = 1 << 20

async function within<T>(promise: Promise<T>, late: () => Error): Promise<T> {
  promise.catch(() => undefined)
  const { promise: isLate, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late()), readyMs)
  return Promise.race([promise, isLate]).finally(() => clearTimeout(timer))
}

function filesIn(text: string, failed: (code: null, words: string) => ProblemError): Readonly<Record<string, string>> {
  try {
    const found: unknown = JSON.parse(text)
    if (typeof found === 'object' && found !== null && Object.values(found).every((one) => typeof one === 'string'))
      return found as Record<string, string>
  } catch {
    // Said below.
  }
  throw failed(null, 'its program did not say which files belong into the copy')
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string, void, void> {
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + chunk.toString('utf8')).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > mostLine) throw new RangeError('The program that holds the data printed too much.')
    yield* lines
  }
  if (rest !== '') yield rest
}

/** What a program reads, said bit by bit. */
function createInput() {
  const waiting: Buffer[] = []
  let isOver = false
  let wake = () => {}
  return {
    write: (text: string) => {
      waiting.push(Buffer.from(text))
      wake()
    },
    end: () => {
      isOver = true
      wake()
    },
    async *chunks(): AsyncGenerator<Buffer> {
      for (;;) {
        const next = waiting.shift()
        if (next !== undefined) yield next
        else if (isOver) return
        else
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      }
    },
  }
}
