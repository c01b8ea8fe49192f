/**
 * How long the auth proxy waits for clients. No limit for a request as a whole: loading documents takes as long as it takes. One
 * for its headers, which is zero too unless told: whoever sends nothing needs no password to hold a connection.
 */
export const patience = { requestTimeout: 0, headersTimeout: 60_000, keepAliveTimeout: 75_000 } as const
