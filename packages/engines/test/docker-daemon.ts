import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Container } from '@stackquay/engine-api'
import { connectDocker } from '../src/docker/client.ts'
import type { Daemon } from '../src/docker/daemon.ts'
import { serviceUser } from '../src/native/accounts.ts'
import { openHome } from '../src/native/home.ts'
import { noNetworkEnvironment } from '../src/native/network-environment.ts'
import { processTable } from '../src/native/this-system.ts'

/** The parts below an engine, over a home that may be there already. */
export async function openDaemon(host: string, root: string): Promise<Daemon> {
  const home = await openHome(root, { enterable: false })
  const connection = connectDocker(host)
  return {
    ...connection,
    instance: home.instance,
    accounts: serviceUser,
    home,
    table: processTable(),
    network: noNetworkEnvironment,
    subnets: null,
    own: async () => null,
    now: () => new Date(),
  }
}

/** The same with a temporary home. */
export async function testDaemon(host: string) {
  const root = await mkdtemp(join(tmpdir(), 'stackquay-docker-'))
  const daemon = await openDaemon(host, join(root, 'docker'))
  return { ...daemon, root, remove: () => rm(root, { recursive: true, force: true }) }
}

/** As a runtime of the catalogue says it, with nothing but the image. */
export function containerOf(image: string, changes: Partial<Container> = {}): Container {
  return {
    image,
    build: null,
    user: '48211:48211',
    network: 'lab',
    folders: [],
    data: {},
    limits: { cpus: null, memoryBytes: null, pids: null },
    ...changes,
  }
}
