import type { DockerEngineOptions } from './engine.ts'

export type { DockerEngineOptions } from './engine.ts'
export type { RegistryAuth, RegistryCredentials } from './registry-credentials.ts'
export { type DockerTls, dockerTls } from './tls.ts'

/** Loaded where it is wanted: Docker's client is a fifth of the time that a service without it would take to start. */
export async function createDockerEngine(options: DockerEngineOptions) {
  const engine = await import('./engine.ts')
  return engine.createDockerEngine(options)
}
