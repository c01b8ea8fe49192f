import { fstatSync } from 'node:fs'
import { ConfigError } from '../config.ts'

/** Descriptors of listening sockets that systemd opened (sd_listen_fds(3)). */
export interface InheritedSockets {
  readonly page?: number
  readonly proxy?: number
  readonly proxyHttps?: number
}

const firstDescriptor = 3
/** As socket units name them, and here. */
const names = { page: 'page', proxy: 'proxy', 'proxy-https': 'proxyHttps' } as const

/**
 * Reads what a socket unit has handed over: `LISTEN_FDS` descriptors from 3 on, named by `LISTEN_FDNAMES`. They are for the
 * process that `LISTEN_PID` names alone. The variables are taken out of the environment, so that no program that is started
 * takes them for its own.
 */
export function takeInheritedSockets(
  env: NodeJS.ProcessEnv,
  { pid = process.pid, isSocket = isOpenSocket } = {},
): InheritedSockets {
  const { LISTEN_FDS: count, LISTEN_PID: receiver, LISTEN_FDNAMES: given = '' } = env
  for (const name of ['LISTEN_FDS', 'LISTEN_PID', 'LISTEN_PIDFDID', 'LISTEN_FDNAMES']) delete env[name]
  if (count === undefined || Number(receiver) !== pid) return {}
  if (!/^\d{1,3}$/.test(count)) throw new ConfigError(`LISTEN_FDS is "${count}", which is no number of sockets.`)

  const sockets: { page?: number; proxy?: number; proxyHttps?: number } = {}
  const words = given.split(':')
  for (let index = 0; index < Number(count); index += 1) {
    const name = Object.entries(names).find(([word]) => word === words[index])?.[1]
    if (name === undefined || sockets[name] !== undefined) {
      throw new ConfigError(
        `Socket ${index + 1} from systemd is named "${words[index] ?? ''}". Give each socket unit one ListenStream, and FileDescriptorName=page or FileDescriptorName=proxy; that of https is proxy-https.`,
      )
    }
    const fd = firstDescriptor + index
    if (!isSocket(fd)) {
      throw new ConfigError(
        `LISTEN_FDS promises a socket at descriptor ${fd}, and none is there. Let systemd start the service itself, without npm; see docs/systemd.md.`,
      )
    }
    sockets[name] = fd
  }
  return sockets
}

/** A program in between that keeps the variables and closes the descriptors leaves something else at their numbers. */
function isOpenSocket(fd: number): boolean {
  try {
    return fstatSync(fd).isSocket()
  } catch {
    return false
  }
}
