/** The rule of the contract for names of variables, said at the field before the service must say it. */
const pattern = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

export function isEnvName(name: string): boolean {
  return pattern.test(name)
}

/**
 * Variables out of the text of a `.env` file, as people paste them: `export`, comments, single and double quotes,
 * quoted values over several lines. Nothing is interpolated. Lines that are none are answered too.
 */
export function parseDotEnv(text: string): {
  readonly variables: readonly { readonly name: string; readonly value: string }[]
  readonly ignored: readonly string[]
} {
  const variables: { name: string; value: string }[] = []
  const ignored: string[] = []
  const line =
    /^[^\S\n]*(?:export[^\S\n]+)?([A-Za-z_][A-Za-z0-9_]*)[^\S\n]*=[^\S\n]*(?:"((?:\\[\s\S]|[^"\\])*)"|'([^']*)'|([^\n]*))[^\n]*$/gm
  let rest = text.replace(/\r\n?/g, '\n')
  rest = rest.replace(line, (whole: string, name: string, double?: string, single?: string, bare?: string) => {
    if (/^\s*#/.test(whole)) return whole
    const value = double !== undefined ? unescaped(double) : (single ?? (bare ?? '').replace(/(^|\s)#.*$/, '').trim())
    variables.push({ name, value })
    return ''
  })
  for (const left of rest.split('\n')) if (left.trim() !== '' && !left.trim().startsWith('#')) ignored.push(left.trim())
  return { variables, ignored }
}

function unescaped(text: string): string {
  return text.replace(/\\([nrt"\\$])/g, (_, char: string) => ({ n: '\n', r: '\r', t: '\t' })[char] ?? char)
}
