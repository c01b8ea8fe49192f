import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { mkdir, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'

/**
 * `go-watch --go PROGRAM --package ./cmd/web --output FILE`: builds the program of the working directory's module, runs it,
 * and does both again when a source file changes. While a build fails the last good program goes on serving. A program
 * that ends by itself ends this one with the same result, so that the supervisor sees the crash as it is.
 */
const { values: options } = parseArgs({
  options: { go: { type: 'string' }, package: { type: 'string' }, output: { type: 'string' } },
})
const { go, package: target, output } = options
if (go === undefined || target === undefined || output === undefined) {
  console.error('Usage: go-watch --go PROGRAM --package PACKAGE --output FILE')
  process.exit(2)
}

/** Sources, and what programs commonly embed. */
const relevant = /\.(go|mod|sum|work|html|tmpl|gohtml|css|js|sql)$/
const ignored = /(^|\/)(\.[^/]+|node_modules|vendor)\//
const quietMs = 120

let program: ChildProcess | null = null
let building: ChildProcess | null = null
let ending = false
let changed = true
let wake = () => {}

const watcher = watch('.', { recursive: true }, (_event, name) => {
  if (name === null || !relevant.test(name) || ignored.test(name)) return
  changed = true
  wake()
})
watcher.on('error', (error) => console.error(`Changes are not seen any more: ${error.message}`))

for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void end(signal))

await mkdir(dirname(output), { recursive: true })
while (!ending) {
  if (!changed) await nextChange()
  await settled()
  if (!ending && (await build())) await replaceProgram()
}

function nextChange(): Promise<void> {
  return new Promise((resolve) => {
    wake = resolve
  })
}

/** Editors write in several steps, and tools many files: waits until nothing changed for a moment. */
async function settled(): Promise<void> {
  while (changed && !ending) {
    changed = false
    if (program !== null) await new Promise((resolve) => setTimeout(resolve, quietMs))
  }
}

async function build(): Promise<boolean> {
  const begun = Date.now()
  building = spawn(go!, ['build', '-o', `${output}.new`, target!], { stdio: 'inherit' })
  const code = await ended(building)
  building = null
  if (ending) return false
  if (code === 0) console.log(`Built in ${Date.now() - begun} ms.`)
  else console.error(`The build failed. ${program === null ? 'Waiting for a change.' : 'The last good one goes on.'}`)
  return code === 0
}

async function replaceProgram(): Promise<void> {
  const old = program
  program = null
  if (old !== null) await stopped(old, 'SIGTERM')
  await rename(`${output}.new`, output!)
  if (ending) return
  const started = spawn(output!, [], { stdio: 'inherit' })
  program = started
  started.once('error', (error) => {
    console.error(error.message)
    process.exit(1)
  })
  started.once('exit', (code, signal) => {
    if (ending || program !== started) return
    watcher.close()
    if (signal === null) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}

async function stopped(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const gone = ended(child)
  child.kill(signal)
  const deadline = setTimeout(() => child.kill('SIGKILL'), 5_000)
  await gone
  clearTimeout(deadline)
}

async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  try {
    const [code] = (await once(child, 'exit')) as [number | null]
    return code
  } catch (error) {
    console.error((error as Error).message)
    return 1
  }
}

async function end(signal: NodeJS.Signals): Promise<void> {
  ending = true
  watcher.close()
  building?.kill('SIGKILL')
  if (program !== null) await stopped(program, signal)
  process.exit(0)
}
