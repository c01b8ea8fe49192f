import type { FieldError } from '@stackquay/contract'
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type YAMLError,
} from 'yaml'

/** A project file as values, and where in the text each of them stands. */
export interface ManifestSource {
  readonly value: unknown
  /** The error at a place: the key's, where the value has one, else the value's. */
  fault(path: Path, code: string, detail: string, at?: 'key' | 'value'): FieldError
  /** A number or boolean as it was written: `3.10`, `0x1F`, `True`. Undefined for everything else. */
  writtenAs(path: Path): string | undefined
}

export type Path = readonly PropertyKey[]
export type ReadSource =
  | { readonly ok: true; readonly source: ManifestSource }
  | { readonly ok: false; readonly errors: readonly FieldError[] }

const maxLength = 200_000
const maxDepth = 20
/** Values after aliases are followed: a file of a few lines can otherwise stand for millions. */
const maxValues = 5000
const maxErrors = 20

/**
 * Reads YAML 1.2 (core schema) that anybody may have sent. Merge keys, directives, tags and several documents in one file
 * are refused rather than guessed at. Duplicate keys are found here and not by the library, whose check takes time with
 * the square of the number of keys. `emptyDetail` is for a file with nothing in it.
 */
export function readSource(text: string, emptyDetail: string): ReadSource {
  if (text.length > maxLength) {
    return refuse(`The file has ${text.length} characters; it may have ${maxLength}.`, 1, 1)
  }
  const lines = new LineCounter()
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    strict: true,
    merge: false,
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter: lines,
  })
  const reader = new Reader(lines, document)
  const faults = [...document.errors, ...document.warnings]
  // Where the reader gave up on depth, all that follows is its confusion.
  const depth = faults.find((fault) => fault.code === 'RESOURCE_EXHAUSTION')
  for (const fault of depth === undefined ? faults : [depth]) {
    reader.report('', 'yaml', yamlSentence(fault, text), fault.pos[0])
  }
  if (document.directives?.yaml.explicit === true && document.directives.yaml.version !== '1.2') {
    reader.report('', 'yaml', 'Remove the line "%YAML …": the file is YAML 1.2.', 0)
  }
  if (reader.errors.length === 0 && !isMap(document.contents)) {
    const empty = document.contents === null || (isScalar(document.contents) && document.contents.value === null)
    const detail = empty ? emptyDetail : 'The file must be a map of keys, such as "name: shop".'
    reader.report('', 'invalid_type', detail, document.contents?.range?.[0] ?? 0)
  }
  const value = reader.errors.length === 0 ? reader.read(document.contents, []) : undefined
  if (reader.errors.length > 0) return { ok: false, errors: reader.errors }
  return { ok: true, source: { value, fault: reader.fault.bind(reader), writtenAs: reader.writtenAs.bind(reader) } }
}

function refuse(detail: string, line: number, column: number): ReadSource {
  return { ok: false, errors: [{ pointer: '', code: 'too_large', detail, line, column }] }
}

function yamlSentence(fault: YAMLError, text: string): string {
  if (fault.code === 'TAB_AS_INDENT') return 'A tab stands where the line is indented. Indent with spaces.'
  if (fault.code === 'MULTIPLE_DOCS') return 'A second document begins here ("---"). A project file is one document.'
  if (fault.code === 'RESOURCE_EXHAUSTION') return 'The file is nested too deeply.'
  if (fault.code === 'TAG_RESOLVE_FAILED')
    return `The tag "${text.slice(...fault.pos).slice(0, 60)}" is not supported. Remove it.`
  return `${fault.message.replace(/[.:]?\s*$/, '')}.`
}

interface Place {
  readonly key: number | undefined
  readonly value: number
  readonly written: string | undefined
}

/** One walk over the parsed nodes, which makes the values and notes where they stand. */
class Reader {
  readonly errors: FieldError[] = []
  readonly #places = new Map<string, Place>()
  readonly #lines: LineCounter
  readonly #document: Document.Parsed
  #values = 0

  constructor(lines: LineCounter, document: Document.Parsed) {
    this.#lines = lines
    this.#document = document
  }

  read(node: unknown, path: Path, key?: number, outer = 0): unknown {
    const at = (node as Node | null)?.range?.[0] ?? key ?? outer
    this.#values += 1
    if (this.#values > maxValues)
      return this.#once(path, 'too_large', `The file stands for more than ${maxValues} values.`, at)
    if (path.length > maxDepth) return this.#once(path, 'too_deep', 'The file is nested too deeply.', at)
    if (isAlias(node)) {
      const target = node.resolve(this.#document)
      if (target === undefined)
        return this.#once(path, 'yaml', `There is no anchor "&${node.source}" above this line.`, at)
      return this.read(target, path, key ?? at, at)
    }
    const written = isScalar(node) && typeof node.value !== 'string' && node.value !== null ? node.source : undefined
    this.#places.set(pointerOf(path), { key, value: at, written })
    if (isMap(node)) return this.#readMap(node.items, path, at)
    if (isSeq(node)) return node.items.map((item, index) => this.read(item, [...path, index], undefined, at))
    return isScalar(node) ? node.value : null
  }

  #readMap(items: readonly Pair[], path: Path, outer: number): Readonly<Record<string, unknown>> {
    const entries = new Map<string, unknown>()
    for (const { key, value } of items) {
      const at = (key as Node | null)?.range?.[0] ?? outer
      if (!isScalar(key) || key.value === null) {
        this.report(pointerOf(path), 'yaml', 'A key must be a single word.', at)
        continue
      }
      const name = typeof key.value === 'string' ? key.value : (key.source ?? String(key.value))
      if (name === '<<')
        this.report(pointerOf(path), 'yaml', 'Merge keys ("<<") are not supported. Write the keys out.', at)
      else if (entries.has(name))
        this.report(pointerOf([...path, name]), 'duplicate_key', `The key "${name}" stands here a second time.`, at)
      else entries.set(name, this.read(value, [...path, name], at, at))
    }
    // Own properties whatever the name: `__proto__` in a file is an unknown key and no more.
    return Object.fromEntries(entries)
  }

  writtenAs(path: Path): string | undefined {
    return this.#places.get(pointerOf(path))?.written
  }

  fault(path: Path, code: string, detail: string, at: 'key' | 'value' = 'value'): FieldError {
    let place: Place | undefined
    // What is missing has no place: the nearest thing around it has.
    for (let length = path.length; place === undefined && length >= 0; length -= 1)
      place = this.#places.get(pointerOf(path.slice(0, length)))
    const offset = (at === 'key' ? place?.key : undefined) ?? place?.value ?? 0
    return this.#located(pointerOf(path), code, detail, offset)
  }

  report(pointer: string, code: string, detail: string, offset: number): undefined {
    if (this.errors.length < maxErrors) this.errors.push(this.#located(pointer, code, detail, offset))
  }

  #once(path: Path, code: string, detail: string, offset: number): undefined {
    if (!this.errors.some((error) => error.code === code)) this.report(pointerOf(path), code, detail, offset)
  }

  #located(pointer: string, code: string, detail: string, offset: number): FieldError {
    const { line, col } = this.#lines.linePos(offset)
    return { pointer, code, detail, line: Math.max(1, line), column: Math.max(1, col) }
  }
}

export function pointerOf(path: Path): string {
  return path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
