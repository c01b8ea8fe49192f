import { usageError } from '../errors.ts'

/** `[project] <host>`: one word alone is the host, and the project is that of this folder. */
export function projectAndHost(
  first: string | undefined,
  second: string | undefined,
): { readonly project: string | undefined; readonly host: string } {
  if (first === undefined) throw usageError('Which host name?', 'An example: stq domain add shop shop.example.org')
  return second === undefined ? { project: undefined, host: first } : { project: first, host: second }
}
