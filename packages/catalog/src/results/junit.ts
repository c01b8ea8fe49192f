import { Parser } from 'htmlparser2'
import { caseList, type ParsedCase } from './case-list.ts'
import { type TestResults, UnreadableResults } from './case-result.ts'
import { linesIn, placesIn } from './trace.ts'

/**
 * JUnit XML, as pytest and PHPUnit write it. Read as a stream: of a file that ends in the middle the tests before that are
 * known, and no document type, entity or depth of it can cost more than its length.
 */
export function readJUnit(text: string): TestResults {
  const cases = caseList()
  const suites: Suite[] = []
  let depth = 0
  let isJUnit = false
  let isCut = false
  let current: OpenCase | null = null
  let part: Part | null = null

  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        depth++
        if (name === 'testsuites') isJUnit = true
        if (name === 'testsuite') {
          isJUnit = true
          suites.push({ depth, name: attributes.name, file: attributes.file })
        }
        if (name === 'testcase' && suites.length > 0) current = { depth, attributes, suite: suites.at(-1)!, parts: [] }
        if (current !== null && isPart(name)) {
          part = { depth, kind: name, message: attributes.message, text: '' }
          current.parts.push(part)
        }
      },
      ontext: (chunk) => {
        if (part !== null && part.text.length < mostText) part.text += chunk
      },
      onclosetag: (_name, implied) => {
        // What the end of the file closes was cut; a test without its end has no result yet.
        if (implied && parserEnded) isCut = true
        if (part?.depth === depth) part = null
        if (current?.depth === depth) {
          if (!isCut) cases.add(caseOf(current))
          current = null
        }
        if (suites.at(-1)?.depth === depth) suites.pop()
        depth--
      },
    },
    { xmlMode: true, decodeEntities: true },
  )
  let parserEnded = false
  let isOdd = false
  for (let at = 0; at < text.length && !isOdd; at += chunk) {
    parser.write(text.slice(at, at + chunk))
    isOdd = depth > mostDepth
  }
  parserEnded = true
  if (!isOdd) parser.end()
  if (!isJUnit) throw new UnreadableResults('The results are not JUnit XML.')
  return cases.results(isCut || isOdd)
}

const chunk = 16_384
const mostDepth = 500
const mostText = 131_072

interface Suite {
  readonly depth: number
  readonly name: string | undefined
  readonly file: string | undefined
}

interface OpenCase {
  readonly depth: number
  readonly attributes: Readonly<Record<string, string>>
  readonly suite: Suite
  readonly parts: Part[]
}

interface Part {
  readonly depth: number
  readonly kind: (typeof partKinds)[number]
  readonly message: string | undefined
  text: string
}

const partKinds = ['failure', 'error', 'skipped'] as const

function isPart(name: string): name is Part['kind'] {
  return (partKinds as readonly string[]).includes(name)
}

function caseOf({ attributes, suite, parts }: OpenCase): ParsedCase {
  const { name = '', classname, time } = attributes
  const failed = parts.filter((part) => part.kind !== 'skipped')
  const skipped = parts.find((part) => part.kind === 'skipped')
  const trace = failed.map((part) => part.text.trim()).join('\n\n')
  const file = attributes.file ?? suite.file ?? placesIn(trace).at(-1)?.file ?? null
  const said = { name, group: classname || attributes.class || null, file, seconds: secondsOf(time) }
  if (failed.length > 0) {
    const line = (file === null ? undefined : linesIn(trace, file).at(-1)) ?? lineOf(attributes)
    return { ...said, line, outcome: 'failed', message: messageOf(failed[0]!, attributes), details: trace }
  }
  const outcome = skipped === undefined ? 'passed' : 'skipped'
  return { ...said, line: lineOf(attributes), outcome, message: skipped?.message ?? null }
}

/** pytest counts lines from 0 in the family that names files, PHPUnit from 1; PHPUnit also says the class. */
function lineOf(attributes: OpenCase['attributes']): number | null {
  const line = Number.parseInt(attributes.line ?? '', 10)
  return Number.isNaN(line) ? null : line + (attributes.class === undefined ? 1 : 0)
}

/** PHPUnit writes no message: a line with the test's name, what was wrong, an empty line, the trace. */
function messageOf(part: Part, { name, class: className }: OpenCase['attributes']): string {
  if (part.message && part.message !== 'collection failure') return part.message
  // pytest marks what was wrong; of a file that cannot be loaded it says nothing else.
  const marked = [...part.text.matchAll(/^E {3}(.*)$/gm)].at(-1)?.[1]
  if (part.message) return marked ?? part.message
  const lines = part.text.replace(/\r\n/g, '\n').trim().split('\n')
  const isName = lines.length > 1 && lines[0]!.startsWith(`${className}::${name}`)
  const rest = lines.slice(isName ? 1 : 0)
  const end = rest.indexOf('')
  return rest.slice(0, end === -1 ? undefined : end).join('\n')
}

/** `1,234.5` in some versions. */
function secondsOf(time: string | undefined): number | null {
  const seconds = Number.parseFloat((time ?? '').replaceAll(',', ''))
  return Number.isNaN(seconds) ? null : seconds
}
