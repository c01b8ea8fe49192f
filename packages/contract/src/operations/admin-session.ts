/** What no token may do, whatever its scope: about people and the key (specification, section 5.8). */
export const adminSession = { kind: 'scope', scope: 'admin', instance: true, session: true } as const
