import type { CommandEnvironment } from '@stackquay/catalog'
import type { Container, Limits } from '@stackquay/engine-api'

/** A place where people run programs. */
export interface NamedEnvironment extends CommandEnvironment {
  /** Name of the runtime, or of the workload of a database or a service; `project` where there is no runtime. */
  readonly name: string
  readonly label: string
  /** Why nothing can run in it: its toolchain is missing here. Null when it can. */
  readonly reason: string | null
  /** Programs run there only while its workload does: that of a database or a service. */
  readonly needsUp?: true
  /** Where its commands run, on an engine of images. */
  readonly container?: Container
  /** The limits of each of its commands, on an engine that runs programs of this machine. */
  readonly limits?: Limits
}
