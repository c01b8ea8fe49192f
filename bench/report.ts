import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { join } from 'node:path'
import type { Bar, Benchmark, Measured, Table } from './benchmark.ts'

const results = join(import.meta.dirname, 'results')

/** The report of one run, as it is printed and kept. */
export function reportOf(name: string, benchmark: Benchmark, { tables, bars }: Measured, loadBefore: number): string {
  const parts = [
    `# ${benchmark.title}`,
    benchmark.about,
    ...tables.map(markdown),
    ...(bars.length === 0 ? [] : [markdown(barTable(bars))]),
    `Run with \`npm run bench ${name}\`. ${circumstances(loadBefore)}`,
  ]
  return `${parts.join('\n\n')}\n`
}

export function keep(name: string, report: string): void {
  mkdirSync(results, { recursive: true })
  writeFileSync(join(results, `${name}.md`), report)
}

/** Runs what writes its own result, and puts the kept one back. */
export async function leavingResult<T>(name: string, act: () => Promise<T>): Promise<T> {
  const file = join(results, `${name}.md`)
  const before = existsSync(file) ? readFileSync(file) : undefined
  try {
    return await act()
  } finally {
    if (before === undefined) rmSync(file, { force: true })
    else writeFileSync(file, before)
  }
}

export function load(): number {
  return loadavg()[0]!
}

function barTable(bars: readonly Bar[]): Table {
  return [
    ['Promise', 'measured', 'bar', ''],
    ...bars.map((bar) => [bar.what, bar.measured, bar.bar, bar.kept ? 'kept' : 'MISSED']),
  ]
}

function markdown([head = [], ...rows]: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [head, head.map(() => '---'), ...rows].map(line).join('\n')
}

function circumstances(loadBefore: number): string {
  const memory = Number(/MemTotal:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) / 1048576
  const machine = [
    `${cpus().length} cores (${cpus()[0]?.model.trim()})`,
    `${Math.round(memory)} GB`,
    `Linux ${release()}`,
    `Node ${process.versions.node}`,
  ].join(', ')
  // Whatever else runs takes one of few cores away from what is measured.
  const busy =
    loadBefore > cpus().length / 2 ? ' The machine was busy with other things: these numbers say little.' : ''
  return `${new Date().toISOString().slice(0, 10)}, ${commit()}; ${machine}. Load before the run: ${loadBefore.toFixed(1)}.${busy}`
}

function commit(): string {
  const git = (...args: string[]) =>
    spawnSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  const head = git('rev-parse', '--short', 'HEAD')
  if (head.status !== 0) return 'not committed yet'
  const changed = git('status', '--porcelain', '--', ':!results').stdout.trim() !== ''
  return `commit ${head.stdout.trim()}${changed ? ' with changes' : ''}`
}
