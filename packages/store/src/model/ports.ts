export interface PortLease {
  readonly project: string
  readonly workload: string
  readonly port: string
  readonly hostPort: number
}

export interface PortReader {
  of(project: string): Promise<readonly PortLease[]>
  all(): Promise<readonly PortLease[]>
}

export interface PortWriter {
  /** The lease of (project, workload, port); makes one on the first free port of `candidates`. Throws `NoPortError`. */
  lease(project: string, workload: string, port: string, candidates: Iterable<number>): Promise<number>
  /** Gives a lease another port, because a foreign program took it while the project was stopped. */
  move(project: string, workload: string, port: string, candidates: Iterable<number>): Promise<number>
  release(project: string, workload?: string): Promise<void>
}
