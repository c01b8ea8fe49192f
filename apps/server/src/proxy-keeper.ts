import { ensureProxy, type ProxyControl } from '@stackquay/proxy/control'
import type { RouteTable } from '@stackquay/proxy/route-table'

/** Keeps the data plane running beside the control plane: found or started at boot, and again when it is gone. */
export interface ProxyKeeper {
  control(): ProxyControl | null
  put(table: RouteTable): Promise<void>
  /** What the proxy has under way at an address; undefined when it does not say. */
  flights(host: string, port: number): Promise<{ readonly requests: number; readonly tunnels: number } | undefined>
  close(): void
}

const lookEveryMs = 3_000

export function createProxyKeeper(options: {
  readonly home: string
  readonly listen: string
  onError(error: unknown, what: string): void
}): ProxyKeeper {
  let control: ProxyControl | null = null
  let table: RouteTable | null = null
  let starting: Promise<ProxyControl> | null = null

  const ensure = () => {
    starting ??= ensureProxy({ home: options.home, listen: options.listen })
      .then(async (found) => {
        control = found
        // One that was started just now serves the routes that its predecessor kept on disk; ours are newer.
        if (table !== null) await found.putRoutes(table)
        return found
      })
      .finally(() => {
        starting = null
      })
    return starting
  }

  const look = async () => {
    const status = await control?.status().catch(() => undefined)
    if (status === undefined) await ensure()
  }
  ensure().catch((error: unknown) => options.onError(error, 'starting the proxy'))
  const timer = setInterval(
    () => void look().catch((error: unknown) => options.onError(error, 'starting the proxy')),
    lookEveryMs,
  )
  timer.unref()

  return {
    control: () => control,
    put: async (next) => {
      table = next
      const found = control ?? (await ensure())
      try {
        await found.putRoutes(next)
      } catch {
        await ensure()
      }
    },
    flights: async (host, port) => control?.flights(host, port).catch(() => undefined),
    close: () => clearInterval(timer),
  }
}
