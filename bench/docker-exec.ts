import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Engine } from '@stackquay/engine-api'
import type { Benchmark, Measured } from './benchmark.ts'
import {
  applyChange,
  context,
  type DockerWorld,
  NODE,
  PROJECT,
  removeWorkload,
  withDocker,
  workloadOf,
} from './docker-world.ts'
import { median, medianRatio, milliseconds, quantile } from './numbers.ts'

export const benchmark: Benchmark = {
  title: 'A program in a running container',
  about: `\`true\` in a running container, one after the other: our engine's \`exec\` from its call to its answer, which holds the exit
code, against \`docker exec\` of Docker's own command line, from its start to its end. Rounds alternate; the ratio is taken round by
round.`,
  measure: ({ quick }) => withDocker(['node'], (world) => measure(world, quick ? 20 : 200)),
}

async function measure(world: DockerWorld, rounds: number): Promise<Measured> {
  const { engine, lab } = world
  const workload = workloadOf({
    name: 'web',
    image: lab.image('node'),
    user: '1000:1000',
    argv: [NODE, '-e', 'setInterval(() => {}, 1000)'],
  })
  await applyChange(engine, { type: 'start', workload }, 'start')
  const container = await lab.docker(['ps', '--quiet', '--filter', 'label=stackquay.workload=web'])
  const own: number[] = []
  const cli: number[] = []
  for (let round = 0; round < rounds + 5; round += 1) {
    const ours = await timed(() => execTrue(engine, workload.run.container))
    const theirs = await timed(() => dockerExecTrue(lab.host, container))
    // The first ones only warm up.
    if (round < 5) continue
    own.push(ours)
    cli.push(theirs)
  }
  await removeWorkload(engine, workload)
  const ratio = medianRatio(own, cli)
  const version = await lab.docker(['version', '--format', '{{.Client.Version}}, daemon {{.Server.Version}}'])
  return {
    tables: [
      [
        [`exec of \`true\`, ${rounds} times`, 'median', 'p95'],
        ['our engine', milliseconds(median(own)), milliseconds(quantile(own, 0.95))],
        [`docker exec (${version})`, milliseconds(median(cli)), milliseconds(quantile(cli, 0.95))],
      ],
    ],
    bars: [{ what: 'Exec', measured: `${ratio.toFixed(2)} ×`, bar: '≤ 0.85 × docker exec', kept: ratio <= 0.85 }],
  }
}

async function execTrue(
  engine: Engine,
  container: NonNullable<Parameters<Engine['commands']['exec']>[0]['container']> | undefined,
): Promise<void> {
  const { code } = await engine.commands.exec(
    {
      argv: ['/bin/true'],
      cwd: '/',
      env: {},
      data: [],
      ...(container === undefined ? {} : { container }),
      beside: 'web',
      project: PROJECT,
      stop: { signal: 'SIGTERM', deadlineSeconds: 1 },
    },
    { stdin: null, output: async () => {} },
    context(),
  )
  if (code !== 0) throw new Error(`The program ended with ${code}.`)
}

async function dockerExecTrue(host: string, container: string): Promise<void> {
  const child = spawn('docker', ['--host', host, 'exec', container, '/bin/true'], { stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`docker exec ended with ${code}.`)
}

async function timed(act: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await act()
  return performance.now() - began
}
