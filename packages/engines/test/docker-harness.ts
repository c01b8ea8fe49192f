import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Container, Engine, ProcessRun } from '@stackquay/engine-api'
import type { Harness } from '@stackquay/engine-api/conformance'
import { type DockerLab, dockerLab } from '@stackquay/testkit/docker-lab'
import Dockerode from 'dockerode'
import { createDockerEngine, type DockerEngineOptions } from '../src/docker/index.ts'
import { oneAccount } from '../src/native/accounts.ts'
import { harnessPrograms } from './harness-programs.ts'
import { freePort } from './native-harness.ts'

/** The user of programs: unknown to every image. */
export const TEST_ACCOUNT = { uid: 48_211, gid: 48_211 }
const NODE = '/usr/local/bin/node'

export interface DockerHarness extends Harness {
  readonly lab: DockerLab
  readonly docker: Dockerode
  readonly options: DockerEngineOptions
  /** What programs run in. */
  container(changes?: Partial<Container>): Container
  /** A program in JavaScript. */
  script(source: string, changes?: Partial<Container>): ProcessRun
  shell(source: string, changes?: Partial<Container>): ProcessRun
}

/** A Docker of its own with a temporary home over it. */
export async function dockerHarness(
  project = 'conformance',
  lab: { images?: ('redis' | 'postgres')[]; args?: readonly string[] } = {},
): Promise<DockerHarness> {
  const own = await dockerLab({ images: ['node', ...(lab.images ?? [])], daemonArgs: lab.args ?? [] })
  const root = await mkdtemp(join(tmpdir(), 'stackquay-docker-'))
  const directory = join(root, 'project')
  await chmod(root, 0o711)
  await mkdir(directory)
  await chmod(directory, 0o777)
  const home = join(root, 'home')
  const options: DockerEngineOptions = { home, host: own.host, accounts: oneAccount(TEST_ACCOUNT) }
  const docker = new Dockerode({ socketPath: own.socketPath })
  const container = (changes: Partial<Container> = {}): Container => ({
    image: own.image('node'),
    build: null,
    user: `${TEST_ACCOUNT.uid}:${TEST_ACCOUNT.gid}`,
    network: project,
    folders: [{ path: directory, readOnly: false }],
    data: {},
    limits: { cpus: null, memoryBytes: null, pids: null },
    ...changes,
  })
  const run = (argv: readonly [string, ...string[]], changes?: Partial<Container>): ProcessRun => ({
    kind: 'process',
    argv,
    cwd: directory,
    container: container(changes),
  })
  const script = (source: string, changes?: Partial<Container>) => run([NODE, '-e', source], changes)
  const shell = (source: string, changes?: Partial<Container>) => run(['/bin/sh', '-c', source], changes)
  const engines: Engine[] = []
  const main = { data: { main: '/data/main' } }

  return {
    lab: own,
    docker,
    options,
    directory,
    container,
    script,
    shell,
    ...harnessPrograms({
      run,
      script,
      shell,
      serve: (source) => script(`${source}.listen(process.env.PORT)`, main),
    }),
    async open() {
      const engine = await createDockerEngine(options)
      engines.push(engine)
      return engine
    },
    freePort,
    listenPort: () => 8080,
    /** Docker keeps the environment of a container in its own configuration, and has no other way to give one to a program. */
    async keptTexts() {
      const containers = await docker.listContainers({ all: true })
      const infos = await Promise.all(containers.map(({ Id }) => docker.getContainer(Id).inspect()))
      const texts = infos.map(({ Name, Args, Path, Config }) => JSON.stringify([Name, Path, Args, Config.Labels]))
      return [...texts, ...(await textsBelow(join(home, 'docker')))]
    },
    async leftovers() {
      const running = await docker.listContainers({ filters: { label: ['stackquay.instance'] } })
      return running.map(({ Names }) => Names.join(' '))
    },
    async close() {
      await Promise.all(engines.map((engine) => engine.close()))
      await own.close()
      await rm(root, { recursive: true, force: true })
    },
  }
}

/** Without logs. */
async function textsBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(directory, 'logs')))
  return Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')))
}
