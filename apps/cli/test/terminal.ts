import { PassThrough } from 'node:stream'
import { createProgram } from '../src/program.ts'

export interface TerminalRun {
  readonly stdout: string
  readonly stderr: string
  readonly error: unknown
}

/**
 * Runs a command in this process as on a terminal: colours off, and each answer typed when its question stands there.
 * Ctrl-C comes when `interruptAt` was asked.
 */
export async function onTerminal(
  args: readonly string[],
  {
    url,
    answers = {},
    interruptAt,
  }: { readonly url: string; readonly answers?: Readonly<Record<string, string>>; readonly interruptAt?: string },
): Promise<TerminalRun> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true })
  const written = { stdout: '', stderr: '' }
  const interrupt = new AbortController()
  const left = new Map(Object.entries(answers))
  const stream = (name: 'stdout' | 'stderr') => {
    const target = Object.assign(new PassThrough(), { isTTY: true, columns: 100 })
    target.setEncoding('utf8').on('data', (text: string) => {
      written[name] += text
      if (interruptAt !== undefined && written.stderr.includes(interruptAt)) interrupt.abort()
      for (const [question, answer] of left) {
        if (!written.stderr.includes(question)) continue
        left.delete(question)
        stdin.write(`${answer}\r`)
      }
    })
    return target
  }
  const program = createProgram({
    env: { STACKQUAY_URL: url, STACKQUAY_TOKEN: 'stq_test', NO_COLOR: '1', HOME: '/nonexistent' },
    cwd: '/',
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stream('stdout') as unknown as NodeJS.WriteStream,
    stderr: stream('stderr') as unknown as NodeJS.WriteStream,
    now: Date.now,
    interrupted: AbortSignal.any([interrupt.signal, AbortSignal.timeout(20_000)]),
  })
  let error: unknown = null
  try {
    await program.command.parseAsync(args, { from: 'user' })
  } catch (thrown) {
    error = thrown
  }
  // What was written last is on its way through the streams.
  await new Promise((resolve) => setImmediate(resolve))
  return { ...written, error }
}
