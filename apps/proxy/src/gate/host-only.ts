/**
 * A cookie as its own host may set it: without a domain it reaches no neighbour. Null for one of a name that is not the application's to set.
 */
export function hostOnlyCookie(line: string, notIts: readonly string[]): string | null {
  const [pair = '', ...attributes] = line.split(';')
  // Browsers send a cookie without a name as its value alone, which may look like another.
  const name = pair.trim().replace(/^=/, '').split('=', 1)[0]!.trim()
  if (notIts.includes(name)) return null
  return [pair, ...attributes.filter((one) => !/^\s*domain\s*(=|$)/i.test(one))].join(';')
}
