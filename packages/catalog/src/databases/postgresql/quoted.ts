/** A name as PostgreSQL reads it inside a statement. */
export function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`
}
