import { statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import type { FolderMount } from '@stackquay/engine-api'
import type { NetworkEnvironment } from '../native/network-environment.ts'
import type { Daemon } from './daemon.ts'
import { hostPath } from './own-container.ts'

export interface TrustedFiles {
  readonly env: Readonly<Record<string, string>>
  readonly files: readonly FolderMount[]
}

const none: TrustedFiles = { env: {}, files: [] }

/** This variable of the registries names a certificate file as well. */
const REGISTRY_FILES = ['npm_config_cafile']

/**
 * Certificate files of this machine, for every container at the same path. A variable whose file cannot be given to one is
 * left out: it would make a program fail that would do without. Looked at each time, because files come and go.
 */
export async function trustedFiles(daemon: Daemon): Promise<TrustedFiles> {
  // On another machine there may be anything at these paths.
  if (!daemon.isLocal) return none
  const named = Object.entries(daemon.network.certificates).filter(([, path]) => isFile(path))
  const registryFiles = registryFilesOf(daemon.network).filter(isFile)
  if (named.length + registryFiles.length === 0) return none
  const own = await daemon.own()
  const isMountable = (path: string) => own === null || hostPath(own.mounts, path) !== null
  const env = Object.fromEntries(named.filter(([, path]) => isMountable(path)))
  const paths = [...new Set([...Object.values(env), ...registryFiles.filter(isMountable)])]
  return { env, files: paths.map((path) => ({ path, readOnly: true })) }
}

/** Proxies and registries, for what installs and for what people run, never for what was installed. */
export function registriesFor(network: NetworkEnvironment, files: readonly FolderMount[]): Record<string, string> {
  const isGiven = (path: string) => files.some((file) => file.path === path)
  return Object.fromEntries(
    Object.entries(network.registries).filter(([name, value]) => !REGISTRY_FILES.includes(name) || isGiven(value)),
  )
}

function registryFilesOf({ registries }: NetworkEnvironment): string[] {
  return REGISTRY_FILES.flatMap((name) => registries[name] ?? [])
}

function isFile(path: string): boolean {
  return isAbsolute(path) && (statSync(path, { throwIfNoEntry: false })?.isFile() ?? false)
}
