import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Container, Engine, ProcessRun } from '@stackquay/engine-api'
import type { Harness } from '@stackquay/engine-api/conformance'
import { type DockerLab, dockerLab } from '@stackquay/testkit/docker-lab'
import Dockerode from 'dockerode'
import { createDockerEngine, type DockerEngineOptions } from '../src/docker/index.ts'
import { freePort } from './native-harness.ts'

/** Whom programs run as: nobody that an image knows. */
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
  const options: DockerEngineOptions = { home, host: own.host, account: TEST_ACCOUNT }
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
    programs: {
      serve: () =>
        script("require('http').createServer((_, answer) => answer.end('ok')).listen(process.env.PORT)", main),
      exit: (code, lines) =>
        run([
          '/bin/sh',
          '-c',
          'code=$1; shift; for line; do printf "%s\\n" "$line"; done; exit "$code"',
          'exit',
          String(code),
          ...lines,
        ]),
      hang: () => shell('sleep 600 & sleep 600'),
      print: (variable) => script(`console.log(JSON.stringify(process.env.${variable})); setInterval(() => {}, 1000)`),
      neverListen: () => shell('sleep 600'),
      missing: () => run(['/nowhere/bin/program']),
    },
    commands: {
      count: (lines) =>
        script(
          `let text = ''; for (let n = 0; n < ${lines}; n++) text += 'line ' + n + '\\n'; process.stdout.write(text)`,
        ),
      both: () => shell('echo out; sleep 0.2; echo err >&2'),
      signal: (name) => script(`process.kill(process.pid, '${name}'); setInterval(() => {}, 1000)`),
      stubborn: () => shell("trap '' TERM HUP; sleep 600 & sleep 600 & echo ready; while :; do sleep 600; done"),
      copy: () => run(['/bin/cat']),
      bytes: (count) =>
        script(`process.stdout.write(Buffer.alloc(${count}, Buffer.from(Array.from({ length: 256 }, (_, at) => at))))`),
      terminal: () =>
        script(`const tell = () => console.log(process.stdout.isTTY ? 'terminal ' + process.stdout.columns + 'x' + process.stdout.rows : 'no terminal');
          tell(); process.stdout.on('resize', tell); process.stdin.resume(); setInterval(() => {}, 1000)`),
    },
    async open() {
      const engine = await createDockerEngine(options)
      engines.push(engine)
      return engine
    },
    freePort,
    listenPort: () => 8080,
    addFile: (path) => writeFile(path, '{}'),
    async holdPort(port) {
      const source = `require('net').createServer().listen(${port}, '127.0.0.1', () => console.log('ready'))`
      const holder = spawn(process.execPath, ['-e', source], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(holder.stdout, 'data')
      return {
        pid: holder.pid ?? 0,
        program: 'node',
        async release() {
          const gone = once(holder, 'exit')
          holder.kill('SIGKILL')
          await gone
        },
      }
    },
    /** Docker keeps the environment of a container in its own configuration, and has no other way to give one to a program. */
    async keptTexts() {
      const containers = await docker.listContainers({ all: true })
      const infos = await Promise.all(containers.map(({ Id }) => docker.getContainer(Id).inspect()))
      const told = infos.map(({ Name, Args, Path, Config }) => JSON.stringify([Name, Path, Args, Config.Labels]))
      return [...told, ...(await textsBelow(join(home, 'docker')))]
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

/** Logs aside. */
async function textsBelow(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(directory, 'logs')))
  return Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')))
}
