import { type ProjectCreate, type ProjectPatch, readOnlyProjectFields } from '@stackquay/contract'

/** A whole answer of GET is a valid PATCH: fields that cannot be changed are left aside. */
export function withoutReadOnly(body: ProjectPatch | ProjectCreate): ProjectPatch {
  const ignored = new Set<string>([...readOnlyProjectFields, 'template', 'git', 'path', 'runAs', 'slug', 'start'])
  return Object.fromEntries(Object.entries(body).filter(([field]) => !ignored.has(field))) as ProjectPatch
}
