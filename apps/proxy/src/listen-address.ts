import type { Server } from 'node:net'
import { portHolder } from './port-holder.ts'

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

export async function listenOn(server: Server, { host, port }: ListenAddress): Promise<ListenAddress> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', async (error: NodeJS.ErrnoException) => reject(await explain(error, host, port)))
    server.listen({ host, port, backlog: 1024 }, resolve)
  })
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new StartError(`Listening on ${host}:${port} has no address.`)
  return { host: bound.address, port: bound.port }
}

/** A reason not to start that a person can do something about; its message is all they need. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

async function explain(error: NodeJS.ErrnoException, host: string, port: number): Promise<Error> {
  const change = 'or choose another address with STACKQUAY_PROXY_HTTP'
  switch (error.code) {
    case 'EADDRINUSE': {
      const holder = await portHolder(port)
      const who = holder ? ` by "${holder.name}" (pid ${holder.pid})` : ''
      return new StartError(`Port ${port} is used${who}. Stop it, ${change}.`)
    }
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
