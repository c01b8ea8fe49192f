import { EngineError } from '@stackquay/engine-api'
import type { EndpointSettings, Network } from 'dockerode'
import type { Daemon } from './daemon.ts'
import { messageOf, orAbsent, statusOf } from './errors.ts'
import { isManaged, labelled, labelsOf, notManaged, objectName, PROJECT } from './labels.ts'
import { hasOwnNetwork } from './own-container.ts'
import { chooseSubnet, isRange, subnetsOfMachine, USUAL_RANGES } from './subnets.ts'

/** Within this process: makings under way. Docker alone would make two networks of one name. */
const making = new Map<string, Promise<string>>()

/** The project's own network, in which its containers find each other by name. Answers its name. */
export function ensureNetwork(daemon: Daemon, project: string): Promise<string> {
  const name = objectName(daemon, project, 'network')
  const found = making.get(name) ?? make(daemon, project, name).finally(() => making.delete(name))
  making.set(name, found)
  return found
}

async function make(daemon: Daemon, project: string, name: string): Promise<string> {
  const there = await orAbsent(daemon.docker.getNetwork(name).inspect())
  if (there === null) await create(daemon, project, name)
  else if (!isManaged(daemon, there.Labels)) throw notManaged(`network named ${name}`)
  await enter(daemon, name, there?.Containers ?? {})
  return name
}

/** Others may take the same addresses between the choice and the making. */
const TRIES = 16

async function create(daemon: Daemon, project: string, name: string): Promise<void> {
  const ranges = await rangesOf(daemon)
  const refused: string[] = []
  for (;;) {
    const subnet = chooseSubnet(name, ranges, [...(await subnetsTaken(daemon)), ...refused])
    if (subnet === null) throw noAddresses(ranges)
    try {
      await daemon.docker.createNetwork({
        Name: name,
        Driver: 'bridge',
        CheckDuplicate: true,
        Labels: labelsOf(daemon, project, 'network'),
        IPAM: { Driver: 'default', Config: [{ Subnet: subnet }] },
      })
      return
    } catch (error) {
      if (statusOf(error) === 409) return
      if (!/overlap/i.test(messageOf(error)) || refused.length >= TRIES) throw error
      refused.push(subnet)
    }
  }
}

/** As this installation is configured, or else as the administrator configured Docker. */
async function rangesOf({ docker, subnets }: Daemon): Promise<readonly string[]> {
  if (subnets !== null) return subnets
  const known = pools.get(docker)
  if (known !== undefined) return known
  const { DefaultAddressPools } = (await docker.info()) as { DefaultAddressPools?: { Base: string }[] | null }
  const configured = (DefaultAddressPools ?? []).map(({ Base }) => Base).filter(isRange)
  const ranges = configured.length > 0 ? configured : USUAL_RANGES
  pools.set(docker, ranges)
  return ranges
}

/** Docker runs other programs for its answer, and reads its configuration anew only when it starts. */
const pools = new WeakMap<Daemon['docker'], readonly string[]>()

/** To be called when Docker may have been started again. */
export function forgetRanges({ docker }: Pick<Daemon, 'docker'>): void {
  pools.delete(docker)
}

async function subnetsTaken({ docker, isLocal }: Daemon): Promise<string[]> {
  const networks = await docker.listNetworks()
  const ofDocker = networks.flatMap(({ IPAM }) => IPAM?.Config ?? []).flatMap(({ Subnet }) => Subnet ?? [])
  return [...ofDocker, ...(isLocal ? subnetsOfMachine() : [])]
}

function noAddresses(ranges: readonly string[]): EngineError {
  return new EngineError('engine_cannot', `All addresses for networks in ${ranges.join(', ')} are taken.`, {
    hint: 'Remove networks that are not needed, or give Docker more with "default-address-pools" in its daemon.json.',
  })
}

/** Where this process runs in a container itself, it reaches others through their network alone. */
async function enter(daemon: Daemon, name: string, containers: Readonly<Record<string, unknown>>): Promise<void> {
  const own = await daemon.own()
  if (own === null || own.isOnHostNetwork || Object.hasOwn(containers, own.id)) return
  // The way out stays as it is. Older versions of Docker choose it by the networks' names.
  const EndpointConfig: EndpointSettings & { GwPriority: number } = { GwPriority: -1 }
  await daemon.docker
    .getNetwork(name)
    .connect({ Container: own.id, EndpointConfig })
    .catch((error: unknown) => {
      if (!/already exists in network/i.test(messageOf(error))) throw error
    })
}

/** After this process' container was made anew, it is in none of the networks yet. */
export async function enterNetworks(daemon: Daemon): Promise<void> {
  if (!(await hasOwnNetwork(daemon))) return
  for (const { Name, Labels } of await daemon.docker.listNetworks({ filters: labelled(daemon) })) {
    const found = isManaged(daemon, Labels) ? await orAbsent(daemon.docker.getNetwork(Name).inspect()) : null
    if (found !== null) await enter(daemon, Name, found.Containers ?? {})
  }
}

/** How many containers are being made in a network, by its name: Docker does not show it in between. */
const users = new Map<string, number>()
/** Removals under way: a network that is found meanwhile may be gone the next moment. */
const removing = new Map<string, Promise<void>>()

/** Runs `act`, which makes a container, with the project's network there and staying there. */
export function withNetwork<T>(daemon: Daemon, project: string, act: () => Promise<T>): Promise<T> {
  return inNetwork(daemon, project, async () => {
    await ensureNetwork(daemon, project)
    return act()
  })
}

/**
 * Runs `act`, which starts what was made with the network. Another process over the same home may have removed that as unused
 * when it had just been found: once more, then, with a new one.
 */
export async function inNetwork<T>(daemon: Daemon, project: string, act: () => Promise<T>): Promise<T> {
  const name = objectName(daemon, project, 'network')
  users.set(name, (users.get(name) ?? 0) + 1)
  try {
    await removing.get(name)?.catch(() => {})
    return await act().catch(async (error: unknown) => {
      if (statusOf(error) !== 404 || !/network .*not found/i.test(messageOf(error))) throw error
      await ensureNetwork(daemon, project)
      return act()
    })
  } finally {
    users.set(name, (users.get(name) ?? 1) - 1)
    if (users.get(name) === 0) users.delete(name)
  }
}

/** Removes the project's network once no container names it, running or not. */
export function removeNetwork(daemon: Daemon, project: string): Promise<void> {
  const name = objectName(daemon, project, 'network')
  const found = removing.get(name) ?? removeUnused(daemon, name).finally(() => removing.delete(name))
  removing.set(name, found)
  return found
}

async function removeUnused(daemon: Daemon, name: string): Promise<void> {
  const network = daemon.docker.getNetwork(name)
  const found = await orAbsent(network.inspect())
  if (found === null || !isManaged(daemon, found.Labels)) return
  const own = (await daemon.own())?.id
  const isOther = (id: string) => id !== own
  if (Object.keys(found.Containers ?? {}).some(isOther)) return
  const containers = await daemon.docker.listContainers({ all: true, filters: { network: [name] } })
  if (containers.some(({ Id }) => isOther(Id)) || users.has(name)) return
  if (own !== undefined && Object.hasOwn(found.Containers ?? {}, own)) await leave(network, own)
  // 403: a container was started in it meanwhile.
  await network.remove().catch((error: unknown) => {
    if (statusOf(error) !== 403 && statusOf(error) !== 404) throw error
  })
}

async function leave(network: Network, own: string): Promise<void> {
  await network.disconnect({ Container: own, Force: true }).catch((error: unknown) => {
    if (statusOf(error) !== 404 && !/is not connected/i.test(messageOf(error))) throw error
  })
}

/** Networks of which a crash left nothing but themselves. */
export async function removeUnusedNetworks(daemon: Daemon): Promise<void> {
  for (const { Labels } of await daemon.docker.listNetworks({ filters: labelled(daemon) })) {
    const project = Labels?.[PROJECT]
    if (isManaged(daemon, Labels) && project !== undefined) await removeNetwork(daemon, project)
  }
}
