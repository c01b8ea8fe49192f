import type Dockerode from 'dockerode'

/** Where the daemon listens. Plain data, so that it can be handed to another process. */
export interface Target {
  readonly place:
    | { readonly path: string }
    | {
        readonly host: string
        readonly port: number
        /** Null: without TLS. */
        readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string } | null
      }
  /** Begins every path: `/v1.41`, or nothing, which stands for the daemon's newest. */
  readonly prefix: string
}

/** Options of dockerode that are missing in its types. */
interface Modem {
  readonly socketPath?: string | (() => Promise<string>)
  readonly host?: string
  readonly port?: string | number
  readonly protocol?: string
  readonly version?: string
  readonly ca?: unknown
  readonly cert?: unknown
  readonly key?: unknown
}

export async function targetOf(docker: Dockerode): Promise<Target> {
  const modem = docker.modem as Modem
  const prefix = modem.version === undefined ? '' : `/v${modem.version.replace(/^v/, '')}`
  if (modem.socketPath !== undefined) {
    const path = typeof modem.socketPath === 'string' ? modem.socketPath : await modem.socketPath()
    return { place: { path }, prefix }
  }
  const tls = modem.protocol === 'https' ? { ca: pem(modem.ca), cert: pem(modem.cert), key: pem(modem.key) } : null
  return { place: { host: modem.host ?? 'localhost', port: Number(modem.port ?? 2375), tls: certain(tls) }, prefix }
}

function pem(given: unknown): string | undefined {
  if (given === undefined || given === null) return undefined
  return Array.isArray(given) ? given.map(String).join('\n') : String(given)
}

function certain<T extends Record<string, string | undefined>>(tls: T | null): Record<string, string> | null {
  if (tls === null) return null
  return Object.fromEntries(Object.entries(tls).filter((entry): entry is [string, string] => entry[1] !== undefined))
}
