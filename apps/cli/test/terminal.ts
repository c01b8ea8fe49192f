import { PassThrough } from 'node:stream'
import { createProgram } from '../src/program.ts'

export interface TerminalRun {
  readonly stdout: string
  readonly stderr: string
  readonly error: unknown
  /** Whether the terminal was left in raw mode, and how often it was entered. */
  readonly raw: { readonly now: boolean; readonly entered: number }
}

export interface Person {
  /** Types keys, Ctrl-C and all others. */
  type(keys: string): void
  /** Gives the window another size. */
  resize(columns: number, rows: number): void
  /** Closes the window, or ends the process with a signal. */
  signal(): void
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
    onOutput,
  }: {
    readonly url: string
    readonly answers?: Readonly<Record<string, string>>
    readonly interruptAt?: string
    readonly onOutput?: (stdout: string, person: Person) => void
  },
): Promise<TerminalRun> {
  const raw = { now: false, entered: 0 }
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    isRaw: false,
    setRawMode(wanted: boolean) {
      stdin.isRaw = wanted
      raw.now = wanted
      if (wanted) raw.entered++
    },
  })
  const written = { stdout: '', stderr: '' }
  const interrupt = new AbortController()
  const left = new Map(Object.entries(answers))
  let signalled = () => {}
  const person: Person = {
    type: (keys) => void stdin.write(keys),
    resize: (columns, rows) => {
      Object.assign(stdout, { columns, rows })
      stdout.emit('resize')
    },
    signal: () => signalled(),
  }
  const stream = (name: 'stdout' | 'stderr') => {
    const target = Object.assign(new PassThrough(), { isTTY: true, columns: 100, rows: 30 })
    target.setEncoding('utf8').on('data', (text: string) => {
      written[name] += text
      if (name === 'stdout') onOutput?.(written.stdout, person)
      if (interruptAt !== undefined && written.stderr.includes(interruptAt)) interrupt.abort()
      for (const [question, answer] of left) {
        if (!written.stderr.includes(question)) continue
        left.delete(question)
        stdin.write(`${answer}\r`)
      }
    })
    return target
  }
  const stdout = stream('stdout')
  const program = createProgram({
    env: { STACKQUAY_URL: url, STACKQUAY_TOKEN: 'stq_test', NO_COLOR: '1', HOME: '/nonexistent' },
    cwd: '/',
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stream('stderr') as unknown as NodeJS.WriteStream,
    now: Date.now,
    interrupted: AbortSignal.any([interrupt.signal, AbortSignal.timeout(20_000)]),
    takeSignals: (names, handle) => {
      signalled = () => handle(names[0]!)
      return () => {}
    },
  })
  let error: unknown = null
  try {
    await program.command.parseAsync(args, { from: 'user' })
  } catch (thrown) {
    error = thrown
  }
  // What was written last is on its way through the streams.
  await new Promise((resolve) => setImmediate(resolve))
  return { ...written, error, raw }
}
