import { createClient } from '@redis/client'

const connectTo = (url: string) => createClient({ url })

/** A client of Redis or what speaks like it, for as long as `act` takes. */
export async function withKeys<Answer>(
  url: string,
  act: (keys: ReturnType<typeof connectTo>) => Promise<Answer>,
): Promise<Answer> {
  const keys = connectTo(url)
  await keys.connect()
  try {
    return await act(keys)
  } finally {
    keys.destroy()
  }
}
