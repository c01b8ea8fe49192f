import type { FieldError } from '@stackquay/contract'
import { nearestName } from '@stackquay/domain/names'
import type { z } from 'zod'
import { knownFields } from './known-fields.ts'

type Issue = z.core.$ZodIssue
type Path = readonly PropertyKey[]

/** Every issue as an answerable error: where, a stable code, and one sentence. `pointer` writes the place. */
export function fieldErrors(
  schema: z.ZodType,
  issues: readonly Issue[],
  pointer: (path: Path) => string,
): FieldError[] {
  const errors: FieldError[] = []
  for (const issue of issues) {
    if (errors.length >= mostErrors) break
    errors.push(...errorsOf(schema, issue, [], pointer))
  }
  return errors.slice(0, mostErrors)
}

/** Each costs a look at all known names. Nobody corrects more than these before sending it again. */
const mostErrors = 100

/** RFC 6901. */
export function jsonPointer(path: Path): string {
  return path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

function errorsOf(schema: z.ZodType, issue: Issue, above: Path, pointer: (path: Path) => string): FieldError[] {
  const path = [...above, ...issue.path]
  switch (issue.code) {
    case 'unrecognized_keys':
      return unknownFields(issue.keys, knownFields(schema, path), (key) => pointer([...path, key]))
    case 'invalid_key':
      return [
        {
          pointer: pointer(path),
          code: 'invalid_name',
          detail: `The name ${issue.issues[0]?.message ?? 'is not valid'}.`,
        },
      ]
    case 'invalid_union':
      return unionErrors(schema, issue, path, pointer)
    default:
      return [{ pointer: pointer(path), ...said(issue) }]
  }
}

function unknownFields(
  keys: readonly string[],
  known: readonly string[],
  pointer: (key: string) => string,
): FieldError[] {
  return keys.slice(0, mostErrors).map((key) => unknownField(key, known, pointer(key)))
}

function unknownField(key: string, known: readonly string[], pointer: string): FieldError {
  const near = nearestName(key, known)
  const advice =
    near !== undefined ? ` Did you mean "${near}"?` : known.length > 0 ? ` Known here: ${known.join(', ')}.` : ''
  return { pointer, code: 'unknown_field', detail: `There is no field "${key}".${advice}` }
}

/** The branch that the sender probably meant is the one whose kind of value fits; without one, all kinds are named. */
function unionErrors(
  schema: z.ZodType,
  issue: Issue & { code: 'invalid_union' },
  path: Path,
  pointer: (path: Path) => string,
): FieldError[] {
  const meant = issue.errors.find(
    (branch) => branch.length > 0 && !branch.some((one) => one.code === 'invalid_type' && one.path.length === 0),
  )
  if (meant) return meant.flatMap((one) => errorsOf(schema, one, path, pointer))
  const kinds = issue.errors.flatMap((branch) => branch.map((one) => ('expected' in one ? String(one.expected) : '')))
  const wanted = [...new Set(kinds.filter(Boolean))].join(', ')
  return [
    {
      pointer: pointer(path),
      code: 'invalid_type',
      detail: wanted === '' ? issue.message : `Expected one of: ${wanted}.`,
    },
  ]
}

function said(issue: Issue): Pick<FieldError, 'code' | 'detail'> {
  if (issue.code === 'invalid_type' && issue.message.endsWith('received undefined'))
    return { code: 'required', detail: 'Is required.' }
  const code = issue.code === 'custom' ? String(issue.params?.code ?? 'invalid_value') : issue.code
  return { code, detail: sentence(issue.message.replace(/^Invalid input: /, '')) }
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`
}
