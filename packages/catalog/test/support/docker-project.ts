import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { type RuntimeType, runtimeTypeOf, type SuiteType, suiteTypes } from '@stackquay/catalog'
import {
  emptySpec,
  type FoundSuite,
  type ProjectSpec,
  type ResolveFacts,
  resolveCommands,
  resolveProject,
} from '@stackquay/domain'
import type { Container, Workload } from '@stackquay/engine-api'
import { freePorts } from '@stackquay/testkit'
import { images } from '@stackquay/testkit/docker-lab'
import { readTestResults, type TestResults } from '../../src/results/test-results.ts'
import { account, type DockerFixture, imageNameOf, projectFacts } from './docker-stage.ts'
import { settingsOf } from './inputs.ts'

/** A project with one runtime, whose source is on this machine and whose programs run in containers. */
export interface DockerProject {
  readonly path: string
  /** Installs, builds and starts it, and waits until it is ready. */
  start(): Promise<void>
  stop(): Promise<void>
  ask(path?: string): Promise<{ readonly status: number; readonly text: string }>
  /** Runs its one suite of this runner to its end. */
  test(
    runner: string,
  ): Promise<{ readonly output: string; readonly code: number | null; readonly results: TestResults }>
}

export async function dockerProject(
  fixture: DockerFixture,
  name: string,
  files: Readonly<Record<string, string>>,
  said: Readonly<Record<string, unknown>> = {},
): Promise<DockerProject> {
  const kind = runtimeTypeOf(name)!
  const place = mkdtempSync(join(fixture.folder, `${name}-`))
  const [path, toolsPath] = ['project', 'tools'].map((folder) => join(place, folder)) as [string, string]
  for (const folder of [place, path, toolsPath]) mkdirSync(folder, { recursive: true })
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, file)), { recursive: true })
    writeFileSync(join(path, file), text)
  }
  giveAway(place)

  const settings = settingsOf(kind, { version: lineOf(kind), ...said })
  const spec: ProjectSpec = { ...emptySpec('shop'), runtimes: { [name]: settings } }
  const project = projectFacts(fixture.projectId(), path, toolsPath)
  const wanted = [
    ...kind.sourceFiles(settings),
    ...kind.commandFiles(settings),
    ...suiteTypes.flatMap((suite: SuiteType) => suite.sourceFiles('.')),
  ]
  const ports = await freePorts(2)
  const facts: ResolveFacts = {
    project,
    source: sourceOf(path, wanted),
    toolchain: () => null,
    helpers: () => ({}),
    lease: (_workload, port) => ports[port === 'http' ? 0 : 1]!,
    secret: (secret) => ({ secret, version: 1 }),
    ourProgram: (program) => ({ node: process.execPath, file: fixture.programFile(program) }),
    containers: fixture.facts,
    publishAddress: '127.0.0.1',
  }
  const server = (): Workload => {
    const { workloads, errors } = resolveProject(spec, facts)
    const [workload] = workloads
    if (workload === undefined) throw new Error(JSON.stringify(errors))
    return workload
  }

  return {
    path,
    async start() {
      let output = ''
      await fixture
        .apply({ type: 'start', workload: server() }, {}, (text) => {
          output += text
        })
        .catch((cause: Error) => {
          throw new Error(`${cause.message}\n${output}`, { cause })
        })
    },
    stop() {
      const { ref, title, stop } = server()
      return fixture.apply({ type: 'stop', ref, title, stop })
    },
    async ask(at = '/') {
      const answer = await fetch(`http://127.0.0.1:${ports[0]}${at}`)
      return { status: answer.status, text: await answer.text() }
    },
    async test(runner) {
      const { environments, suites } = resolveCommands(spec, facts)
      const environment = environments[0]!
      const found = suites.filter((suite) => suite.runner === runner)
      if (found.length !== 1) throw new Error(`It has ${found.length} suites of ${runner}.`)
      for (const job of environment.setup)
        await fixture.apply({ type: 'job', ref: { project: project.id, workload: name }, job, force: false })
      const results = mkdtempSync(join(place, 'results-'))
      giveAway(results)
      return runSuite(fixture, found[0]!, { ...environment, project: project.id, results })
    },
  }
}

interface SuitePlace {
  readonly env: Workload['env']
  readonly cwd: string
  readonly container?: Container
  readonly project: string
  readonly results: string
}

/** As the service runs it: a command in a container of its own that sees the folder for its results too. */
async function runSuite(
  { engine }: DockerFixture,
  suite: FoundSuite,
  { env, cwd, container, project, results }: SuitePlace,
) {
  const command = suite.command({ filter: null, results })
  for (const [file, text] of Object.entries(command.files ?? {})) writeFileSync(join(results, file), text)
  const ref = { project, id: 'run_1' }
  const signal = AbortSignal.timeout(240_000)
  await engine.commands.start(
    {
      ref,
      argv: command.argv,
      cwd: command.cwd ?? cwd,
      env: { ...env, ...command.env },
      data: [],
      ...(container === undefined
        ? {}
        : { container: { ...container, folders: [...container.folders, { path: results, readOnly: false }] } }),
      terminal: null,
      timeoutSeconds: 240,
      idleSeconds: null,
      stop: { signal: 'SIGTERM', deadlineSeconds: 5 },
      keepBytes: 1024 * 1024,
    },
    { signal, reveal: async () => '' },
  )
  let output = ''
  for await (const batch of engine.commands.read(ref, { after: 0, follow: true }, signal))
    for (const { bytes } of batch) output += bytes.toString()
  const state = await engine.commands.find(ref)
  await engine.commands.remove(ref)
  const { format, file } = command.results
  const written = readFileSync(join(results, file ?? ''), 'utf8')
  return {
    output: stripVTControlCharacters(output),
    code: state?.exit?.code ?? null,
    results: readTestResults(format, written),
  }
}

/** The release line of the lab's image. */
function lineOf(kind: RuntimeType): string {
  if (kind.toolchain === null) return kind.releases[0]!.version
  const tag = images[imageNameOf(kind.image.reference(''))].split(':')[1]!
  return kind.lineOf(tag.split('-')[0]!)
}

function sourceOf(path: string, files: readonly string[]): Record<string, string | true> {
  const source: Record<string, string | true> = {}
  for (const file of files) {
    const found = statSync(join(path, file), { throwIfNoEntry: false })
    if (found !== undefined) source[file] = found.isDirectory() ? true : readFileSync(join(path, file), 'utf8')
  }
  return source
}

/** To the account as which programs run. */
function giveAway(folder: string): void {
  chownSync(folder, account.uid, account.gid)
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    chownSync(join(folder, name), account.uid, account.gid)
}
