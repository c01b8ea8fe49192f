/** What both sides of the inbox protocol know, apart from its schemas: the program runs without the packages they need. */

/** A page elsewhere cannot send it without asking first, and is never allowed to. */
export const inboxHeader = 'X-Inbox-Request'

export const inboxLimits = {
  /** Messages of one page. */
  pageSize: { usual: 50, most: 200 },
  /** Characters of `text` and of `html` as they were sent; more is cut, and `truncated` says so. */
  bodyCharacters: 2_000_000,
  /** Bytes of all images that `html` carries in place of its `cid:` references. */
  inlineBytes: 8_000_000,
  searchCharacters: 200,
  /** Recipients that a summary names; the message itself names all. */
  listedRecipients: 100,
  /** Bytes of one message, announced to SMTP clients. */
  messageBytes: 25 * 1024 * 1024,
} as const
