import { type Command, CommanderError } from 'commander'
import { interruptedReport, type World } from './context.ts'
import { type Report, reportOf } from './errors.ts'
import { exitCodes } from './exit-codes.ts'
import { errorJson, errorText } from './output/error-text.ts'
import { styleOf } from './output/style.ts'
import { createProgram, programArguments } from './program.ts'

const interrupt = new AbortController()

const onInterrupt = () => {
  if (interrupt.signal.aborted) process.exit(exitCodes.interrupted)
  interrupt.abort()
}
process.on('SIGINT', onInterrupt)

// `stq logs | head` ends the pipe, which is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? exitCodes.ok)
  throw error
})

process.exitCode = await main(process.argv.slice(2), {
  env: process.env,
  cwd: process.cwd(),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  now: Date.now,
  interrupted: interrupt.signal,
  takeSignals: (names, handle) => {
    process.off('SIGINT', onInterrupt)
    const taken = names.map((name) => [name, () => handle(name)] as const)
    for (const [name, listener] of taken) process.on(name, listener)
    return () => {
      for (const [name, listener] of taken) process.off(name, listener)
      process.on('SIGINT', onInterrupt)
    }
  },
})
await flushed(process.stdout)
// Connections that are kept alive for a next request would hold the process for seconds.
process.exit()

async function main(argv: readonly string[], world: World): Promise<number> {
  const program = createProgram(world)
  try {
    await program.command.parseAsync(programArguments(argv), { from: 'user' })
    return typeof process.exitCode === 'number' ? process.exitCode : exitCodes.ok
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok
    if (isProgramEnded(error)) return error.exitCode
    const report = reportFor(error, world, () => helpOf(program.command, argv))
    const json = program.command.opts().json === true
    // Ctrl-C is how following logs ends; there is nothing to tell.
    if (report.detail !== '')
      world.stderr.write(`${json ? errorJson(report) : errorText(report, styleOf(world.stderr, world.env))}\n`)
    return report.exitCode
  }
}

/** By its name: its class comes with the commands that run programs, and is not loaded for all others. */
function isProgramEnded(error: unknown): error is Error & { readonly exitCode: number } {
  return error instanceof Error && error.name === 'ProgramEnded' && 'exitCode' in error
}

function reportFor(error: unknown, world: World, help: () => string): Report {
  if (error instanceof CommanderError) return usageReport(error, help())
  const report = reportOf(error)
  return world.interrupted.aborted && report.exitCode !== exitCodes.interrupted ? interruptedReport() : report
}

function usageReport({ message }: CommanderError, help: string): Report {
  const [first = '', ...rest] = message.replace(/^error: /, '').split('\n')
  const detail = `${first.charAt(0).toUpperCase()}${first.slice(1)}${/[.?!)]$/.test(first) ? '' : '.'}`
  const hint = rest.join(' ').trim() || `See: ${help}`
  return { title: '', detail, hint, fields: [], excerpt: [], requestId: null, code: 'usage', exitCode: exitCodes.usage }
}

/** What tells about the command that was meant: `stq service enable --help`. */
function helpOf(program: Command, argv: readonly string[]): string {
  let command = program
  for (const word of argv) {
    const next = command.commands.find((each) => each.name() === word)
    if (next !== undefined) command = next
    else if (command !== program) break
  }
  if (command === program) return 'stq help'
  const path = command.parent === program ? command.name() : `${command.parent?.name()} ${command.name()}`
  return `stq ${path} --help`
}

/** A pipe is written in the background; leaving earlier would cut the end of a long answer. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write('', () => resolve()))
}
