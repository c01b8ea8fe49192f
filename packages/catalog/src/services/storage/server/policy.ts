import { S3Error } from './errors.ts'

/** The one policy there is: everybody may read the objects of the bucket. */
export function publicReadPolicy(bucket: string): string {
  return JSON.stringify({
    Version: '2012-10-17',
    Statement: [
      {
        Sid: 'PublicRead',
        Effect: 'Allow',
        Principal: '*',
        Action: ['s3:GetObject'],
        Resource: [`arn:aws:s3:::${bucket}/*`],
      },
    ],
  })
}

/** Throws for every policy that says anything else: half of a policy kept would be worse than none. */
export function refuseOtherPolicy(text: string, bucket: string): void {
  const policy = parsed(text)
  const statements = listOf(policy.Statement)
  const [statement] = statements
  const isPublicRead =
    statements.length === 1 &&
    isRecord(statement) &&
    Object.keys(statement).every((name) => ['Sid', 'Effect', 'Principal', 'Action', 'Resource'].includes(name)) &&
    statement.Effect === 'Allow' &&
    isEverybody(statement.Principal) &&
    same(listOf(statement.Action), ['s3:GetObject']) &&
    same(listOf(statement.Resource), [`arn:aws:s3:::${bucket}/*`])
  if (isPublicRead) return
  throw new S3Error(
    'NotImplemented',
    `The only policy here is one statement that allows everybody s3:GetObject on arn:aws:s3:::${bucket}/*.`,
  )
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const policy: unknown = JSON.parse(text)
    if (isRecord(policy)) return policy
  } catch {
    // Answered below.
  }
  throw new S3Error('MalformedPolicy')
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

function isEverybody(principal: unknown): boolean {
  return (
    principal === '*' ||
    (isRecord(principal) && same(Object.keys(principal), ['AWS']) && same(listOf(principal.AWS), ['*']))
  )
}

function same(values: readonly unknown[], expected: readonly string[]): boolean {
  return values.length === expected.length && values.every((value, at) => value === expected[at])
}
