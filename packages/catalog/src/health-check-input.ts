/** How the server of a project is asked over HTTP whether it is well. */
export interface HealthCheckInput {
  readonly path: string
  readonly timeoutSeconds: number
  /** Lowest and highest of each; absent: 200 to 399. */
  readonly statuses?: readonly (readonly [number, number])[]
  readonly intervalSeconds?: number
  readonly failures?: number
}
