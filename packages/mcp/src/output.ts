/** So many characters an answer has at most; a client pays for each with its context. */
export const mostCharacters = 20_000

export interface ToolAnswer {
  readonly [key: string]: unknown
  readonly content: { type: 'text'; text: string }[]
  readonly isError?: boolean
}

export function textAnswer(text: string, more?: string): ToolAnswer {
  return { content: [{ type: 'text', text: cut(text, more) }] }
}

export function jsonAnswer(value: unknown, more?: string): ToolAnswer {
  return textAnswer(JSON.stringify(withoutNothing(value)), more)
}

/** A refusal is an answer that an assistant reads and can do something about. */
export function problemAnswer(problem: unknown): ToolAnswer {
  return { content: [{ type: 'text', text: cut(JSON.stringify(shortProblem(problem))) }], isError: true }
}

export function refusal(code: string, detail: string, hint: string): ToolAnswer {
  return problemAnswer({ code, detail, hint })
}

/** Says that it was cut, of how much, and how to read on. Never between the halves of a character. */
export function cut(text: string, more = 'Ask for less: a smaller limit, a filter, or one part.'): string {
  if (text.length <= mostCharacters) return text
  const end = mostCharacters - 200 - more.length
  const safe = isHighHalf(text.charCodeAt(end - 1)) ? end - 1 : end
  return `${text.slice(0, safe)}\n… cut: ${safe} of ${text.length} characters. ${more}`
}

function isHighHalf(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

/** Fields without a value say nothing that their absence does not. */
function withoutNothing(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNothing)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null && inner !== undefined)
      .map(([name, inner]) => [name, withoutNothing(inner)]),
  )
}

function shortProblem(problem: unknown): unknown {
  if (typeof problem !== 'object' || problem === null) return problem
  const {
    type: _type,
    title: _title,
    status: _status,
    instance: _instance,
    ...rest
  } = problem as Record<string, unknown>
  return rest
}
