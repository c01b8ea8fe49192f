import { z } from 'zod'

/** `host:port`, as the environment has it. */
export const Address = z
  .string()
  .regex(/^(\[[0-9a-f:]+\]|[^\s:[\]]+):\d{1,5}$/i, 'must be host:port')
  .transform((text) => {
    const cut = text.lastIndexOf(':')
    return { host: text.slice(0, cut).replace(/^\[|\]$/g, ''), port: Number(text.slice(cut + 1)) }
  })
  .refine(({ port }) => port <= 65535, 'has a port above 65535')

export const AddressOrOff = z.union([z.literal('off').transform(() => null), Address])
