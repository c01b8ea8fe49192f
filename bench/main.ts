import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Benchmark, Measured } from './benchmark.ts'
import { keep, leavingResult, load, reportOf } from './report.ts'

const benchmarks: Readonly<Record<string, () => Promise<{ readonly benchmark: Benchmark }>>> = {
  startup: () => import('./startup.ts'),
  memory: () => import('./memory.ts'),
  'start-overhead': () => import('./start-overhead.ts'),
  list: () => import('./list.ts'),
  scale: () => import('./scale.ts'),
  bearer: () => import('./bearer.ts'),
  patch: () => import('./patch.ts'),
  access: () => import('./access.ts'),
  storage: () => import('./storage.ts'),
  terminal: () => import('./terminal.ts'),
  logs: () => import('./logs.ts'),
  hosts: () => import('./hosts.ts'),
  'route-change': () => import('./route-change.ts'),
  publish: () => import('./publish.ts'),
  snapshots: () => import('./snapshots.ts'),
  branches: () => import('./branches.ts'),
  git: () => import('./git.ts'),
  sleep: () => import('./sleep.ts'),
  copies: () => import('./copies.ts'),
  backups: () => import('./backups.ts'),
  'database-browser': () => import('./database-browser.ts'),
  ssh: () => import('./ssh.ts'),
  metrics: () => import('./metrics.ts'),
  docker: () => import('./docker.ts'),
}

/** Of those above, alone. */
const parts: typeof benchmarks = {
  'docker-start': () => import('./docker-start.ts'),
  'docker-exec': () => import('./docker-exec.ts'),
  'docker-logs': () => import('./docker-logs.ts'),
  'docker-stats': () => import('./docker-stats.ts'),
}

/** Writes its own report, with the programs it is compared to. */
const withOwnReport: Readonly<Record<string, (quick: boolean) => Promise<Measured['bars']>>> = {
  proxy: async (quick) => {
    const { run } = await import('./proxy/run.ts')
    return quick ? leavingResult('proxy', () => run({ rounds: 1, seconds: 1 })) : run()
  },
  https: async (quick) => {
    const { run } = await import('./proxy/https.ts')
    return quick ? leavingResult('https', () => run({ rounds: 1, seconds: 1 })) : run()
  },
}

/** Those that can measure another checkout beside this one. */
const comparing = ['scale', 'patch', 'copies']

const known = [...Object.keys(benchmarks), ...Object.keys(withOwnReport)]
const usage = `Usage: npm run bench [-- --quick] [--against <folder>] [names]
Names: ${known.join(', ')}; all of them unless told. Parts: ${Object.keys(parts).join(', ')}. --quick: few rounds, nothing is kept in bench/results.
--against: another checkout of Stackquay with its dependencies installed, measured beside this one by ${comparing.join(', ')}.`

const { quick, against, named } = readArguments(process.argv.slice(2))

let kept = true
for (const name of named.length === 0 ? known : named) {
  const bars = await run(name)
  kept &&= bars.every((bar) => bar.kept)
}
// A quick run shows that all of it works; whether promises are kept is decided by a whole one.
process.exitCode = kept || quick ? 0 : 1

async function run(name: string): Promise<Measured['bars']> {
  console.error(`Measuring ${name} …`)
  const own = withOwnReport[name]
  if (own !== undefined) return own(quick)
  const loadBefore = load()
  const { benchmark } = await (benchmarks[name] ?? parts[name])!()
  const measured = await benchmark.measure({ quick, ...(against === undefined ? {} : { against }) })
  const report = reportOf(name, benchmark, measured, loadBefore)
  if (!quick) keep(name, report)
  process.stdout.write(`${report}\n`)
  return measured.bars
}

function readArguments(args: readonly string[]) {
  const { values, positionals: named } = parsed(args)
  const unknown = named.filter((name) => !known.includes(name) && !Object.hasOwn(parts, name))
  if (unknown.length > 0) refuse(`Unknown: ${unknown.join(' ')}.`)
  const against = values.against === undefined ? undefined : resolve(values.against)
  if (against !== undefined && !existsSync(join(against, 'apps/server/src/main.ts')))
    refuse(`${against} is no checkout of Stackquay.`)
  return { quick: values.quick, against, named }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { quick: { type: 'boolean', default: false }, against: { type: 'string' } },
    })
  } catch (error) {
    return refuse((error as Error).message)
  }
}

function refuse(why: string): never {
  console.error(`${why}\n${usage}`)
  process.exit(2)
}
