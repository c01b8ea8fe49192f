import { BlockList, isIPv4 } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { ContainerInspectInfo } from 'dockerode'
import type { Daemon } from './daemon.ts'

/**
 * The container's address in its network, where this process is in that network itself. It is better than a published port of
 * loopback: that leads through a program of Docker's, which ends with the daemon while the container runs on. Null where the
 * network is another machine's, or one of its own within this machine, as with a Docker that runs without root.
 */
export function ownAddress(daemon: Daemon, { NetworkSettings }: ContainerInspectInfo): string | null {
  if (!daemon.isLocal) return null
  const addresses = Object.values(NetworkSettings.Networks ?? {}).map(({ IPAddress }) => IPAddress ?? '')
  return addresses.find((address) => isIPv4(address) && isBesideUs(address)) ?? null
}

function isBesideUs(address: string): boolean {
  const here = new BlockList()
  for (const { family, address: own, cidr } of Object.values(networkInterfaces()).flatMap((list) => list ?? []))
    if (family === 'IPv4') here.addSubnet(own, Number(cidr?.split('/')[1] ?? 32), 'ipv4')
  return here.check(address, 'ipv4')
}
