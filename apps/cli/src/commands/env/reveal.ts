import type { Context } from '../../context.ts'

/** The text of one secret variable. The service records each of these reads, by the variable's name. */
export async function revealVariable(context: Context, project: string, name: string): Promise<string> {
  const client = await context.client()
  const input = { params: { id: project, name }, query: { reveal: true } }
  const { value } = await client.call('getProjectEnvValue', input, { signal: context.signal })
  return value ?? ''
}
