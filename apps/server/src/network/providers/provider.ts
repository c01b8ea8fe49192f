/** A way in which people outside reach a share. Each knows itself; nobody else asks for one by its name. */
export interface ShareProvider {
  readonly name: string
  readonly label: string
  readonly summary: string
  /** Whether it can be used here, now. */
  probe(environment: ProviderEnvironment): Promise<Availability>
  /** Null: the proxy's own address is the way, and nothing else has to run. */
  readonly tunnel: Tunnel | null
}

/** A program that brings people from outside to the share's own listener, as long as it runs. */
export interface Tunnel {
  /**
   * The header in which it says who the client is, in lower case. Null: it does not say; then the client is nobody, whom no
   * list of addresses lets in.
   */
  readonly clientHeader: string | null
  /** What follows the program's name on its command line. No secret may be in it. */
  readonly args: (port: number, environment: ProviderEnvironment) => readonly string[]
  /** The public address, when this line of its output tells it: scheme, host and port. */
  readonly addressIn: (line: string, environment: ProviderEnvironment) => string | null
}

export type Availability =
  | { readonly available: true; readonly program: string | null }
  | { readonly available: false; readonly reason: string; readonly install: string | null }

/** What providers may know of the machine and its settings. */
export interface ProviderEnvironment {
  /** Folders in which programs are found, as in `PATH`. */
  readonly path: string
  /** Names of those that the instance allows. */
  readonly allowed: readonly string[]
  /** `STACKQUAY_SHARE_SSH`. */
  readonly ssh: SshServer | null
}

export interface SshServer {
  readonly user: string
  readonly host: string
  readonly port: number
}
