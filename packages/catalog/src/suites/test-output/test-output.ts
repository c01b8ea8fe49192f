import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, type WriteStream } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { parseArgs } from 'node:util'

/**
 * Runs a test runner whose results stand in its output: people see what they would see, and the results go to a file. Ends as
 * the runner ends, with its code or by its signal.
 *
 *     test-output --results FILE --format go|text [--below-home FOLDER] -- PROGRAM [ARGUMENT]…
 *
 * `go`: standard output is events of `go test -json`; they go to the file, their text is printed. What Go before 1.24 says as text of a
 * package that does not compile goes there as the events that later ones write. `text`: both outputs go to the file and are printed. `--below-home`: a folder of the home folder that is searched for the program after PATH.
 */
async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      results: { type: 'string' },
      format: { type: 'string' },
      'below-home': { type: 'string' },
    },
  })
  const [program = '', ...args] = positionals
  const results = resultsFile(values.results ?? '')
  const child = spawn(program, args, { stdio: ['inherit', 'pipe', 'pipe'], env: environment(values['below-home']) })
  const outputs =
    values.format === 'go'
      ? [printEvents(child.stdout, results), printBuild(child.stderr, results)]
      : [copy(child.stdout, process.stdout, results), copy(child.stderr, process.stderr, results)]
  const ended = await endOf(child, program)
  // What the runner left running may hold the outputs open for ever.
  await Promise.race([Promise.all(outputs), new Promise((resolve) => setTimeout(resolve, 5000).unref())])
  await results.end()
  if (ended.signal !== null) process.kill(process.pid, ended.signal)
  process.exit(ended.code ?? 1)
}

interface Results {
  write(text: string | Buffer, isNeeded: boolean): Promise<void>
  end(): Promise<void>
}

const mostBytes = 64 * 1024 * 1024

/** At most so much, and a full disk: then results end there, the tests go on. */
function resultsFile(path: string): Results {
  const file: WriteStream = createWriteStream(path)
  let size = 0
  let isOpen = true
  file.on('error', (error) => {
    if (isOpen) console.error(`The results of the tests cannot be written: ${error.message}`)
    isOpen = false
  })
  return {
    write: async (text, isNeeded) => {
      size += text.length
      if (!isOpen || size > (isNeeded ? 2 * mostBytes : mostBytes)) return
      if (!file.write(text)) await settled(file, 'drain')
    },
    end: async () => {
      if (!isOpen) return
      file.end()
      await settled(file, 'finish')
    },
  }
}

async function settled(stream: NodeJS.WritableStream, event: 'drain' | 'finish'): Promise<void> {
  await Promise.race([once(stream, event), once(stream, 'close')]).catch(() => {})
}

function environment(belowHome: string | undefined): NodeJS.ProcessEnv {
  if (belowHome === undefined) return process.env
  const home = process.env.HOME || homedir()
  return { ...process.env, PATH: `${process.env.PATH ?? ''}:${join(home, belowHome)}` }
}

async function copy(from: Readable, to: NodeJS.WriteStream, results: Results | null): Promise<void> {
  for await (const chunk of from as AsyncIterable<Buffer>) {
    await print(to, chunk)
    await results?.write(chunk, false)
  }
}

async function printEvents(from: Readable, results: Results): Promise<void> {
  for await (const line of createInterface({ input: from, crlfDelay: Number.POSITIVE_INFINITY })) {
    const event = eventOf(line)
    if (event === null) {
      await print(process.stdout, `${line}\n`)
      const failed = /^FAIL\t(\S+) \[(?:build|setup) failed\]$/.exec(line)?.[1]
      if (failed !== undefined) await write(results, { Action: 'fail', Package: failed })
    } else {
      await results.write(`${line}\n`, event.Action !== 'output')
      const output = event.Output ?? ''
      if (output !== '' && !/^\s*=== (RUN|PAUSE|CONT|NAME)/.test(output)) await print(process.stdout, output)
    }
  }
}

/** Each part is headed by its package: `# example.org/shop [example.org/shop.test]`. */
async function printBuild(from: Readable, results: Results): Promise<void> {
  let of: string | null = null
  for await (const line of createInterface({ input: from, crlfDelay: Number.POSITIVE_INFINITY })) {
    await print(process.stderr, `${line}\n`)
    of = /^# (\S+(?: \[\S+\])?)$/.exec(line)?.[1] ?? of
    if (of !== null) await write(results, { Action: 'build-output', ImportPath: of, Output: `${line}\n` })
  }
}

function write(results: Results, event: object): Promise<void> {
  return results.write(`${JSON.stringify(event)}\n`, true)
}

function eventOf(line: string): { readonly Action: string; readonly Output?: string } | null {
  if (!line.startsWith('{')) return null
  try {
    const value = JSON.parse(line) as { Action?: unknown; Output?: unknown }
    if (typeof value.Action !== 'string') return null
    return { Action: value.Action, ...(typeof value.Output === 'string' ? { Output: value.Output } : {}) }
  } catch {
    return null
  }
}

/** A slow reader slows the runner down. One who went away does not end it. */
async function print(to: NodeJS.WriteStream, text: string | Buffer): Promise<void> {
  if (!to.destroyed && !to.write(text)) await settled(to, 'drain')
}

async function endOf(
  child: ChildProcess,
  program: string,
): Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }> {
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const
  for (const signal of signals) process.on(signal, () => child.kill(signal))
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
    return { code, signal }
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    console.error(missing ? `${program} is not installed here, or not in PATH.` : String(error))
    return { code: missing ? 127 : 126, signal: null }
  } finally {
    for (const signal of signals) process.removeAllListeners(signal)
  }
}

for (const stream of [process.stdout, process.stderr]) stream.on('error', () => stream.destroy())
await main()
