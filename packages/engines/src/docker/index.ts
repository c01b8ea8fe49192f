export { createDockerEngine, type DockerEngineOptions } from './engine.ts'
export type { RegistryAuth, RegistryCredentials } from './images.ts'
export { type DockerTls, dockerTls } from './tls.ts'
