import type { Server } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { ProxyStatus } from './control-protocol.ts'
import {
  type AddressSetting,
  type ListenAddress,
  listenOn,
  listenOnGiven,
  parseListen,
  StartError,
} from './listen-address.ts'
import { socketNameOf } from './listeners.ts'

/** Where the proxy listens, as it was asked for and as it is. */
export type Listening = Pick<
  ProxyStatus,
  'listen' | 'address' | 'socket' | 'listenHttps' | 'httpsAddress' | 'httpsSocket'
>

interface Wanted {
  readonly text: string
  readonly address: ListenAddress
  /** A socket that listens there already. */
  readonly fd: number | null
  readonly setting: AddressSetting
}

/** Throws StartError for an address that is none. */
export function parseAddresses(options: {
  readonly listen: string
  readonly listenHttps?: string
  readonly listenFd?: number | null
  readonly listenHttpsFd?: number | null
}): { readonly http: Wanted; readonly https: Wanted | null } {
  const { listen, listenHttps = 'off', listenFd = null, listenHttpsFd = null } = options
  return {
    http: { text: listen, address: parseListen(listen), fd: listenFd, setting: 'STACKQUAY_PROXY_HTTP' },
    https:
      listenHttps === 'off'
        ? null
        : {
            text: listenHttps,
            address: parseListen(listenHttps),
            fd: listenHttpsFd,
            setting: 'STACKQUAY_PROXY_HTTPS',
          },
  }
}

/** Both or none. */
export async function listenAll(
  { server, https: secureServer }: { readonly server: Server; readonly https: Server },
  { http, https }: ReturnType<typeof parseAddresses>,
  wasKilled: boolean,
): Promise<Listening> {
  const address = await listenTo(server, http, wasKilled)
  const plain = { listen: http.text, address, socket: socketNameOf(server) }
  if (https === null) return { ...plain, listenHttps: null, httpsAddress: null, httpsSocket: null }
  try {
    const httpsAddress = await listenTo(secureServer, https, wasKilled)
    return { ...plain, listenHttps: https.text, httpsAddress, httpsSocket: socketNameOf(secureServer) }
  } catch (error) {
    server.close()
    throw error
  }
}

function listenTo(server: Server, wanted: Wanted, wasKilled: boolean): Promise<ListenAddress> {
  return wanted.fd === null ? listenAfter(wasKilled, server, wanted) : listenOnGiven(server, wanted.fd)
}

/** Workers of a proxy that was killed notice it by themselves, but maybe a moment after its successor began. */
async function listenAfter(wasKilled: boolean, server: Server, { address, setting }: Wanted): Promise<ListenAddress> {
  const deadline = Date.now() + (wasKilled ? 3_000 : 0)
  for (;;) {
    try {
      return await listenOn(server, address, setting)
    } catch (error) {
      if (!(error instanceof StartError) || Date.now() >= deadline) throw error
      await delay(50)
    }
  }
}
