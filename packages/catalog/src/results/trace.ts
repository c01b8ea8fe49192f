import { stripVTControlCharacters } from 'node:util'

/** Finding in a trace the line of a file. */

/** The line in `file.py:5:`, `/a/b_test.go:12:`, `file:///a/b.test.js:4:37)`, `(webpack:///a.js:3:1)`. */
const lineNumber = /:(\d{1,7})(?![\d.])/g
const separators = /[\s()"'<>:|]/
/** `File "/a/b.py", line 5, in test` */
const pythonPlace = /File "([^"\n]{1,4000})", line (\d{1,7})/g

/** Lines that a trace names in a file, in the order of the trace. The trace may spell its path otherwise. */
export function linesIn(trace: string, file: string): readonly number[] {
  return placesIn(trace)
    .filter((one) => samePath(one.file, file))
    .map((one) => one.line)
}

export function placesIn(trace: string): readonly { readonly file: string; readonly line: number }[] {
  const bounded = stripVTControlCharacters(
    trace.length > 65_536 ? trace.slice(0, 32_768) + trace.slice(-32_768) : trace,
  )
  const python = [...bounded.matchAll(pythonPlace)]
  if (python.length > 0) return python.map(([, file, line]) => ({ file: file!, line: Number(line) }))
  return [...bounded.matchAll(lineNumber)].flatMap((match) => {
    const file = pathBefore(bounded, match.index)
    return file === '' ? [] : [{ file, line: Number(match[1]) }]
  })
}

/** Backwards from the number: forwards, a long text without any number would take its length squared. */
function pathBefore(text: string, end: number): string {
  let at = end
  while (at > 0 && end - at < 4000 && !separators.test(text[at - 1]!)) at--
  return text.slice(at, end).replace(/^\/\/(?=\/)/, '')
}

/** Equal, or one ends with the other: `./a/b.rb` and `/project/a/b.rb`. */
function samePath(one: string, other: string): boolean {
  const [a, b] = [partsOf(one), partsOf(other)]
  const shared = Math.min(a.length, b.length)
  return shared > 0 && a.slice(-shared).join('/') === b.slice(-shared).join('/')
}

function partsOf(path: string): readonly string[] {
  return path.split(/[/\\]/).filter((part) => part !== '' && part !== '.')
}
