import type { ChosenToolchain, ProjectFacts, SourceFiles } from '@stackquay/catalog'
import type { PortBinding } from '@stackquay/engine-api'
import type { ContainerFacts } from './containers.ts'
import type { SecretHandle } from './spec.ts'

/** All facts that resolving needs, gathered beforehand. */
export interface ResolveFacts {
  readonly project: ProjectFacts
  readonly source: SourceFiles
  /** The toolchain of a runtime's or database's release line, or null when this machine has no usable one. */
  toolchain(name: string, line: string): ChosenToolchain | null
  /** Programs that belong beside a toolchain, by name: `npm`. */
  helpers(name: string): Readonly<Record<string, ChosenToolchain>>
  /** The lease of a port, or null when there is none yet. */
  lease(workload: string, port: string): number | null
  /** The handle of a secret of this project by its name, or null when it is not made yet. */
  secret(name: string, length: number): SecretHandle | null
  /** The archive that the changes of a database go to, by the name of its data; null when it is not begun yet. */
  archive?(data: string): string | null
  ourProgram(name: string): { readonly node: string; readonly file: string }
  /** Set when the project's engine runs images: toolchains of this machine are not used then. */
  readonly containers: ContainerFacts | null
  /** Where this instance publishes ports. */
  readonly publishAddress: PortBinding['bind']
  /**
   * Set for the test environment of a test run, which has databases and services beside the project's own: `lease`, `secret`
   * and the project's id above are those of the test environment. None of its variables may lead to the project's own data:
   * - injected variables win over the person's variables of the same name;
   * - where a person's variable, or a `.env` file of the source, names a port of the project's own data, it gets the port of the test environment;
   * - an external service is replaced by one here, and a service without one for tests (`forTests: 'none'`) leaves no variables;
   * - nothing is published, and data may be quicker than safe.
   */
  readonly testEnvironment?: { leaseOfProject(workload: string, port: string): number | null }
}
