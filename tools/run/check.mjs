import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { childEnv, modules, node, root } from './places.mjs'
import { Refusal } from './refusal.mjs'

const biome = [join(modules, '@biomejs/biome/bin/biome'), 'check', '--diagnostic-level=warn', '--max-diagnostics=50']
const tsc = join(modules, 'typescript/bin/tsc')

/** `npm run check`: everything that needs no running service. `--fix` first writes what a program can write. */
export async function run(args) {
  const unknown = args.filter((arg) => arg !== '--fix')
  if (unknown.length > 0) throw new Refusal(`Unknown option "${unknown[0]}". Known: --fix.`, 2)
  if (args.includes('--fix')) await fix()
  const results = await inTurns(tasks())
  for (const result of results.filter((each) => !each.passed))
    console.log(`\n── ${result.title}\n${result.output.trimEnd()}`)
  console.log()
  for (const { title, passed, seconds } of results) {
    console.log(`${passed ? '✔' : '✘'} ${title.padEnd(34)} ${seconds.toFixed(1).padStart(5)} s`)
  }
  const failed = results.filter((each) => !each.passed).length
  if (failed === 0) return
  console.log(
    `\n${failed} of ${results.length} checks failed. "npm run check -- --fix" repairs format, import order and generated files.`,
  )
  process.exitCode = 1
}

/** Tests that are rules about the repository itself. */
const rules = ['architecture', 'docs', 'generated']

function tasks() {
  return [
    { title: 'types (workspace)', args: [tsc, '--noEmit', '-p', 'tsconfig.json'] },
    { title: 'types (page)', args: [tsc, '--noEmit', '-p', 'apps/web/tsconfig.json'] },
    { title: 'format and lint', args: [...biome, '.'] },
    ...rules.map((rule) => ({ title: rule, args: ['--test', '--test-reporter=spec', `tools/test/${rule}.test.ts`] })),
  ]
}

async function fix() {
  const writers = [
    { title: 'format', args: [...biome, '--write', '.'] },
    { title: 'generated files', args: ['tools/reference.ts', '--write'] },
  ]
  for (const writer of writers.filter(({ args }) => existsSync(join(root, args[0])) || args[0].startsWith(modules))) {
    const { passed, output } = await perform(writer)
    // Lint findings that cannot be repaired are told by the check that follows.
    if (!passed && writer.title !== 'format') throw new Refusal(`${writer.title}:\n${output}`)
  }
}

/** Two at a time: each of these fills a core. Results stand in the order of the tasks. */
async function inTurns(list) {
  const results = []
  let next = 0
  const worker = async () => {
    while (next < list.length) {
      const index = next++
      results[index] = await perform(list[index])
    }
  }
  await Promise.all([worker(), worker()])
  return results
}

function perform({ title, args }) {
  const started = performance.now()
  const child = spawn(node, args, { cwd: root, env: childEnv(), stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  return new Promise((resolve) => {
    const end = (passed) => resolve({ title, passed, output, seconds: (performance.now() - started) / 1000 })
    child.once('error', (error) => {
      output += error.message
      end(false)
    })
    child.once('close', (code) => end(code === 0))
  })
}
