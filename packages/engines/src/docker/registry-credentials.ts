/** Credentials for a registry. */
export interface RegistryAuth {
  readonly username: string
  readonly password: string
  /** In place of the password, where the registry gave one. */
  readonly identitytoken?: string
}

/** By the registry's host name, as images name it. */
export type RegistryCredentials = (registryHost: string) => Promise<RegistryAuth | null>
