import type { Store } from '@stackquay/store'

/** Makes a function for one call of a tool, which remembers what it has looked up. */
export type Masking = () => <Value>(value: Value, projects: readonly string[]) => Promise<Value>

/** Shorter ones would be found in every second word. */
const shortest = 5
const mostProjects = 20
export const maskText = '[secret]'

/**
 * What is read by an assistant leaves the house. Programs print their secrets, so whatever a tool answers is searched for those of
 * the projects that it is about, in the forms that they are mostly printed in. No wall against a program that means to give them away.
 */
export function createMasking(store: Pick<Store, 'projects' | 'secrets'>): Masking {
  const textsOf = async (ref: string): Promise<readonly string[]> => {
    const project = await store.projects.find(ref)
    if (project === null) return []
    const handles = Object.values(await store.secrets.of(project.id))
    const texts = await Promise.all(
      handles.map(({ secret, version }) =>
        store.secrets.reveal(secret, version).then(
          (text) => [text.expose()],
          // One that cannot be opened cannot be in a program either.
          () => [],
        ),
      ),
    )
    return texts.flat().flatMap(formsOf)
  }

  return () => {
    const known = new Map<string, Promise<readonly string[]>>()
    return async (value, projects) => {
      const refs = new Set([...projects, ...projectsIn(value)].slice(0, mostProjects))
      const found = await Promise.all(
        [...refs].map((ref) => {
          const texts = known.get(ref) ?? textsOf(ref)
          known.set(ref, texts)
          return texts
        }),
      )
      // The longest first: one may be part of another.
      const texts = [...new Set(found.flat())].sort((a, b) => b.length - a.length)
      return masked(value, (text) =>
        texts.reduce((shown, secret) => shown.replaceAll(secret, maskText), text.replace(token, maskText)),
      )
    }
  }
}

/** Of this API, whosever it is. */
const token = /stq_[0-9A-Za-z]{38}/g

function formsOf(text: string): readonly string[] {
  const lines = text.includes('\n') ? text.split(/\r?\n/).filter((line) => line.length >= 16) : []
  const forms = [
    text,
    ...lines,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
    Buffer.from(text).toString('base64'),
  ]
  return forms.filter((form) => form.length >= shortest)
}

function projectsIn(value: unknown, found: string[] = []): readonly string[] {
  if (typeof value === 'string') {
    if (/^prj_[0-9a-z]{1,40}$/i.test(value)) found.push(value)
  } else if (typeof value === 'object' && value !== null)
    for (const inner of Object.values(value)) projectsIn(inner, found)
  return found
}

function masked<Value>(value: Value, mask: (text: string) => string): Value {
  if (typeof value === 'string') return mask(value) as Value
  if (Array.isArray(value)) return value.map((inner) => masked(inner, mask)) as Value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [mask(name), masked(inner as unknown, mask)]),
  ) as Value
}
