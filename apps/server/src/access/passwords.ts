import { createPasswordQueue, type Urgency } from './password-queue.ts'

/** argon2id with the library's defaults, which are those of OWASP: 19 MiB, 2 passes. */
export function hashPassword(password: string, urgency: Urgency = 'ordinary'): Promise<string> {
  return queue.run(async () => (await argon2()).hash(password), urgency)
}

/** Takes the same time without a user as with one, so that names cannot be found out by it. */
export async function passwordHolds(
  password: string,
  stored: string | null,
  urgency: Urgency = 'ordinary',
): Promise<boolean> {
  const holds = await queue.run(async () => (await argon2()).verify(stored ?? nobodys, password), urgency)
  return holds && stored !== null
}

/** A service that only programs use computes none. */
const argon2 = () => import('@node-rs/argon2')

/** The hash of 32 random bytes that nobody kept. */
const nobodys = '$argon2id$v=19$m=19456,t=2,p=1$Ry008y4bLxljVFxGPCgVFA$pIY3ZYD+6fYzfq11YOtN6N6b6/bXxRl91dxSY7DuD9I'

/**
 * Each computation takes 19 MiB and a core for some ten milliseconds. Two at a time keep the machine answering while
 * somebody tries passwords from many addresses; 32 are a second or two of work.
 */
const queue = createPasswordQueue({ places: 2, maxWaiting: 32 })
