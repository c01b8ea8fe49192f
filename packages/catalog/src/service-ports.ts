import type { PortBinding } from '@stackquay/engine-api'
import type { ServiceInput } from './entry-types.ts'

/** A port of a service, as an engine publishes it. */
export function servicePort(input: ServiceInput, name: string): PortBinding {
  return { name, port: input.listen(name).port, hostPort: input.hostPort(name), bind: input.bind(name) }
}

/** Where programs listen for themselves alone, on a machine as in a container. */
export const innerAddress = '127.0.0.1'

/**
 * Ports on which a program listens for itself alone. On a machine their leases keep others away from them; loopback of a
 * container is not reachable from outside, so there is nothing to publish.
 */
export function innerPorts(input: ServiceInput, ...names: readonly string[]): readonly PortBinding[] {
  if (input.inContainer === true) return []
  return names.map((name) => ({ ...servicePort(input, name), bind: innerAddress }))
}
