/**
 * The same expression with every control character as `\xNN`, which the dialects of Go, Python and Java read as ECMAScript
 * does; `\0` and `\u0000` are not known to all. Expressions that cannot be said so are refused: rewrite them.
 */
export function portablePattern(pattern: string): string {
  const text = pattern
    .replace(/\\0(?!\d)/g, '\\x00')
    .replace(/\\u00([0-9a-fA-F]{2})/g, '\\x$1')
    .replaceAll('\\/', '/')
  const found = /\(\?(?!:)|\\[pPkc]|\\u|\\[1-9]/.exec(text)?.[0]
  if (found !== undefined) throw new Error(`The pattern ${pattern} holds "${found}", which not every dialect reads.`)
  return text
}
