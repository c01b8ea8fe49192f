import type { Server } from 'node:net'
import { portOwner } from './port-owner.ts'

export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** `127.0.0.1:8780`, `[::1]:8780`, `localhost:8780`; port 0 lets the system choose. */
export function parseListen(text: string): ListenAddress {
  const found = /^(?:\[([0-9a-f:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/i.exec(text)
  const port = Number(found?.[3])
  if (!found || port > 65535) {
    throw new StartError(`"${text}" is no address to listen on. Write host and port, like 127.0.0.1:8780.`)
  }
  return { host: (found[1] ?? found[2])!, port }
}

/** Connections that may wait until they are accepted. */
export const backlog = 1024

export async function listenOn(
  server: Server,
  { host, port }: ListenAddress,
  setting: AddressSetting = 'STACKQUAY_PROXY_HTTP',
): Promise<ListenAddress> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', async (error: NodeJS.ErrnoException) =>
      reject(await explainListen(error, { host, port }, setting)),
    )
    server.listen({ host, port, backlog }, resolve)
  })
  return boundTo(server, `${host}:${port}`)
}

/** A socket that another process has opened, bound and given to this one. */
export async function listenOnGiven(server: Server, fd: number): Promise<ListenAddress> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new StartError(`The socket that was given is unusable: ${error.message}.`)))
    server.listen({ fd, backlog }, resolve)
  })
  return boundTo(server, `descriptor ${fd}`)
}

function boundTo(server: Server, asked: string): ListenAddress {
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new StartError(`Listening on ${asked} has no address.`)
  return { host: bound.address, port: bound.port }
}

/** A reason not to start that a person can do something about; its message is all they need. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** Names who has the port, as far as it is known. */
export async function portUsed(port: number, setting: AddressSetting): Promise<StartError> {
  const owner = await portOwner(port)
  const who = owner ? ` by "${owner.name}" (pid ${owner.pid})` : ''
  return new StartError(`Port ${port} is used${who}. Stop it, ${changeOf(setting)}.`)
}

/** What sets the address. */
export type AddressSetting = 'STACKQUAY_PROXY_HTTP' | 'STACKQUAY_PROXY_HTTPS'

function changeOf(setting: AddressSetting): string {
  return `or choose another address with ${setting}`
}

/** What a person can do when an address cannot be listened on. */
export async function explainListen(
  error: NodeJS.ErrnoException,
  { host, port }: ListenAddress,
  setting: AddressSetting,
): Promise<Error> {
  const change = changeOf(setting)
  switch (error.code) {
    case 'EADDRINUSE':
      return portUsed(port, setting)
    case 'EACCES':
      return new StartError(
        `Listening on port ${port} is not allowed for this user. Use a port from 1024 on, ${change}.`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new StartError(`"${host}" is no address of this machine. Use 127.0.0.1, ${change}.`)
    default:
      return error
  }
}
