import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '@stackquay/client'
import { createProxyControl } from '@stackquay/proxy/control'
import { atMost, type Benchmark } from './benchmark.ts'
import { commands, startByCommand } from './command.ts'
import { makeProjects, projectCount, proxyPid, type Resident, residentMemory, withService } from './instance.ts'
import { median } from './numbers.ts'

export const benchmark: Benchmark = {
  title: 'Memory when idle',
  about: `Resident memory of the control plane and of the proxy with ${projectCount} stopped projects, 30 s after \`npm start\`.
"Own" leaves out the mapped program file, which all processes
of one Node share.`,
  measure: async ({ quick }) => {
    const rounds = quick ? 1 : 3
    const idle = quick ? 5_000 : 30_000
    const found = await withService(async (service) => {
      await makeProjects(service)
      await service.stop()
      await createProxyControl(join(service.home, 'proxy')).shutdown()
      const looks: Look[] = []
      for (let round = 0; round < rounds; round += 1) {
        const started = await startByCommand(commands['npm start'], service.home)
        const look = () => ({ server: residentMemory(started.pid), proxy: residentMemory(proxyPid(service.home)) })
        await delay(idle)
        const atRest = look()
        await readMuch(started.url, service.token)
        looks.push({ atRest, used: look() })
        await started.end()
      }
      return looks
    })
    const server = median(found.map(({ atRest }) => atRest.server.all))
    const proxy = median(found.map(({ atRest }) => atRest.proxy.all))
    return {
      tables: [
        [
          ['', 'resident', 'own', 'after 2,000 requests'],
          row('control plane', found, ({ server }) => server),
          row('proxy', found, ({ proxy }) => proxy),
        ],
      ],
      bars: [atMost('Control plane, idle', server, 110, 'MB'), atMost('Proxy, idle', proxy, 70, 'MB')],
    }
  },
}

interface Pair {
  readonly server: Resident
  readonly proxy: Resident
}

interface Look {
  readonly atRest: Pair
  readonly used: Pair
}

function row(name: string, looks: readonly Look[], of: (pair: Pair) => Resident): readonly string[] {
  const text = (values: readonly number[]) => `${Math.round(median(values))} MB`
  return [
    name,
    text(looks.map(({ atRest }) => of(atRest).all)),
    text(looks.map(({ atRest }) => of(atRest).own)),
    text(looks.map(({ used }) => of(used).all)),
  ]
}

async function readMuch(baseUrl: string, token: string): Promise<void> {
  const client = createClient({ baseUrl, token, clientName: 'cli' })
  for (let count = 0; count < 2_000; count += 1) await client.call('listProjects')
}
