import type { TerminalSize } from './commands.ts'
import { EngineError } from './errors.ts'
import type { Exit } from './observed.ts'

/** What a program does as a command on the fake engine. */
export interface CommandProgramOfFake {
  output(
    env: Readonly<Record<string, string>>,
    size: TerminalSize | null,
  ): readonly { readonly stream?: 'stdout' | 'stderr'; readonly bytes: Buffer }[]
  /** How it ends by itself. Null: it does not. */
  readonly exit: Partial<Exit> | null
  readonly onResize?: (size: TerminalSize) => string
  /** Copies its standard input to its standard output. */
  readonly copies?: boolean
  /** Takes SIGKILL to end. */
  readonly stubborn?: boolean
}

/** Programs that the conformance suite runs as commands, and `node --version`. Any other argv runs for ever and prints nothing. */
export function fakeCommandProgram(argv: readonly string[], cwd: string): CommandProgramOfFake {
  if (cwd.startsWith('/fake/no-such')) {
    throw new EngineError('io_failed', `The working directory ${cwd} does not exist.`, { hint: 'Check the path.' })
  }
  const [program = '', ...args] = argv
  if (program === '/fake/missing') {
    throw new EngineError('program_not_found', `The program ${program} does not exist.`, { hint: 'Install it.' })
  }
  if (/(^|\/)node$/.test(program) && args[0] === '--version') return versionOfNode
  return (programs[program] ?? runsForEver)(args)
}

/** The example of the API's description, for readers who try it. */
const versionOfNode: CommandProgramOfFake = {
  output: () => [{ bytes: Buffer.from('v26.10.0\n') }],
  exit: { code: 0 },
}

const runsForEver = (): CommandProgramOfFake => ({ output: () => [], exit: null })

const programs: Readonly<Record<string, (args: readonly string[]) => CommandProgramOfFake>> = {
  '/fake/exit': ([code, ...lines]) => ({ output: () => lines.map(line), exit: { code: Number(code) } }),
  '/fake/print': ([variable = '']) => ({ output: (env) => [line(JSON.stringify(env[variable]))], exit: null }),
  '/fake/count': ([count]) => ({
    output: () =>
      chunksOf(Buffer.from(Array.from({ length: Number(count) }, (_, at) => `line ${at}\n`).join('')), 4096),
    exit: { code: 0 },
  }),
  '/fake/both': () => ({
    output: () => [
      { stream: 'stdout', bytes: Buffer.from('out\n') },
      { stream: 'stderr', bytes: Buffer.from('err\n') },
    ],
    exit: { code: 0 },
  }),
  '/fake/signal': ([signal = null]) => ({ output: () => [], exit: { signal } }),
  '/fake/stubborn': () => ({ output: () => [line('ready')], exit: null, stubborn: true }),
  '/fake/copy': () => ({ output: () => [], exit: null, copies: true }),
  '/fake/bytes': ([count]) => ({ output: () => chunksOf(everyByte(Number(count))), exit: { code: 0 } }),
  '/fake/terminal': () => ({
    output: (_env, size) => [line(sizeText(size))],
    exit: null,
    onResize: (size) => `${sizeText(size)}\n`,
  }),
}

function line(text: string): { bytes: Buffer } {
  return { bytes: Buffer.from(`${text}\n`) }
}

function sizeText(size: TerminalSize | null): string {
  return size === null ? 'no terminal' : `terminal ${size.cols}x${size.rows}`
}

/** 0 to 255 again and again. */
function everyByte(count: number): Buffer {
  return Buffer.alloc(count, Buffer.from(Array.from({ length: 256 }, (_, at) => at)))
}

function chunksOf(bytes: Buffer, size = 65_536): { bytes: Buffer }[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => ({
    bytes: bytes.subarray(at * size, (at + 1) * size),
  }))
}
