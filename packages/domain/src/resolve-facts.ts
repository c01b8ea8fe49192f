import type { ChosenToolchain, ProjectFacts, SourceFiles } from '@stackquay/catalog'
import type { PortBinding } from '@stackquay/engine-api'
import type { ContainerFacts } from './containers.ts'
import type { SecretHandle } from './spec.ts'

/** Everything about the world that resolving needs to know, gathered beforehand. */
export interface ResolveFacts {
  readonly project: ProjectFacts
  readonly source: SourceFiles
  /** The toolchain of a runtime's or database's release line, or null when this machine has none that can be used. */
  toolchain(name: string, line: string): ChosenToolchain | null
  /** Programs that belong beside a toolchain, by name: `npm`. */
  helpers(name: string): Readonly<Record<string, ChosenToolchain>>
  /** The lease of a port, or null when there is none yet. */
  lease(workload: string, port: string): number | null
  /** The handle of a secret of this project by its name, or null when it is not made yet. */
  secret(name: string, length: number): SecretHandle | null
  ourProgram(name: string): { readonly node: string; readonly file: string }
  /** Set when the project's engine runs images: then toolchains of this machine count for nothing. */
  readonly containers: ContainerFacts | null
  /** Where this instance publishes ports. */
  readonly publishAddress: PortBinding['bind']
  /**
   * Set for databases and services that stand beside the project's own for a while, as a test run has them: `lease`, `secret`
   * and the project's id above are the stand's. Nothing of the stand may lead to the project's own data then:
   * - injected variables win over the person's variables of the same name;
   * - where a person's variable, or a `.env` file of the source, names a port of the project's own data, it gets the stand's;
   * - a service elsewhere is replaced by one here, and one that no stand has (`forTests: 'none'`) leaves no variables;
   * - nothing is published, and data may be quicker than safe.
   */
  readonly stand?: { leaseOfProject(workload: string, port: string): number | null }
}
