import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { SourceFiles, SuiteDefinition, SuiteInput, SuiteType } from '@stackquay/catalog'
import { programFile } from '../../src/folders.ts'
import { readTestResults, type TestResults } from '../../src/results/test-results.ts'
import { settingsLike } from './suite-input.ts'

/** A project on this disk whose tests are run as the service runs them. */
export interface RealProject {
  readonly path: string
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>>
  readonly program?: string
  readonly settings?: Readonly<Record<string, unknown>>
}

export interface RealRun {
  readonly suite: SuiteDefinition
  /** What people saw, without colours. */
  readonly output: string
  readonly code: number | null
  readonly results: TestResults
  /** What stood in the results file. */
  readonly written: string
}

/** Finds the one suite of a kind in a project and runs it. */
export async function runSuite(kind: SuiteType, project: RealProject, filter: string | null = null): Promise<RealRun> {
  const home = await mkdtemp(join(tmpdir(), 'stackquay suite-'))
  try {
    const input = await suiteInput(kind, project, home)
    const [suite, ...more] = kind.find(input)
    if (suite === undefined || more.length > 0) throw new Error(`There are ${more.length} more suites, or none.`)
    const results = join(home, 'results')
    await mkdir(results)
    const command = suite.command({ filter, results })
    for (const [name, text] of Object.entries(command.files ?? {})) await writeFile(join(results, name), text)
    const [program, ...args] = command.argv
    const env = { ...input.environment.env, ...command.env } as Record<string, string>
    const child = spawn(program, args, { cwd: command.cwd ?? project.path, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const chunks: Buffer[] = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk))
    const deadline = setTimeout(() => child.kill('SIGKILL'), 240_000)
    const [code] = (await once(child, 'close')) as [number | null]
    clearTimeout(deadline)
    const output = stripVTControlCharacters(Buffer.concat(chunks).toString())
    const { format, file } = command.results
    const written = await readFile(join(results, file ?? ''), 'utf8').catch(() => {
      throw new Error(`No results were written:\n${output}`)
    })
    return { suite, output, code, results: readTestResults(format, written), written }
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

async function suiteInput(kind: SuiteType, project: RealProject, home: string): Promise<SuiteInput> {
  const folder = project.folder ?? '.'
  const source: Record<string, string | true> = {}
  for (const file of kind.sourceFiles(folder)) {
    const path = join(project.path, file)
    const found = await stat(path).catch(() => null)
    if (found !== null) source[file] = found.isDirectory() ? true : await readFile(path, 'utf8')
  }
  return {
    project: { id: 'prj_1', slug: 'shop', url: 'http://shop.localhost', path: project.path, toolsPath: home },
    source: source satisfies SourceFiles,
    settings: kind.runtime === null ? null : settingsLike(project.settings),
    folder,
    environment: {
      env: { PATH: process.env.PATH ?? '/usr/bin:/bin', HOME: home, ...project.env },
      cwd: join(project.path, folder),
      setup: [],
    },
    program: project.program ?? null,
    ourProgram: (name) => ({ node: process.execPath, file: programFile(name) }),
  }
}
