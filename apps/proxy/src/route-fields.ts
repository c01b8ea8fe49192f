/** Says where in the table the mistake is: `routes[3].target.port must be …`. */
export class RouteTableError extends Error {
  override readonly name = 'RouteTableError'
}

export function fields(input: unknown, at: string, known: readonly string[]): Record<string, unknown> {
  if (input === null || typeof input !== 'object' || Array.isArray(input)) fail(at, 'must be an object')
  const unknown = Object.keys(input).find((key) => !known.includes(key))
  if (unknown !== undefined) fail(`${at}.${unknown}`, 'is not known to this proxy')
  return input as Record<string, unknown>
}

export function list(input: unknown, at: string): readonly unknown[] {
  return Array.isArray(input) ? input : fail(at, 'must be a list')
}

export function texts(input: unknown, at: string): readonly string[] {
  return list(input, at).map((one, index) => text(one, `${at}[${index}]`))
}

export function text(input: unknown, at: string): string {
  return typeof input === 'string' ? input : fail(at, 'must be a text')
}

export function fail(at: string, what: string): never {
  throw new RouteTableError(`${at} ${what}`)
}
